// Fails the n-th storage operation of each kind on each rank, for every n that occurs, in a run of three
// steps, and holds each run against the contract: all ranks end, with an equal Error; what has a final name
// is whole; nothing temporary is left; close works.
#include "output/fixture.hpp"
#include "storage/faulty.hpp"

namespace hakobi::test {
namespace {

using storage::FileOperation;

const std::vector<TestField> plain_fields = {
    {"eta", format::ValueType::float64, {23, 37}, even_blocks},
    {"u", format::ValueType::float32, {3, 23, 37}, backward_columns}};
/// A chunk for each rank.
const std::vector<TestField> compressed_fields = {{"h", format::ValueType::int32, {80, 70}, backward_columns},
                                                  {"u", format::ValueType::float64, {50, 60}, even_blocks},
                                                  {"v", format::ValueType::float64, {60, 50}, uneven_rows}};
constexpr int num_steps = 3;

struct Outcome {
    Error error{ErrorCode::ok, ""};
    Error close_error{ErrorCode::ok, ""};
    bool has_fired = false;  // on some rank
    int num_accepted = 0;    // steps whose end_step has returned

    [[nodiscard]] bool is_named(const std::string& file) const {
        return std::string(error.what()).find(file) != std::string::npos ||
               std::string(close_error.what()).find(file) != std::string::npos;
    }
};

class EveryFault : public RanksTest, public ::testing::WithParamInterface<std::string> {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        storage::set_fault_rank(comm.rank());
        fields = plain_fields;
    }
    void TearDown() override {
        storage::disarm_fault();
        RanksTest::TearDown();
    }

    std::vector<TestField> fields;

    Outcome run_with(const storage::Fault& fault, const OutputOptions& options) {
        Outcome run;
        storage::arm_fault(fault);
        std::unique_ptr<Output> out;
        run.error = error_of([&] {
            out = std::make_unique<Output>(Output::create(comm, folder + "/run", options));
            for (int step = 0; step < num_steps; ++step) {
                write_step(*out, comm, step, fields);
                ++run.num_accepted;
            }
        });
        run.close_error = error_of([&] {
            if (out) out->close();
        });
        int has_fired = storage::fault_count().has_fired ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &has_fired, 1, MPI_INT, MPI_MAX, comm.handle());
        run.has_fired = has_fired != 0;
        storage::disarm_fault();
        return run;
    }

