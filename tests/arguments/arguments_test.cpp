// Every collective call that takes sizes, with a bad one on the first rank, on the last, or on all: nobody
// waits for ever, and all ranks get the same Error. Each row is a call; what it creates may be lost, its
// communicator is used by the next row.
#include <gtest/gtest.h>
#include <hakobi.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <hakobi/hakobi.hpp>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace hakobi {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max(),
                       smallest = std::numeric_limits<std::int64_t>::min();

struct Row {
    std::string name;
    /// Makes the call; with bad arguments where told so.
    std::function<void(const Comm&, bool is_bad)> call;
};
void PrintTo(const Row& row, std::ostream* os) {
    *os << row.name;
}

/// Where nothing is written: the method is "none".
std::string prefix() {
    int process = ::getpid();
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return (std::filesystem::temp_directory_path() / ("arguments-" + std::to_string(process))).string();
}

Row allocate(std::string name, std::int64_t bytes) {
    return {"allocate_shared_" + name,
            [=](const Comm& comm, bool is_bad) { (void)allocate_shared(comm, is_bad ? bytes : 100); }};
}

using Plan = std::function<CollectivePlan(Collectives&, std::int64_t)>;
void add_plans(std::vector<Row>& rows, const std::string& name, const Plan& plan) {
    for (const auto& [what, size] : {std::pair{"negative", std::int64_t{-1}},
                                     {"smallest", smallest},
                                     {"largest", largest},
                                     {"overflowing", largest / 8 + 2}}) {
        for (const char* method : {"model", "mpi"}) {
            rows.push_back({name + "_" + what + "_by_" + method, [=](const Comm& comm, bool is_bad) {
                                auto collectives = Collectives::create(comm, {.method = method});
                                (void)plan(collectives, is_bad ? size : 10);
                            }});
        }
    }
}

Row create(std::string name, const std::function<void(CollectivesOptions&)>& spoil) {
    return {"collectives_" + name, [=](const Comm& comm, bool is_bad) {
                CollectivesOptions options;
                if (is_bad) spoil(options);
                (void)Collectives::create(comm, options);
            }};
}

struct HaloArguments {
    HaloGrid grid;
    HaloField field;
    HaloOptions options;
};
Row halo(std::string name, const std::function<void(HaloArguments&)>& spoil) {
    return {"halo_" + name, [=](const Comm& comm, bool is_bad) {
                std::vector<double> values(6 * 6);
                HaloArguments one{{{4, 4}, {{1, 1}, {1, 1}}, {comm.size(), 1}, {true, true}}, {}, {}};
                one.field = HaloField::dense(values.data(), one.grid, sizeof(double));
                if (is_bad) spoil(one);
                (void)Halo::plan(comm, one.grid, {&one.field, 1}, one.options);
            }};
}
/// The field's layout follows the grid, as a program's would.
Row dense_halo(std::string name, const std::function<void(HaloGrid&)>& spoil) {
    return halo("dense_" + name, [=](HaloArguments& one) {
        void* const first = one.field.data;
        spoil(one.grid);
        one.field = HaloField::dense(first, one.grid, sizeof(double));
    });
}

Row lists(std::string name, const BufferArrayOptions& bad) {
    return {"buffer_arrays_" + name, [=](const Comm& comm, bool is_bad) {
                (void)BufferArrays::get(comm, is_bad ? bad : BufferArrayOptions{});
            }};
}

/// A step with one field.
Row put(std::string name, const std::function<void(Field&)>& spoil) {
    return {"put_" + name, [=](const Comm& comm, bool is_bad) {
                OutputOptions options;
                options.method = "none";
                Output out = Output::create(comm, prefix(), options);
                const Block block = split({8, 8}, comm.size(), comm.rank());
                const std::vector<double> values(static_cast<std::size_t>(block.num_elements()));
                Field field{.name = "eta", .units = "m", .block = block, .data = values};
                if (is_bad) spoil(field);
                out.begin_step(0);
                try {
                    out.put(field);
                } catch (const Error&) {  // local; the step's end tells the others
                }
                out.end_step();
            }};
}

