// A lattice's gauge field in a file of somebody else's: NERSC's header, or ILDG's records.
#include <hakobi/error.hpp>

#include "gauge_format.hpp"
#include "input.hpp"

using namespace hakobi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::Input(data, size).text();
    const auto file_bytes = static_cast<std::int64_t>(size);
    const auto read_at = [&](std::int64_t offset, std::int64_t most) {
        fuzz::require(offset >= 0 && most >= 0);
        return std::string(text.substr(static_cast<std::size_t>(std::min(offset, file_bytes)),
                                       static_cast<std::size_t>(most)));
    };
    try {
        const lattice::GaugeLayout layout = lattice::parse_gauge_file(read_at, file_bytes, "file");
        fuzz::require(layout.links_offset_bytes >= 0 && layout.links_bytes() > 0);
        fuzz::require(layout.links_bytes() <= file_bytes - layout.links_offset_bytes);
    } catch (const Error& error) {
        fuzz::require(error.code() == ErrorCode::format || error.code() == ErrorCode::unsupported);
    }
    return 0;
}
