#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/nearest.hpp"
#include "format/format.hpp"

namespace hakobi::format {

std::span<const Format* const> formats() {
    static const std::array<const Format*, 2> entries = {&netcdf4(), &vtkhdf()};
    return entries;
}

Result<const Format*> find_format(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Format* format : formats()) {
        if (format->name() == name) return format;
        names.push_back(format->name());
    }
    std::string text = "unknown format '" + std::string(name) + "'";
    if (const std::string nearest = nearest_name(name, names); !nearest.empty()) {
        text += ": did you mean '" + nearest + "'?";
    } else {
        for (std::size_t i = 0; i < names.size(); ++i)
            text.append(i == 0 ? "; there are " : ", ").append(names[i]);
    }
    return Status(ErrorCode::invalid_argument, std::move(text));
}

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
