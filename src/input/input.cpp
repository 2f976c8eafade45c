// A read, which every rank goes through to its end:
//
//  1. Asked for: all ranks want the same field of the same step, and each one's block and memory fit it.
//  2. Contiguous values come by the engine, which stays open for the step's next field. Others this rank
//     reads by itself: as the format does (NetCDF-4: through the HDF5 library), or from pieces (whose places
//     rank 0 has told).
//  3. All ranks agree on how it went.
//
// One process alone goes the same way, without the engine and without agreements.
#include <cassert>
#include <hakobi/input.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/guard.hpp"
#include "base/nearest.hpp"
#include "format/format.hpp"
#include "input/destination.hpp"
#include "input/device_destination.hpp"
#include "input/mesh_reading.hpp"
#include "input/opened_file.hpp"
#include "input/piece_table.hpp"
#include "input/steps.hpp"
#include "input/unpacking.hpp"
#include "io/options.hpp"
#include "mpi/messages.hpp"
#include "region/copy.hpp"
#include "region/cursor.hpp"
#include "series/step_file.hpp"
#include "series/unclosed.hpp"
#include "storage/file.hpp"

namespace hakobi {
namespace {

using input::Destination;

/// The way of a read: with all ranks of `comm`, or, where that is empty, of this process alone.
struct Means {
    Comm comm;
    input::OpenedFile opened{};
    io::DeviceMemory device{};
    input::PieceTable pieces{};
};

}  // namespace

struct HAKOBI_HIDDEN Input::Impl {
    std::string prefix;   // as the system knows it
    std::string backend;  // what stood before it: "posix:", a decorator. Values are read through that
    input::Steps steps;
    std::vector<std::vector<InputField>> shown;  // as `steps.found` has them
    bool is_closed = false;
    Means together;  // of those who opened it: `read`'s
    Means alone;     // read_independent's

    /// Local; invalid_argument where the prefix names no files.
    Status set_prefix(std::string_view given);
    void open_steps();
    void throw_if_closed(const char* call) const;
    /// Index of a step in `steps`, and of a field in its description; not_found.
    Result<std::size_t> index_of(std::int64_t step) const;
    Result<std::size_t> index_of(std::string_view name, std::size_t step) const;
    const format::FoundStep& found(std::size_t step) const {
        return steps.found[static_cast<std::size_t>(steps.descriptions[step])];
    }

    /// Where the step's file has the values of a field that is contiguous.
    std::int64_t offset_of(std::size_t step, const format::FoundField& field) const {
        return field.offsets_of_steps.empty()
                   ? field.offset_bytes
                   : field.offsets_of_steps[static_cast<std::size_t>(steps.steps_in_file[step])];
    }

    static mpi::Agreed agree_on_read(const Comm& comm, const Status& local, const FieldRead& read);
    // Collective over the means' ranks, and noexcept for the reason that Output's are.
    mpi::Agreed run_read(const FieldRead& read, Means& means) noexcept;
    static Status read_by_format(const format::Format& format, const std::string& path,
                                 const format::FoundField& field, std::int64_t step_in_file,
                                 const Destination& to);
};

void Input::Impl::throw_if_closed(const char* call) const {
    if (is_closed) throw Error(ErrorCode::invalid_argument, std::string(call) + ": the input is closed");
}

Result<std::size_t> Input::Impl::index_of(std::int64_t step) const {
    assert(!steps.numbers.empty());
    if (step == -1) return steps.numbers.size() - 1;
    const auto at = std::ranges::lower_bound(steps.numbers, step);
    if (at != steps.numbers.end() && *at == step) return static_cast<std::size_t>(at - steps.numbers.begin());
    return Status(ErrorCode::not_found, prefix + " has no whole step " + std::to_string(step) + ": it has " +
                                            std::to_string(steps.numbers.size()) + ", from " +
                                            std::to_string(steps.numbers.front()) + " to " +
                                            std::to_string(steps.numbers.back()));
}

Result<std::size_t> Input::Impl::index_of(std::string_view name, std::size_t step) const {
    const std::vector<format::FoundField>& fields = found(step).fields;
    std::vector<std::string_view> names;
    for (const format::FoundField& field : fields) {
        if (field.shown.name == name) return names.size();
        names.emplace_back(field.shown.name);
    }
    std::string text = "step " + std::to_string(steps.numbers[step]) + " of " + prefix + " has no field '" +
                       std::string(name) + "'";
    if (const std::string nearest = nearest_name(name, names); !nearest.empty())
        text += ": did you mean '" + nearest + "'?";
    text += " (it has";
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 20); ++i)
        text += (i == 0 ? " " : ", ") + std::string(names[i]);
    return Status(ErrorCode::not_found, text + (names.empty() ? " none)" : names.size() > 20 ? ", …)" : ")"));
}

