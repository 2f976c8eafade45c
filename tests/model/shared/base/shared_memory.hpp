#pragma once

#include <cstddef>

namespace hakobi {

/// Memory that all processes of a job have, at the same place in each run. Not cleared: nothing but Atomic's
/// initial values is in it that a process reads before it was written.
class SharedMemory {
  public:
    [[nodiscard]] std::byte* data() const noexcept { return memory(); }

  private:
    static std::byte* memory() {
        alignas(128) static std::byte bytes[std::size_t{4} << 20];
        return bytes;
    }
};

}  // namespace hakobi
