#include "format/grib/split.hpp"

#include <algorithm>
#include <array>

#include "format/grib/message.hpp"
#include "format/grib/section.hpp"

namespace hakobi::format::grib {
namespace {

constexpr int bitmap_section = 6, data_section = 7;
constexpr std::int64_t bitmap_of_before = 254;

/// The sections that hold at a place in the message, by number.
using Holding = std::array<Section, data_section + 1>;

Status hold(Holding& holding, int number, const Section& section) {
    const auto at = static_cast<std::size_t>(number);
    if (number == bitmap_section && section.has(6) && section.get(6) == bitmap_of_before) {
        if (holding[at].size() == 0)
            return {ErrorCode::format, "a field refers to a bitmap that is not there"};
        return {};
    }
    holding[at] = section;
    return {};
}

MessageBytes message_of(Bytes head, const Holding& holding) {
    MessageBytes message(head.begin(), head.end());
    for (const Section& section : holding) {
        message.insert(message.end(), section.bytes().begin(), section.bytes().end());
    }
    message.insert(message.end(), end_bytes, std::byte{'7'});
    constexpr std::size_t length_octets = 8;
    std::size_t length = message.size();
    for (std::size_t i = 0; i < length_octets; ++i, length >>= 8) {
        message[edition2_head_bytes - 1 - i] = static_cast<std::byte>(length & 0xff);
    }
    return message;
}

}  // namespace

Result<std::vector<MessageBytes>> split_message(Bytes message) {
    if (Status whole = check_whole(message); !whole.ok()) return whole;
    std::vector<MessageBytes> fields;
    if (Section(message).get(8) == 1) return fields;
    const auto sections = sections_of_edition2(message);
    if (!sections.ok()) return sections.status();
    const auto is_data = [](const auto& entry) { return entry.first == data_section; };
    if (std::ranges::count_if(sections.value(), is_data) < 2) return fields;
    Holding holding;
    for (const auto& [number, section] : sections.value()) {
        if (Status held = hold(holding, number, section); !held.ok()) return held;
        if (number == data_section) fields.push_back(message_of(message.first(edition2_head_bytes), holding));
    }
    return fields;
}

}  // namespace hakobi::format::grib
