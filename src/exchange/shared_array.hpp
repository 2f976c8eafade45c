#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/shared_array.hpp>

namespace hakobi::exchange {

/// A place in memory that `allocate_shared` made, by what every rank of its node can find it: `id` names the
/// allocation on that node, 0 none.
struct SharedPlace {
    std::int64_t id = 0, offset = 0;
};

/// Where `[begin, begin + bytes)` lies; none when it is not wholly in one allocation. Local.
[[nodiscard]] SharedPlace place_of(const std::byte* begin, std::int64_t bytes);
/// The same place in this process; null when it has not mapped that allocation. Local.
[[nodiscard]] std::byte* address_of(const SharedPlace& place);

/// Exchanges under way on an allocation: SharedArray's destructor looks at it. Local.
void add_use(std::int64_t id);
void remove_use(std::int64_t id);

}  // namespace hakobi::exchange
