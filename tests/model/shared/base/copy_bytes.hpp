#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <string_view>

#include "model/machine.hpp"

namespace hakobi {

/// Memory is told apart by where a copy begins.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t num_bytes) {
    if (num_bytes == 0) return;
    const auto value = std::hash<std::string_view>()({reinterpret_cast<const char*>(from), num_bytes});
    model::read_plain(from, value);
    model::write_plain(to, value);
    std::memcpy(to, from, num_bytes);
}

}  // namespace hakobi
