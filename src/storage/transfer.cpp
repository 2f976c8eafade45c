#include "storage/transfer.hpp"

#include <cassert>
#include <cstring>
#include <new>
#include <vector>

#include "base/clock.hpp"

namespace hakobi::storage {
namespace {

std::span<std::byte> part_of(const Request& request, const Extent& extent) {
    assert(extent.buffer_bytes >= 0 && extent.length_bytes >= 0);
    return {request.buffer + extent.buffer_bytes, static_cast<std::size_t>(extent.length_bytes)};
}

Status write(File& file, Request& request, const Extent& extent) {
    const double start_s = now_s();
    Status status = file.write_at(part_of(request, extent), extent.file_bytes);
    if (status.ok()) request.writes.add(extent.length_bytes, now_s() - start_s);
    return status;
}

/// Releases its range at the end.
class RangeLock {
  public:
    RangeLock(File& file, const Extent& extent)
        : file_(file), extent_(extent), status_(file.lock_range(extent.file_bytes, extent.length_bytes)) {}
    ~RangeLock() {
        if (status_.ok()) (void)file_.unlock_range(extent_.file_bytes, extent_.length_bytes);
    }
    RangeLock(const RangeLock&) = delete;
    RangeLock& operator=(const RangeLock&) = delete;
    [[nodiscard]] const Status& status() const noexcept { return status_; }

  private:
    File& file_;
    const Extent& extent_;
    Status status_;
};

Status write_runs(File& file, Request& request, const Extent& extent) {
    assert(request.holes != nullptr);
    std::vector<Extent> runs;
    request.holes->append_runs(extent, runs);
    for (const Extent& run : runs) {
        assert(run.file_bytes >= extent.file_bytes &&
               run.file_bytes + run.length_bytes <= extent.file_bytes + extent.length_bytes);
        if (Status status = write(file, request, run); !status.ok()) return status;
    }
    return {};
}

Status write_around_holes(File& file, Request& request, const Extent& extent) try {
    thread_local std::vector<std::byte> old;  // as large as a collective buffer at most
    if (std::ssize(old) < extent.length_bytes) old.resize(static_cast<std::size_t>(extent.length_bytes));
    const RangeLock lock(file, extent);
    if (lock.status().code() == ErrorCode::unsupported) return write_runs(file, request, extent);
    if (!lock.status().ok()) return lock.status();
    const double start_s = now_s();
    const auto length = static_cast<std::size_t>(extent.length_bytes);
    Result<std::int64_t> read = file.read_at({old.data(), length}, extent.file_bytes);
    if (!read.ok()) return read.status();
    const auto bytes = static_cast<std::size_t>(read.value());
    assert(bytes <= length && request.holes != nullptr);
    request.reads.add(read.value(), now_s() - start_s);
    request.filled_bytes += read.value();
    std::memset(old.data() + bytes, 0, length - bytes);  // behind the file's end holes are zeros anyway
    request.holes->fill(extent, old.data());
    return write(file, request, extent);
} catch (const std::bad_alloc&) {
    return write_runs(file, request, extent);
}

Status read(File& file, Request& request, const Extent& extent) {
    const double start_s = now_s();
    Result<std::int64_t> bytes = file.read_at(part_of(request, extent), extent.file_bytes);
    if (!bytes.ok()) return bytes.status();
    assert(bytes.value() <= extent.length_bytes);
    request.transferred_bytes += bytes.value();
    request.reads.add(bytes.value(), now_s() - start_s);
    return {};
}

}  // namespace

void transfer(File& file, Request& request, int thread) {
    request.start_s = now_s();
    request.thread = thread;
    request.status = {};
    request.transferred_bytes = request.filled_bytes = 0;
    request.reads = request.writes = {};
    for (const Extent& extent : request.extents) {
        if (!request.is_write) {
            request.status = read(file, request, extent);
        } else {
            request.status =
                extent.has_holes ? write_around_holes(file, request, extent) : write(file, request, extent);
            if (request.status.ok()) request.transferred_bytes += extent.length_bytes;
        }
        if (!request.status.ok()) break;
    }
    request.end_s = now_s();
}

void account(const Request& request, ServiceSample& sample) {
    sample.length_bytes = request.transferred_bytes;
    sample.reads = request.reads;
    sample.writes = request.writes;
}

}  // namespace hakobi::storage
