#pragma once

#include <hakobi/attribute.hpp>
#include <string>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// A dimension and its CF coordinate variable. Every rank gives the whole axis; it must be equal on all
/// ranks.
struct Axis {
    std::string name;                ///< "lat", "lon", "x", …: also the dimension's name in the file
    std::string units;               ///< "degrees_north", "degrees_east", "m", …
    std::string standard_name = {};  ///< CF's, or ""
    /// One value per grid point. Empty: a named dimension without a coordinate variable. An axis called
    /// "time", without values, units and standard name, has the further attributes of the variable time:
    /// {"bounds", "time_bnds"}.
    std::vector<double> values;
    /// Further CF attributes: {"positive", "down"} and {"axis", "Z"} for a vertical axis, "formula_terms", …
    Attributes attributes = {};
};

}  // namespace v0
}  // namespace hakobi
