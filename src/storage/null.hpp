#pragma once

#include <string>

#include "storage/file.hpp"

namespace hakobi::storage {

/// A file that discards what is written and reads as zeros at every offset: the floor of a measurement, and a
/// method without its storage. Opening never fails; the size is what this object was told, not shared with
/// other opens.
FilePtr open_null(const std::string& path);

}  // namespace hakobi::storage
