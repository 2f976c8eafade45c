#pragma once

#include <cstdint>
#include <string>

#include "io/options.hpp"

namespace hakobi::io {

/// A file that is about to be made.
struct NewFile {
    std::string path;
    int num_nodes = 1;            ///< whose ranks will write it
    std::int64_t size_bytes = 0;  ///< that it will have; 0: not known
};

/// Makes it, empty, with the layout that the hints ask for or that suits it (layout_choice.hpp), where its
/// storage has layouts to choose. Prints its choice with the reasons if HAKOBI_EXPLAIN=1, and hints that it
/// does not obey to the letter on stderr in any case. Returns whether the file was made: else nothing has
/// happened, and the caller makes the file as usual. Local, one rank's.
[[nodiscard]] bool make_with_layout(const NewFile& file, const EngineOptions& options);

}  // namespace hakobi::io
