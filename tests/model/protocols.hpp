// The protocols by which a node's ranks share memory, as jobs for the machine: the words and functions are
// those of src/, the values that pass through are Plain, and what moves them is as short as it can be.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/machine.hpp"

namespace hakobi::model {

struct Protocol {
    std::string name;
    std::function<Job()> set_up;
    Bounds bounds = {};
    bool is_small = false;  ///< tried in less than 0.2 s
};

/// A size that takes a second or so, and with `is_long` those of the night.
[[nodiscard]] std::vector<Protocol> protocols(bool is_long);

}  // namespace hakobi::model