mpi::Agreed Input::Impl::agree_on_read(const Comm& comm, const Status& local, const FieldRead& read) {
    if (!comm) return {local, -1};
    ByteWriter writer;
    writer.put_text(read.name);
    writer.put(read.step);
    // The largest value and the largest complement are the same value's exactly when all values are equal.
    const auto mine = static_cast<std::int64_t>(checksum_of(writer.take()));
    std::array<std::int64_t, 3> most = {static_cast<int>(local.code()), mine, ~mine};
    mpi::all_max(comm, most);
    if (most[0] != 0) return mpi::agree(comm, local);
    if (most[1] == ~most[2]) return {};
    return mpi::agree(
        comm, {ErrorCode::invalid_argument, "read: the ranks ask for different fields: this one for " +
                                                read.name + " of step " + std::to_string(read.step)});
}

Status Input::Impl::read_by_format(const format::Format& format, const std::string& path,
                                   const format::FoundField& field, std::int64_t step_in_file,
                                   const Destination& to) {
    if (to.memory.empty()) return {};
    Block block = to.block;
    if (field.shown.shape.empty()) block = {};
    const auto bytes = static_cast<std::size_t>(to.memory.size_bytes());
    if (to.is_dense())
        return format.read_values(path, field, block, {to.origin + to.memory.begin_bytes(), bytes},
                                  step_in_file);
    const auto values = std::make_unique_for_overwrite<std::byte[]>(bytes);
    Status status = format.read_values(path, field, block, {values.get(), bytes}, step_in_file);
    if (!status.ok()) return status;
    Cursor memory(to.memory);
    unpack(memory, to.origin, to.memory.size_bytes(), values.get());
    return {};
}

mpi::Agreed Input::Impl::run_read(const FieldRead& read, Means& means) noexcept {
    std::size_t step = 0, field = 0;
    Destination to;
    std::optional<input::Unpacking> unpacking;
    Status status = guarded("read", [&]() -> Status {
        Result<std::size_t> at = index_of(read.step);
        if (!at.ok()) return at.status();
        step = at.value();
        at = index_of(read.name, step);
        if (!at.ok()) return at.status();
        field = at.value();
        Result<Destination> made = input::destination_of(read, found(step).fields[field]);
        if (!made.ok()) return made.status();
        to = std::move(made).value();
        if (Status located = input::locate(read, to, means.device); !located.ok()) return located;
        if (!to.packing) return {};
        if (!means.device.empty()) return input::no_unpacking_on_device(found(step).fields[field]);
        unpacking.emplace(std::move(to), found(step).fields[field]);
        to = unpacking->packed();
        return {};
    });
    if (mpi::Agreed agreed = agree_on_read(means.comm, status, read); !agreed.status.ok()) return agreed;
    const format::FoundField& source = found(step).fields[field];
    const std::string& folder = steps.paths[step];
    const std::string file = format::file_of(source, steps.numbers[step]);
    const std::string path = file.empty() ? folder : series::folder_of(folder) + "/" + file;
    // Local, and cannot fail: each rank by itself.
    const auto unpacked = [&](mpi::Agreed agreed) {
        if (agreed.status.ok() && unpacking) unpacking->unpack();
        return agreed;
    };
    const auto read_here = [&](auto how) {
        return guarded("reading " + path,
                       [&] { return input::read_by_host(means.comm, to, means.device, how); });
    };
    if (steps.are_pieces[step] != 0) {
        if (means.pieces.folder != path) {
            if (mpi::Agreed agreed = input::read_piece_table(means.comm, path, means.pieces);
                !agreed.status.ok())
                return agreed;
        }
        status = read_here(
            [&](const Destination& at) { return input::read_from_pieces(means.pieces, field, backend, at); });
    } else if (source.offset_bytes < 0) {
        const format::Format& format = *series::format_of_step(folder);
        status = read_here([&](const Destination& at) {
            return read_by_format(format, path, source, steps.steps_in_file[step], at);
        });
    } else {
        return unpacked(means.opened.read(backend + path, offset_of(step, source), to, means.device));
    }
    return unpacked(input::agree(means.comm, status));
}

