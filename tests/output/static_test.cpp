// Static fields where runs end badly, or go on: what was put last before a step is read with it.
#include <optional>
#include <tuple>

#include "fixture.hpp"
#include "storage/faulty.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

const TestField eta{"eta", ValueType::float64, {43, 37}, uneven_rows};
const TestField depth{"depth", ValueType::int32, {43, 37}, backward_columns};

/// The static field's values are those of a version; each version begins with a step.
class StaticFields : public RanksTest {
  protected:
    struct Run {
        std::int64_t first = 0, last = 0;  ///< steps [first, last)
        std::int64_t version_from = 0;     ///< version 1 from this step on
    };
    [[nodiscard]] static std::int64_t version_of(const Run& run, std::int64_t step) {
        return step >= run.version_from ? 1 : 0;
    }

    /// Collective over `on`: puts it in the run's first step, and where its version begins.
    void write(const Comm& on, const std::string& prefix, OutputOptions options, const Run& run) const {
        options.if_exists = IfExists::resume;
        Output out = Output::create(on, prefix, options);
        const Error error = error_of([&] {
            for (std::int64_t step = run.first; step < run.last; ++step) {
                std::vector<Values> kept;
                kept.reserve(2);
                const auto put = [&](std::size_t f, const TestField& field, std::int64_t version) {
                    kept.emplace_back(f, field, version, field.block_of(field.global, on.size(), on.rank()));
                    out.put({.name = field.name,
                             .units = "m",
                             .block = kept.back().block(),
                             .data = kept.back().data(),
                             .is_static = &field == &depth});
                };
                out.begin_step(static_cast<double>(step));
                put(0, eta, step);
                if (step == run.first || step == run.version_from) put(1, depth, version_of(run, step));
                out.end_step();
            }
        });
        const Error at_end = error_of([&] { out.close(); });
        const Error& first = error.code() != ErrorCode::ok ? error : at_end;
        if (first.code() != ErrorCode::ok) throw first;
    }
    /// Collective. How many steps there are, after those that are whole have been completed; all of them have
    /// their own values.
    std::int64_t expect_right(const std::string& prefix, const Run& run) const {
        barrier();
        std::optional<Input> in;
        const Error error = error_of([&] { in.emplace(Input::open(comm, prefix)); });
        if (!in) {
            EXPECT_EQ(error.code(), ErrorCode::not_found) << error.what();
            return 0;
        }
        for (const std::int64_t step : in->steps()) {
            const auto expect = [&](std::size_t f, const TestField& field, std::int64_t version) {
                const Block block = even_blocks(field.global, comm.size(), comm.size() - 1 - comm.rank());
                const Values right(f, field, version, block);
                std::vector<std::byte> read(right.bytes().size());
                visit(field.type, [&]<class T>(T) {
                    in->read({.name = field.name,
                              .step = step,
                              .block = block,
                              .data = std::span(reinterpret_cast<T*>(read.data()), read.size() / sizeof(T))});
                });
                EXPECT_TRUE(read == right.bytes()) << field.name << " of step " << step;
            };
            expect(0, eta, step);
            expect(1, depth, version_of(run, step));
        }
        const std::int64_t num_steps = std::ssize(in->steps());
        in->close();
        barrier();
        return num_steps;
    }
};

using Fullness = std::tuple<std::string, bool, storage::FileOperation>;  // method, hidden, what finds no room
class FullStaticFields : public StaticFields, public ::testing::WithParamInterface<Fullness> {
  protected:
    /// The n-th such operation fails on one rank; then the run goes on. False where there is no n-th one.
    [[nodiscard]] bool try_fault(int rank, std::int64_t nth) const {
        const auto& [method, is_hidden, operation] = GetParam();
        const std::string prefix = folder + "/" + std::to_string(rank) + "." + std::to_string(nth) + "/run";
        const OutputOptions options{.method = method, .asynchronous = is_hidden, .steps_per_file = all_steps};
        const Run whole{.first = 0, .last = 4, .version_from = 2};
        if (comm.rank() == rank) storage::arm_fault({.operation = operation, .nth = nth, .path = "run_0"});
        const Error error = error_of([&] { write(comm, prefix, options, whole); });
        int has_fired = comm.rank() == rank && storage::fault_count().has_fired ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &has_fired, 1, MPI_INT, MPI_MAX, comm.handle());
        storage::disarm_fault();
        const auto expected = has_fired != 0 ? ErrorCode::no_space : ErrorCode::ok;
        EXPECT_EQ(to_string(error.code()), to_string(expected)) << prefix << ": " << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << prefix;
        Run rest = whole;
        rest.first = expect_right(prefix, whole);
        write(comm, prefix, options, rest);
        EXPECT_EQ(expect_right(prefix, whole), whole.last) << prefix;
        return has_fired != 0;
    }
};

TEST_P(FullStaticFields, StayRightInAFileOfSeveralSteps) {
    const std::int64_t each =
        std::get<storage::FileOperation>(GetParam()) == storage::FileOperation::write ? 3 : 1;
    for (int rank = 0; rank < comm.size(); rank += std::max(1, comm.size() - 1)) {
        for (std::int64_t nth = 1; try_fault(rank, nth) && !has_any_rank_failed();) nth += each;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Output, FullStaticFields,
    ::testing::Combine(::testing::Values("pipelined", "root", "writers"), ::testing::Bool(),
                       ::testing::Values(storage::FileOperation::write, storage::FileOperation::set_size)));

/// Its blocks are others then.
TEST_F(StaticFields, GoOnOnOtherNumbersOfRanks) {
    const Comm self = Comm::duplicate(MPI_COMM_SELF);
    for (const std::string method : {"pipelined", "root", "writers", "parallel"}) {
        for (const OutputOptions& options :
             {OutputOptions{.method = method}, OutputOptions{.method = method, .steps_per_file = all_steps},
              OutputOptions{.method = method, .format = "zarr"}}) {
            const bool is_one_array = options.format == "zarr";
            const std::string prefix =
                folder + "/" + method + options.format + std::to_string(options.steps_per_file) + "/run";
            const Run whole{.first = 0, .last = 8, .version_from = is_one_array ? 8 : 5};
            for (const auto& [first, last, is_alone] :
                 {std::tuple(0, 2, false), {2, 4, true}, {4, 6, false}, {6, 8, true}}) {
                barrier();
                const Run part{.first = first, .last = last, .version_from = whole.version_from};
                if (!is_alone || is_rank_0()) write(is_alone ? self : comm, prefix, options, part);
            }
            EXPECT_EQ(expect_right(prefix, whole), whole.last) << prefix;
            if (!is_rank_0() || options.steps_per_file != all_steps) continue;
            EXPECT_EQ(names_in(fs::path(prefix).parent_path()),
                      (std::vector<std::string>{"run_000000.nc", "run_000005.nc"}))
                << method;
        }
    }
    Comm done = self;
    done.free();
}

}  // namespace
}  // namespace hakobi::test
