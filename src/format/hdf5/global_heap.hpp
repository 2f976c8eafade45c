#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hakobi::format {

/// Reads that many bytes at a place of a file; false on failure. Bytes behind the file's end are zeros.
using ReadBytes = std::function<bool(std::int64_t offset_bytes, std::span<std::byte> bytes)>;

/// How HDF5 marks the first byte of a collection, and the version that there is.
inline constexpr std::string_view heap_signature = {"GCOL\1\0\0\0", 8};

/// Where HDF5 keeps sequences of any length: "HDF5 File Format Specification Version 3.0", III.E. A
/// collection has no checksum, and the library (1.10 to 1.14) trusts the sizes in it: it loops where one is
/// 0, and copies past its buffer where one is too large. Pure code.
class HeapCollection {
  public:
    /// The collection at `offset_bytes` of a file of `file_bytes`, whose lengths take `length_bytes`; nothing
    /// where it is damaged: every object then lies in it, and leads to the next.
    static std::optional<HeapCollection> read(const ReadBytes& read, std::int64_t offset_bytes,
                                              std::int64_t file_bytes, int length_bytes);

    /// The bytes of an object; empty where there is none of that number.
    [[nodiscard]] std::span<const std::byte> object(unsigned number) const;

  private:
    struct Object {
        unsigned number;
        std::size_t offset_bytes, size_bytes;
    };
    std::vector<std::byte> bytes_;
    std::vector<Object> objects_;
};

}  // namespace hakobi::format