Status Input::Impl::set_prefix(std::string_view given) {
    if (Status status = storage::check_address(std::string(given)); !status.ok()) return status;
    prefix = storage::lasting_path(std::string(given));
    if (prefix.empty())
        return {ErrorCode::invalid_argument, "Input::open: '" + std::string(given) + "' names no files"};
    backend = given.substr(0, given.size() - prefix.size());
    return {};
}

void Input::Impl::open_steps() {
    input::find_steps(together.comm, prefix, steps).throw_if_error();
    for (const format::FoundStep& step : steps.found) {
        std::vector<InputField>& fields = shown.emplace_back();
        for (const format::FoundField& field : step.fields) {
            if (!field.is_of_mesh) fields.push_back(field.shown);  // the mesh's come last
        }
    }
}

Input Input::open(const Comm& comm, std::string_view prefix, InputOptions options) {
    if (!comm) throw Error(ErrorCode::invalid_argument, "Input::open: the communicator is empty");
    auto impl = std::make_unique<Impl>();
    impl->together.comm = comm;
    std::vector<std::string> warnings;
    Status status = guarded("Input::open", [&]() -> Status {
        if (Status named = impl->set_prefix(prefix); !named.ok()) return named;
        Result<io::EngineOptions> read = io::engine_options(options.hints, warnings);
        if (!read.ok()) return read.status();
        impl->together.opened = input::OpenedFile(comm, std::move(read).value());
        return {};
    });
    mpi::agree_or_throw(comm, status);
    if (comm.rank() == 0) {
        for (const std::string& warning : warnings) std::fprintf(stderr, "hakobi: %s\n", warning.c_str());
    }
    ByteWriter writer;
    writer.put_text(impl->backend);
    writer.put_text(impl->prefix);
    std::vector<std::byte> first = writer.take();
    const std::vector<std::byte> mine = first;
    mpi::broadcast(comm, first, 0);
    if (mine != first)
        status = {ErrorCode::invalid_argument, "Input::open: the prefix on rank " +
                                                   std::to_string(comm.rank()) + " differs from rank 0's"};
    mpi::agree_or_throw(comm, status);
    series::finish_dropped(comm);
    impl->open_steps();
    return Input(std::move(impl));
}

Input Input::open(std::string_view prefix) {
    auto impl = std::make_unique<Impl>();
    impl->set_prefix(prefix).throw_if_error();
    impl->open_steps();
    return Input(std::move(impl));
}

Input::Input(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&& other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
}
Input::~Input() = default;

std::span<const std::int64_t> Input::steps() const {
    return impl_->steps.numbers;
}
std::span<const double> Input::times() const {
    return impl_->steps.times;
}
const std::string& Input::time_units() const {
    return impl_->found(impl_->steps.numbers.size() - 1).time_units;
}
const std::string& Input::calendar() const {
    return impl_->found(impl_->steps.numbers.size() - 1).calendar;
}

namespace {
template <class T>
T value_or_throw(Result<T> result) {
    result.status().throw_if_error();
    return std::move(result).value();
}
}  // namespace

