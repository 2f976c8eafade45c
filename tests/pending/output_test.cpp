// Messages pending across hakobi::Output's calls.
#include <unistd.h>

#include <filesystem>
#include <hakobi/hakobi.hpp>
#include <optional>

#include "pending/across.hpp"

namespace hakobi::pending {
namespace {

namespace fs = std::filesystem;

struct Kind {
    const char* method;
    bool is_asynchronous = false;
};
constexpr Kind kinds[] = {{"none"},       {"per-process"},    {"per-process", true}, {"root"},
                          {"root", true}, {"parallel"},       {"writers"},           {"writers", true},
                          {"pipelined"},  {"pipelined", true}};

/// One output with an open step, and where its files go.
class Steps {
  public:
    explicit Steps(const Kind& kind) : kind_(kind), comm_(Comm::duplicate(MPI_COMM_WORLD)) {
        int pid = getpid();
        MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
        const fs::path parent = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
        folder_ = parent / ("hakobi-pending-" + std::to_string(pid));
    }
    ~Steps() {
        comm_.free();
        if (is_first()) fs::remove_all(folder_);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;
    void create() {
        OutputOptions options;
        options.method = kind_.method;
        options.asynchronous = kind_.is_asynchronous;
        options.writer_stride = 2;
        out_.emplace(Output::create(comm_, (folder_ / "run").string(), options));
    }
    void begin() {
        const std::vector<std::int64_t> global{num_rows, num_columns};
        block_ = split(global, comm_.size(), comm_.rank());
        values_.assign(static_cast<std::size_t>(block_.num_elements()), 1.0 + comm_.rank());
        out_->begin_step(time_ += 1);
        out_->put({.name = "eta", .units = "m", .block = block_, .data = values_});
    }
    void define() { static_cast<void>(out_->define({.name = "u" + std::to_string(num_defined_++)})); }
    void end() { out_->end_step(); }
    void close() { out_->close(); }
    void remove() {
        out_.reset();
        MPI_Barrier(MPI_COMM_WORLD);
        if (is_first()) fs::remove_all(folder_);
        MPI_Barrier(MPI_COMM_WORLD);
    }

  private:
    static constexpr std::int64_t num_rows = 96, num_columns = 1024;
    [[nodiscard]] static bool is_first() {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return rank == 0;
    }
    Kind kind_;
    Comm comm_;
    fs::path folder_;
    std::optional<Output> out_;
    Block block_;
    std::vector<double> values_;
    double time_ = 0;
    int num_defined_ = 0;
};

class StepsCall : public Call {
  public:
    explicit StepsCall(const Kind& kind) : steps(kind) {}
    void finish() override { steps.remove(); }
    Steps steps;
};

class Create final : public StepsCall {
  public:
    using StepsCall::StepsCall;
    void run() override { steps.create(); }
    void finish() override {
        steps.close();
        StepsCall::finish();
    }
};

// While the step before it may be on its way.
class Define final : public StepsCall {
  public:
    using StepsCall::StepsCall;
    void prepare() override {
        steps.create();
        steps.begin();
        steps.end();
    }
    void run() override { steps.define(); }
    void finish() override {
        steps.close();
        StepsCall::finish();
    }
};

// The second of two steps: where the first is drained in the background, this one waits for it.
class EndStep final : public StepsCall {
  public:
    using StepsCall::StepsCall;
    void prepare() override {
        steps.create();
        steps.begin();
        steps.end();
        steps.begin();
    }
    void run() override { steps.end(); }
    void finish() override {
        steps.close();
        StepsCall::finish();
    }
};

class Close final : public StepsCall {
  public:
    using StepsCall::StepsCall;
    void prepare() override {
        steps.create();
        steps.begin();
        steps.end();
    }
    void run() override { steps.close(); }
};

std::vector<Row> rows() {
    std::vector<Row> all;
    for (const Kind& kind : kinds) {
        std::string name = kind.method;
        std::replace(name.begin(), name.end(), '-', '_');
        if (kind.is_asynchronous) name += "_asynchronous";
        all.push_back({name + "_create", [=] { return std::make_unique<Create>(kind); }});
        all.push_back({name + "_define", [=] { return std::make_unique<Define>(kind); }});
        all.push_back({name + "_end_step", [=] { return std::make_unique<EndStep>(kind); }});
        all.push_back({name + "_close", [=] { return std::make_unique<Close>(kind); }});
    }
    return all;
}

class OutputCalls : public testing::TestWithParam<Row> {};

TEST_P(OutputCalls, MovePendingMessages) {
    make_across_messages(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Calls, OutputCalls, testing::ValuesIn(rows()), name_of_row);

}  // namespace
}  // namespace hakobi::pending
