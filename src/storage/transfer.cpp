#include "storage/transfer.hpp"

#include "base/clock.hpp"

namespace hakobi::storage {

void transfer(File& file, Request& request, int thread) {
    request.start_s = now_s();
    request.thread = thread;
    request.status = {};
    request.transferred_bytes = 0;
    for (const Extent& extent : request.extents) {
        const std::span part(request.buffer + extent.buffer_bytes,
                             static_cast<std::size_t>(extent.length_bytes));
        if (request.is_write) {
            request.status = file.write_at(part, extent.file_bytes);
            if (request.status.ok()) request.transferred_bytes += extent.length_bytes;
        } else if (Result<std::int64_t> bytes = file.read_at(part, extent.file_bytes); bytes.ok()) {
            request.transferred_bytes += bytes.value();
        } else {
            request.status = bytes.status();
        }
        if (!request.status.ok()) break;
    }
    request.end_s = now_s();
}

}  // namespace hakobi::storage
