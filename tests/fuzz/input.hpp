#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
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

/// A folder of this process, for readers of several files; gone at the end.
class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "fuzz-XXXXXX").string();
        require(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::string path_of(std::string_view inside) const { return (path_ / inside).string(); }
    void write(std::string_view inside, std::span<const std::byte> bytes) const {
        std::ofstream file(path_ / inside, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
        require(file.good());
    }
    void empty() const {
        for (const auto& each : std::filesystem::directory_iterator(path_))
            std::filesystem::remove_all(each.path());
    }

  private:
    std::filesystem::path path_;
};

}  // namespace hakobi::fuzz

/// libFuzzer's way in; returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
