#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace hakobi {

/// Appends values to a byte string in native byte order: headers and messages between like machines.
class ByteWriter {
  public:
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void put(const T& value) {
        const auto* raw = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
    }
    void put_text(const std::string& text) {
        put(static_cast<std::int64_t>(text.size()));
        const auto* raw = reinterpret_cast<const std::byte*>(text.data());
        bytes_.insert(bytes_.end(), raw, raw + text.size());
    }
    template <class T>
    void put_all(const std::vector<T>& values) {
        put(static_cast<std::int64_t>(values.size()));
        for (const T& value : values) put(value);
    }
    [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

/// Takes them out again. Reading past the end gives zeros and makes `ok()` false for good: check once at the
/// end, before using what was read.
class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class T>
    requires std::is_trivially_copyable_v<T> T get() {
        T value{};
        if (!has(sizeof(T))) return value;
        std::memcpy(&value, bytes_.data() + at_, sizeof(T));
        at_ += sizeof(T);
        return value;
    }
    std::string get_text() {
        const auto length = get<std::int64_t>();
        if (length < 0) ok_ = false;
        if (length < 0 || !has(static_cast<std::size_t>(length))) return {};
        std::string text(reinterpret_cast<const char*>(bytes_.data() + at_),
                         static_cast<std::size_t>(length));
        at_ += text.size();
        return text;
    }
    template <class T>
    std::vector<T> get_all() {
        const auto length = get<std::int64_t>();
        // Compared by division: a corrupt length times the size could overflow.
        if (length < 0 || static_cast<std::size_t>(length) > (bytes_.size() - at_) / sizeof(T)) {
            ok_ = false;
            return {};
        }
        std::vector<T> values;
        values.reserve(static_cast<std::size_t>(length));
        for (std::int64_t i = 0; i < length; ++i) values.push_back(get<T>());
        return values;
    }
    /// A count of things that each take at least `least_bytes`: 0 and not ok when so many cannot follow, so
    /// that a corrupt count asks for little more memory than the bytes themselves take.
    std::int64_t get_count(std::size_t least_bytes) {
        const auto count = get<std::int64_t>();
        if (count >= 0 && static_cast<std::size_t>(count) <= (bytes_.size() - at_) / least_bytes)
            return count;
        ok_ = false;
        return 0;
    }
    /// Marks what was read as invalid.
    void fail() noexcept { ok_ = false; }
    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] bool at_end() const noexcept { return at_ == bytes_.size(); }

  private:
    bool has(std::size_t bytes) {
        if (ok_ && bytes <= bytes_.size() - at_) return true;
        ok_ = false;
        return false;
    }
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
    bool ok_ = true;
};

}  // namespace hakobi
