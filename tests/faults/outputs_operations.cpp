// hakobi_outputs: each collective call of a run of two outputs, which goes on from a checkpoint where one is
// there.
#include <algorithm>
#include <memory>

#include "operations.hpp"

namespace hakobi::test {
namespace {

enum class OutputsAt { create, add, end_step, checkpoint, close };
constexpr OutputsAt outputs_calls[] = {OutputsAt::create, OutputsAt::add, OutputsAt::end_step,
                                       OutputsAt::checkpoint, OutputsAt::close};
const std::map<OutputsAt, std::string> outputs_call_names = {{OutputsAt::create, "create"},
                                                             {OutputsAt::add, "add"},
                                                             {OutputsAt::end_step, "end_step"},
                                                             {OutputsAt::checkpoint, "checkpoint"},
                                                             {OutputsAt::close, "close"}};

class OutputsTrial {
  public:
    OutputsTrial(World& world, OutputsAt at) : world_(world), at_(at) {
        const std::int64_t global[] = {series_extent, series_extent};
        (void)hakobi_split(2, global, world.size, world.rank, &block_);
        values_.resize(static_cast<std::size_t>(block_.count[0] * block_.count[1]));
        for (const OutputsAt each : outputs_calls) {
            if (each == at) break;
            expect_ok(each);
        }
    }
    ~OutputsTrial() { hakobi_outputs_free(outs_); }
    OutputsTrial(const OutputsTrial&) = delete;
    OutputsTrial& operator=(const OutputsTrial&) = delete;

    int run() { return call(at_); }
    std::string finish(int code, bool has_failed) {
        const bool has_erred = has_erred_anywhere(code);
        if (at_ == OutputsAt::create && (code == HAKOBI_OK) != (outs_ != nullptr))
            add("*outs does not say how create ended");
        if (outs_ != nullptr) has_erred ? end() : go_on(has_failed);
        world_.barrier();
        if (world_.rank == 0) look();
        return wrong_;
    }

  private:
    int call(OutputsAt at) {
        switch (at) {
            case OutputsAt::create:
                return create();
            case OutputsAt::add:
                return add_outputs();
            case OutputsAt::end_step:
                return step();
            case OutputsAt::checkpoint:
                return hakobi_outputs_checkpoint(outs_);
            case OutputsAt::close:
                return hakobi_outputs_close(outs_);
        }
        return HAKOBI_OK;
    }
    int create() {
        auto options = HAKOBI_INIT(hakobi_outputs_options);
        options.if_exists = HAKOBI_IF_EXISTS_RESUME;
        return hakobi_outputs_create(world_.comm, (world_.trial + "/state").c_str(), &options, &outs_);
    }
    int add_outputs() {
        auto definition = HAKOBI_INIT(hakobi_field_definition);
        definition.name = "u";
        definition.global = block_.global;
        definition.num_dims = 2;
        int is_resumed = 0;
        int code = hakobi_outputs_resume_time(outs_, &is_resumed, &time_);
        time_ = is_resumed != 0 ? time_ + 1 : 0;
        if (code == HAKOBI_OK) code = hakobi_outputs_define(outs_, &definition, &field_);
        if (code != HAKOBI_OK) return code;
        auto options = HAKOBI_INIT(hakobi_output_options);
        options.method = "pipelined";
        options.asynchronous = HAKOBI_NO;
        auto each = HAKOBI_INIT(hakobi_derived_field), mean = each;
        each.of = mean.of = "u";
        mean.cell_method = "mean";
        const std::string raw = world_.trial + "/raw", two = world_.trial + "/two";
        code = hakobi_outputs_add(outs_, raw.c_str(), &options, nullptr, &each, 1);
        return code != HAKOBI_OK ? code : hakobi_outputs_add(outs_, two.c_str(), &options, "2", &mean, 1);
    }
    int step() {
        int code = hakobi_outputs_begin_step(outs_, time_);
        if (code != HAKOBI_OK) return code;
        for (std::int64_t y = 0, i = 0; y < block_.count[0]; ++y)
            for (std::int64_t x = 0; x < block_.count[1]; ++x, ++i)
                values_[static_cast<std::size_t>(i)] =
                    series_value(time_, (block_.start[0] + y) * series_extent + block_.start[1] + x);
        code = hakobi_outputs_put(outs_, field_, &block_, values_.data(), nullptr);
        const int ended = hakobi_outputs_end_step(outs_);
        if (ended == HAKOBI_OK) stored_.push_back(time_);
        time_ += 1;
        return ended != HAKOBI_OK ? ended : code;
    }

