#include "device/joined_copy.hpp"

namespace hakobi::device {

bool JoinedCopy::add(const Copy& series) {
    if (!empty()) {
        return copy_.length_bytes == series.length_bytes && series.to >= copy_.to &&
               series.from >= copy_.from && (goes_on(series) || is_next_of_outer(series));
    }
    copy_ = series;
    if (copy_.num[1] == 1) copy_.to_strides_bytes[1] = copy_.from_strides_bytes[1] = 0;
    return true;
}

// More of the inner dimension, while there is no outer one.
bool JoinedCopy::goes_on(const Copy& series) {
    if (copy_.num[0] > 1) return false;
    const std::int64_t to = series.to - copy_.to, from = series.from - copy_.from;
    const bool is_one = copy_.num[1] == 1;
    const std::int64_t to_stride = is_one ? to : copy_.to_strides_bytes[1];
    const std::int64_t from_stride = is_one ? from : copy_.from_strides_bytes[1];
    const bool is_behind = to == copy_.num[1] * to_stride && from == copy_.num[1] * from_stride;
    // A single run has no strides of its own.
    const bool is_alike = series.num[1] == 1 || (series.to_strides_bytes[1] == to_stride &&
                                                 series.from_strides_bytes[1] == from_stride);
    if (!is_behind || !is_alike) return false;
    copy_.to_strides_bytes[1] = to_stride;
    copy_.from_strides_bytes[1] = from_stride;
    copy_.num[1] += series.num[1];
    return true;
}

bool JoinedCopy::is_next_of_outer(const Copy& series) {
    const bool is_alike = series.num[1] == 1 || (copy_.to_strides_bytes[1] == series.to_strides_bytes[1] &&
                                                 copy_.from_strides_bytes[1] == series.from_strides_bytes[1]);
    if (copy_.num[1] != series.num[1] || !is_alike) return false;
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

}  // namespace hakobi::device
