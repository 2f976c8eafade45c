#pragma once

#include "base/status.hpp"
#include "store/catalogue.hpp"
#include "store/folder.hpp"

namespace hakobi::store {

// STORE/catalogue: what all indexes said at one time, sorted, in one file that is read in one piece. It holds
// for each index how far it was read; what the index has gained since is read from there. It is made beside
// running writers and replaced in one step; without it, or where it is damaged, the indexes tell the same.

/// Fills an empty catalogue. not_found where there is none, format where the file is damaged, unsupported
/// where it is a newer version's.
Status read_consolidated(const Folder& folder, Catalogue& catalogue);
/// The same from a file's bytes.
Status decode_consolidated(std::span<const std::byte> bytes, Catalogue& catalogue);

/// The bytes of such a file. The catalogue's orders are up to date.
std::vector<std::byte> encode_consolidated(const Catalogue& catalogue);

}  // namespace hakobi::store
