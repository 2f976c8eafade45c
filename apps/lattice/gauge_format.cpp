#include "gauge_format.hpp"

#include <algorithm>
#include <hakobi/error.hpp>

namespace hakobi::lattice {
namespace {

constexpr std::int64_t max_header_bytes = 65536;

void check(const GaugeLayout& layout, std::int64_t file_bytes, const std::string& name) {
    std::int64_t sites = 1;
    for (const std::int64_t extent : layout.extents) {
        constexpr std::int64_t most = std::int64_t{1} << 40;
        if (extent < 1 || extent > most || (sites *= extent) > most) {
            throw Error(ErrorCode::format, name + ": a lattice of " + to_string(layout.extents) + " sites");
        }
    }
    const std::int64_t needed = layout.links_offset_bytes + layout.links_bytes();
    if (file_bytes < needed) {
        throw Error(ErrorCode::format, name + ": torn: " + std::to_string(file_bytes) +
                                           " bytes, but links of " + to_string(layout.extents) +
                                           " sites end at " + std::to_string(needed));
    }
    if (layout.format == GaugeFormat::nersc && file_bytes > needed) {
        throw Error(ErrorCode::format,
                    name + ": " + std::to_string(file_bytes - needed) +
                        " bytes follow the links: not the lattice or type that its header says");
    }
}

}  // namespace

GaugeLayout parse_gauge_file(const ReadAt& read_at, std::int64_t file_bytes, const std::string& name) {
    const std::string begin = read_at(0, std::min(file_bytes, max_header_bytes));
    GaugeLayout layout;
    if (begin.starts_with("BEGIN_HEADER")) {
        constexpr std::string_view end = "END_HEADER\n";
        const auto at_end = begin.find(end);
        if (at_end == std::string::npos) {
            throw Error(ErrorCode::format, name + ": its NERSC header has no END_HEADER");
        }
        layout = nersc::parse(begin.substr(0, at_end), name);
        layout.links_offset_bytes = static_cast<std::int64_t>(at_end + end.size());
    } else if (begin.starts_with("\x45\x67\x89\xab")) {
        layout = lime::parse(read_at, file_bytes, name);
    } else {
        throw Error(ErrorCode::format,
                    name + ": neither a NERSC configuration (BEGIN_HEADER) nor an ILDG one (a LIME file)");
    }
    check(layout, file_bytes, name);
    return layout;
}

GaugeFrame frame_gauge_file(GaugeLayout& layout, const Checksums& checksums, const Provenance& provenance) {
    GaugeFrame frame = layout.format == GaugeFormat::nersc
                           ? GaugeFrame{.before = nersc::compose(layout, checksums, provenance), .after = {}}
                           : lime::compose(layout, checksums, provenance);
    layout.links_offset_bytes = static_cast<std::int64_t>(frame.before.size());
    return frame;
}

std::string_view to_string(GaugeFormat format) {
    return format == GaugeFormat::nersc ? "nersc" : "ildg";
}

}  // namespace hakobi::lattice
