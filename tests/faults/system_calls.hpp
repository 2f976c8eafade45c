#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace hakobi::test {

/// Calls to the system that system_calls.cpp puts itself in front of: those of the library, and of all
/// libraries of the program.
enum class SystemCall { none, fsync, fdatasync, close, rename, truncate, unlink, mkdir };
inline constexpr SystemCall all_system_calls[] = {
    SystemCall::fsync,    SystemCall::fdatasync, SystemCall::close, SystemCall::rename,
    SystemCall::truncate, SystemCall::unlink,    SystemCall::mkdir};
[[nodiscard]] std::string_view name_of(SystemCall call);

/// From now on the n-th call of the kind (1: the first) on a path below `folder` fails once, with EDQUOT. A
/// sync that fails, or a close, loses what was written since the last one that did not, as write-back does:
/// the files have again what they had.
void fail_call(SystemCall call, std::int64_t nth, const std::string& folder);
/// No longer. Whether it has failed.
bool end_failing();

}  // namespace hakobi::test
