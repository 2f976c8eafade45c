#pragma once

#include <string>
#include <string_view>

#include "storage/layout.hpp"
#include "storage/layout_wish.hpp"

namespace hakobi::storage {

/// CephFS's layouts: extended attributes of files without data and of folders (docs.ceph.com, "File
/// Layouts").
namespace ceph {

constexpr const char* file_attribute = "ceph.file.layout";
constexpr const char* folder_attribute = "ceph.dir.layout";
constexpr std::int64_t unit_bytes = 64 << 10;  ///< stripes are multiples of it
constexpr std::int64_t default_object_bytes = 4 << 20;

/// The layout that a value says, "stripe_unit=… stripe_count=… object_size=… pool=…"; no stripes where it
/// says none. Pure.
[[nodiscard]] Layout layout_of(std::string_view value);

/// The value to set for a file that else had the layout of `folder`; the pool stays. Objects are as large as
/// there, or as the stripe if that is more. Pure.
[[nodiscard]] std::string value_of(const LayoutWish& wish, const Layout& folder);

}  // namespace ceph

}  // namespace hakobi::storage
