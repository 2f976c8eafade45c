#pragma once

#include "format/grib/eccodes.hpp"
#include "format/grib/keys.hpp"

namespace hakobi::format::grib {

/// Keywords of a message that is not labelled for MARS: it has no class. Most centres' messages are so. MARS'
/// own words are used where they fit, and everything that the product definition tells fields apart by is a
/// keyword:
///
///   origin       the centre ("kwbc"), process: its generating process ("96")
///   grid         its kind and size ("lambert-1073x689"): one product may come on several
///   date, time, number: as ecCodes has them for MARS
///   step         the same; of an interval its begin and end ("66-72")
///   type         where edition 2 says it ("fc", "an", "pf")
///   levtype      pl, ml, pt, pv, sfc; another surface by ecCodes' name ("heightAboveGround"), an unknown one "type213"
///   levelist     pl: hPa; pv: 1e-9 K m2 kg-1 s-1; others in the message's unit; a layer "0-0.1". Left out where there is none
///   param        the number in ECMWF's database; where it has none "discipline-category-number", of edition 1 "table-number"
///   steptype     "avg", "accum", "max", …; left out for an instant
///   derived      of members: its number in WMO's code table 4.7
///   quantile     a percentile
///   probability  "above0.254", "below273.15", "between0to1"
///   chem         the constituent's number, or the aerosol's
///
/// `mars` is what ecCodes has in its namespace. The caller holds ecCodes' mutex.
Keywords foreign_keywords(const Handle& handle, const Keywords& mars);

/// value * 10^-factor, exactly: (44, 2) is "0.44".
std::string decimal_text(std::int64_t value, std::int64_t factor);

}  // namespace hakobi::format::grib
