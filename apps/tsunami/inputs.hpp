#pragma once

#include <hakobi/comm.hpp>
#include <string>
#include <vector>

#include "gauges.hpp"
#include "seafloor.hpp"
#include "source.hpp"

namespace hakobi::tsunami {

/// The inputs that rank 0 read from files, on every rank.
struct Inputs {
    Seafloor seafloor;
    Rupture rupture;
    std::vector<Gauge> gauges;
};

/// Reads the sea floor, the rupture and, unless its path is empty, the list of gauges on rank 0, sees that
/// `json_path` (unless empty) can be appended to, and hands everything to all ranks. Collective over `comm`.
/// Throws the same Error on every rank.
[[nodiscard]] Inputs read_inputs(const Comm& comm, const std::string& seafloor_path,
                                 const std::string& rupture_path, const std::string& gauges_path,
                                 const std::string& json_path);

}  // namespace hakobi::tsunami
