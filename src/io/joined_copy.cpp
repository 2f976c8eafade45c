#include "io/joined_copy.hpp"

namespace hakobi::io {

bool JoinedCopy::add(const RunMover::Series& series) {
    if (!empty()) {
        return copy_.length_bytes == series.length && series.to >= copy_.to && series.from >= copy_.from &&
               (goes_on(series) || is_next_of_outer(series));
    }
    const bool has_several = series.num > 1;
    copy_ = {.to = series.to,
             .from = series.from,
             .length_bytes = series.length,
             .num = {1, series.num},
             .to_strides_bytes = {0, has_several ? series.to_stride : 0},
             .from_strides_bytes = {0, has_several ? series.from_stride : 0}};
    return true;
}

// More of the inner dimension, while there is no outer one.
bool JoinedCopy::goes_on(const RunMover::Series& series) {
    if (copy_.num[0] > 1) return false;
    const std::int64_t to = series.to - copy_.to, from = series.from - copy_.from;
    const bool is_one = copy_.num[1] == 1;
    const std::int64_t to_stride = is_one ? to : copy_.to_strides_bytes[1];
    const std::int64_t from_stride = is_one ? from : copy_.from_strides_bytes[1];
    const bool is_behind = to == copy_.num[1] * to_stride && from == copy_.num[1] * from_stride;
    // A single run has no strides of its own.
    const bool is_alike =
        series.num == 1 || (series.to_stride == to_stride && series.from_stride == from_stride);
    if (!is_behind || !is_alike) return false;
    copy_.to_strides_bytes[1] = to_stride;
    copy_.from_strides_bytes[1] = from_stride;
    copy_.num[1] += series.num;
    return true;
}

bool JoinedCopy::is_next_of_outer(const RunMover::Series& series) {
    const bool is_alike = series.num == 1 || (copy_.to_strides_bytes[1] == series.to_stride &&
                                              copy_.from_strides_bytes[1] == series.from_stride);
    if (copy_.num[1] != series.num || !is_alike) return false;
    const std::int64_t to = series.to - copy_.to, from = series.from - copy_.from;
    if (copy_.num[0] == 1) {
        copy_.to_strides_bytes[0] = to;
        copy_.from_strides_bytes[0] = from;
    }
    if (to != copy_.num[0] * copy_.to_strides_bytes[0] || from != copy_.num[0] * copy_.from_strides_bytes[0])
        return false;
    ++copy_.num[0];
    return true;
}

}  // namespace hakobi::io
