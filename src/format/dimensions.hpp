#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/step.hpp"

namespace hakobi::format {

/// A dimension of the file. `axis` is its index in StepDescription::axes, -1 for one without a coordinate
/// variable.
struct Dimension {
    std::string name;
    std::int64_t length = 0;
    int axis = -1;
};

/// The dimensions of each field, without time.
struct Dimensions {
    std::vector<Dimension> all;              ///< in the order of the file
    std::vector<std::vector<int>> of_field;  ///< for each field, indices into `all`, slowest first
};

/// Gives every field its dimensions: those that it names (an axis, or a dimension of its own without a
/// coordinate variable), else axes in their order whose lengths are its extents, where there is one such
/// choice only. An axis without values takes the extent of the first field that has it, and is guessed where
/// no other choice fits. Without any axis unnamed dimensions are dim_0, dim_1, …, shared by fields where
/// extents are equal. invalid_argument, naming the field, when none fits, several do, or a name has two
/// lengths. Pure.
Result<Dimensions> dimensions_of(const StepDescription& step);

}  // namespace hakobi::format
