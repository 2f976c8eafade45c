// hakobi_output: each call of a run of two steps, for ways to write that share little.
#include <algorithm>
#include <memory>

#include "operations.hpp"

namespace hakobi::test {
namespace {

enum class At { create, resume, define, put, end_step, next_step, close };
constexpr At calls_in_order[] = {At::create, At::define, At::put, At::end_step, At::next_step, At::close};
const std::map<At, std::string> call_names = {
    {At::create, "create"},     {At::resume, "resume"},       {At::define, "define"}, {At::put, "put"},
    {At::end_step, "end_step"}, {At::next_step, "next_step"}, {At::close, "close"}};

/// A run of two steps that is opened anew wherever one is there.
class OutputRun {
  public:
    OutputRun(World& world, const Way& way, std::string prefix)
        : world_(world), way_(way), prefix_(std::move(prefix)) {
        const std::int64_t global[] = {series_extent, series_extent};
        (void)hakobi_split(2, global, world.size, world.rank, &block_);
        values_.resize(static_cast<std::size_t>(block_.count[0] * block_.count[1]));
    }
    ~OutputRun() { hakobi_output_free(out_); }
    OutputRun(const OutputRun&) = delete;
    OutputRun& operator=(const OutputRun&) = delete;

    bool keeps_pieces = false;

    int call(At at) {
        switch (at) {
            case At::create:
            case At::resume:
                return create();
            case At::define:
                return way_.has_mesh ? HAKOBI_OK : define();
            case At::put:
                return put(world_.next_time);
            case At::end_step:
                return end_step();
            case At::next_step: {
                const int code = put(world_.next_time);
                const int ended = end_step();
                return ended != HAKOBI_OK ? ended : code;
            }
            case At::close:
                return close();
        }
        return HAKOBI_OK;
    }
    int put(double time) {
        int code = hakobi_output_begin_step(out_, time);
        if (code != HAKOBI_OK) return code;
        is_open_ = true;
        if (way_.has_mesh) {
            if (code = put_mesh(); code != HAKOBI_OK) return code;
            return put_cells(time);
        }
        for (std::int64_t y = 0, i = 0; y < block_.count[0]; ++y)
            for (std::int64_t x = 0; x < block_.count[1]; ++x, ++i)
                values_[static_cast<std::size_t>(i)] =
                    series_value(time, (block_.start[0] + y) * series_extent + block_.start[1] + x);
        return hakobi_output_put_values(out_, field_, &block_, values_.data(), nullptr);
    }
    int end_step() {
        is_open_ = false;
        const int code = hakobi_output_end_step(out_);
        (code == HAKOBI_OK ? accepted_ : world_.perhaps).push_back(world_.next_time);
        world_.next_time += 1;
        return code;
    }
    int close() {
        const int code = hakobi_output_close(out_);
        std::vector<double>& into = code == HAKOBI_OK && !has_erred_ ? world_.stored : world_.perhaps;
        into.insert(into.end(), accepted_.begin(), accepted_.end());
        accepted_.clear();
        return code;
    }
    [[nodiscard]] bool is_made() const { return out_ != nullptr; }
    [[nodiscard]] bool is_step_open() const { return is_open_; }
    /// An error has named what it has lost.
    void note_error() { has_erred_ = true; }

  private:
    int create() {
        auto options = HAKOBI_INIT(hakobi_output_options);
        options.if_exists = HAKOBI_IF_EXISTS_RESUME;
        options.method = way_.method.c_str();
        options.format = way_.format.c_str();
        options.asynchronous = way_.is_hidden ? HAKOBI_YES : HAKOBI_NO;
        options.buffer_bytes = 1 << 20;
        options.keep_pieces = keeps_pieces ? HAKOBI_YES : 0;
        if (way_.set) way_.set(options, world_);
        return hakobi_output_create(world_.comm, prefix_.c_str(), &options, &out_);
    }
    int define() {
        auto definition = HAKOBI_INIT(hakobi_field_definition);
        definition.name = "u";
        definition.units = "m";
        definition.global = block_.global;
        definition.num_dims = 2;
        return hakobi_output_define(out_, &definition, &field_);
    }
    /// A tetrahedron a rank.
    int put_mesh() {
        static const std::uint8_t type = 10;
        static const std::int64_t offsets[] = {0, 4}, ids[] = {0, 1, 2, 3};
        if (has_mesh_) return HAKOBI_OK;
        points_ = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
        for (std::size_t i = 0; i < points_.size(); i += 3) points_[i] += world_.rank;
        auto mesh = HAKOBI_INIT(hakobi_mesh);
        mesh.points_type = HAKOBI_FLOAT64;
        mesh.num_points = 4;
        mesh.points = points_.data();
        mesh.num_cells = 1;
        mesh.types = &type;
        mesh.offsets_type = mesh.connectivity_type = HAKOBI_INT64;
        mesh.offsets = offsets;
        mesh.connectivity = ids;
        const int code = hakobi_output_put_mesh(out_, &mesh);
        has_mesh_ = code == HAKOBI_OK;
        return code;
    }
    int put_cells(double time) {
        values_.assign(1, series_value(time, world_.rank));
        auto field = HAKOBI_INIT(hakobi_field);
        field.name = "u";
        field.type = HAKOBI_FLOAT64;
        field.on = HAKOBI_ON_CELLS;
        field.data = values_.data();
        return hakobi_output_put(out_, &field);
    }

