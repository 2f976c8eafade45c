// Functions of libhakobi_overview.so that hakobi.post (python/hakobi/post/indexing.py) calls. It needs no
// MPI.
#include <algorithm>
#include <cstring>
#include <hakobi/export.hpp>
#include <new>
#include <string_view>

#include "overview/overview.hpp"

namespace {

using hakobi::ErrorCode;
using hakobi::Status;

// Mirrored by indexing.py: plain numbers, in this order.
struct AxisC {
    const char *name, *units;
    const double* values;  // null: without coordinates
    std::int64_t length;
};

struct FieldC {
    const char *name, *units, *long_name;
    const AxisC* axes;
    std::int64_t num_axes, is_float64, num_times;
    std::int64_t offset_bytes, time_stride_bytes;  // -1: `read` has the values
    double fill, missing;
};

struct Job {
    const char *name, *journal, *journal_head;
    const FieldC* fields;
    std::int64_t num_fields, step_fd, target_fd, most_bytes, num_threads;
    // Field, time, start and stop a direction (with a first one of 1 in 2-D), where to; 0, or the code of an
    // error.
    int (*read)(std::int64_t, std::int64_t, const std::int64_t*, void*);
    const std::atomic<int>* stop;  // not 0: the work is given up
    char text[256];
};

std::vector<hakobi::overview::Field> fields_of(const Job& job) {
    std::vector<hakobi::overview::Field> fields;
    for (std::int64_t number = 0; number < job.num_fields; ++number) {
        const FieldC& given = job.fields[number];
        hakobi::overview::Field& field = fields.emplace_back();
        field.name = given.name;
        field.units = given.units;
        field.long_name = given.long_name;
        field.type =
            given.is_float64 != 0 ? hakobi::format::ValueType::float64 : hakobi::format::ValueType::float32;
        for (const AxisC& axis : std::span(given.axes, static_cast<std::size_t>(given.num_axes))) {
            field.axes.push_back(
                {.name = axis.name, .units = axis.units, .length = axis.length, .values = {}});
            if (axis.values != nullptr)
                field.axes.back().values.assign(axis.values, axis.values + axis.length);
        }
        field.num_times = given.num_times;
        field.offset_bytes = given.offset_bytes;
        field.time_stride_bytes = given.time_stride_bytes;
        field.fill = given.fill;
        field.missing = given.missing;
        if (given.offset_bytes >= 0) continue;
        field.read = [read = job.read, number](std::int64_t time, const hakobi::overview::Box& box,
                                               void* to) -> Status {
            if (const int code = read(number, time, box.front().data(), to); code != 0) {
                return {static_cast<ErrorCode>(code), "cannot read the step"};
            }
            return {};
        };
    }
    return fields;
}

int tell(Job& job, ErrorCode code, std::string_view text) {
    const std::size_t length = std::min(text.size(), sizeof job.text - 1);
    std::memcpy(job.text, text.data(), length);
    job.text[length] = '\0';
    return static_cast<int>(code);
}

}  // namespace

/// 0, or the code of hakobi::ErrorCode with its text in the job.
extern "C" HAKOBI_EXPORT int hakobi_overview_make(Job* job) {
    try {
        const Status status =
            hakobi::overview::make_overview(static_cast<int>(job->step_fd), job->name, fields_of(*job),
                                            static_cast<int>(job->target_fd), job->most_bytes,
                                            {.num_threads = static_cast<int>(job->num_threads),
                                             .journal = job->journal,
                                             .journal_head = job->journal_head,
                                             .stop = job->stop});
        return tell(*job, status.code(), status.text());
    } catch (const std::bad_alloc&) {
        return tell(*job, ErrorCode::out_of_memory, "out of memory");
    } catch (const std::exception& error) {
        return tell(*job, ErrorCode::internal, error.what());
    }
}
