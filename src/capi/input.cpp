#include <hakobi/bindings.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/checked.hpp"
#include "base/guard.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/options.hpp"
#include "capi/sized.hpp"
#include "mpi/agree.hpp"

using hakobi::Error;
using hakobi::ErrorCode;
using hakobi::capi::give;
using hakobi::capi::guarded;
using hakobi::capi::input_options_of;
using hakobi::capi::taken;
using hakobi::capi::text_or;

namespace {

template <class In>
In& require_input(In* in, const char* call) {
    if (in == nullptr) throw Error(ErrorCode::invalid_argument, std::string(call) + ": in is NULL");
    return *in;
}

int type_of(const std::string& name) {
    struct Named {
        std::string_view name;
        int type;
    };
    constexpr Named types[] = {{"double", HAKOBI_FLOAT64}, {"float", HAKOBI_FLOAT32}, {"int", HAKOBI_INT32},
                               {"int64", HAKOBI_INT64},    {"byte", HAKOBI_INT8},     {"ubyte", HAKOBI_UINT8},
                               {"short", HAKOBI_INT16},    {"ushort", HAKOBI_UINT16}, {"uint", HAKOBI_UINT32},
                               {"uint64", HAKOBI_UINT64}};
    const auto* found = std::ranges::find(types, name, &Named::name);
    return found == std::end(types) ? 0 : found->type;
}

template <class Value>
hakobi::FieldRead::Data memory_of(void* data, std::int64_t num_values) {
    return std::span(static_cast<Value*>(data), static_cast<std::size_t>(num_values));
}

std::vector<std::int64_t> first(const std::int64_t* entries, std::size_t num) {
    return {entries, entries + num};
}

/// Elements of memory that a read needs where the caller does not say; 0 where that is no number.
std::int64_t elements_needed(const hakobi::FieldRead& read, std::span<const std::int64_t> count) {
    std::int64_t needed = 1;
    for (std::size_t d = 0; d < count.size(); ++d) {
        if (count[d] == 0) return 0;
        if (!read.strides.empty()) {
            const auto reach = hakobi::checked_multiply(count[d] - 1, read.strides[d]);
            needed = reach ? hakobi::checked_add(needed, *reach).value_or(0) : 0;
        } else {
            const std::int64_t ghosts = read.ghosts.empty() ? 0 : read.ghosts[d];
            const auto both = hakobi::checked_multiply(ghosts, 2);
            const auto extent = both ? hakobi::checked_add(count[d], *both) : std::nullopt;
            needed = extent ? hakobi::checked_multiply(needed, *extent).value_or(0) : 0;
        }
        if (needed < 1) return 0;
    }
    return needed;
}

/// The read in C++'s words. Throws what put is not asked for: the memory's type.
hakobi::FieldRead translated(const hakobi::Input& input, const hakobi_field_read& from) {
    hakobi::FieldRead read{.name = text_or(from.name), .step = from.step, .block = {}, .data = {}};
    read.memory = hakobi::capi::memory_called(from.memory);
    read.stream = from.stream;
    const int num_dims = from.block.num_dims;
    if (num_dims < 0 || num_dims > HAKOBI_MAX_DIMS) {
        throw Error(ErrorCode::invalid_argument, "field " + read.name + ": num_dims of its block is " +
                                                     std::to_string(num_dims) + ", not 0 to " +
                                                     std::to_string(HAKOBI_MAX_DIMS));
    }
    auto n = static_cast<std::size_t>(num_dims);
    std::vector<std::int64_t> count = first(from.block.count, n);
    if (n > 0) {
        read.block = {first(from.block.global, n), first(from.block.start, n), count};
    } else {
        const std::vector<hakobi::InputField>& fields = input.fields(from.step);
        const auto field = std::ranges::find(fields, read.name, &hakobi::InputField::name);
        if (field == fields.end()) return read;  // which `read` says
        count = field->shape;
        n = std::min<std::size_t>(count.size(), HAKOBI_MAX_DIMS);
    }
    const auto is_set = [](std::int64_t entry) { return entry != 0; };
    if (std::any_of(from.ghosts, from.ghosts + n, is_set)) read.ghosts = first(from.ghosts, n);
    if (std::any_of(from.strides, from.strides + n, is_set)) read.strides = first(from.strides, n);
    const bool is_wanted = std::ranges::find(count, 0) == count.end();
    if (is_wanted && from.data == nullptr)
        throw Error(ErrorCode::invalid_argument, "field " + read.name + ": data is NULL");
    std::int64_t num = from.num_values;
    if (num <= 0) num = elements_needed(read, count);
    if (from.data == nullptr) num = 0;
    switch (from.type) {
        case HAKOBI_FLOAT64:
            read.data = memory_of<double>(from.data, num);
            break;
        case HAKOBI_FLOAT32:
            read.data = memory_of<float>(from.data, num);
            break;
        case HAKOBI_INT32:
            read.data = memory_of<std::int32_t>(from.data, num);
            break;
        case HAKOBI_INT64:
            read.data = memory_of<std::int64_t>(from.data, num);
            break;
        case HAKOBI_INT8:
            read.data = memory_of<std::int8_t>(from.data, num);
            break;
        case HAKOBI_UINT8:
            read.data = memory_of<std::uint8_t>(from.data, num);
            break;
        case HAKOBI_INT16:
            read.data = memory_of<std::int16_t>(from.data, num);
            break;
        case HAKOBI_UINT16:
            read.data = memory_of<std::uint16_t>(from.data, num);
            break;
        case HAKOBI_UINT32:
            read.data = memory_of<std::uint32_t>(from.data, num);
            break;
        case HAKOBI_UINT64:
            read.data = memory_of<std::uint64_t>(from.data, num);
            break;
        default:
            throw Error(ErrorCode::invalid_argument,
                        "field " + read.name + ": " + std::to_string(from.type) + " is not a type of values");
    }
    return read;
}

[[noreturn]] void beyond_the_last(const char* what, int index) {
    throw Error(ErrorCode::not_found, "there is no " + std::string(what) + " " + std::to_string(index));
}

}  // namespace