const std::vector<InputField>& Input::fields(std::int64_t step) const {
    const std::size_t at = value_or_throw(impl_->index_of(step));
    return impl_->shown[static_cast<std::size_t>(impl_->steps.descriptions[at])];
}
const std::vector<Axis>& Input::axes(std::int64_t step) const {
    return impl_->found(value_or_throw(impl_->index_of(step))).axes;
}
const Attributes& Input::attributes(std::int64_t step) const {
    return impl_->found(value_or_throw(impl_->index_of(step))).attributes;
}
const InputField& Input::field(std::string_view name, std::int64_t step) const {
    const std::size_t at = value_or_throw(impl_->index_of(step));
    return fields(step)[value_or_throw(impl_->index_of(name, at))];
}

void Input::read(const FieldRead& read) {
    impl_->throw_if_closed("read");
    impl_->run_read(read, impl_->together).throw_if_error();
}

void Input::read_independent(const FieldRead& read) {
    impl_->throw_if_closed("read_independent");
    impl_->run_read(read, impl_->alone).throw_if_error();
}

InputMesh Input::mesh(std::int64_t step) const {
    const std::size_t at = value_or_throw(impl_->index_of(step));
    return value_or_throw(input::mesh_of(impl_->found(at), impl_->steps.paths[at]));
}

MeshPart Input::read_mesh(std::int64_t step) {
    impl_->throw_if_closed("read_mesh");
    const Comm& comm = impl_->together.comm;
    std::optional<input::MeshReading> reading;
    const Status local = guarded("read_mesh", [&]() -> Status {
        Result<std::size_t> at = impl_->index_of(step);
        if (!at.ok()) return at.status();
        const format::FoundStep& found = impl_->found(at.value());
        const std::string& path = impl_->steps.paths[at.value()];
        Result<InputMesh> mesh = input::mesh_of(found, path);
        if (!mesh.ok()) return mesh.status();
        reading.emplace(found, std::move(mesh).value(), path, comm ? comm.rank() : 0, comm ? comm.size() : 1);
        return {};
    });
    // As read does first: a rank that refuses takes part in either.
    Impl::agree_on_read(comm, local, {.name = "the mesh", .step = step}).throw_if_error();
    const auto read = [&](std::string_view name, FieldRead::Data data, Block block) {
        impl_
            ->run_read({.name = std::string(name),
                        .step = step,
                        .block = std::move(block),
                        .data = data,
                        .memory = Memory::host},
                       impl_->together)
            .throw_if_error();
    };
    // Numbers that come from a file may be any: all ranks look at the same before they make room for them.
    reading->read_counts(read);
    input::agree(comm, guarded("read_mesh", [&] { return reading->share(); })).throw_if_error();
    reading->read_arrays(read);
    input::agree(comm, guarded("read_mesh", [&] { return reading->join(); })).throw_if_error();
    return reading->take();
}

void Input::refuse(std::string_view reason) {
    impl_->throw_if_closed("read");
    Impl::agree_on_read(impl_->together.comm, {ErrorCode::invalid_argument, std::string(reason)}, {})
        .throw_if_error();
}

std::string Input::explain(std::string_view name, std::int64_t step) const {
    const std::size_t at = value_or_throw(impl_->index_of(step));
    const std::size_t index = value_or_throw(impl_->index_of(name, at));
    const format::FoundField& field = impl_->found(at).fields[index];
    const std::string which = std::string(name) + " in " + impl_->steps.paths[at] + ": ";
    if (impl_->steps.are_pieces[at] != 0) return which + "each rank reads the pieces that have its block";
    if (field.offset_bytes < 0 && !series::store_of(impl_->steps.paths[at]).empty())
        return which + field.why_library + ": each rank reads and unpacks those of its block";
    if (field.offset_bytes < 0)
        return which + field.why_library + ": each rank reads its block through the HDF5 library";
    const std::string where = "contiguous at byte " + std::to_string(impl_->offset_of(at, field));
    return which + where + (impl_->together.comm ? ": read by the engine" : ": read by this process");
}

void Input::close() {
    if (impl_->is_closed) return;
    impl_->is_closed = true;
    static_cast<void>(impl_->alone.opened.close());  // a file that was read
    impl_->together.opened.close().throw_if_error();
}

}  // namespace hakobi
