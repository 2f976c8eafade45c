// Fails the n-th storage operation of each kind on each rank, for every n that occurs, in two steps of a mesh
// whose points move: the file that both share, and theirs. All ranks end, with an equal Error; what has a
// final name is whole, and so is the file that it links to; nothing temporary is left; close works.
#include "output/mesh_fixture.hpp"
#include "storage/faulty.hpp"

namespace hakobi::test {
namespace {

using storage::FileOperation;

constexpr int num_moving_steps = 2;

class EveryMeshFault : public RanksTest, public ::testing::WithParamInterface<Way> {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        storage::set_fault_rank(comm.rank());
        options = {.method = GetParam().method, .format = GetParam().format};
        if (is_rank_0()) expected = files_of_moving_steps(options, comm.size(), num_moving_steps);
    }
    void TearDown() override {
        storage::disarm_fault();
        RanksTest::TearDown();
    }

    /// Whether the fault occurred on some rank.
    bool expect_contract(const storage::Fault& fault) {
        storage::arm_fault(fault);
        std::unique_ptr<Output> out;
        const Error error = error_of([&] {
            out = std::make_unique<Output>(Output::create(comm, folder + "/run", options));
            write_moving_steps(*out, comm, num_moving_steps);
        });
        const Error close_error = error_of([&] {
            if (out) out->close();
        });
        int has_fired = storage::fault_count().has_fired ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &has_fired, 1, MPI_INT, MPI_MAX, comm.handle());
        storage::disarm_fault();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, close_error)) << close_error.what();
        const bool is_ok = error.code() == ErrorCode::ok && close_error.code() == ErrorCode::ok;
        EXPECT_TRUE(has_fired != 0 || is_ok) << error.what() << close_error.what();
        for (const Error* one : {&error, &close_error}) {
            EXPECT_TRUE(one->code() == ErrorCode::ok || one->code() == code_of_errno(fault.error))
                << to_string(one->code()) << ": " << one->what();
        }
        if (is_rank_0()) {
            const std::vector<std::string> names = names_in(folder);
            for (const std::string& name : names) {
                // Pieces whose gathering failed stay: their values are nowhere else.
                if (name.find(".pieces") != std::string::npos && close_error.code() != ErrorCode::ok)
                    continue;
                EXPECT_TRUE(expected.contains(name)) << name;
                EXPECT_TRUE(bytes_of_file(folder + "/" + name) == expected[name]) << name;
            }
            const auto is_there = [&](const std::string& name) {
                return std::ranges::find(names, name) != names.end();
            };
            EXPECT_TRUE(!is_ok || names.size() == expected.size()) << names.size();
            // Nobody sees a step whose mesh is not there, but where pieces wait to be gathered.
            if (close_error.code() == ErrorCode::ok) {
                EXPECT_TRUE(is_there(file_name(options.format, 0) + ".mesh") ||
                            !is_there(file_name(options.format, 0)));
            }
            for (const auto& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
        }
        barrier();
        return has_fired != 0;
    }

    /// Raises n until the operation does not occur n times.
    void fail_each(FileOperation operation, int error) {
        int num_fired = 0;
        for (int rank = 0; rank < comm.size(); ++rank) {
            bool fires = true;
            // Every n; past 32 operations every fourth part more.
            for (std::int64_t nth = 1; fires; nth += nth < 32 ? 1 : nth / 4) {
                SCOPED_TRACE("rank " + std::to_string(rank) + ", n = " + std::to_string(nth));
                fires = expect_contract(
                    {.rank = rank, .operation = operation, .nth = nth, .error = error, .path = {}});
                num_fired += fires ? 1 : 0;
                if (has_any_rank_failed()) return;
                ASSERT_LT(nth, 10000) << "the operations do not end";
            }
        }
        EXPECT_GT(num_fired, 0) << "no operation of this kind";
    }

    OutputOptions options;
    std::map<std::string, std::vector<char>> expected;  // on rank 0
};

TEST_P(EveryMeshFault, OfOpen) {
    fail_each(FileOperation::open, EACCES);
}
TEST_P(EveryMeshFault, OfWrite) {
    fail_each(FileOperation::write, ENOSPC);
}
TEST_P(EveryMeshFault, OfSetSize) {
    fail_each(FileOperation::set_size, ENOSPC);
}
TEST_P(EveryMeshFault, OfClose) {
    fail_each(FileOperation::close, EIO);
}
TEST_P(EveryMeshFault, OfRename) {
    fail_each(FileOperation::rename, EACCES);
}
TEST_P(EveryMeshFault, OfSync) {
    options.sync = true;
    fail_each(FileOperation::sync, EIO);
}

INSTANTIATE_TEST_SUITE_P(Output, EveryMeshFault, ::testing::ValuesIn(every_way_of_meshes()), name_of_way);

}  // namespace
}  // namespace hakobi::test
