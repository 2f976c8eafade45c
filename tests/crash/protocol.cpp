#include "protocol.hpp"

#include <cstring>
#include <optional>

#include "bucket.hpp"
#include "recorder.hpp"
#include "series/names.hpp"
#include "series/stage.hpp"
#include "storage/lock_file.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

const TestField eta{"eta", ValueType::float64, {5, 3}, even_blocks};
const TestField u{"u", ValueType::float32, {2, 5, 3}, backward_columns};
const TestField mask{"mask", ValueType::int32, {5, 3}, even_blocks};
const TestField compressed_eta{"eta", ValueType::float64, {64, 32}, even_blocks};  // 16 KiB, of which on
const TestField large_eta{"eta", ValueType::float64, {2200, 1000}, even_blocks};   // of one part and a bit

bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string read_grid(Input& in, const Protocol& protocol, std::int64_t step) {
    const std::vector<TestField>& fields = protocol.fields();
    if (in.fields(step).size() != fields.size()) return "it has other fields; ";
    std::string wrong;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const TestField& field = fields[f];
        // Without holes it is the same of any ranks.
        const std::vector<std::byte> right = reference_array(f, field, protocol.is_static(f) ? 0 : step, 1);
        visit(field.type, [&]<class T>(T) {
            std::vector<T> found(right.size() / sizeof(T));
            in.read({.name = field.name, .step = step, .data = std::span(found)});
            if (!is_equal(std::as_bytes(std::span(found)), right))
                wrong += field.name + " has wrong values; ";
        });
    }
    return wrong;
}

std::string read_mesh(Input& in, const Protocol& protocol, std::int64_t step, int num_ranks) {
    std::string wrong;
    std::vector<double> points;
    const std::int64_t mesh_step = protocol.motion == Motion::fixed ? 0 : step;
    for (int rank = 0; rank < num_ranks; ++rank) {
        const RankMesh part(rank, num_ranks, mesh_step);
        points.insert(points.end(), part.points.begin(), part.points.end());
    }
    if (in.read_mesh(step).points != points) wrong += "the mesh has wrong points; ";
    for (std::size_t f = 0; f < mesh_fields.size(); ++f) {
        std::vector<std::byte> right;
        for (int rank = 0; rank < num_ranks; ++rank) {
            const Values values =
                values_on_mesh(f, mesh_fields[f], step, RankMesh(rank, num_ranks, mesh_step));
            right.insert(right.end(), values.bytes().begin(), values.bytes().end());
        }
        visit(mesh_fields[f].type, [&]<class T>(T) {
            std::vector<T> found(right.size() / sizeof(T));
            in.read({.name = mesh_fields[f].name, .step = step, .data = std::span(found)});
            if (!is_equal(std::as_bytes(std::span(found)), right))
                wrong += mesh_fields[f].name + " has wrong values; ";
        });
    }
    return wrong;
}

/// Keeps whoever reads from completing steps, as a run that goes on does.
Result<storage::LockFile> lock_steps(const Protocol& protocol, const std::string& prefix) {
    if (!protocol.is_on_objects) return storage::LockFile::take(prefix + ".lock", "the steps");
    const Result<std::optional<series::Marker>> marker = series::read_marker(prefix);
    if (!marker.ok()) return marker.status();
    if (!marker.value() || !fs::is_directory(marker.value()->folder)) return storage::LockFile();
    return storage::LockFile::take(series::series_on_stage(marker.value()->folder) + ".lock", "the stage");
}

}  // namespace

std::string Protocol::prefix_in(const std::string& root) const {
    return is_on_objects ? bucket_prefix : root + "/place/run";
}

const std::vector<TestField>& Protocol::fields() const {
    static const std::vector<TestField> plain = {eta, u}, compressed = {compressed_eta, u},
                                        large = {large_eta}, with_mask = {eta, u, mask},
                                        compressed_with_mask = {compressed_eta, u, mask};
    if (is_large) return large;
    if (is_compressed) return has_static ? compressed_with_mask : compressed;
    return has_static ? with_mask : plain;
}

OutputOptions Protocol::options(const std::string& root) const {
    OutputOptions options = next_options(root, IfExists::fail);
    options.method = method;
    options.asynchronous = is_hidden;
    options.overview = has_overview;
    options.writer_stride = 1;
    if (has_stage) options.stage = {.folder = root + "/stage", .patience_s = 2};
    return options;
}

OutputOptions Protocol::next_options(const std::string& root, IfExists if_exists) const {
    OutputOptions options;
    options.format = format;
    options.method = "root";  // which has no threads
    options.asynchronous = false;
    options.steps_per_file = steps_per_file;
    options.sync = is_synced;
    options.if_exists = if_exists;
    if (is_compressed) options.compression = "deflate";
    if (is_on_objects) options.stage = {.folder = root + "/stage", .patience_s = 2};
    return options;
}

void StepWriter::put(const Field& field) {
    if (!protocol_.is_defined) return out_.put(field);
    auto found = ids_.find(field.name);
    if (found == ids_.end()) {
        found = ids_.emplace(field.name, out_.define({.name = field.name,
                                                      .units = field.units,
                                                      .type = static_cast<ValueType>(field.data.index()),
                                                      .global = field.block.global,
                                                      .is_static = field.is_static,
                                                      .on = field.on,
                                                      .components = field.components}))
                    .first;
    }
    out_.put(found->second, field.block, field.data);
}