int hakobi_input_open(hakobi_comm* comm, const char* prefix, const hakobi_input_options* options,
                      hakobi_input** in) {
    return guarded([&] {
        if (in != nullptr) *in = nullptr;
        if (comm == nullptr) throw Error(ErrorCode::invalid_argument, "hakobi_input_open: comm is NULL");
        hakobi::Status local;
        if (prefix == nullptr) local = {ErrorCode::invalid_argument, "hakobi_input_open: prefix is NULL"};
        if (in == nullptr) local = {ErrorCode::invalid_argument, "hakobi_input_open: in is NULL"};
        hakobi::InputOptions values;
        local.keep_first(hakobi::guarded("hakobi_input_open", [&] { values = input_options_of(options); }));
        hakobi::mpi::agree_or_throw(comm->comm, local);
        *in = new hakobi_input{hakobi::Input::open(comm->comm, prefix, std::move(values)), {}, {}};
    });
}

int hakobi_input_open_alone(const char* prefix, hakobi_input** in) {
    return guarded([&] {
        if (in == nullptr) throw Error(ErrorCode::invalid_argument, "hakobi_input_open_alone: in is NULL");
        *in = nullptr;
        if (prefix == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_input_open_alone: prefix is NULL");
        *in = new hakobi_input{hakobi::Input::open(prefix), {}, {}};
    });
}

int64_t hakobi_input_num_steps(const hakobi_input* in) {
    return in != nullptr ? std::ssize(in->input.steps()) : 0;
}
const int64_t* hakobi_input_steps(const hakobi_input* in) {
    return in != nullptr ? in->input.steps().data() : nullptr;
}
const double* hakobi_input_times(const hakobi_input* in) {
    return in != nullptr ? in->input.times().data() : nullptr;
}
const char* hakobi_input_time_units(const hakobi_input* in) {
    return in != nullptr ? in->input.time_units().c_str() : nullptr;
}
const char* hakobi_input_calendar(const hakobi_input* in) {
    return in != nullptr ? in->input.calendar().c_str() : nullptr;
}

const char* hakobi_input_field_name(const hakobi_input* in, int64_t step, int index) {
    const char* name = nullptr;
    if (in == nullptr || index < 0) return nullptr;
    guarded([&] {
        const std::vector<hakobi::InputField>& fields = in->input.fields(step);
        if (static_cast<std::size_t>(index) < fields.size())
            name = fields[static_cast<std::size_t>(index)].name.c_str();
    });
    return name;
}

int hakobi_input_get_field(const hakobi_input* in, int64_t step, const char* name,
                           hakobi_input_field* field) {
    return guarded([&] {
        const hakobi::InputField& found =
            require_input(in, "hakobi_input_get_field").input.field(text_or(name), step);
        if (field == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_input_get_field: field is NULL");
        if (found.shape.size() > HAKOBI_MAX_DIMS) {
            throw Error(ErrorCode::unsupported,
                        "field " + found.name + " has " + std::to_string(found.shape.size()) +
                            " dimensions, more than " + std::to_string(HAKOBI_MAX_DIMS));
        }
        std::string joined;
        for (const std::string& dim : found.dims) joined += (joined.empty() ? "" : ",") + dim;
        const std::string& dims =
            const_cast<hakobi_input*>(in)->dims.try_emplace(found.dims, std::move(joined)).first->second;
        hakobi_input_field shown = {};
        shown.name = found.name.c_str();
        shown.type_name = found.type.c_str();
        shown.type = type_of(found.type);
        shown.num_dims = static_cast<int>(found.shape.size());
        std::ranges::copy(found.shape, shown.shape);
        shown.dims = dims.c_str();
        shown.is_static = found.is_static ? 1 : 0;
        give(shown, *field, "hakobi_input_field");
    });
}

int hakobi_input_get_axis(const hakobi_input* in, int64_t step, int index, hakobi_axis* axis) {
    return guarded([&] {
        const std::vector<hakobi::Axis>& axes = require_input(in, "hakobi_input_get_axis").input.axes(step);
        if (axis == nullptr) throw Error(ErrorCode::invalid_argument, "hakobi_input_get_axis: axis is NULL");
        if (index < 0 || static_cast<std::size_t>(index) >= axes.size()) beyond_the_last("axis", index);
        const hakobi::Axis& found = axes[static_cast<std::size_t>(index)];
        hakobi_axis shown = {};
        shown.name = found.name.c_str();
        shown.units = found.units.c_str();
        shown.standard_name = found.standard_name.c_str();
        shown.num_values = std::ssize(found.values);
        shown.values = found.values.empty() ? nullptr : found.values.data();
        give(shown, *axis, "hakobi_axis");
    });
}

int hakobi_input_get_attribute(const hakobi_input* in, int64_t step, const char* field, int index,
                               hakobi_attribute* attribute) {
    return guarded([&] {
        const hakobi::Input& input = require_input(in, "hakobi_input_get_attribute").input;
        if (attribute == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_input_get_attribute: attribute is NULL");
        const auto& axes = input.axes(step);
        const auto axis = std::ranges::find(axes, text_or(field), &hakobi::Axis::name);
        const auto& all = axis != axes.end() ? axis->attributes
                          : field != nullptr ? input.field(field, step).attributes
                                             : input.attributes(step);
        if (index < 0 || static_cast<std::size_t>(index) >= all.size()) beyond_the_last("attribute", index);
        const auto& [name, value] = *std::next(all.begin(), index);
        hakobi_attribute shown = {};
        shown.name = name.c_str();
        if (const auto* text = std::get_if<std::string>(&value)) shown.text = text->c_str();
        if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
            shown.doubles = numbers->data();
            shown.num_values = std::ssize(*numbers);
        }
        if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&value)) {
            shown.integers = numbers->data();
            shown.num_values = std::ssize(*numbers);
        }
        give(shown, *attribute, "hakobi_attribute");
    });
}

