#pragma once

#include <cstdint>

namespace hakobi {
inline namespace v0 {

/// The choices of Output::create where its prefix already holds steps.
enum class IfExists : std::uint8_t {
    fail = 0,     ///< throws `exists`
    replace = 1,  ///< removes the earlier steps
    /// Continues after the last complete step. Steps that a killed run had stored are completed, its other
    /// unfinished files are removed, with a message on stderr, and complete pieces are gathered. The first
    /// step must have the same fields and grid as the last complete step or an earlier one; otherwise
    /// end_step throws invalid_argument, naming the difference.
    resume = 2,
};

}  // namespace v0
}  // namespace hakobi