    World& world_;
    const Way& way_;
    std::string prefix_;
    hakobi_block block_{};
    hakobi_output* out_ = nullptr;
    std::int64_t field_ = 0;
    std::vector<double> values_, points_;
    std::vector<double> accepted_;
    bool is_open_ = false, has_mesh_ = false, has_erred_ = false;
};

/// After the call that may have failed: the rest of the run, of which each collective call has one code on
/// all ranks, and none fails unless something has.
class OutputTrial {
  public:
    OutputTrial(World& world, const Way& way, At at)
        : world_(world), way_(way), at_(at), out_(world, way, world.trial + "/run") {
        if (at == At::resume) {
            wrong_ = write_series(world, way, world.trial + "/run", world.next_time == 0 ? 2 : 0);
            for (; world.next_time < 2; world.next_time += 1) world.stored.push_back(world.next_time);
            return;
        }
        for (const At each : calls_in_order) {
            if (each == at) break;
            expect_ok(each);
        }
    }
    int run() { return out_.call(at_); }
    std::string finish(int code, bool has_failed) {
        has_failed_ = has_failed;
        const bool has_erred = has_erred_anywhere(code);
        if (at_ == At::create || at_ == At::resume) {
            if ((code == HAKOBI_OK) != out_.is_made()) add("*out does not say how create ended");
        }
        if (out_.is_made()) has_erred ? end_after_error() : go_on();
        world_.barrier();
        if (world_.rank == 0) look();
        return wrong_;
    }

  private:
    void add(const std::string& what) { wrong_ += what + "; "; }
    /// Whether a rank has an error. Collective.
    [[nodiscard]] bool has_erred_anywhere(int code) {
        int any = code != HAKOBI_OK ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (any != 0) out_.note_error();
        return any != 0;
    }
    void expect_ok(At at) {
        const int code = out_.call(at);
        if (code != HAKOBI_OK) add(error_of(call_names.at(at).c_str(), code));
    }
    void end_after_error() {
        if (at_ == At::define) {
            // The output is as it was.
            if (has_erred_anywhere(out_.call(At::define))) add(error_of("define again", HAKOBI_IO));
            for (const At at : {At::put, At::end_step}) expect_ok(at);
        } else if (at_ == At::put) {
            const int code = out_.is_step_open() || world_.size > 1 ? out_.end_step() : HAKOBI_IO;
            if (!world_.is_same(code)) add("end_step has several codes");
            if (code == HAKOBI_OK) add("a put failed, and end_step says nothing");
        } else if (at_ != At::close && hakobi_output_begin_step_fails()) {
            add("begin_step works after an error");
        }
        const int closed = out_.close();
        if (!world_.is_same(closed)) add("close has several codes");
        if (out_.close() != HAKOBI_OK) add("a second close does something");
    }
    /// The object has failed: calls say so and do not communicate.
    bool hakobi_output_begin_step_fails() {
        return world_.rank == 0 && out_.put(world_.next_time) == HAKOBI_OK;
    }
    void go_on() {
        bool is_behind = at_ == At::resume;
        if (is_behind) at_ = At::create;
        for (const At at : calls_in_order) {
            is_behind = is_behind && at != at_;
            if (at == at_) {
                is_behind = true;
                continue;
            }
            if (!is_behind) continue;
            const int code = out_.call(at);
            // The error may be a hidden step's, or of a name that was not given yet.
            const bool has_erred = has_erred_anywhere(code);
            if (has_erred && !has_failed_) add(error_of(call_names.at(at).c_str(), code));
            if (at != At::put && !world_.is_same(code)) add(call_names.at(at) + " has several codes");
            if (!has_erred) continue;
            if (at == At::put) (void)out_.end_step();
            if (!world_.is_same(out_.close())) add("close has several codes");
            return;
        }
    }
    void look() {
        std::vector<double> times;
        const std::string looked = look_at_series(world_, way_, world_.trial + "/run", times);
        if (!looked.empty()) add(looked);
        for (const double time : world_.stored)
            if (std::ranges::find(times, time) == times.end())
                add("the step of time " + std::to_string(time) + " is lost");
        for (const double time : times)
            if (std::ranges::find(world_.stored, time) == world_.stored.end() &&
                std::ranges::find(world_.perhaps, time) == world_.perhaps.end())
                add("nobody wrote the step of time " + std::to_string(time));
    }

