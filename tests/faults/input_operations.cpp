// hakobi_input and hakobi_gather_pieces: each call on series that were written in several ways.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "operations.hpp"

namespace hakobi::test {
namespace {

namespace fs = std::filesystem;

constexpr int num_kept_steps = 2;

/// A series that was opened, or not yet.
class Reader {
  public:
    Reader(World& world, const Way& way, std::string prefix, bool is_alone)
        : world_(world), way_(way), prefix_(std::move(prefix)), is_alone_(is_alone) {}
    ~Reader() {
        hakobi_mesh_part_free(&part_);
        hakobi_input_free(in_);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    int open() {
        return is_alone_ ? hakobi_input_open_alone(prefix_.c_str(), &in_)
                         : hakobi_input_open(world_.comm, prefix_.c_str(), nullptr, &in_);
    }
    [[nodiscard]] bool is_open() const { return in_ != nullptr; }
    int close() { return in_ != nullptr ? hakobi_input_close(in_) : HAKOBI_OK; }

    /// This rank's rows of the last step, or its cells.
    int read(bool is_independent) {
        auto read = HAKOBI_INIT(hakobi_field_read);
        read.name = "u";
        read.step = -1;
        read.type = HAKOBI_FLOAT64;
        if (way_.has_mesh) {
            read.block = {1, {world_.size}, {world_.rank}, {1}};
        } else {
            const std::int64_t global[] = {series_extent, series_extent};
            (void)hakobi_split(2, global, world_.size, world_.size - 1 - world_.rank, &read.block);
        }
        block_ = read.block;
        const std::int64_t width = way_.has_mesh ? 1 : block_.count[1];
        {
            const OwnMemory own;
            values_.assign(static_cast<std::size_t>(block_.count[0] * width), -1);
        }
        read.data = values_.data();
        read.num_values = std::ssize(values_);
        return is_independent ? hakobi_input_read_independent(in_, &read) : hakobi_input_read(in_, &read);
    }
    [[nodiscard]] std::string wrong_values() const {
        const double time = num_kept_steps - 1;
        for (std::int64_t i = 0; i < std::ssize(values_); ++i) {
            const std::int64_t element = way_.has_mesh
                                             ? block_.start[0] + i
                                             : (block_.start[0] + i / block_.count[1]) * series_extent +
                                                   block_.start[1] + i % block_.count[1];
            if (values_[static_cast<std::size_t>(i)] != series_value(time, element))
                return "a value that was read is wrong";
        }
        return "";
    }
    int read_mesh() { return hakobi_input_read_mesh(in_, -1, &part_); }
    [[nodiscard]] std::string wrong_mesh() const {
        if (part_.num_cells != 1 || part_.num_points != 4 || part_.points[0] != world_.rank)
            return "the mesh that was read is another";
        return "";
    }
    /// The local calls that describe the series.
    int describe() {
        auto field = HAKOBI_INIT(hakobi_input_field);
        auto axis = HAKOBI_INIT(hakobi_axis);
        auto attribute = HAKOBI_INIT(hakobi_attribute);
        int code = hakobi_input_get_field(in_, -1, "u", &field);
        if (code == HAKOBI_OK && (field.num_dims != (way_.has_mesh ? 1 : 2) || field.type != HAKOBI_FLOAT64))
            code = HAKOBI_INTERNAL;
        for (int i = 0; code == HAKOBI_OK; ++i) code = hakobi_input_get_axis(in_, -1, i, &axis);
        if (code != HAKOBI_NOT_FOUND) return code;
        auto mesh = HAKOBI_INIT(hakobi_input_mesh);
        code = way_.has_mesh ? hakobi_input_get_mesh(in_, -1, &mesh) : HAKOBI_OK;
        for (int i = 0; code == HAKOBI_OK; ++i)
            code = hakobi_input_get_attribute(in_, -1, "u", i, &attribute);
        return code == HAKOBI_NOT_FOUND ? HAKOBI_OK : code;
    }
    int explain() { return hakobi_input_explain(in_, -1, "u") != nullptr ? HAKOBI_OK : HAKOBI_OUT_OF_MEMORY; }

  private:
    World& world_;
    const Way& way_;
    std::string prefix_;
    bool is_alone_;
    hakobi_input* in_ = nullptr;
    hakobi_block block_{};
    std::vector<double> values_;
    hakobi_mesh_part part_ = HAKOBI_INIT(hakobi_mesh_part);
};

/// A call on a reader, and what is wrong after it.
struct ReadingCall {
    std::string name;
    std::function<int(Reader&)> run;
    std::function<std::string(Reader&)> wrong = [](Reader&) { return std::string(); };
    bool needs_open = true, is_collective = true, is_alone = false;
};

std::string series_at(const World& world, const Way& way) {
    return world.kept + "/" + way.name + std::to_string(world.size) + "/run";
}

/// After an error `in` stays usable: the call works again.
std::string end_reading(const World& world, Reader& reader, const ReadingCall& call, int code) {
    std::string wrong;
    const auto note = [&](const std::string& text) { wrong += text.empty() ? "" : text + "; "; };
    if (!call.needs_open && reader.is_open() != (code == HAKOBI_OK)) note("*in does not say how open ended");
    if (!reader.is_open()) {
        if (code != HAKOBI_OK) note(error_of("opening again", reader.open()));
        if (!reader.is_open()) return wrong;
    }
    if (call.name != "close") {
        if (code != HAKOBI_OK && call.needs_open) note(error_of("the call again", call.run(reader)));
        note(call.wrong(reader));
        note(error_of("read", reader.read(false)));
        note(reader.wrong_values());
    }
    note(error_of("close", reader.close()));
    world.barrier();
    return wrong;
}

Operation operation_of(const Way& way, const ReadingCall& call) {
    return {.name = "input_" + call.name + "_" + way.name,
            .begin =
                [&way, call](World& world) {
                    const std::string prefix = series_at(world, way);
                    std::string failed;
                    int is_there = world.rank == 0 && fs::exists(prefix + ".done") ? 1 : 0;
                    if (is_there = world.of_rank_0(is_there); is_there == 0) {
                        if (world.rank == 0) fs::create_directories(fs::path(prefix).parent_path());
                        world.barrier();
                        failed = write_series(world, way, prefix, num_kept_steps);
                        if (world.rank == 0) fs::create_directory(prefix + ".done");
                    }
                    const auto reader = std::make_shared<Reader>(world, way, prefix, call.is_alone);
                    if (failed.empty() && call.needs_open) failed = error_of("open", reader->open());
                    return Trial{[reader, call] { return call.run(*reader); },
                                 [reader, call, failed, &world](int code, bool /*has_failed*/) {
                                     return failed + end_reading(world, *reader, call, code);
                                 }};
                },
            .is_collective = call.is_collective,
            .is_local = call.is_alone,
            .is_between_nodes = way.is_between_nodes,
            .needed_by_others =
                way.is_between_nodes ? std::vector{SystemCall::buffer} : std::vector<SystemCall>(),
            .reads_json = way.format == "zarr"};
}

/// Pieces are gathered by rank 0; it has copies of some that a run has kept.
Operation gathering(const Way& way) {
    const auto begin = [&way](World& world) {
        const std::string kept = world.kept + "/kept" + std::to_string(world.size);
        std::string failed;
        int is_there = world.rank == 0 && fs::exists(kept) ? 1 : 0;
        if (is_there = world.of_rank_0(is_there); is_there == 0) {
            if (world.rank == 0) fs::create_directories(kept);
            world.barrier();
            failed = write_series(world, way, kept + "/run", num_kept_steps, true);
        }
        world.barrier();
        if (world.rank == 0)
            fs::copy(kept, world.trial, fs::copy_options::recursive | fs::copy_options::skip_existing);
        const auto run = [&world] {
            return world.rank == 0 ? hakobi_gather_pieces(world.trial.c_str(), nullptr) : HAKOBI_OK;
        };
        const auto finish = [&world, &way, failed](int /*code*/, bool has_failed) {
            if (world.rank != 0) return failed;
            std::string wrong = failed;
            hakobi_gather_result* result = nullptr;
            // Now it is gathered; a folder that could not be was named, and nothing of it is lost.
            if (has_failed)
                wrong += error_of("gather again", hakobi_gather_pieces(world.trial.c_str(), &result));
            if (const char* left = hakobi_gather_result_incomplete(result, 0); left != nullptr) wrong += left;
            hakobi_gather_result_free(result);
            std::vector<double> times;
            wrong += look_at_series(world, way, world.trial + "/run", times);
            return std::ssize(times) == num_kept_steps
                       ? wrong
                       : wrong + std::to_string(times.size()) + " steps are there";
        };
        return Trial{run, finish};
    };
    return {.name = "gather_pieces", .begin = begin, .is_collective = false};
}

}  // namespace

std::vector<Operation> input_operations() {
    static std::vector<Way> ways = ways_to_write();
    const auto open = [](Reader& reader) { return reader.open(); };
    const auto wrong_values = [](Reader& reader) { return reader.wrong_values(); };
    const std::vector<ReadingCall> calls = {
        {.name = "open", .run = open, .needs_open = false},
        {.name = "open_alone", .run = open, .needs_open = false, .is_collective = false, .is_alone = true},
        {.name = "describe",
         .run = [](Reader& reader) { return reader.describe(); },
         .is_collective = false,
         .is_alone = true},
        {.name = "explain",
         .run = [](Reader& reader) { return reader.explain(); },
         .is_collective = false,
         .is_alone = true},
        {.name = "read", .run = [](Reader& reader) { return reader.read(false); }, .wrong = wrong_values},
        {.name = "read_independent",
         .run = [](Reader& reader) { return reader.read(true); },
         .wrong = wrong_values,
         .is_collective = false},
        {.name = "read_mesh",
         .run = [](Reader& reader) { return reader.read_mesh(); },
         .wrong = [](Reader& reader) { return reader.wrong_mesh(); }},
        {.name = "close", .run = [](Reader& reader) { return reader.close(); }}};
    std::vector<Operation> operations;
    for (const Way& way : ways) {
        if (way.is_hidden || way.name == "staged" || way.name == "library")
            continue;  // their files are the others'
        for (const ReadingCall& call : calls)
            if (call.name == "read_mesh" ? way.has_mesh : !(call.is_alone && way.is_between_nodes))
                operations.push_back(operation_of(way, call));
        if (way.name == "pieces") operations.push_back(gathering(way));
    }
    return operations;
}

}  // namespace hakobi::test
