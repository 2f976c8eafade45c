#include "exchange/remote_copy.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/random.hpp"

namespace hakobi::exchange {
namespace {

constexpr std::size_t most_pieces = 1024;  // of one call: IOV_MAX

void add_piece(std::vector<::iovec>& list, std::uintptr_t address, std::size_t bytes) {
    if (!list.empty() &&
        reinterpret_cast<std::uintptr_t>(list.back().iov_base) + list.back().iov_len == address) {
        list.back().iov_len += bytes;
        return;
    }
    list.push_back({reinterpret_cast<void*>(address), bytes});
}

}  // namespace

Probe Probe::own() {
    Probe probe;
    probe.process = ::getpid();
    probe.secret = static_cast<std::int64_t>(random_bits());
    return probe;
}

Probe Probe::told() const {
    return {.process = process, .address = reinterpret_cast<std::int64_t>(&secret), .value = secret};
}

bool can_read(const Probe& probe) {
    std::int64_t found = ~probe.value;
    ::iovec local{&found, sizeof found};
    ::iovec remote{reinterpret_cast<void*>(probe.address), sizeof found};
    return ::process_vm_readv(static_cast<pid_t>(probe.process), &local, 1, &remote, 1, 0) ==
               static_cast<ssize_t>(sizeof found) &&
           found == probe.value;
}

HaloPeer::Remote::Remote(std::int64_t other, std::int64_t first, std::byte* target,
                         std::span<const StridedCopy> copies)
    : process(other) {
    for (const StridedCopy& copy : copies) {
        for_each_piece(copy, [&](std::int64_t from_offset, std::int64_t to_offset) {
            const auto bytes = static_cast<std::size_t>(copy.piece_bytes);
            add_piece(from, static_cast<std::uintptr_t>(first + from_offset), bytes);
            add_piece(to, reinterpret_cast<std::uintptr_t>(target) + static_cast<std::uintptr_t>(to_offset),
                      bytes);
        });
    }
}

// Each call takes as many bytes from both lists as the first `most_pieces` of either hold; a call may also
// move less.
bool read_remote(std::int64_t process, std::span<const ::iovec> from, std::span<const ::iovec> to) {
    std::vector<::iovec> remote(from.begin(), from.end()), local(to.begin(), to.end());
    std::size_t first_remote = 0, first_local = 0;
    const auto total = [](const std::vector<::iovec>& list, std::size_t first, std::size_t num) {
        std::size_t bytes = 0;
        for (std::size_t i = first; i < first + num; ++i) bytes += list[i].iov_len;
        return bytes;
    };
    const auto advance = [](std::vector<::iovec>& list, std::size_t& first, std::size_t bytes) {
        while (first < list.size() && bytes >= list[first].iov_len) bytes -= list[first++].iov_len;
        if (bytes == 0) return;
        list[first].iov_base = static_cast<std::byte*>(list[first].iov_base) + bytes;
        list[first].iov_len -= bytes;
    };
    while (first_local < local.size()) {
        const std::size_t num_remote = std::min(most_pieces, remote.size() - first_remote);
        const std::size_t num_local = std::min(most_pieces, local.size() - first_local);
        // The kernel stops where the shorter list ends.
        const std::size_t most =
            std::min(total(remote, first_remote, num_remote), total(local, first_local, num_local));
        const ssize_t moved = ::process_vm_readv(static_cast<pid_t>(process), &local[first_local], num_local,
                                                 &remote[first_remote], num_remote, 0);
        if (moved <= 0 || static_cast<std::size_t>(moved) > most) return false;
        advance(local, first_local, static_cast<std::size_t>(moved));
        advance(remote, first_remote, static_cast<std::size_t>(moved));
    }
    return true;
}

bool run_remote(const HaloPeer::Remote& remote) {
    return read_remote(remote.process, remote.from, remote.to);
}

}  // namespace hakobi::exchange
