#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace hakobi::format::grib {

using Bytes = std::span<const std::byte>;

constexpr std::int64_t end_bytes = 4;  // "7777"
constexpr std::int64_t edition2_head_bytes = 16;

/// Part of a message whose octets are read by their number, from 1 as WMO's Manual on Codes (306, volume I.2)
/// counts them within a section. The reader has checked that it is long enough.
class Section {
  public:
    Section() = default;
    explicit Section(Bytes bytes) : bytes_(bytes) {}

    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
    [[nodiscard]] bool has(std::int64_t octet) const { return octet <= size(); }
    [[nodiscard]] std::int64_t get(std::int64_t octet, int count = 1) const {
        std::int64_t value = 0;
        for (int i = 0; i < count; ++i) {
            value =
                value << 8 | std::to_integer<std::int64_t>(bytes_[static_cast<std::size_t>(octet - 1 + i)]);
        }
        return value;
    }
    /// Sign and magnitude, as GRIB writes numbers below zero.
    [[nodiscard]] std::int64_t get_signed(std::int64_t octet, int count) const {
        const std::int64_t raw = get(octet, count), sign = std::int64_t{1} << (8 * count - 1);
        return (raw & sign) != 0 ? -(raw ^ sign) : raw;
    }
    [[nodiscard]] Bytes bytes() const { return bytes_; }
    [[nodiscard]] std::string_view text() const {
        return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
    }

  private:
    Bytes bytes_;
};

/// Sections 1 to 7 of a message of edition 2, as they follow one another; several fields repeat some of them.
/// `message` is as long as it says. format where one ends beyond the message or has another number.
Result<std::vector<std::pair<int, Section>>> sections_of_edition2(Bytes message);

}  // namespace hakobi::format::grib