std::vector<Row> rows() {
    std::vector<Row> all{
        allocate("negative", -1),
        allocate("smallest", smallest),
        allocate("largest", largest),
        allocate("near_the_largest", largest - 5000),
        allocate("more_than_memory", largest / 2 + 1),
        create("zero_extent",
               [](auto& o) {
                   o.shape = {NetworkShape::Wiring::torus, {0}};
               }),
        create("overflowing_extents",
               [](auto& o) {
                   o.shape = {NetworkShape::Wiring::torus, {1 << 30, 1 << 30, 1 << 30}};
               }),
        create("nine_dimensions",
               [](auto& o) {
                   o.shape = {NetworkShape::Wiring::nodes, std::vector<int>(9, 1)};
               }),
        create("no_bandwidth", [](auto& o) { o.costs.bandwidth_bytes_s = 0; }),
        halo("negative_extent", [](auto& one) { one.grid.extents[0] = -1; }),
        halo("largest_extent", [](auto& one) { one.grid.extents[0] = largest; }),
        halo("largest_ghosts", [](auto& one) { one.grid.ghosts[1].high = largest; }),
        halo("smallest_ghosts", [](auto& one) { one.grid.ghosts[0].low = smallest; }),
        halo("missing_ghosts", [](auto& one) { one.grid.ghosts.pop_back(); }),
        halo("too_many_ranks",
             [](auto& one) {
                 one.grid.ranks = {1 << 30, 1 << 30};
             }),
        halo("smallest_stride", [](auto& one) { one.field.strides_bytes[0] = smallest; }),
        halo("largest_stride", [](auto& one) { one.field.strides_bytes[1] = largest; }),
        halo("missing_stride", [](auto& one) { one.field.strides_bytes.pop_back(); }),
        halo("largest_component_stride", [](auto& one) { one.field.component_stride_bytes = largest; }),
        halo("largest_element", [](auto& one) { one.field.element_bytes = largest; }),
        halo("largest_components", [](auto& one) { one.field.num_components = largest; }),
        halo("endless_timeout",
             [](auto& one) { one.options.timeout_s = std::numeric_limits<double>::infinity(); }),
        halo("timeout_that_is_no_number",
             [](auto& one) { one.options.timeout_s = std::numeric_limits<double>::quiet_NaN(); }),
        dense_halo("largest_extent", [](auto& grid) { grid.extents[1] = largest; }),
        dense_halo("large_extents",
                   [](auto& grid) {
                       grid.extents = {largest / 4, largest / 4};
                   }),
        dense_halo("largest_ghosts", [](auto& grid) { grid.ghosts[0].low = largest; }),
        dense_halo("missing_ghosts", [](auto& grid) { grid.ghosts.clear(); }),
        lists("no_bytes", {.pack_bytes = 0}),
        lists("too_many_bytes", {.pack_bytes = largest}),
        lists("no_path", {.path = "pigeon"}),
        put("block_beyond", [](auto& f) { f.block.start[0] = largest; }),
        put("largest_count", [](auto& f) { f.block.count[1] = largest; }),
        put("largest_global",
            [](auto& f) {
                f.block.global = {largest, largest};
            }),
        put("largest_ghosts",
            [](auto& f) {
                f.ghosts = {largest, largest};
            }),
        put("smallest_ghosts",
            [](auto& f) {
                f.ghosts = {smallest, 0};
            }),
        put("largest_strides",
            [](auto& f) {
                f.strides = {largest, largest};
            }),
        put("missing_start", [](auto& f) { f.block.start.pop_back(); }),
        {"output_writer_stride",
         [](const Comm& comm, bool is_bad) {
             OutputOptions options;
             options.method = is_bad ? "writers" : "none";
             if (is_bad) options.writer_stride = -5;
             (void)Output::create(comm, prefix(), options);
         }},
        {"reordered_by_too_short_a_list",
         [](const Comm& comm, bool is_bad) {
             Reordering order;
             order.rank_at.resize(static_cast<std::size_t>(comm.size()));
             std::iota(order.rank_at.begin(), order.rank_at.end(), 0);
             if (is_bad) order.rank_at.clear();
             reordered(comm, order).free();
         }},
    };
    add_plans(all, "allreduce", [](Collectives& of, std::int64_t count) {
        return of.allreduce(ElementType::complex128, Reduction::sum, count);
    });
    add_plans(all, "alltoall", [](Collectives& of, std::int64_t bytes) { return of.alltoall(bytes); });
    add_plans(all, "allgather", [](Collectives& of, std::int64_t bytes) { return of.allgather(bytes); });
    for (const int root : {-1, 1 << 30, std::numeric_limits<int>::min()}) {
        all.push_back({"broadcast_from_" + std::to_string(root), [=](const Comm& comm, bool is_bad) {
                           auto collectives = Collectives::create(comm, {.method = "model"});
                           (void)collectives.broadcast(10, is_bad ? root : 0);
                       }});
    }
    all.push_back({"broadcast_largest", [](const Comm& comm, bool is_bad) {
                       auto collectives = Collectives::create(comm, {.method = "model"});
                       (void)collectives.broadcast(is_bad ? largest : 10, 0);
                   }});
    return all;
}

