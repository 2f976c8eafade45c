#pragma once

#include <string>

#include "gauge.hpp"
#include "gauge_format.hpp"

namespace hakobi::lattice {

/// Returns the layout that a configuration file states; rank 0 reads it. Collective over `comm`; throws the
/// same Error on every rank: not_found, permission, format, unsupported, io.
[[nodiscard]] GaugeLayout read_gauge_layout(const Comm& comm, const std::string& path);

/// Reads the links of the file that `layout` was read from, each rank its block in one collective MPI-IO
/// call, and holds them against everything that the file says of them. Collective; throws the same Error on
/// every rank: `format` when a checksum, the plaquette or the link trace differs (the text says which, and
/// whether the byte order explains it) or a link is not in SU(3); io.
struct GaugeVerdict {
    GaugeMeasures measures;
    std::string checked;  ///< by what: "checksum, plaquette, link trace"
};
GaugeVerdict read_gauge(const Comm& comm, const std::string& path, const GaugeLayout& layout, Gauge& gauge,
                        const AddUp& add_up);

struct GaugeWriteOptions {
    GaugeFormat format = GaugeFormat::nersc;
    int bytes_per_real = 8;
    int num_rows = 3;  ///< NERSC only: 2 leaves the third row out
    Provenance provenance;
};
/// Writes a configuration under `<path>.part`, each rank its block in one collective MPI-IO call, and renames
/// it when all ranks have written: what is called `path` is whole. Collective; throws the same Error on every
/// rank.
void write_gauge(const Comm& comm, const std::string& path, const Gauge& gauge, const GaugeMeasures& measures,
                 const GaugeWriteOptions& options);

}  // namespace hakobi::lattice
