#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/layout.hpp"
#include "storage/layout_wish.hpp"

namespace hakobi::storage {

/// Lustre's interface to programs, as far as layouts need it, so that no liblustreapi has to be there: what
/// the kernel's client takes and gives (Lustre's manual, "Managing File Layout (Striping)"; lustre_user.h has
/// the numbers).
namespace lustre {

constexpr const char* attribute = "lustre.lov";
/// Flags of open(2): the new file gets no objects until its layout is set.
constexpr int open_without_layout = 0100000000 | 020000 | 0400;
constexpr unsigned long set_layout_request = 0x4008669A;  ///< ioctl of a file without objects, with a request
constexpr unsigned long count_servers_request =
    0x800866A8;                                ///< ioctl of a folder: an int, 0 in, the number of servers out
constexpr std::int64_t unit_bytes = 64 << 10;  ///< stripes are multiples of it
constexpr std::int64_t default_stripe_bytes = 1 << 20;

/// The layout in a value of the attribute, of a file or of a folder (what new files in it get): plain,
/// composite (of mirrors the first) or overstriped. `num_servers`: of the file system, 0 where that is not
/// known. No stripes where the value is none of these. Pure.
[[nodiscard]] Layout layout_of(std::span<const std::byte> value, int num_servers = 0);

/// Returns the bytes for set_layout_request. `servers` names one server a stripe; empty: Lustre chooses.
/// Pure.
[[nodiscard]] std::vector<std::byte> request_of(const LayoutWish& wish, std::span<const int> servers = {});

}  // namespace lustre

}  // namespace hakobi::storage
