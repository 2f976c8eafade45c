#pragma once

#include <string>

#include "base/descriptor.hpp"
#include "base/status.hpp"

namespace hakobi::storage {

/// How the system reaches a file: by a name, from an open folder. `folder` may be none: the name is a path
/// then.
struct Reached {
    Descriptor folder;
    std::string name;

    [[nodiscard]] int from()
        const noexcept;  ///< what the system's calls take: AT_FDCWD where there is no folder
};

/// Reaches `path`, of the file system. Where it lies in the folder `root` ("run.zarr/eta/c.0" in "run.zarr")
/// it is reached by descriptors, a name at a time: no link, no ".." and nobody who renames folders meanwhile
/// leads out of `root`, which may itself be reached by links. format where a name on the way is a link, or
/// none for a file; not_found. Any other path, and with root "", stays as it is. Decision 86.
Result<Reached> reach(const std::string& path, const std::string& root);

}  // namespace hakobi::storage
