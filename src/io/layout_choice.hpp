#pragma once

#include <cstdint>
#include <hakobi/hints.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/options.hpp"
#include "storage/layout_wish.hpp"

namespace hakobi::io {

/// The layout that a new file gets, and why. Pure.
struct LayoutChoice {
    std::optional<storage::LayoutWish> wish;  ///< none: the folder's, of which nothing is asked
    std::string why;                          ///< for people; "" where the storage has no layouts
    std::vector<std::string> remarks;  ///< of hints that are not obeyed to the letter: what is done instead
};

/// By the hints, if there are any (striping_factor, striping_unit, start_iodevice, overstriping_ratio). Else
/// the storage gets as many stripes as the nodes and the file can use, unless somebody has chosen the
/// folder's layout, it does as well, or hakobi_layout says so. `num_nodes`: whose ranks write the file;
/// `size_bytes`: that it will have, 0 where that is not known.
[[nodiscard]] LayoutChoice choose_layout(const EngineOptions& options, const storage::LayoutFacts& facts,
                                         int num_nodes, std::int64_t size_bytes);

/// A layout in the words of the hints that ask for it; none where there are no stripes.
[[nodiscard]] Hints hints_of(const storage::Layout& layout);

}  // namespace hakobi::io
