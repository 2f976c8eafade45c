#include "io/paths/in_line.hpp"

#include "base/clock.hpp"
#include "base/copy_bytes.hpp"
#include "io/policy.hpp"

namespace hakobi::io::paths {
namespace {

// Such a copy is made through a buffer (pieces.cpp).
bool is_slow_in_place(const Request& request) {
    if (request.file.size_bytes() < policy().bounced_from) return false;
    const auto memory = reinterpret_cast<std::size_t>(request.origin + request.memory.begin_bytes());
    const auto at = static_cast<std::size_t>(request.file.begin_bytes());
    return request.is_write ? is_slow_copy(at, memory) : is_slow_copy(memory, at);
}

}  // namespace

bool is_one_short_piece(const Request& request) {
    return !request.file.empty() && request.file.size_bytes() <= policy_limits::bounce &&
           request.file.num_pieces() == 1 && request.memory.num_pieces() == 1 && !is_slow_in_place(request);
}

void move_in_line(const Request& request, storage::File& file, Account& account, Progress& progress) {
    const auto length = static_cast<std::size_t>(request.file.size_bytes());
    std::byte* const bytes = request.origin + request.memory.begin_bytes();
    const double start_s = now_s();
    progress.bytes_moved = request.file.size_bytes();
    if (request.is_write) {
        progress.status = file.write_at({bytes, length}, request.file.begin_bytes());
    } else {
        const Result<std::int64_t> read = file.read_at({bytes, length}, request.file.begin_bytes());
        if (!read.ok()) progress.status = read.status();
        progress.bytes_moved = read.ok() ? read.value() : 0;
    }
    account.counters.storage_s += now_s() - start_s;
    account.counters.storage_bytes += *progress.bytes_moved;
    ++account.counters.direct_calls;
}

}  // namespace hakobi::io::paths
