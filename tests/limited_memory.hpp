#pragma once

#include <cstddef>
#include <limits>

namespace hakobi {

/// In a program that links limited_memory.cpp, larger requests to operator new fail. (A limit of the process
/// would stop the MPI library too.)
void limit_allocations(std::size_t most_bytes);
inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

}  // namespace hakobi
