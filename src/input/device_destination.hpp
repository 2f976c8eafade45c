#pragma once

#include <hakobi/comm.hpp>

#include "input/destination.hpp"
#include "io/device_memory.hpp"
#include "region/copy.hpp"
#include "region/cursor.hpp"

namespace hakobi::input {

/// Whether the destination is memory of a device: then `device` has it, and copies after what the read's
/// stream holds now. Local.
inline Status locate(const FieldRead& read, const Destination& to, io::DeviceMemory& device) {
    device.forget();
    const Region& memory = to.memory;
    if (memory.empty()) return {};
    const Result<bool> added =
        device.add(to.origin + memory.begin_bytes(), memory.end_bytes() - memory.begin_bytes(), read.memory,
                   read.stream);
    if (added.ok()) return {};
    return {added.status().code(), "field " + read.name + ": " + added.status().text()};
}

/// Has `read` read to where it is told, for values that the processor puts into their places: to the
/// destination, or, if that is memory of `device`, to the host, from where the device copies. Local; its
/// waits are mpi::Wait's, with `comm`.
template <class Read>
Status read_by_host(const Comm& comm, const Destination& to, io::DeviceMemory& device, Read read) {
    if (device.empty()) return read(to);
    const std::int64_t bytes = to.memory.size_bytes();
    Result<std::byte*> room = device.host_room(bytes);
    if (!room.ok()) return room.status();
    if (Status streams = device.finish(comm); !streams.ok()) return streams;
    Status status = read(Destination{to.block, Region::contiguous(0, bytes), room.value(), to.element_bytes});
    if (!status.ok()) return status;
    Cursor memory(to.memory);
    unpack(memory, to.origin, bytes, room.value(), &device);
    return device.finish(comm);
}

}  // namespace hakobi::input
