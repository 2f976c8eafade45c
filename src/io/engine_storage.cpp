#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/copy_bytes.hpp"
#include "io/direct.hpp"
#include "io/engine_impl.hpp"
#include "io/policy.hpp"
#include "io/sieve.hpp"
#include "io/storage_memory.hpp"
#include "mpi/messages.hpp"

namespace hakobi::io {
Status Engine::Impl::need_file() {
    if (file) return {};
    storage::OpenMode mode;
    mode.write = name.is_writable;
    mode.direct = options.direct_io;
    mode.name = name.shown;
    mode.is_shared = name.is_writable && comm.num_nodes() > 1;
    mode.is_others = comm.num_nodes() > 1;
    auto opened = storage::open_file(name.path, mode);
    if (!opened.ok()) return opened.status();
    file = std::move(opened).value();
    // What the ranks have agreed on holds also where this one opens the file only now.
    service = std::max(service, StorageMemory::of(*file).service);
    return {};
}

// An NFS client may give a node the file that had the name before (storage/posix.cpp): the number on the server tells.
Status Engine::Impl::agree_on_the_file() {
    constexpr int most_tries = 12;  // 0.3 s
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
    Status status;
    for (int i = 0; i < most_tries; ++i) {
        std::array<std::int64_t, 2> words{none, none};
        struct stat info {};
        if (file && file->abilities().file_system == "nfs") {
            (void)::fstat(file->descriptor(), &info);  // 0 of one that is stale
            words[0] = static_cast<std::int64_t>(info.st_ino >> 1);
            words[1] = -words[0];
        }
        mpi::all_max(comm, words);
        if (words[0] == -words[1] || words[0] == none) return status;
        std::this_thread::sleep_for(std::chrono::milliseconds(std::min(2 << i, 50)));
        if (!std::exchange(file, nullptr)) continue;
        status.keep_first(need_file());
    }
    return {ErrorCode::io, name.shown + ": the nodes find different files of this name"};
}

// The leader carries out its first piece when all ranks have come and nobody has decided: what it took tells a page cache
// from a disk.
void Engine::Impl::try_storage(Call& call) {
    if (service != Service::unknown || comm.node_rank() != 0 || !call.status.ok() || call.file.empty() ||
        !call.is_ordered)
        return;
    if (options.shuffle == "always" || call.is_asynchronous || writer_block_bytes > 1) return;
    if (call.file.size_bytes() / call.file.num_pieces() < policy::tried_piece) return;
    call.status = need_file();
    if (!call.status.ok()) return;
    const Cursor first(call.file);
    const std::int64_t length = std::min<std::int64_t>(first.remaining(), policy::tried);
    const DirectResult tried = move_directly(
        comm, *file, nullptr, 1, {call.file, call.memory, call.origin, 0, length, call.is_write, length});
    service = tried.has_waited ? Service::waits : Service::from_memory;
    StorageMemory::learn(*file, service);
    call.status = tried.status;
    // It is written again with the rest, or read again: the position stays, so that file and memory are whole either way.
}

bool Engine::Impl::is_one_access(const Call& call) const {
    return comm.size() == 1 && call.status.ok() && !call.is_asynchronous && !phase && undone_status.ok() &&
           file && options.shuffle == "auto" && is_short_and_contiguous(call);
}

mpi::Agreed Engine::Impl::access_alone(Call& call) {
    access_in_line(call);
    return {std::move(call.status), 0};
}

// Such a copy is made through a buffer (direct.cpp).
bool Engine::Impl::is_slow_in_place(const Call& call) const {
    if (call.file.size_bytes() < policy::bounced_from) return false;
    const auto memory = reinterpret_cast<std::size_t>(call.origin + call.memory.begin_bytes());
    const auto at = static_cast<std::size_t>(call.file.begin_bytes());
    return call.is_write ? is_slow_copy(at, memory) : is_slow_copy(memory, at);
}

bool Engine::Impl::is_short_and_contiguous(const Call& call) const {
    return !options.direct_io && !call.file.empty() && call.file.size_bytes() <= policy::bounce &&
           call.file.num_pieces() == 1 && call.memory.num_pieces() == 1 && !is_slow_in_place(call);
}

void Engine::Impl::access_in_line(Call& call) {
    const auto length = static_cast<std::size_t>(call.file.size_bytes());
    std::byte* const bytes = call.origin + call.memory.begin_bytes();
    const double start_s = now_s();
    call.bytes_direct = call.file.size_bytes();
    if (call.is_write) {
        call.status = file->write_at({bytes, length}, call.file.begin_bytes());
    } else {
        const Result<std::int64_t> read = file->read_at({bytes, length}, call.file.begin_bytes());
        if (!read.ok()) call.status = read.status();
        call.bytes_direct = read.ok() ? read.value() : 0;
    }
    call.is_counted = true;
    counters.storage_s += now_s() - start_s;
    counters.storage_bytes += call.bytes_direct;
    ++counters.direct_calls;
}

void Engine::Impl::move_direct(Call& call, std::int64_t stream_begin, bool in_flight) {
    call.status = need_file();
    if (!call.status.ok()) return;
    // One chunk alone has nothing to overlap with.
    const bool is_one =
        call.file.size_bytes() - stream_begin <= options.cb_buffer_bytes && call.file.num_pieces() <= 1;
    in_flight = in_flight && !is_one;
    if (in_flight && !direct_access && options.access != "posix") {
        storage::AccessOptions access_options;
        access_options.name = options.access;
        access_options.num_threads = std::max(1, options.io_threads * 2 / comm.node_size());
        access_options.cores = node_cores;
        access_options.learnt = StorageMemory::of(*file).of_limit(access_options.num_threads);
        auto access = storage::make_access(*file, access_options);
        if (access.ok()) direct_access = std::move(access).value();
        // Without one the calls are made in line: slower, not wrong.
    }
    const double start_s = now_s();
    const bool is_gated =
        call.is_write && service == Service::from_memory && call.file.size_bytes() > policy::gated_from;
    const DirectRequest request{call.file,
                                call.memory,
                                call.origin,
                                stream_begin,
                                call.file.size_bytes(),
                                call.is_write,
                                options.cb_buffer_bytes,
                                is_gated ? &control->writers : nullptr};
    const bool is_sieved = !in_flight && service == Service::from_memory && call.is_ordered &&
                           !options.direct_io && call.file.num_pieces() > 1 &&
                           call.file.size_bytes() / call.file.num_pieces() < policy::direct_read_piece;
    const DirectResult moved =
        is_sieved
            ? move_by_sieving(comm, *file, request, call.may_fill_holes)
            : move_directly(comm, *file, in_flight ? direct_access.get() : nullptr, options.depth, request);
    const double end_s = now_s();
    call.status = moved.status;
    // What lies before it came by the shuffle, as far as the file goes.
    const std::int64_t before =
        stream_begin > 0 ? std::min(stream_begin, call.file.bytes_below(call.end_of_file)) : 0;
    call.bytes_direct = before + moved.bytes;
    call.is_counted = true;
    num_waits_in_a_row = moved.has_waited ? num_waits_in_a_row + 1 : 0;
    if (num_waits_in_a_row >= (call.is_write && !is_gated ? policy::believed_waits : 1)) {
        service = Service::waits;
        StorageMemory::learn(*file, service);
    }
    if (in_flight && direct_access) StorageMemory::learn(*file, service, direct_access->learnt());
    counters.storage_s += end_s - start_s;
    counters.storage_bytes += moved.bytes;
    ++counters.direct_calls;
    timeline.add({call.is_write ? "write directly" : "read directly", 0, start_s, end_s});
}

void Engine::Impl::wait_for_storage(Call& call) {
    if (!phase) return;
    const double start_s = now_s();
    Status status = Pipeline::wait(comm, *phase);
    counters.wait_buffer_s += now_s() - start_s;
    call.status.keep_first(std::move(status));
    // Before the ranks meet again, and another node writes beside what lies in this one's cache.
    if (writer_block_bytes > 1 && name.is_writable) call.status.keep_first(file->sync());
    service = crew->learn(*file, *phase, service);
    add_storage(*std::exchange(phase, {}), counters);
}

Engine::Impl::~Impl() {
    if (phase) (void)Pipeline::wait({}, *phase);  // the Comm may be free
}

}  // namespace hakobi::io
