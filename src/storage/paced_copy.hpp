#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/status.hpp"
#include "storage/file.hpp"

namespace hakobi::storage {

/// Called with the size of each piece before it is moved; false gives up. Any thread.
using Pace = std::function<bool(std::int64_t)>;

/// The error of a copy that `pace` gave up.
Status given_up();
/// Reads all of `into`; format where the file ends before.
Status read_exactly(File& file, std::int64_t offset, std::span<std::byte> into);
/// Copies the first `bytes` of a file, piece by piece. format where it has fewer.
Status copy_paced(File& from, File& to, std::int64_t bytes, const Pace& pace);
/// The checksum of all bytes of a regular file; they are given to `visit` first, with their offset, where
/// there is one.
Result<std::uint64_t> checksum_of_file(
    const std::string& path,
    const std::function<Status(std::span<const std::byte>, std::int64_t)>& visit = {});

}  // namespace hakobi::storage