    void expect_contract(const Outcome& run, int injected, const OutputOptions& options) {
        EXPECT_TRUE(is_same_everywhere(comm, run.error)) << run.error.what();
        EXPECT_TRUE(is_same_everywhere(comm, run.close_error)) << run.close_error.what();
        const bool is_ok = run.error.code() == ErrorCode::ok && run.close_error.code() == ErrorCode::ok;
        EXPECT_TRUE(run.has_fired || is_ok) << run.error.what() << run.close_error.what();
        for (const Error* error : {&run.error, &run.close_error}) {
            // A piece that reads short is a torn piece.
            const ErrorCode expected = injected == 0 ? ErrorCode::io : code_of_errno(injected);
            const bool is_torn = injected == 0 && error->code() == ErrorCode::format;
            EXPECT_TRUE(error->code() == ErrorCode::ok || error->code() == expected || is_torn)
                << to_string(error->code()) << ": " << error->what();
        }
        if (is_rank_0()) {
            std::size_t num_whole = 0;
            for (const std::string& name : names_in(folder)) {
                EXPECT_EQ(name.find(".part"), std::string::npos) << name;
                if (!name.ends_with(".nc")) {
                    // Pieces whose gathering failed stay: their values are nowhere else.
                    EXPECT_TRUE(name.find(".nc.pieces") != std::string::npos &&
                                run.close_error.code() != ErrorCode::ok)
                        << name;
                    continue;
                }
                const int step = std::stoi(name.substr(4, 6));
                EXPECT_TRUE(bytes_of_file(folder + "/" + name) ==
                            reference_file(options, step, fields, comm.size()))
                    << name;
                ++num_whole;
            }
            for (int step = 0; step < run.num_accepted; ++step) {
                const std::string name = "run_00000" + std::to_string(step) + ".nc";
                EXPECT_TRUE(fs::exists(folder + "/" + name) || fs::exists(folder + "/" + name + ".pieces") ||
                            run.is_named(name))
                    << name << " was accepted and is neither there nor named: " << run.error.what() << "; "
                    << run.close_error.what();
            }
            // A fault that nobody reports has done no harm.
            EXPECT_TRUE(!is_ok || num_whole == static_cast<std::size_t>(num_steps)) << num_whole;
            for (const auto& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
        }
        barrier();
    }

    /// Raises n until the operation does not occur n times.
    void fail_each(FileOperation operation, int error, OutputOptions options) {
        options.method = GetParam();
        const bool is_of_gathering = operation == FileOperation::read || operation == FileOperation::remove;
        if (is_of_gathering && options.method != "per-process")
            GTEST_SKIP() << "only pieces are read, and removed";
        int num_fired = 0;
        for (int rank = 0; rank < comm.size(); ++rank) {
            bool fires = true;
            // Every n; past 64 operations every eighth part more.
            for (std::int64_t nth = 1; fires; nth += nth < 64 ? 1 : nth / 8) {
                const storage::Fault fault{
                    .rank = rank, .operation = operation, .nth = nth, .error = error, .path = {}};
                SCOPED_TRACE("rank " + std::to_string(rank) + ", n = " + std::to_string(nth));
                const Outcome run = run_with(fault, options);
                expect_contract(run, error, options);
                fires = run.has_fired;
                num_fired += fires ? 1 : 0;
                if (has_any_rank_failed()) return;
                ASSERT_LT(nth, 10000) << "the operations do not end";
            }
        }
        EXPECT_GT(num_fired, 0) << "no operation of this kind";
    }
};

TEST_P(EveryFault, OfOpen) {
    fail_each(FileOperation::open, EACCES, {});
}
TEST_P(EveryFault, OfWrite) {
    fail_each(FileOperation::write, ENOSPC, {});
}
TEST_P(EveryFault, OfWriteCutShort) {
    fail_each(FileOperation::write, 0, {});
}
TEST_P(EveryFault, OfRead) {
    fail_each(FileOperation::read, EIO, {});
}
TEST_P(EveryFault, OfReadCutShort) {
    fail_each(FileOperation::read, 0, {});
}
TEST_P(EveryFault, OfSetSize) {
    fail_each(FileOperation::set_size, ENOSPC, {});
}
TEST_P(EveryFault, OfSync) {
    fail_each(FileOperation::sync, EIO, {.sync = true});
}
TEST_P(EveryFault, OfClose) {
    fail_each(FileOperation::close, EIO, {});
}
TEST_P(EveryFault, OfRename) {
    fail_each(FileOperation::rename, EACCES, {});
}
TEST_P(EveryFault, OfRemove) {
    fail_each(FileOperation::remove, EIO, {});
}
TEST_P(EveryFault, OfWriteOfCompressedFields) {
    fields = compressed_fields;
    fail_each(FileOperation::write, ENOSPC, {.compression = "deflate"});
}
TEST_P(EveryFault, OfWriteThroughASmallBuffer) {
    fail_each(FileOperation::write, EIO, {.writer_stride = 2, .buffer_bytes = 4096});
}
TEST_P(EveryFault, OfWriteUnhidden) {
    fail_each(FileOperation::write, ENOSPC, {.asynchronous = false});
}
TEST_P(EveryFault, OfCloseUnhidden) {
    fail_each(FileOperation::close, EIO, {.asynchronous = false});
}

INSTANTIATE_TEST_SUITE_P(Output, EveryFault, ::testing::ValuesIn(writing_methods()), name_of_method);

}  // namespace
}  // namespace hakobi::test
