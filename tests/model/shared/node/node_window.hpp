#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>

#include "base/shared_memory.hpp"
#include "base/status.hpp"

namespace hakobi::node {

class NodeWindow {
  public:
    static Status allocate(const Comm& /*comm*/, std::int64_t /*bytes*/, NodeWindow& /*window*/) {
        return {};
    }
    static Status take(const Comm& /*comm*/, std::int64_t /*bytes*/, NodeWindow& /*window*/) { return {}; }
    static void keep(const Comm& /*comm*/, NodeWindow& /*window*/) {}
    void free() {}
    [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }

  private:
    SharedMemory memory_;
};

}  // namespace hakobi::node
