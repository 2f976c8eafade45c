#pragma once

#include <hakobi/comm.hpp>
#include <string>
#include <vector>

#include "shallow_water.hpp"

namespace hakobi::weather {

/// Winds and heights that somebody analysed or forecast, on a regular grid of latitudes from 90 N to 90 S and
/// longitudes from 0 E, on pressure levels.
struct Analysis {
    int num_latitudes = 0, num_longitudes = 0;
    std::vector<double> pressure;      ///< hPa, ascending
    std::vector<double> u, v;          ///< m/s, level slowest, then latitude
    std::vector<double> geopotential;  ///< m²/s²
    long date = 0, time = 0;           ///< when the fields hold, 20110115 and 1200
};

/// Reads u, v and gh on pressure levels from a file of GRIB messages; others in it are passed over. Rank 0
/// reads; every rank gets the same or throws the same Error: not_found, format, unsupported. Collective.
Analysis read_analysis(const std::string& path, MPI_Comm comm);

/// The analysis on a model's points: linear in space, and in the logarithm of pressure to each level's.
ShallowWater::LevelFields fields_of(const Analysis& analysis, const ShallowWater& model,
                                    std::vector<double> level_pressure);

/// Pressure of `num_levels` layers of equal mass, hPa, from the top.
std::vector<double> level_pressures(int num_levels);

}  // namespace hakobi::weather
