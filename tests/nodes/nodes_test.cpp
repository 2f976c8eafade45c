// Run by cluster.sh on HAKOBI_EXPECTED_NODES nodes that share a file system and nothing else, and by
// containers.sh with one container a rank, which are nodes, too; TMPDIR lies on that file system.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <hakobi/hakobi.hpp>
#include <memory>
#include <string>
#include <vector>

#include "io/engine.hpp"
#include "mpi/agree.hpp"

namespace hakobi {
namespace {

constexpr std::int64_t piece_bytes = 1000, num_pieces = 3000;  // of each rank

std::byte value_at(std::int64_t offset) {
    return static_cast<std::byte>(offset ^ (offset >> 8) ^ (offset >> 16));
}

// Pieces dealt to the ranks in turn: every rank has bytes of every aggregator's part.
Region cyclic(const Comm& comm) {
    const std::vector<std::int64_t> sizes{num_pieces, piece_bytes * comm.size()},
        start{0, piece_bytes * comm.rank()};
    const std::vector<std::int64_t> count{num_pieces, piece_bytes};
    return Region::subarray(0, sizes, start, count, 1);
}

std::int64_t offset_in_file(std::int64_t index, const Comm& comm) {
    return (index / piece_bytes * comm.size() + comm.rank()) * piece_bytes + index % piece_bytes;
}

TEST(Nodes, RanksKnowWhichOfThemShareMemory) {
    const char* expected = std::getenv("HAKOBI_EXPECTED_NODES");
    ASSERT_NE(expected, nullptr) << "run by cluster.sh, as CTest does";
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    EXPECT_EQ(comm.num_nodes(), std::atoi(expected));
    EXPECT_EQ(comm.node_size() * comm.num_nodes(), comm.size());
}

TEST(Nodes, DataThatCrossesNodesIsWholeInTheFileAndBackInMemory) {
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const std::string path = (std::filesystem::temp_directory_path() / "across_nodes.bin").string();
    if (comm.rank() == 0) std::ofstream(path, std::ios::binary | std::ios::trunc);
    mpi::agree_or_throw(comm, {});

    std::vector<std::byte> source(piece_bytes * num_pieces);
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = value_at(offset_in_file(static_cast<std::int64_t>(i), comm));
    const Region memory = Region::contiguous(0, piece_bytes * num_pieces);
    std::vector<std::string> warnings;
    const auto options =
        io::engine_options({{"cb_buffer_size", "1M"}, {"hakobi_shuffle", "always"}}, warnings);
    ASSERT_TRUE(options.ok());
    std::unique_ptr<io::Engine> engine;
    io::Engine::open(comm, {path, true}, options.value(), engine).throw_if_error();
    engine->write_all(cyclic(comm), source.data(), memory).throw_if_error();
    const std::int64_t messages_written = engine->counters().messages;

    std::vector<std::byte> target(source.size());
    std::int64_t bytes_read = 0;
    engine->read_all(cyclic(comm), target.data(), memory, bytes_read).throw_if_error();
    const std::int64_t messages_read = engine->counters().messages - messages_written;
    engine->close().throw_if_error();
    EXPECT_EQ(bytes_read, piece_bytes * num_pieces);
    EXPECT_TRUE(source == target);

    // Ranks of a node hand their bytes to one message, so not every rank sends.
    std::int64_t sent[2] = {messages_written, messages_read};
    MPI_Allreduce(MPI_IN_PLACE, sent, 2, MPI_INT64_T, MPI_SUM, comm.handle());
    EXPECT_GT(sent[0], 0) << "writing crossed no network";
    EXPECT_GT(sent[1], 0) << "reading crossed no network";

    if (comm.rank() == 0) {
        std::ifstream file(path, std::ios::binary);
        std::vector<char> bytes(std::filesystem::file_size(path));
        file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        std::int64_t num_wrong = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            num_wrong += static_cast<std::byte>(bytes[i]) != value_at(static_cast<std::int64_t>(i));
        }
        EXPECT_EQ(static_cast<std::int64_t>(bytes.size()), piece_bytes * num_pieces * comm.size());
        EXPECT_EQ(num_wrong, 0);
        std::filesystem::remove(path);
    }
    mpi::agree_or_throw(comm, {});
}

TEST(Nodes, GhostsAndSumsCrossNodesAlsoInMemoryToShare) {
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const HaloGrid grid{.extents = {1000}, .ghosts = {{1, 1}}, .ranks = {comm.size()}, .is_periodic = {true}};
    const SharedArray array = allocate_shared(comm, HaloField::dense_bytes(grid, sizeof(double)));
    auto* const values = array.as<double>();
    for (int i = 0; i < 1002; ++i) values[i] = comm.rank() * 1000 + i - 1;
    const HaloField field = HaloField::dense(values, grid, sizeof(double));
    for (const char* path : {"auto", "direct", "staged", "cma"}) {
        values[0] = values[1001] = -1;
        Halo::plan(comm, grid, {&field, 1}, {.path = path}).exchange();
        EXPECT_EQ(values[0], (comm.rank() + comm.size() - 1) % comm.size() * 1000 + 999) << path;
        EXPECT_EQ(values[1001], (comm.rank() + 1) % comm.size() * 1000) << path;
    }
    std::int64_t one = 1, sum = 0;
    Collectives::create(comm, {.method = "model"})
        .allreduce(ElementType::int64, Reduction::sum, 1)
        .execute(&one, &sum);
    EXPECT_EQ(sum, comm.size());
}

TEST(Nodes, StepsAreWholeWithEveryMethod) {
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const std::string folder = std::filesystem::temp_directory_path().string();
    const Block block = split({40, 50}, comm.size(), comm.rank());
    for (const std::string_view method : output_methods()) {
        if (method == "none" || method == "per-process") continue;
        const std::string prefix = folder + "/steps_" + std::string(method);
        OutputOptions options;
        options.method = method;
        Output out = Output::create(comm, prefix, options);
        std::vector<double> values(static_cast<std::size_t>(block.num_elements()));
        for (int step = 0; step < 3; ++step) {
            std::fill(values.begin(), values.end(), 10 * step + 1);
            out.begin_step(step);
            out.put({.name = "eta", .units = "m", .block = block, .data = values});
            out.end_step();
        }
        out.close();
        Input in = Input::open(comm, prefix);
        std::vector<double> found(40 * 50);
        in.read({.name = "eta", .step = in.steps()[2], .data = std::span(found)});
        EXPECT_EQ(found, std::vector<double>(40 * 50, 21.0)) << method;
        in.close();
    }
}

}  // namespace
}  // namespace hakobi
