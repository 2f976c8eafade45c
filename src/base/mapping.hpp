#pragma once

#include <cstddef>
#include <cstdint>

namespace hakobi {

/// Owns a range of this process's memory that the kernel has mapped, readable and writable, or none.
class Mapping {
  public:
    Mapping() = default;
    /// `bytes` > 0 of the file `fd` from its beginning on, shared with whoever maps it, or of nobody's memory
    /// (-1). It begins at a multiple of `align_bytes`, of a page at least: large pages need theirs. Empty,
    /// with errno set, when the kernel refuses.
    static Mapping of(std::int64_t bytes, std::int64_t align_bytes, int fd = -1);
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();

    [[nodiscard]] std::byte* data() const noexcept { return data_; }  ///< null: empty
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }

  private:
    std::byte* data_ = nullptr;
    std::int64_t size_bytes_ = 0;
};

inline constexpr std::int64_t huge_page_bytes = std::int64_t{2}
                                                << 20;  // what the kernel calls a huge page by default

}  // namespace hakobi
