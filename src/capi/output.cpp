#include <hakobi/bindings.h>

#include <memory>

#include "base/guard.hpp"
#include "capi/fields.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/options.hpp"
#include "capi/sized.hpp"
#include "mpi/agree.hpp"

using hakobi::Error;
using hakobi::ErrorCode;
using hakobi::capi::guarded;
using hakobi::capi::output_options_of;
using hakobi::capi::taken;
using hakobi::capi::text_or;

namespace {

void require_output(const hakobi_output* out, const char* call) {
    if (out == nullptr) throw Error(ErrorCode::invalid_argument, std::string(call) + ": out is NULL");
}

template <class Value>
std::span<const Value> span_of(const void* first, std::int64_t num, const char* what) {
    if (num < 0)
        throw Error(ErrorCode::invalid_argument, "the mesh: it has " + std::to_string(num) + " " + what);
    if (num == 0) return {};
    if (first == nullptr)
        throw Error(ErrorCode::invalid_argument,
                    "the mesh: it has " + std::to_string(num) + " " + what + ", but they are NULL");
    return {static_cast<const Value*>(first), static_cast<std::size_t>(num)};
}

hakobi::Mesh::Points points_of(int type, const void* points, std::int64_t num_points) {
    constexpr std::int64_t most = INT64_MAX / 3;
    if (num_points > most) throw Error(ErrorCode::invalid_argument, "the mesh: it has too many points");
    if (type == HAKOBI_FLOAT64) return span_of<double>(points, 3 * num_points, "coordinates");
    if (type == HAKOBI_FLOAT32) return span_of<float>(points, 3 * num_points, "coordinates");
    throw Error(ErrorCode::invalid_argument,
                "the mesh: its points are of type " + std::to_string(type) + ", not double or float");
}

hakobi::Mesh::Numbers numbers_of(int type, const void* numbers, std::int64_t num, const char* what) {
    if (type == HAKOBI_INT64) return span_of<std::int64_t>(numbers, num, what);
    if (type == HAKOBI_INT32) return span_of<std::int32_t>(numbers, num, what);
    if (num == 0) return std::span<const std::int64_t>();
    throw Error(ErrorCode::invalid_argument, std::string("the mesh: its ") + what + " are of type " +
                                                 std::to_string(type) + ", not int64 or int32");
}

hakobi::Mesh mesh_of(const hakobi_mesh& mesh) {
    hakobi::Mesh result;
    if (mesh.motion < HAKOBI_MESH_FIXED || mesh.motion > HAKOBI_MESH_CHANGES)
        throw Error(ErrorCode::invalid_argument,
                    "the mesh: " + std::to_string(mesh.motion) + " is no motion");
    result.motion = static_cast<hakobi::Motion>(mesh.motion);
    result.first_number = mesh.first_number;
    result.points = points_of(mesh.points_type, mesh.points, mesh.num_points);
    result.types = span_of<std::uint8_t>(mesh.types, mesh.num_cells, "types of cells");
    if (mesh.ghosts != nullptr) result.ghosts = span_of<std::uint8_t>(mesh.ghosts, mesh.num_cells, "ghosts");
    const bool has_offsets = mesh.num_cells > 0 || mesh.offsets != nullptr;
    result.offsets =
        numbers_of(mesh.offsets_type, mesh.offsets, has_offsets ? mesh.num_cells + 1 : 0, "offsets");
    const auto last = [](auto offsets) {
        return offsets.empty() ? 0 : static_cast<std::int64_t>(offsets.back());
    };
    const std::int64_t num_ids =
        mesh.num_connectivity != 0 ? mesh.num_connectivity : std::visit(last, result.offsets);
    result.connectivity =
        numbers_of(mesh.connectivity_type, mesh.connectivity, num_ids, "numbers in its connectivity");
    return result;
}

// Makes end_step report the reason on every rank, and throws it here.
[[noreturn]] void refuse(hakobi_output& out, const std::string& text) {
    out.output.refuse(text);
    throw Error(ErrorCode::invalid_argument, text);
}

}  // namespace

