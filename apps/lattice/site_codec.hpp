#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gauge.hpp"
#include "gauge_format.hpp"

namespace hakobi::lattice {

/// This rank's links as they stand in a file: sites in geometry order, `layout.site_bytes()` each. Local,
/// pure.
[[nodiscard]] std::vector<std::byte> encode_links(const Gauge& gauge, const GaugeLayout& layout);

/// Sets this rank's links from such bytes; a third row that is not there is completed. Local.
void decode_links(std::span<const std::byte> bytes, const GaugeLayout& layout, Gauge& gauge);

/// The checksums of this rank's bytes; those of all ranks are put together by `combine`. Local, pure.
[[nodiscard]] Checksums checksums_of(std::span<const std::byte> bytes, const GaugeLayout& layout,
                                     const Geometry& geometry);
/// Collective.
[[nodiscard]] Checksums combine(const Checksums& own, const Comm& comm);

/// CRC-32 as zlib and PNG have it. Pure.
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> bytes);

}  // namespace hakobi::lattice
