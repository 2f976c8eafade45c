#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hakobi::storage {

/// The operations that an open file's storage allows, as far as can be told without trying: a backend reports
/// them when it opens the file, and whoever plans accesses obeys. The defaults are a file system of this
/// machine.
struct Abilities {
    std::string_view file_system =
        {};  ///< for people: "nfs", "lustre"; "" where the backend's name says it. Lives for ever
    bool keeps_data = true;  ///< what is written can be read; not with `null`
    bool has_ranges = true;  ///< any range of the file may be written, in any order, by several processes
    bool has_holes = true;   ///< bytes that nobody has written read as zeros and take no room
    bool renames = true;     ///< a file gets its final name in one step
    bool is_direct = false;  ///< O_DIRECT was asked for, and the file system took it
    bool locks_ranges =
        false;  ///< a range's lock holds against other nodes' processes too (File::lock_range)
    std::int64_t stripe_bytes = 4096;  ///< preferred alignment of accesses: the stripe or block
    /// Nodes that write different bytes of one aligned block of this size may lose each other's, unless the
    /// first has synced (File::sync drops it from the node's cache) before the second writes; 1: they may at
    /// any time.
    std::int64_t writer_block_bytes = 1;
    bool passes_cache = false;  ///< every access goes past the node's cache to the server, byte for byte
};

/// For people: "nfs, past the node's cache; blocks of 1048576 bytes; locks hold between nodes".
[[nodiscard]] std::string words_of(const Abilities& abilities);

}  // namespace hakobi::storage