int hakobi_input_read(hakobi_input* in, const hakobi_field_read* read) {
    return guarded([&] {
        hakobi::Input& input = require_input(in, "hakobi_input_read").input;
        if (read == nullptr) input.refuse("hakobi_input_read: read is NULL");
        hakobi::FieldRead wanted;
        try {
            wanted = translated(input, taken(read, "hakobi_field_read"));
        } catch (const Error& error) {
            input.refuse(error.what());
        }
        input.read(wanted);
    });
}

int hakobi_input_read_independent(hakobi_input* in, const hakobi_field_read* read) {
    return guarded([&] {
        hakobi::Input& input = require_input(in, "hakobi_input_read_independent").input;
        if (read == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_input_read_independent: read is NULL");
        input.read_independent(translated(input, taken(read, "hakobi_field_read")));
    });
}

int hakobi_refuse(const char* text) {
    return hakobi::capi::remember(ErrorCode::invalid_argument, text_or(text));
}

int hakobi_input_get_mesh(const hakobi_input* in, int64_t step, hakobi_input_mesh* mesh) {
    return guarded([&] {
        const hakobi::InputMesh found = require_input(in, "hakobi_input_get_mesh").input.mesh(step);
        if (mesh == nullptr) throw Error(ErrorCode::invalid_argument, "hakobi_input_get_mesh: mesh is NULL");
        hakobi_input_mesh shown = {};
        shown.num_points = found.num_points;
        shown.num_cells = found.num_cells;
        shown.num_pieces = found.num_pieces;
        shown.points_type = type_of(found.points_type);
        shown.has_ghosts = found.has_ghosts ? 1 : 0;
        give(shown, *mesh, "hakobi_input_mesh");
    });
}

namespace {

/// Sets all but its size to 0. Throws invalid_argument for a part of no size.
void clear(hakobi_mesh_part& part) {
    give(hakobi_mesh_part{}, part, "hakobi_mesh_part");
}

}  // namespace

int hakobi_input_read_mesh(hakobi_input* in, int64_t step, hakobi_mesh_part* part) {
    return guarded([&] {
        hakobi::Input& input = require_input(in, "hakobi_input_read_mesh").input;
        if (part == nullptr) input.refuse("hakobi_input_read_mesh: part is NULL");
        try {
            clear(*part);
        } catch (const Error& error) {
            input.refuse(error.what());
        }
        auto read = std::make_unique<hakobi::MeshPart>(input.read_mesh(step));
        hakobi_mesh_part shown = {};
        shown.first_point = read->first_point;
        shown.first_cell = read->first_cell;
        shown.first_piece = read->first_piece;
        shown.num_pieces = read->num_pieces;
        shown.num_points = std::ssize(read->points) / 3;
        shown.points = read->points.data();
        shown.num_cells = std::ssize(read->types);
        shown.types = read->types.data();
        shown.offsets = read->offsets.data();
        shown.num_connectivity = std::ssize(read->connectivity);
        shown.connectivity = read->connectivity.data();
        shown.ghosts = read->ghosts.empty() ? nullptr : read->ghosts.data();
        shown.memory = read.release();
        give(shown, *part, "hakobi_mesh_part");
    });
}

void hakobi_mesh_part_free(hakobi_mesh_part* part) {
    if (part == nullptr) return;
    guarded([&] {
        hakobi::capi::check_size(*part, "hakobi_mesh_part");
        delete static_cast<hakobi::MeshPart*>(part->memory);
        clear(*part);
    });
}

int hakobi_input_refuse(hakobi_input* in, const char* text) {
    return guarded([&] { require_input(in, "hakobi_input_refuse").input.refuse(text_or(text)); });
}

const char* hakobi_input_explain(hakobi_input* in, int64_t step, const char* field) {
    const int code = guarded([&] {
        hakobi_input& handle = require_input(in, "hakobi_input_explain");
        handle.explanation = handle.input.explain(text_or(field), step);
    });
    return code == HAKOBI_OK ? in->explanation.c_str() : nullptr;
}

int hakobi_input_close(hakobi_input* in) {
    return guarded([&] { require_input(in, "hakobi_input_close").input.close(); });
}

void hakobi_input_free(hakobi_input* in) {
    delete in;
}
