// The protocols by which a node's ranks share memory, as jobs for the machine: the words and functions are
// those of src/, the values that pass through are Plain, and what moves them is as short as it can be.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/machine.hpp"

namespace hakobi::model {

/// How long it takes on one core to try it, at most: 0.2 s, 2 s, a minute. Longer ones are tried as far as
/// `most_states_of_minutes`.
enum class Effort : std::uint8_t { moment, seconds, minute, minutes };

constexpr std::int64_t most_states_of_minutes = 2'000'000;

struct Protocol {
    std::string name;
    std::function<Job()> set_up;
    Effort effort = Effort::seconds;
    Bounds bounds = {};
};

[[nodiscard]] std::vector<Protocol> protocols();

}  // namespace hakobi::model
