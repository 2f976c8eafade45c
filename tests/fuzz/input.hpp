#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hakobi::fuzz {

/// Ends the program where a property does not hold: libFuzzer keeps the input.
inline void require(bool holds) {
    if (!holds) std::abort();
}

/// The fuzzer's bytes, taken from the front; zeros when they are used up.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

    template <class T>
    requires std::is_trivially_copyable_v<T> T take() {
        T value{};
        const std::size_t size = std::min(sizeof(T), rest_.size());
        std::memcpy(&value, rest_.data(), size);
        rest_ = rest_.subspan(size);
        return value;
    }
    [[nodiscard]] bool empty() const { return rest_.empty(); }
    [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(rest_); }
    [[nodiscard]] std::string_view text() const {
        return {reinterpret_cast<const char*>(rest_.data()), rest_.size()};
    }
    /// Up to `most` bytes of it.
    std::span<const std::byte> take_bytes(std::size_t most) {
        const auto taken = rest_.first(std::min(most, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return std::as_bytes(taken);
    }

  private:
    std::span<const std::uint8_t> rest_;
};

/// A file with these bytes for readers that want a path; no name on any disk, so nothing stays after a crash.
class FileOf {
  public:
    explicit FileOf(std::span<const std::byte> bytes) : descriptor_(::memfd_create("fuzz", 0)) {
        require(descriptor_ >= 0);
        require(::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    }
    ~FileOf() { ::close(descriptor_); }
    FileOf(const FileOf&) = delete;
    FileOf& operator=(const FileOf&) = delete;
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  private:
    int descriptor_;
};

}  // namespace hakobi::fuzz

/// libFuzzer's way in; returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