    void add(const std::string& what) { wrong_ += what + "; "; }
    /// Whether a rank has an error. Collective.
    [[nodiscard]] bool has_erred_anywhere(int code) const {
        int any = code != HAKOBI_OK ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        return any != 0;
    }
    void expect_ok(OutputsAt at) {
        if (const int code = call(at); code != HAKOBI_OK)
            add(error_of(outputs_call_names.at(at).c_str(), code));
    }
    void end() {
        if (!world_.is_same(hakobi_outputs_close(outs_))) add("close has several codes");
        if (hakobi_outputs_close(outs_) != HAKOBI_OK) add("a second close does something");
    }
    void go_on(bool has_failed) {
        const auto* const here = std::ranges::find(outputs_calls, at_);
        for (const auto* at = here + 1; at != std::end(outputs_calls); ++at) {
            const int code = call(*at);
            if (!world_.is_same(code)) add(outputs_call_names.at(*at) + " has several codes");
            if (code == HAKOBI_OK) continue;
            if (!has_failed) add(error_of(outputs_call_names.at(*at).c_str(), code));
            return end();
        }
    }
    /// The steps that end_step has accepted are there.
    void look() {
        std::vector<double> times;
        const Way way{.name = "raw", .method = "pipelined", .format = "netcdf4"};
        const std::string looked = look_at_series(world_, way, world_.trial + "/raw", times);
        if (!looked.empty()) add(looked);
        for (const double time : stored_)
            if (std::ranges::find(times, time) == times.end())
                add("the step of time " + std::to_string(time) + " is lost");
    }

    World& world_;
    OutputsAt at_;
    hakobi_outputs* outs_ = nullptr;
    hakobi_block block_{};
    std::int64_t field_ = 0;
    double time_ = 0;
    std::vector<double> values_, stored_;
    std::string wrong_;
};

/// The same of hakobi_output_flush, between two hidden steps.
Trial flushing(World& world) {
    const auto out = std::shared_ptr<hakobi_output*>(new hakobi_output*(nullptr), [](hakobi_output** made) {
        hakobi_output_free(*made);
        delete made;
    });
    auto options = HAKOBI_INIT(hakobi_output_options);
    options.method = "pipelined";
    options.asynchronous = HAKOBI_YES;
    options.if_exists = HAKOBI_IF_EXISTS_REPLACE;
    std::string failed = error_of(
        "create", hakobi_output_create(world.comm, (world.trial + "/run").c_str(), &options, out.get()));
    static const double value = series_value(0, 0);
    auto field = HAKOBI_INIT(hakobi_field);
    field.name = "u";
    field.type = HAKOBI_FLOAT64;
    field.data = &value;
    field.num_values = 1;
    failed += error_of("begin_step", hakobi_output_begin_step(*out, 0));
    failed += error_of("put", hakobi_output_put(*out, &field));
    failed += error_of("end_step", hakobi_output_end_step(*out));
    return {[out] { return hakobi_output_flush(*out); },
            [out, failed, &world](int /*code*/, bool has_failed) {
                std::string wrong = failed;
                const int closed = hakobi_output_close(*out);
                if (!world.is_same(closed)) wrong += "close has several codes; ";
                if (!has_failed) wrong += error_of("close", closed);
                return wrong;
            }};
}

}  // namespace

std::vector<Operation> outputs_operations() {
    std::vector<Operation> operations = {{.name = "output_flush", .begin = flushing}};
    for (const auto& [at, name] : outputs_call_names) {
        operations.push_back(
            {.name = "outputs_" + name, .begin = [at = at](World& world) {
                 const auto trial = std::make_shared<OutputsTrial>(world, at);
                 return Trial{[trial] { return trial->run(); },
                              [trial](int code, bool has_failed) { return trial->finish(code, has_failed); }};
             }});
    }
    return operations;
}

}  // namespace hakobi::test
