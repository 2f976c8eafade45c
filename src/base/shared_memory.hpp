#pragma once

#include <cstddef>
#include <cstdint>

#include "base/descriptor.hpp"
#include "base/mapping.hpp"
#include "base/status.hpp"

namespace hakobi {

/// Memory without a name in any file system, which processes of one user on one machine map together. It goes
/// when the last of them has unmapped it or has died. Not initialised beyond zeros; pages are taken when they
/// are first touched, 2 MiB at once where it is large and the kernel gives shared memory such pages
/// (shmem_enabled).
class SharedMemory {
  public:
    /// By what another process finds it, as long as its creator has not called `forget_name`. Plain bytes.
    struct Name {
        std::int64_t process = 0, descriptor = -1, device = 0, inode = 0, bytes = 0;
    };

    /// Both map `bytes` of it for reading and writing, or return why not: more than the machine has, another
    /// container's process. `memory` is left empty then.
    static Status create(std::int64_t bytes, SharedMemory& memory);
    static Status attach(const Name& name, SharedMemory& memory);

    [[nodiscard]] Name name() const;
    /// The creator gives its descriptor back when everybody has it mapped.
    void forget_name() { descriptor_ = Descriptor(); }

    [[nodiscard]] std::byte* data() const noexcept { return mapping_.data(); }

  private:
    Status map(std::int64_t bytes);

    Descriptor descriptor_;
    Mapping mapping_;
};

}  // namespace hakobi
