#pragma once

#include <cstdint>
#include <hakobi/attribute.hpp>
#include <hakobi/export.hpp>
#include <hakobi/mesh.hpp>
#include <string>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// Description of a field of a step.
struct InputField {
    std::string name;
    std::string type;                 ///< as ncdump calls it: "double", "float", "int", "int64", …
    std::vector<std::string> dims;    ///< names of its dimensions, slowest first, without time
    std::vector<std::int64_t> shape;  ///< their lengths
    bool is_static = false;           ///< has no time dimension
    Attributes attributes = {};       ///< "units", "long_name", "standard_name", …
    On on = On::grid;                 ///< points or cells: a field on the mesh, shape (n) or (n, components)
    /// NaNs in the attributes compare equal: `_FillValue` often is NaN.
    HAKOBI_EXPORT friend bool operator==(const InputField& a, const InputField& b);
};

}  // namespace v0
}  // namespace hakobi
