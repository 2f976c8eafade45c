#pragma once

#include <hakobi/export.hpp>

namespace hakobi {
inline namespace v0 {

/// From now on a hakobi::Error that nobody catches ends all ranks with one line on stderr and exit status 1,
/// instead of std::terminate's abort: call it first in `main`. One rank speaks of an error that all have. The
/// launcher may add lines of its own.
///
/// Other exceptions are treated as before the call. Steps that end_step has accepted are completed by the
/// next opener, as after any abort. Local; calling it again does nothing.
HAKOBI_EXPORT void report_errors() noexcept;

}  // namespace v0
}  // namespace hakobi
