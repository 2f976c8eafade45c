#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "measure/record.hpp"

namespace hakobi::bench::scale {

/// Simulates every case, a line of JSON each, its methods on as many threads as there are cores, and hands on
/// a record for each, from one thread at a time. invalid_argument for a line that cannot be read: nothing is
/// run then.
[[nodiscard]] Status run_cases(const std::vector<std::string>& lines,
                               const std::function<void(const measure::Record&)>& take);

}  // namespace hakobi::bench::scale