class BadArguments : public testing::TestWithParam<Row> {};

/// Fails unless all ranks threw the same.
void expect_alike(const Comm& comm, const Row& row, bool is_bad) {
    std::string text;
    int code = 0;
    try {
        row.call(comm, is_bad);
    } catch (const Error& error) {
        text = error.what();
        code = static_cast<int>(error.code());
    }
    EXPECT_NE(code, 0) << "accepted";
    EXPECT_LT(code, static_cast<int>(ErrorCode::failed)) << text;
    int first_code = code;
    MPI_Bcast(&first_code, 1, MPI_INT, 0, comm.handle());
    EXPECT_EQ(code, first_code) << text;
    std::string first = text;
    first.resize(1000);
    MPI_Bcast(first.data(), 1000, MPI_CHAR, 0, comm.handle());
    EXPECT_EQ(text, std::string(first.c_str()));
}

TEST_P(BadArguments, AreTheSameErrorOnAllRanks) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const int last = comm.size() - 1;
    for (const char* who : {"the first", "the last", "all"}) {
        SCOPED_TRACE(std::string(who) + " with bad arguments");
        const std::string which = who;
        const bool is_bad = which == "all" || comm.rank() == (which == "the first" ? 0 : last);
        expect_alike(comm, GetParam(), is_bad);
    }
    GetParam().call(comm, false);
    comm.free();
}

INSTANTIATE_TEST_SUITE_P(Calls, BadArguments, testing::ValuesIn(rows()), [](const auto& test) {
    std::string name = test.param.name;
    for (char& letter : name)
        if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
    return name;
});

TEST(BadCommunicator, IsRefusedByAllRanks) {
    EXPECT_THROW((void)Comm::duplicate(MPI_COMM_NULL), Error);
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 1) GTEST_SKIP() << "two groups need two ranks";
    MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &between);
    try {
        (void)Comm::duplicate(between);
        ADD_FAILURE() << "duplicated";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_NE(std::string(error.what()).find("MPI_Intercomm_merge"), std::string::npos);
    }
    hakobi_comm* handle = nullptr;
    EXPECT_EQ(hakobi_comm_duplicate_f(MPI_Comm_c2f(between), &handle), HAKOBI_INVALID_ARGUMENT);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

TEST(BadCommunicator, AHandleThatIsMissingIsAnErrorOfAllRanks) {
    hakobi_comm* comm = nullptr;
    ASSERT_EQ(hakobi_comm_duplicate_f(MPI_Comm_c2f(MPI_COMM_WORLD), &comm), HAKOBI_OK);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    hakobi_collectives* collectives = nullptr;
    EXPECT_EQ(hakobi_collectives_create(comm, nullptr, rank == 0 ? nullptr : &collectives),
              HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(collectives, nullptr);
    hakobi_comm_free(comm);
}

TEST(BadSizes, OfLocalCallsAreRefusedAtOnce) {
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    BufferArray list = BufferArrays::get(comm).make();
    std::byte some{};
    list.append(&some, largest);
    EXPECT_THROW(list.append(&some, 1), Error);
    EXPECT_EQ(list.bytes(), largest);
    const std::vector<int> nodes{0, 0, 1, 1}, grid{2, 2}, wrapping{1 << 16, 1 << 16, 1 << 16, 1 << 16};
    const Topology topology = Topology::declare(nodes);
    EXPECT_THROW((void)topology.reorder(wrapping), Error);
    EXPECT_THROW((void)topology.reorder(grid, std::vector<std::int64_t>{largest, 1}), Error);
    EXPECT_THROW((void)topology.reorder(grid, std::vector<std::int64_t>{-1, 1}), Error);
    EXPECT_EQ(HaloField::dense_bytes({.extents = {largest, largest}, .ghosts = {{}, {}}, .ranks = {1, 1}}, 8),
              largest);
}

}  // namespace
}  // namespace hakobi