int hakobi_output_create(hakobi_comm* comm, const char* prefix, const hakobi_output_options* options,
                         hakobi_output** out) {
    return guarded([&] {
        if (out != nullptr) *out = nullptr;
        if (comm == nullptr) throw Error(ErrorCode::invalid_argument, "hakobi_output_create: comm is NULL");
        hakobi::Status local;
        if (prefix == nullptr) local = {ErrorCode::invalid_argument, "hakobi_output_create: prefix is NULL"};
        if (out == nullptr) local = {ErrorCode::invalid_argument, "hakobi_output_create: out is NULL"};
        hakobi::OutputOptions values;
        local.keep_first(
            hakobi::guarded("hakobi_output_create", [&] { values = output_options_of(options); }));
        hakobi::mpi::agree_or_throw(comm->comm, local);
        auto handle = std::unique_ptr<hakobi_output>(
            new hakobi_output{.comm = comm->comm,
                              .output = hakobi::Output::create(comm->comm, prefix, std::move(values)),
                              .defined = {},
                              .explanation = {},
                              .num_points = 0,
                              .num_cells = 0});
        *out = handle.release();
    });
}

int hakobi_output_define(hakobi_output* out, const hakobi_field_definition* definition, int64_t* field) {
    return guarded([&] {
        require_output(out, "hakobi_output_define");
        if (field != nullptr) *field = 0;
        // Made before the output has the field: nothing fails after that.
        std::map<std::int64_t, hakobi::FieldDefinition> made;
        const hakobi::Status local = hakobi::guarded("hakobi_output_define", [&]() -> hakobi::Status {
            if (definition == nullptr || field == nullptr)
                return {ErrorCode::invalid_argument, std::string("hakobi_output_define: ") +
                                                         (field == nullptr ? "field" : "definition") +
                                                         " is NULL"};
            made.emplace(0, hakobi::capi::definition_of(taken(definition, "hakobi_field_definition")));
            return {};
        });
        hakobi::mpi::agree_or_throw(out->comm, local);
        auto defined = made.extract(made.begin());
        *field = static_cast<int64_t>(out->output.define(defined.mapped()));
        defined.key() = *field;
        out->defined.insert(std::move(defined));
    });
}

int hakobi_output_refuse_define(hakobi_output* out, const char* text) {
    return guarded([&] {
        require_output(out, "hakobi_output_refuse_define");
        hakobi::mpi::agree_or_throw(out->comm, {ErrorCode::invalid_argument, text_or(text)});
    });
}

int hakobi_output_begin_step(hakobi_output* out, double time) {
    return guarded([&] {
        require_output(out, "hakobi_output_begin_step");
        out->output.begin_step(time);
    });
}

int hakobi_output_put(hakobi_output* out, const hakobi_field* field) {
    return guarded([&] {
        require_output(out, "hakobi_output_put");
        if (field == nullptr) refuse(*out, "hakobi_output_put: field is NULL");
        hakobi::Field translated;
        try {
            const hakobi_field known = taken(field, "hakobi_field");
            translated = hakobi::capi::field_of(
                known, known.on == HAKOBI_ON_POINTS ? out->num_points : out->num_cells);
        } catch (const Error& error) {
            refuse(*out, "field " + text_or(field->name) + ": " + error.what());
        }
        out->output.put(translated);
    });
}

int hakobi_output_put_values(hakobi_output* out, int64_t field, const hakobi_block* block, const void* data,
                             const hakobi_memory_layout* layout) {
    return guarded([&] {
        require_output(out, "hakobi_output_put_values");
        const auto found = out->defined.find(field);
        hakobi::capi::Lent lent;
        if (found != out->defined.end()) {
            const hakobi::FieldDefinition& definition = found->second;
            try {
                const hakobi_memory_layout known = taken(layout, "hakobi_memory_layout");
                lent = hakobi::capi::lent_of(
                    definition, block, data, known,
                    definition.on == hakobi::On::points ? out->num_points : out->num_cells);
            } catch (const Error& error) {
                refuse(*out, "field " + definition.name + ": " + error.what());
            }
        }
        out->output.put(static_cast<hakobi::FieldId>(field), lent.block, lent.data, lent.layout);
    });
}

