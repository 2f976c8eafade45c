#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "storage/file.hpp"

namespace hakobi::format::grib {

/// The GRIB messages of a file, one after the other, whatever stands between them (bulletins' headers,
/// padding).
///
///  1. A message begins with "GRIB" and ends where its length says, with "7777"; its sections fit into it.
///  2. One that does not is told as damaged, up to the next "GRIB" that begins a whole message or follows a
///     "7777".
///  3. Bytes between two messages that end with "7777" are one whose head is damaged.
class MessageFile {
  public:
    struct Found {
        std::int64_t begin = 0, end = 0;  ///< in the file
        std::vector<std::byte> bytes;     ///< the whole message
        Status status;                    ///< why these bytes are none: `bytes` is empty then
    };

    /// not_found, permission, io. The file is to be read only by this object, and not to change.
    static Result<MessageFile> open(const std::string& path);
    /// Returns the next message, nothing at the end. An error of the storage ends it.
    Result<std::optional<Found>> next();

  private:
    MessageFile(storage::FilePtr file, std::int64_t size) : file_(std::move(file)), size_bytes_(size) {}
    /// Where "GRIB" is next, or the file's end.
    Result<std::int64_t> find_head(std::int64_t from);
    /// Where the damaged bytes that begin at `begin` end.
    Result<std::int64_t> find_end(std::int64_t begin);
    [[nodiscard]] bool is_headless(std::int64_t begin, std::int64_t end) const;
    /// The message at a place.
    [[nodiscard]] Result<std::vector<std::byte>> whole_at(std::int64_t at) const;
    [[nodiscard]] Result<std::vector<std::byte>> read(std::int64_t at, std::int64_t length) const;

    storage::FilePtr file_;
    std::int64_t size_bytes_ = 0, at_ = 0;
    std::vector<std::byte> window_;  // what was read last in search of "GRIB"
    std::int64_t window_at_ = 0;
};

}  // namespace hakobi::format::grib
