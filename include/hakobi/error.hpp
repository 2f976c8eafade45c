#pragma once

#include <hakobi/export.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hakobi {

/// What went wrong, in the order of severity: of several ranks' errors the highest code is reported. The table
/// that all four languages share is docs/errors.md.
enum class ErrorCode : int {
    ok = 0,
    interrupted = 1,  ///< a signal asked the run to end; what was finished is whole
    invalid_argument =
        2,          ///< a value that the call does not take, or that differs between ranks where it must not
    not_found = 3,  ///< a file, folder or field that must exist does not
    exists = 4,  ///< something that must not be overwritten is in the way: earlier steps, another run, a file
    permission = 5,     ///< the file system refuses access
    unsupported = 6,    ///< right, but not available in this build or for this storage
    format = 7,         ///< a file is not what it should be: truncated, corrupt, of another kind
    out_of_memory = 8,  ///< an allocation failed
    no_space = 9,       ///< the storage is full or a quota is reached
    io = 10,            ///< the storage reports an error (EIO and its like), or transfers less than asked
    failed = 11,        ///< an earlier call failed and its object can only be closed
    internal = 12,      ///< a bug of Hakobi
};

/// The name of a code as docs/errors.md and the other languages have it: "no_space".
HAKOBI_EXPORT std::string_view to_string(ErrorCode code);

/// What every collective call throws, alike on all ranks of its communicator: the most severe code, the lowest
/// world rank that had it, and that rank's text.
class HAKOBI_EXPORT Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string& text, int rank = -1)
        : std::runtime_error(text), code_(code), rank_(rank) {}

    [[nodiscard]] ErrorCode code() const noexcept { return code_; }
    /// Rank in the call's communicator on which it happened; -1 for a local call.
    [[nodiscard]] int rank() const noexcept { return rank_; }

  private:
    ErrorCode code_;
    int rank_;
};

}  // namespace hakobi