    World& world_;
    const Way& way_;
    At at_;
    OutputRun out_;
    std::string wrong_;
    bool has_failed_ = false;
};

std::string look_at_step(const World& world, const Way& way, hakobi_input* in, std::int64_t step,
                         double time) {
    const std::int64_t num = way.has_mesh ? world.size : series_extent * series_extent;
    std::vector<double> values(static_cast<std::size_t>(num));
    auto read = HAKOBI_INIT(hakobi_field_read);
    read.name = "u";
    read.step = step;
    read.type = HAKOBI_FLOAT64;
    read.data = values.data();
    read.num_values = num;
    if (const int code = hakobi_input_read_independent(in, &read); code != HAKOBI_OK)
        return error_of("read_independent", code);
    for (std::int64_t i = 0; i < num; ++i)
        if (values[static_cast<std::size_t>(i)] != series_value(time, i))
            return "step " + std::to_string(step) + " has wrong values";
    return "";
}

}  // namespace

bool World::is_same(int code) const {
    int ends[] = {code, -code};
    MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return ends[0] == -ends[1];
}
int World::of_rank_0(int code) const {
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return code;
}
void World::barrier() const {
    MPI_Barrier(MPI_COMM_WORLD);
}

std::string error_of(const char* call, int code) {
    return code == HAKOBI_OK
               ? ""
               : std::string(call) + ": " + hakobi_error_name(code) + ": " + hakobi_error_text();
}

std::vector<Way> ways_to_write() {
    return {
        {"pipelined", "pipelined", "netcdf4", [](auto& options, const World&) { options.sync = HAKOBI_YES; }},
        {.name = "hidden", .method = "pipelined", .format = "netcdf4", .is_hidden = true},
        {"pieces", "per-process", "netcdf4"},
        {"library", "parallel", "netcdf4", [](auto& options, const World&) { options.sync = HAKOBI_YES; }},
        {"compressed", "root", "netcdf4",
         [](auto& options, const World&) { options.compression = "zstd:1"; }},
        {"in_one_file", "pipelined", "netcdf4",
         [](auto& options, const World&) { options.steps_per_file = HAKOBI_ALL_STEPS; }},
        {.name = "between_nodes", .method = "pipelined", .format = "netcdf4", .is_between_nodes = true},
        {"zarr", "pipelined", "zarr", [](auto& options, const World&) { options.sync = HAKOBI_YES; }},
        {.name = "mesh", .method = "pipelined", .format = "vtkhdf", .has_mesh = true},
        {"staged", "pipelined", "netcdf4", [](auto& options, const World& world) {
             static std::string stage;
             stage = world.trial + "/stage";
             options.stage = stage.c_str();
             options.stage_patience_s = 1;
         }}};
}

std::string write_series(const World& world, const Way& way, const std::string& prefix, int num,
                         bool keeps_pieces) {
    World own = world;
    own.next_time = 0;
    OutputRun out(own, way, prefix);
    out.keeps_pieces = keeps_pieces;
    if (num == 0) return "";
    for (const At at : {At::create, At::define})
        if (const int code = out.call(at); code != HAKOBI_OK) return error_of("writing", code);
    for (int step = 0; step < num; ++step)
        if (const int code = out.call(At::next_step); code != HAKOBI_OK) return error_of("writing", code);
    return error_of("writing", out.call(At::close));
}

std::string look_at_series(const World& world, const Way& way, const std::string& prefix,
                           std::vector<double>& times) {
    hakobi_input* in = nullptr;
    const int opened = hakobi_input_open_alone(prefix.c_str(), &in);
    if (opened == HAKOBI_NOT_FOUND) return "";
    if (opened != HAKOBI_OK) return error_of("open_alone", opened);
    std::string wrong;
    for (std::int64_t i = 0; i < hakobi_input_num_steps(in); ++i) {
        times.push_back(hakobi_input_times(in)[i]);
        wrong += look_at_step(world, way, in, hakobi_input_steps(in)[i], times.back());
    }
    wrong += error_of("close", hakobi_input_close(in));
    hakobi_input_free(in);
    return wrong;
}

/// OMPIO's MPI_File_open waits for ranks that cannot open the file.
static std::vector<SystemCall> needs_of(const Way& way) {
    if (way.is_between_nodes) return {SystemCall::buffer};
    if (way.method == "parallel") return {SystemCall::open};
    return {};
}

std::vector<Operation> output_operations() {
    static const std::vector<Way> ways = ways_to_write();
    std::vector<Operation> operations;
    for (const Way& way : ways) {
        for (const auto& [at, name] : call_names) {
            if (at == At::define && way.has_mesh) continue;
            operations.push_back({.name = "output_" + name + "_" + way.name,
                                  .begin =
                                      [&way, at = at](World& world) {
                                          const auto trial = std::make_shared<OutputTrial>(world, way, at);
                                          return Trial{[trial] { return trial->run(); },
                                                       [trial](int code, bool has_failed) {
                                                           return trial->finish(code, has_failed);
                                                       }};
                                      },
                                  .is_collective = at != At::put,
                                  .is_between_nodes = way.is_between_nodes,
                                  .most_ranks = way.method == "parallel" ? 2 : Operation().most_ranks,
                                  .needed_by_others = needs_of(way)});
        }
    }
    return operations;
}

}  // namespace hakobi::test
