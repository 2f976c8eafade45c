#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "format/step.hpp"
#include "overview/reduce.hpp"

namespace hakobi::overview {

/// What an overview is called after its step: "run_000012.nc.overview.zip". python/hakobi/post/overview.py says what is in it.
inline constexpr std::string_view suffix = ".overview.zip";

struct Axis {
    std::string name, units;
    std::int64_t length = 0;
    std::vector<double> values;  ///< none: without coordinates
};

/// A field of a step's file in 2-D or 3-D; its values lie from offset_bytes on, in C order.
struct Field {
    std::string name, units, long_name;
    format::ValueType type = format::ValueType::float32;
    std::vector<Axis> axes;  ///< 2 or 3
    std::int64_t offset_bytes = 0;
    double fill = std::numeric_limits<double>::quiet_NaN();  ///< this value is none
};

/// As what a field's values are reduced: float32 where it holds them.
[[nodiscard]] CellType cell_type(format::ValueType type);

/// Writes the overview of a step's whole file `step_fd`, whose name is going to be `name`, to the new file `target_fd`: the
/// bytes that `hakobi index` makes of it. Memory is a few times `most_bytes`. Local.
/// io, no_space, format, out_of_memory.
Status make_overview(int step_fd, const std::string& name, std::vector<Field> fields, int target_fd,
                     std::int64_t most_bytes);

}  // namespace hakobi::overview
