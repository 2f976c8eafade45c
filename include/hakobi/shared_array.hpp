#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <memory>

namespace hakobi {

/// This rank's part of memory that the ranks of its node have in common: fields that lie in it are exchanged by one copy
/// (hakobi/halo.hpp, hakobi/buffer_array.hpp). Moving only.
class HAKOBI_EXPORT SharedArray {
  public:
    SharedArray();
    SharedArray(SharedArray&&) noexcept;
    SharedArray& operator=(SharedArray&&) noexcept;
    /// Gives this rank's mapping back, without communication: the memory goes with the last rank's. While an exchange is
    /// under way on it that is a bug of the caller: builds with assertions end the program, others keep the memory.
    ~SharedArray();

    /// Zero bytes at first, on a page's beginning; null when it is empty.
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

/// Collective over `comm`; each rank's `bytes` may differ and be 0. Pages are taken by the rank that touches them first.
/// Throws out_of_memory, alike on all ranks, when a node has no such memory, invalid_argument for a negative size.
[[nodiscard]] HAKOBI_EXPORT SharedArray allocate_shared(const Comm& comm, std::int64_t bytes);

}  // namespace hakobi
