#include "format/registry.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/nearest.hpp"
#include "format/netcdf4/netcdf4.hpp"
#include "format/vtkhdf/vtkhdf.hpp"
#include "format/zarr/zarr.hpp"

namespace hakobi::format {

std::span<const Format* const> formats() {
    static const std::array<const Format*, 3> entries = {&netcdf4(), &vtkhdf(), &zarr_v3()};
    return entries;
}

const Format* format_with(std::string_view extension) {
    const auto found = std::ranges::find(formats(), extension, &Format::extension);
    return found == formats().end() ? nullptr : *found;
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

}  // namespace hakobi::format
