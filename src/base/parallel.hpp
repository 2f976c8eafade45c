#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/status.hpp"

namespace hakobi {

/// Calls `work` once for each number below `count`, on this thread and up to `num_threads` - 1 others, named
/// `name`. The first error, also one thrown, ends it when what has begun is done, and is returned.
Status for_each_parallel(std::size_t count, int num_threads, const std::string& name,
                         const std::function<Status(std::size_t)>& work);

}  // namespace hakobi
