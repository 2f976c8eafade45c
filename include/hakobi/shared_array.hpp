#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <memory>

namespace hakobi {
inline namespace v0 {

/// This rank's part of memory that the ranks of its node share. Fields in it are exchanged by a single copy
/// (hakobi/halo.hpp, hakobi/buffer_array.hpp). Move-only.
class HAKOBI_EXPORT SharedArray {
  public:
    SharedArray();
    SharedArray(SharedArray&&) noexcept;
    SharedArray& operator=(SharedArray&&) noexcept;
    /// Releases this rank's mapping, without communication; the memory is freed with the last rank's mapping.
    /// No exchange may be using it: builds with assertions abort in that case, others keep the memory.
    ~SharedArray();

    /// Initially zero, aligned to a page; null if the array is empty.
    [[nodiscard]] std::byte* data() const noexcept;
    [[nodiscard]] std::int64_t size_bytes() const noexcept;
    template <class T>
    [[nodiscard]] T* as() const noexcept {
        return reinterpret_cast<T*>(data());
    }

  private:
    friend HAKOBI_EXPORT SharedArray allocate_shared(const Comm& comm, std::int64_t bytes);
    struct Impl;
    explicit SharedArray(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Collective over `comm`; `bytes` may differ between ranks and be 0. A page belongs to the rank that touches
/// it first. Throws out_of_memory on all ranks if a node lacks the memory, invalid_argument for a negative
/// size.
[[nodiscard]] HAKOBI_EXPORT SharedArray allocate_shared(const Comm& comm, std::int64_t bytes);

}  // namespace v0
}  // namespace hakobi
