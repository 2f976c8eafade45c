#include "format/hdf5/virtual_list.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace hakobi::format {
namespace {

constexpr std::size_t most_blocks = 10'000;  // of one header: a damaged one may lead in circles
constexpr unsigned layout_message = 8, continuation_message = 16, is_shared = 2;
constexpr unsigned version_of_virtual = 4, virtual_class = 3;
constexpr std::size_t checksum_bytes = 4;

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
    std::uint64_t number = 0;
    for (std::size_t i = size; i-- > 0;) number = number << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
    return number;
}

bool begins_with(std::span<const std::byte> bytes, std::string_view text) {
    return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

/// An object header, message by message.
class Header {
  public:
    Header(const ReadBytes& read, std::int64_t file_bytes, const FileCounts& counts)
        : read_(read),
          file_bytes_(file_bytes),
          base_(counts.base),
          address_(static_cast<std::size_t>(counts.address_bytes)),
          length_(static_cast<std::size_t>(counts.length_bytes)) {}

    /// A list in the global heap: the place of its collection, and its number there.
    struct List {
        std::int64_t offset_bytes;
        unsigned number;
    };
    /// Finds the list that it names; nothing where it names none, or is no header.
    std::optional<List> find(std::int64_t offset_bytes) {
        const bool is_header = take_prefix(offset_bytes);
        for (std::size_t taken = 0; is_header && !blocks_.empty(); ++taken) {
            const Block block = blocks_.front();
            blocks_.pop_front();
            if (taken == most_blocks || !take_messages(block)) return std::nullopt;
        }
        // A block that another one leads to may look like a header of the first format, which has no
        // signature.
        return is_header && (is_second_ || num_messages_ == 0) ? list_ : std::nullopt;
    }

  private:
    struct Block {
        std::int64_t offset_bytes, size_bytes;  // of its messages
    };

    [[nodiscard]] std::optional<std::vector<std::byte>> bytes_at(std::int64_t offset_bytes,
                                                                 std::int64_t size_bytes) const {
        if (offset_bytes < 0 || size_bytes < 0 || size_bytes > file_bytes_ ||
            offset_bytes > file_bytes_ - size_bytes)
            return std::nullopt;
        std::vector<std::byte> bytes(static_cast<std::size_t>(size_bytes));
        return read_(offset_bytes, bytes) ? std::optional(std::move(bytes)) : std::nullopt;
    }

    bool take_prefix(std::int64_t offset_bytes) {
        constexpr std::int64_t first_bytes = 16;  // of the first format; the second's is shorter or longer
        constexpr std::size_t times_bytes = 16, phases_bytes = 4;
        const auto start = bytes_at(offset_bytes, first_bytes);
        if (!start) return false;
        const auto byte = [&](std::size_t at) { return std::to_integer<unsigned>((*start)[at]); };
        if (begins_with(*start, {"OHDR\2", 5})) {
            is_second_ = true;
            const unsigned flags = byte(5);
            has_order_ = (flags & 4U) != 0;
            const std::size_t before =
                6 + ((flags & 32U) != 0 ? times_bytes : 0) + ((flags & 16U) != 0 ? phases_bytes : 0);
            const std::size_t size_bytes = std::size_t{1} << (flags & 3U);
            const auto size = bytes_at(offset_bytes + static_cast<std::int64_t>(before),
                                       static_cast<std::int64_t>(size_bytes));
            if (!size) return false;
            add(offset_bytes + static_cast<std::int64_t>(before + size_bytes),
                number_at(*size, 0, size_bytes));
            return true;
        }
        if (byte(0) != 1 || byte(1) != 0) return false;
        num_messages_ = static_cast<std::int64_t>(number_at(*start, 2, 2));
        add(offset_bytes + first_bytes, number_at(*start, 8, 4));
        return num_messages_ > 0;
    }

    void add(std::int64_t offset_bytes, std::uint64_t size_bytes) {
        if (size_bytes > static_cast<std::uint64_t>(file_bytes_)) size_bytes = 0;
        blocks_.push_back({offset_bytes, static_cast<std::int64_t>(size_bytes)});
    }

    /// False where the messages do not fill the block.
    bool take_messages(const Block& block) {
        const auto found = bytes_at(block.offset_bytes, block.size_bytes);
        if (!found) return false;
        const std::span<const std::byte> bytes(*found);
        const std::size_t head = is_second_ ? (has_order_ ? 6 : 4) : 8;
        std::size_t at = 0;
        // A rest that is shorter than a message's head is a gap of the second format.
        while (bytes.size() - at >= head) {
            const std::size_t type_bytes = is_second_ ? 1 : 2;
            const auto type = static_cast<unsigned>(number_at(bytes, at, type_bytes));
            const auto size = static_cast<std::size_t>(number_at(bytes, at + type_bytes, 2));
            const auto flags = std::to_integer<unsigned>(bytes[at + type_bytes + 2]);
            at += head;
            if (size > bytes.size() - at) return false;
            --num_messages_;
            if ((flags & is_shared) == 0) take(type, bytes.subspan(at, size));
            at += size;
        }
        return is_second_ || at == bytes.size();
    }

    void take(unsigned type, std::span<const std::byte> message) {
        if (type == continuation_message && message.size() >= address_ + length_) {
            // A block of the second format has a signature before its messages, and a checksum behind them.
            const std::size_t before = is_second_ ? 4 : 0, behind = is_second_ ? checksum_bytes : 0;
            const std::uint64_t size = number_at(message, address_, length_);
            if (size < before + behind) return;
            add(place(number_at(message, 0, address_)) + static_cast<std::int64_t>(before),
                size - before - behind);
        }
        if (type != layout_message || message.size() < 2 + address_ + 4) return;
        if (number_at(message, 0, 1) != version_of_virtual || number_at(message, 1, 1) != virtual_class)
            return;
        const std::uint64_t address = number_at(message, 2, address_);
        const std::uint64_t none = ~std::uint64_t{0} >> (64 - 8 * address_);
        if (address != none)
            list_ = {.offset_bytes = place(address),
                     .number = static_cast<unsigned>(number_at(message, 2 + address_, 4))};
    }

    /// Behind the file's end for an address that is.
    [[nodiscard]] std::int64_t place(std::uint64_t address) const {
        return address > static_cast<std::uint64_t>(file_bytes_) ? file_bytes_
                                                                 : base_ + static_cast<std::int64_t>(address);
    }

    const ReadBytes& read_;
    std::int64_t file_bytes_, base_;
    std::size_t address_, length_;
    bool is_second_ = false, has_order_ = false;
    std::int64_t num_messages_ = 0;  // that are to come; in the first format
    std::deque<Block> blocks_;
    std::optional<List> list_;
};

bool is_size(int bytes) {
    return bytes == 2 || bytes == 4 || bytes == 8;
}

}  // namespace

