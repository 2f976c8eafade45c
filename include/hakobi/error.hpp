#pragma once

#include <hakobi/export.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hakobi {
inline namespace v0 {

/// Error codes in order of severity: if ranks fail differently, the highest code is reported. docs/errors.md
/// has the table for all four languages.
enum class ErrorCode : int {
    ok = 0,
    interrupted = 1,       ///< a signal asked the run to end; completed steps and fields are intact
    invalid_argument = 2,  ///< an invalid value, or one that differs between ranks but must not
    not_found = 3,         ///< a file, folder or field does not exist
    exists = 4,  ///< something must not be overwritten: earlier steps, another run's files, a foreign file
    permission = 5,     ///< the file system denies access
    unsupported = 6,    ///< valid, but not available in this build or for this storage
    format = 7,         ///< a file is truncated, corrupt or of another kind
    out_of_memory = 8,  ///< an allocation failed
    no_space = 9,       ///< the storage is full, or a quota is reached
    io = 10,            ///< the storage reports an error (such as EIO), or transfers less than requested
    failed = 11,        ///< an earlier call failed; the object can only be closed
    internal = 12,      ///< a bug of Hakobi
};

/// The name of a code, as in docs/errors.md and in the other languages: "no_space".
HAKOBI_EXPORT std::string_view to_string(ErrorCode code);

/// Collective calls throw the same Error on all ranks of their communicator: the most severe code, the lowest
/// rank that had it, and that rank's text.
class HAKOBI_EXPORT Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string& text, int rank = -1)
        : std::runtime_error(text), code_(code), rank_(rank) {}

    [[nodiscard]] ErrorCode code() const noexcept { return code_; }
    /// Rank in the call's communicator on which the error occurred; -1 for a local call.
    [[nodiscard]] int rank() const noexcept { return rank_; }

  private:
    ErrorCode code_;
    int rank_;
};

}  // namespace v0
}  // namespace hakobi
