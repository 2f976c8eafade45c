// The operations of a file in their order, without a call of MPI by the queue's threads.
#include "mpiio/operation_queue.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "io/crew.hpp"
#include "mpi/messages.hpp"
#include "node/apart.hpp"

namespace hakobi::mpiio {
namespace {

constexpr std::size_t part_bytes = 5000;

class OperationQueueTest : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(node::make_apart(comm, apart).ok());
        (void)io::Crew::of(apart);
        std::vector<std::byte> name(sizeof(int));
        const int id = ::getpid();
        std::memcpy(name.data(), &id, sizeof id);
        mpi::broadcast(comm, name, 0);
        int of_rank_0 = 0;
        std::memcpy(&of_rank_0, name.data(), sizeof of_rank_0);
        path = std::filesystem::temp_directory_path() / ("hakobi-queue-" + std::to_string(of_rank_0));
        if (comm.rank() == 0) {
            std::filesystem::remove(path);
            (void)storage::open_file(path, {.write = true, .create = true});
        }
        meet();
        queue.emplace(apart, io::EngineFile{path, true}, own_cores());
    }
    void TearDown() override {
        meet();
        if (comm.rank() == 0) std::filesystem::remove(path);
        apart.free();
        comm.free();
    }
    void meet() const { (void)mpi::agree(comm, {}); }
    /// This rank's part of the file, to or from `bytes`.
    std::shared_ptr<Operation> start(bool is_write, std::vector<std::byte>& bytes, Status mistake = {}) {
        auto operation = std::make_shared<Operation>();
        operation->is_write = is_write;
        if (mistake.ok()) {
            operation->file = Region::contiguous(comm.rank() * std::ssize(bytes), std::ssize(bytes));
            operation->memory = Region::contiguous(0, std::ssize(bytes));
            operation->origin = bytes.data();
        }
        operation->mistake = std::move(mistake);
        queue->start(operation, [] { return io::EngineOptions(); });
        return operation;
    }

    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    Comm apart;
    std::string path;
    std::optional<OperationQueue> queue;
};

TEST_F(OperationQueueTest, CarriesOperationsOutInTheirOrder) {
    std::vector<std::byte> first(part_bytes, std::byte{1}), second(part_bytes, std::byte{2}),
        found(part_bytes);
    const std::array operations = {start(true, first), start(true, second), start(false, found)};
    queue->wait_for_all(comm);
    EXPECT_FALSE(queue->is_busy());
    for (const auto& operation : operations) {
        EXPECT_TRUE(operation->has_ended());
        EXPECT_TRUE(operation->agreed.status.ok()) << operation->agreed.status.text();
    }
    EXPECT_EQ(operations.back()->bytes, static_cast<std::int64_t>(part_bytes));
    EXPECT_TRUE(found == second);
    EXPECT_TRUE(queue->sync().ok());
    EXPECT_TRUE(queue->close(comm).ok());
    EXPECT_EQ(std::filesystem::file_size(path), static_cast<std::size_t>(comm.size()) * part_bytes);
}

TEST_F(OperationQueueTest, TellsAMistakeOfOneRankToAllAndGoesOn) {
    std::vector<std::byte> bytes(part_bytes, std::byte{3});
    const Status mistake =
        comm.rank() == 0 ? Status(ErrorCode::invalid_argument, "a mistake of rank 0") : Status();
    const auto wrong = start(true, bytes, mistake);
    OperationQueue::wait(comm, *wrong);
    EXPECT_EQ(wrong->agreed.status.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(wrong->bytes, 0);
    const auto right = start(true, bytes);
    OperationQueue::wait(comm, *right);
    EXPECT_TRUE(right->agreed.status.ok()) << right->agreed.status.text();
    EXPECT_TRUE(queue->close(comm).ok());
}

TEST_F(OperationQueueTest, CloseCarriesOutWhatIsLeft) {
    std::vector<std::byte> bytes(part_bytes, std::byte{4});
    std::vector<std::shared_ptr<Operation>> operations;
    for (int i = 0; i < 20; ++i) operations.push_back(start(true, bytes));
    EXPECT_TRUE(queue->close(comm).ok());
    EXPECT_FALSE(queue->is_busy());
    for (const auto& operation : operations) EXPECT_TRUE(operation->has_ended());
}

TEST_F(OperationQueueTest, ClosesWithoutAnOperation) {
    EXPECT_TRUE(queue->sync().ok());
    EXPECT_TRUE(queue->close(comm).ok());
    EXPECT_EQ(queue->counters().user_bytes, 0);
}

}  // namespace
}  // namespace hakobi::mpiio
