#pragma once

#include <sys/types.h>

#include <cstdint>

namespace hakobi {

/// A process of this machine, told from a later one of the same number. Plain bytes: ranks send it to each
/// other.
struct ProcessId {
    std::int64_t pid = 0;  ///< 0: not to be had (no /proc)
    std::int64_t start_ticks = 0;
    std::int64_t pid_namespace = 0;  ///< inode: numbers mean something within it only
};

[[nodiscard]] ProcessId own_process();
/// Whether that process has ended, also where its parent has not been told yet (a zombie). False where this
/// process cannot know.
[[nodiscard]] bool has_ended(const ProcessId& process);

}  // namespace hakobi