std::uint32_t metadata_checksum(std::span<const std::byte> bytes) {
    std::uint32_t a = 0xdeadbeefU + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
    const auto word = [&](std::size_t at) {
        return at < bytes.size() ? static_cast<std::uint32_t>(
                                       number_at(bytes, at, std::min<std::size_t>(4, bytes.size() - at)))
                                 : 0U;
    };
    std::size_t at = 0;
    for (; bytes.size() - at > 12; at += 12) {
        a += word(at);
        b += word(at + 4);
        c += word(at + 8);
        const auto mix = [](std::uint32_t& x, std::uint32_t& y, std::uint32_t& z, int by) {
            x = (x - z) ^ std::rotl(z, by);
            z += y;
        };
        mix(a, b, c, 4);
        mix(b, c, a, 6);
        mix(c, a, b, 8);
        mix(a, b, c, 16);
        mix(b, c, a, 19);
        mix(c, a, b, 4);
    }
    if (at == bytes.size()) return c;
    a += word(at);
    b += word(at + 4);
    c += word(at + 8);
    const auto finish = [](std::uint32_t& x, std::uint32_t y, int by) { x = (x ^ y) - std::rotl(y, by); };
    finish(c, b, 14);
    finish(a, c, 11);
    finish(b, a, 25);
    finish(c, b, 16);
    finish(a, c, 4);
    finish(b, a, 14);
    finish(c, b, 24);
    return c;
}

bool has_damaged_list(const ReadBytes& read, std::int64_t offset_bytes, std::int64_t file_bytes,
                      const FileCounts& counts) {
    if (!is_size(counts.address_bytes) || !is_size(counts.length_bytes)) return false;
    const auto list = Header(read, file_bytes, counts).find(offset_bytes);
    if (!list) return false;
    const auto heap = HeapCollection::read(read, list->offset_bytes, file_bytes, counts.length_bytes);
    if (!heap) return true;
    const std::span<const std::byte> bytes = heap->object(list->number);
    if (bytes.size() < checksum_bytes) return true;
    const std::span<const std::byte> before = bytes.first(bytes.size() - checksum_bytes);
    return metadata_checksum(before) != number_at(bytes, before.size(), checksum_bytes);
}

}  // namespace hakobi::format
