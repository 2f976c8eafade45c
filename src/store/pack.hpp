#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace hakobi::store {

/// Appends to the packed form of an index: whole numbers in seven bits a byte, lowest first; fixed ones
/// little-endian.
class Packer {
  public:
    void put(std::uint64_t number) {
        while (number >= 0x80) {
            bytes_.push_back(static_cast<std::byte>(number | 0x80));
            number >>= 7;
        }
        bytes_.push_back(static_cast<std::byte>(number));
    }
    /// Small numbers of either sign.
    void put_signed(std::int64_t number) {
        put((static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63));
    }
    void put_text(std::string_view text) {
        put(text.size());
        append(text.data(), text.size());
    }
    template <class T>
    void put_fixed(T number) {
        append(&number, sizeof number);
    }
    void append(const void* data, std::size_t length) {
        if (length == 0) return;
        const std::size_t at = bytes_.size();
        if (at + length > bytes_.capacity()) bytes_.reserve(2 * (at + length));
        bytes_.resize(at + length);
        std::memcpy(bytes_.data() + at, data, length);
    }
    [[nodiscard]] std::vector<std::byte>& bytes() noexcept { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

/// Takes it apart. Past the end, or where a number has more than 64 bits, everything is 0 and ok() is false
/// for good.
class Unpacker {
  public:
    explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::uint64_t get() {
        std::uint64_t number = 0;
        for (unsigned shift = 0; at_ < bytes_.size() && shift < 64; shift += 7) {
            const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
            number |= (byte & 0x7f) << shift;
            if (byte < 0x80) return shift == 63 && byte > 1 ? fail() : number;
        }
        return fail();
    }
    std::int64_t get_signed() {
        const std::uint64_t number = get();
        return static_cast<std::int64_t>((number >> 1) ^ (~(number & 1) + 1));
    }
    /// A count of things that take at least one byte each.
    std::size_t get_count() {
        const std::uint64_t count = get();
        return count <= bytes_.size() - at_ ? static_cast<std::size_t>(count)
                                            : static_cast<std::size_t>(fail());
    }
    std::string_view get_text() {
        const std::size_t length = get_count();
        const auto* text = reinterpret_cast<const char*>(bytes_.data() + at_);
        at_ += length;
        return {text, length};
    }
    template <class T>
    T get_fixed() {
        T number{};
        if (sizeof number > bytes_.size() - at_) {
            fail();
            return number;
        }
        std::memcpy(&number, bytes_.data() + at_, sizeof number);
        at_ += sizeof number;
        return number;
    }
    std::span<const std::byte> get_bytes(std::size_t length) {
        if (length > bytes_.size() - at_) {
            fail();
            return {};
        }
        at_ += length;
        return bytes_.subspan(at_ - length, length);
    }
    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] bool at_end() const noexcept { return at_ == bytes_.size(); }
    [[nodiscard]] std::size_t remaining() const noexcept { return bytes_.size() - at_; }

  private:
    std::uint64_t fail() {
        ok_ = false;
        at_ = bytes_.size();
        return 0;
    }
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
    bool ok_ = true;
};

}  // namespace hakobi::store
