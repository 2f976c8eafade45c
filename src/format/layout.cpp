#include "format/layout.hpp"

#include <cstring>

namespace hakobi::format {

void set_time(Layout& layout, double time) {
    if (layout.time_offset_bytes == 0) return;
    for (Extent& extent : layout.metadata) {
        const std::int64_t within = layout.time_offset_bytes - extent.offset_bytes;
        if (within < 0 || within >= std::ssize(extent.bytes)) continue;
        // Never split: extents end at page borders.
        std::memcpy(extent.bytes.data() + within, &time, sizeof(time));
    }
}

}  // namespace hakobi::format