int hakobi_output_put_mesh(hakobi_output* out, const hakobi_mesh* mesh) {
    return guarded([&] {
        require_output(out, "hakobi_output_put_mesh");
        if (mesh == nullptr) refuse(*out, "hakobi_output_put_mesh: mesh is NULL");
        hakobi_mesh known = {};
        hakobi::Mesh translated;
        try {
            known = taken(mesh, "hakobi_mesh");
            translated = mesh_of(known);
        } catch (const Error& error) {
            refuse(*out, error.what());
        }
        out->num_points = known.num_points;
        out->num_cells = known.num_cells;
        out->output.put_mesh(translated);
    });
}

int hakobi_output_put_points(hakobi_output* out, int type, const void* points, int64_t num_points) {
    return guarded([&] {
        require_output(out, "hakobi_output_put_points");
        hakobi::Mesh::Points translated;
        try {
            translated = points_of(type, points, num_points != 0 ? num_points : out->num_points);
        } catch (const Error& error) {
            refuse(*out, error.what());
        }
        out->output.put_points(translated);
    });
}

int hakobi_output_refuse(hakobi_output* out, const char* text) {
    return guarded([&] {
        require_output(out, "hakobi_output_refuse");
        refuse(*out, text_or(text));
    });
}

int hakobi_output_end_step(hakobi_output* out) {
    return guarded([&] {
        require_output(out, "hakobi_output_end_step");
        out->output.end_step();
    });
}

int hakobi_output_flush(hakobi_output* out) {
    return guarded([&] {
        require_output(out, "hakobi_output_flush");
        out->output.flush();
    });
}

int hakobi_output_close(hakobi_output* out) {
    return guarded([&] {
        require_output(out, "hakobi_output_close");
        out->output.close();
    });
}

void hakobi_output_free(hakobi_output* out) {
    delete out;
}

const char* hakobi_output_method(const hakobi_output* out) {
    return out != nullptr ? out->output.method().data() : nullptr;  // a view of a literal, which ends with 0
}

const char* hakobi_output_explain(hakobi_output* out) {
    if (out == nullptr) return nullptr;
    try {
        out->explanation = out->output.explain();
    } catch (const std::bad_alloc&) {
        return "out of memory";
    }
    return out->explanation.c_str();
}

const char* hakobi_output_method_name(int index) {
    const auto names = hakobi::output_methods();
    // The views are of literals, which end with 0.
    return index >= 0 && static_cast<std::size_t>(index) < names.size()
               ? names[static_cast<std::size_t>(index)].data()
               : nullptr;
}

int hakobi_output_get_times(const hakobi_output* out, hakobi_output_times* times) {
    return guarded([&] {
        require_output(out, "hakobi_output_get_times");
        if (times == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_output_get_times: times is NULL");
        const hakobi::OutputTimes values = out->output.times();
        hakobi_output_times found = {};
        found.layout_s = values.layout_s;
        found.values_s = values.values_s;
        found.finish_s = values.finish_s;
        found.gather_s = values.gather_s;
        found.bytes = values.bytes;
        found.encode_s = values.encode_s;
        found.hidden_s = values.hidden_s;
        found.run_s = values.run_s;
        found.cpu_s = values.cpu_s;
        hakobi::capi::give(found, *times, "hakobi_output_times");
    });
}

int hakobi_gather_pieces(const char* path, hakobi_gather_result** result) {
    return guarded([&] {
        if (result != nullptr) *result = nullptr;
        if (path == nullptr) throw Error(ErrorCode::invalid_argument, "hakobi_gather_pieces: path is NULL");
        auto made = std::make_unique<hakobi_gather_result>();
        made->result = hakobi::gather_pieces(path);
        if (result != nullptr) *result = made.release();
    });
}

namespace {
const char* entry(const std::vector<std::string>& list, int index) {
    return index >= 0 && static_cast<std::size_t>(index) < list.size()
               ? list[static_cast<std::size_t>(index)].c_str()
               : nullptr;
}
}  // namespace

const char* hakobi_gather_result_file(const hakobi_gather_result* result, int index) {
    return result != nullptr ? entry(result->result.files, index) : nullptr;
}

const char* hakobi_gather_result_incomplete(const hakobi_gather_result* result, int index) {
    return result != nullptr ? entry(result->result.incomplete, index) : nullptr;
}

void hakobi_gather_result_free(hakobi_gather_result* result) {
    delete result;
}