void StepWriter::put_grid(std::int64_t step) {
    const std::vector<TestField>& fields = protocol_.fields();
    std::vector<std::optional<Values>> values(fields.size());
    for (std::size_t f = 0; f < fields.size(); ++f) {
        if (protocol_.is_static(f) && !is_first_) continue;
        const TestField& field = fields[f];
        values[f].emplace(f, field, protocol_.is_static(f) ? 0 : step,
                          field.block_of(field.global, comm_.size(), comm_.rank()));
        put({.name = field.name,
             .units = "m",
             .block = values[f]->block(),
             .data = values[f]->data(),
             .is_static = protocol_.is_static(f)});
    }
    out_.end_step();
}

void StepWriter::put_mesh(std::int64_t step) {
    const bool is_fixed = protocol_.motion == Motion::fixed;
    const RankMesh mine(comm_.rank(), comm_.size(), is_fixed ? 0 : step);
    const bool is_put = is_first_ || protocol_.motion == Motion::changes;
    if (is_put) out_.put_mesh(mine.mesh(protocol_.motion));
    if (!is_put && !is_fixed) out_.put_points(std::span<const double>(mine.points));
    std::vector<Values> kept;
    kept.reserve(mesh_fields.size());
    for (std::size_t f = 0; f < mesh_fields.size(); ++f) {
        const MeshField& field = mesh_fields[f];
        kept.push_back(values_on_mesh(f, field, step, mine));
        put({.name = field.name,
             .units = "m",
             .data = kept.back().data(),
             .on = field.on,
             .components = field.components});
    }
    out_.end_step();
}

void StepWriter::put_step(std::int64_t step) {
    out_.begin_step(0.25 * static_cast<double>(step));
    if (protocol_.has_mesh())
        put_mesh(step);
    else
        put_grid(step);
    is_first_ = false;
}

void Protocol::run(const Comm& comm, const std::string& root) const {
    Output out = Output::create(comm, prefix_in(root), options(root));
    StepWriter writer(*this, out, comm);
    for (std::int64_t step = 0; step < num_steps; ++step) {
        writer.put_step(step);
        note(Kind::ended, step);
    }
    out.close();
    note(Kind::closed);
}

Look look_at(const Protocol& protocol, const std::string& root, int num_ranks, std::int64_t first_alone) {
    Look look;
    const std::string prefix = protocol.prefix_in(root);
    const auto lock = lock_steps(protocol, prefix);
    if (!lock.ok()) return {.steps = {}, .wrong = lock.status().text(), .why_none = {}};
    const Error error = error_of([&] {
        Input in = Input::open(prefix);
        for (std::size_t i = 0; i < in.steps().size(); ++i) {
            const std::int64_t step = in.steps()[i];
            const int ranks = step < first_alone ? num_ranks : 1;
            std::string wrong =
                protocol.has_mesh() ? read_mesh(in, protocol, step, ranks) : read_grid(in, protocol, step);
            if (in.times()[i] != 0.25 * static_cast<double>(step)) wrong += "it has another time; ";
            if (wrong.empty()) look.steps.insert(step);
            if (!wrong.empty()) look.wrong += "step " + std::to_string(step) + ": " + wrong;
        }
    });
    if (error.code() == ErrorCode::not_found) look.why_none = error.what();
    const bool is_left = protocol.is_shown_gathered() && error.code() == ErrorCode::unsupported;
    if (error.code() != ErrorCode::ok && error.code() != ErrorCode::not_found && !is_left)
        look.wrong += error.what();
    return look;
}

const std::vector<Opener>& all_openers() {
    static const std::vector<Opener> openers = {
        {.name = "Input::open", .leaves_parts = true}, {.name = "resume"},
        {.name = "resume and go on", .goes_on = true}, {.name = "gather"},
        {.name = "replace", .replaces = true},         {.name = "fail", .is_refused = true},
    };
    return openers;
}

Opened open_by(const Opener& opener, const Protocol& protocol, const std::string& root, const Comm& comm) {
    Opened opened;
    const std::string prefix = protocol.prefix_in(root);
    if (opener.name == "Input::open") {
        Input in = Input::open(prefix);
        in.close();
        return opened;
    }
    if (opener.name == "gather") {
        for (const std::string& each : gather_pieces(prefix).incomplete) opened.words += each + "\n";
        return opened;
    }
    const IfExists if_exists = opener.is_refused ? IfExists::fail
                               : opener.replaces ? IfExists::replace
                                                 : IfExists::resume;
    Output out = Output::create(comm, prefix, protocol.next_options(root, if_exists));
    if (opener.goes_on) {
        opened.next_step = 0;
        (void)error_of([&] { opened.next_step = Input::open(prefix).steps().back() + 1; });
        StepWriter(protocol, out, comm).put_step(opened.next_step);
    }
    out.close();
    return opened;
}

}  // namespace hakobi::test
