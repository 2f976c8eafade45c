// What hakobi.post (python/hakobi/post/reducer.py) calls in libhakobi_overview.so, which needs no MPI.
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <hakobi/export.hpp>
#include <new>
#include <string_view>

#include "overview/checksum.hpp"
#include "overview/container.hpp"
#include "overview/reduce.hpp"

namespace {

using hakobi::Status;

/// Mirrored by reducer.py: plain numbers, in this order.
struct Job {
    std::int64_t shape[3], box[3][2], brick[3], source_brick[3];
    const void* values;
    std::int64_t source_fd, source_offset_bytes;
    std::int64_t target_fd, target_offset_bytes;
    std::int64_t type;  // of hakobi::overview::CellType
    std::int64_t is_flat, sample_stride;
    double offset, scale, fills[2];
    // What was found; the arrays have room for all bricks, and for the cells over the stride, rounded up.
    double *low, *high, *sample;
    double sum;
    std::int64_t num_nan, crc32;
    char text[256];
};

Status run(Job& job) {
    hakobi::overview::Source source{.type = static_cast<hakobi::overview::CellType>(job.type),
                                    .values = job.values,
                                    .fd = static_cast<int>(job.source_fd),
                                    .offset_bytes = job.source_offset_bytes,
                                    .fills = {job.fills[0], job.fills[1]}};
    hakobi::overview::Unit unit{.is_flat = job.is_flat != 0,
                                .offset = job.offset,
                                .scale = job.scale,
                                .sample_stride = job.sample_stride};
    std::ranges::copy(job.shape, source.shape.begin());
    std::ranges::copy(job.source_brick, source.brick.begin());
    std::ranges::copy(job.brick, unit.brick.begin());
    for (std::size_t d = 0; d < unit.box.size(); ++d) unit.box[d] = {job.box[d][0], job.box[d][1]};
    hakobi::Result<hakobi::overview::Found> reduced = hakobi::overview::reduce(source, unit);
    if (!reduced.ok()) return reduced.status();
    const hakobi::overview::Found& found = reduced.value();
    job.crc32 = hakobi::overview::crc32(found.bricks);
    job.sum = found.sum;
    job.num_nan = found.num_nan;
    std::ranges::copy(found.low, job.low);
    std::ranges::copy(found.high, job.high);
    std::ranges::copy(found.sample, job.sample);
    const int fd = static_cast<int>(job.target_fd);
    const Status status = hakobi::overview::write_all(fd, found.bricks, job.target_offset_bytes);
    // Under way while the next unit is read: the last fsync has little left to do.
    (void)::sync_file_range(fd, job.target_offset_bytes, static_cast<std::int64_t>(found.bricks.size()),
                            SYNC_FILE_RANGE_WRITE);
    return status;
}

int tell(Job& job, int code, std::string_view text) {
    const std::size_t length = std::min(text.size(), sizeof job.text - 1);
    std::memcpy(job.text, text.data(), length);
    job.text[length] = '\0';
    return code;
}

}  // namespace

/// 0, or the code of hakobi::ErrorCode with its text in the job.
extern "C" HAKOBI_EXPORT int hakobi_overview_reduce(Job* job) {
    try {
        const Status status = run(*job);
        return tell(*job, static_cast<int>(status.code()), status.text());
    } catch (const std::bad_alloc&) {
        return tell(*job, static_cast<int>(hakobi::ErrorCode::out_of_memory), "out of memory");
    } catch (const std::exception& error) {
        return tell(*job, static_cast<int>(hakobi::ErrorCode::internal), error.what());
    }
}
