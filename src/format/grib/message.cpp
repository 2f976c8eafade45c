#include "format/grib/message.hpp"

#include <array>
#include <string_view>

#include "base/checksum.hpp"
#include "format/grib/section.hpp"

namespace hakobi::format::grib {
namespace {

constexpr int ecmwf = 98;

Status broken(std::string text) {
    return {ErrorCode::format, "not a whole GRIB message: " + std::move(text)};
}

/// Collects the octets of a section that belong to the message's kind: all but those that were left out.
class Kind {
  public:
    explicit Kind(std::string& text) : text_(text) {}

    void begin(const Section& section, char name) {
        text_ += name;
        at_ = text_.size();
        text_ += section.text();
    }
    /// Octets that were read as a number: zero in the kind, which says so. A message whose octets are zero,
    /// and were not read as a number, is of another kind.
    void leave_out(std::int64_t octet, int count) {
        text_.replace(at_ + static_cast<std::size_t>(octet - 1), static_cast<std::size_t>(count),
                      static_cast<std::size_t>(count), '\0');
        note(static_cast<char>(octet));
        note(static_cast<char>(count));
    }
    void note(char what) { text_ += what; }
    /// A section that may be long: equal ones have equal checksums.
    void note_checksum(Bytes section) {
        std::uint64_t checksum = checksum_of(section);
        for (std::size_t i = 0; i < sizeof checksum; ++i, checksum >>= 8)
            note(static_cast<char>(checksum & 0xff));
    }

  private:
    std::string& text_;
    std::size_t at_ = 0;
};

// ---- Edition 1 --------------------------------------------------------------------------------------------

constexpr int edition1_first_section = 28;
constexpr std::int64_t edition1_large = 0x800000;  // the top bit of the message's length

/// Lengths of sections are 3 octets. A message above 8 MB has the top bit of its length set and counts 120
/// octets; section 4's length is then how much that is too long.
struct Lengths1 {
    std::int64_t total = 0, section1 = 0;
};

Result<Lengths1> lengths_of_edition1(const Section& all) {
    Lengths1 lengths{.total = all.get(5, 3)};
    if (!all.has(8 + edition1_first_section)) return broken("it ends in section 1");
    lengths.section1 = all.get(9, 3);
    if (lengths.section1 < edition1_first_section) return broken("section 1 is too short");
    if ((lengths.total & edition1_large) == 0) return lengths;
    std::int64_t at = 8 + lengths.section1;
    const std::int64_t flags = all.get(8 + 8);
    for (const std::int64_t flag : {0x80, 0x40}) {
        if ((flags & flag) == 0) continue;
        if (!all.has(at + 3)) return broken("it ends before its length is known");
        at += all.get(at + 1, 3);
    }
    if (!all.has(at + 3)) return broken("it ends before its length is known");
    const std::int64_t section4 = all.get(at + 1, 3);
    if (section4 < 120) {
        lengths.total = (lengths.total & (edition1_large - 1)) * 120 - section4 + end_bytes;
    }
    return lengths;
}

/// In ECMWF's local use of section 1 only definition 1 (MARS labelling, ensembles) is known to leave date,
/// step, level and number where they are; all of the section is the kind in the others.
bool may_leave_out1(const Section& one) {
    const bool is_local = one.get(5) == ecmwf && one.has(41);
    return !is_local || (one.get(41) == 1 && one.has(51));
}

void read_step1(const Section& one, Message& message, Kind& kind) {
    constexpr int hour = 1;
    const std::int64_t indicator = one.get(21), first = one.get(19), second = one.get(20);
    if (one.get(18) != hour) return;
    if (indicator == 10) {
        message.step_start = message.step_end = first << 8 | second;
    } else if (indicator <= 1) {
        if (second != 0) return;
        message.step_start = message.step_end = first;
    } else if (indicator <= 5) {
        message.step_start = first;
        message.step_end = second;
    } else {
        return;
    }
    kind.leave_out(19, 2);
    kind.note(message.step_start == message.step_end ? '=' : '-');
}

/// Whether sections 2 to 4 end within the message. One above 8 MB says a length of section 4 that is none.
Status check_sections_of_edition1(const Section& all, std::int64_t length1) {
    const std::int64_t flags = all.get(8 + 8), end = all.size() - end_bytes;
    const std::array<std::pair<int, bool>, 3> sections{
        {{2, (flags & 0x80) != 0}, {3, (flags & 0x40) != 0}, {4, true}}};
    std::int64_t at = 8 + length1;
    for (const auto& [number, is_there] : sections) {
        if (!is_there) continue;
        const std::string which = "section " + std::to_string(number);
        if (at + 3 > end) return broken(which + " is missing");
        const std::int64_t length = all.get(at + 1, 3);
        const bool is_length = number != 4 || (all.get(5, 3) & edition1_large) == 0;
        if (is_length && (length < 3 || length > end - at)) return broken(which + " ends beyond the message");
        at += length;
    }
    return {};
}

/// Section 2, or nothing.
Bytes grid_of_edition1(const Section& all, std::int64_t length1) {
    constexpr std::int64_t has_grid = 0x80;
    if ((all.get(8 + 8) & has_grid) == 0) return {};
    const std::int64_t begin = 8 + length1, length = all.get(begin + 1, 3);
    return all.bytes().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(length));
}

Result<Message> read_edition1(const Section& all, Bytes bytes) {
    Result<Lengths1> lengths = lengths_of_edition1(all);
    if (!lengths.ok()) return lengths.status();
    const std::int64_t length1 = lengths.value().section1;
    if (!all.has(8 + length1)) return broken("it ends in section 1");
    if (Status sections = check_sections_of_edition1(all, length1); !sections.ok()) return sections;
    const Section one(bytes.subspan(8, static_cast<std::size_t>(length1)));
    Message message{.edition = 1};
    Kind kind(message.kind);
    message.kind.reserve(64);
    kind.note('1');
    kind.begin(one, '1');
    kind.note_checksum(grid_of_edition1(all, length1));
    if (one.get(25) < 1 || !may_leave_out1(one)) return message;
    message.date = ((one.get(25) - 1) * 100 + one.get(13)) * 10000 + one.get(14) * 100 + one.get(15);
    message.time = one.get(16) * 100 + one.get(17);
    kind.leave_out(13, 5);
    kind.leave_out(25, 1);
    constexpr std::array<std::int64_t, 2> levels_by_number{100 /* hPa */, 109 /* hybrid */};
    for (const std::int64_t type : levels_by_number) {
        if (one.get(10) != type) continue;
        message.level = one.get(11, 2);
        kind.leave_out(11, 2);
    }
    if (one.get(5) == ecmwf && one.has(51)) {
        message.number = one.get(50);
        kind.leave_out(50, 1);
    }
    read_step1(one, message, kind);
    return message;
}

// ---- Edition 2 --------------------------------------------------------------------------------------------

/// Sections 1 to 4 of a message with one field.
struct Sections2 {
    Section identification, local, grid, product;
};

Result<Sections2> sections_of_one_field(Bytes bytes) {
    const auto all = sections_of_edition2(bytes);
    if (!all.ok()) return all.status();
    Sections2 found;
    bool has_data = false;
    for (const auto& [number, section] : all.value()) {
        if (has_data) {
            return Status(ErrorCode::unsupported,
                          "a GRIB message with several fields: split it first (grib_split)");
        }
        std::int64_t least = 0;
        switch (number) {
            case 1:
                found.identification = section, least = 21;
                break;
            case 2:
                found.local = section;
                break;
            case 3:
                found.grid = section, least = 14;
                break;
            case 4:
                found.product = section, least = 11;
                break;
            default:
                has_data = has_data || number == 7;
        }
        if (section.size() < least) return broken("section " + std::to_string(number) + " is too short");
    }
    if (found.identification.size() == 0) return broken("it has no section 1");
    if (found.product.size() == 0 || !has_data) return broken("it has no field");
    return found;
}

/// Where the product definition templates that a weather model writes have what varies. 0: the template has
/// it not.
struct Product {
    std::int64_t number = 0;  ///< of the template
    std::int64_t least = 0;   ///< octets
    std::int64_t member = 0;  ///< perturbation number
    std::int64_t end_of_interval = 0;
};
constexpr std::array<Product, 6> products{
    {{0, 34, 0, 0}, {1, 37, 36, 0}, {2, 36, 0, 0}, {8, 58, 0, 35}, {11, 61, 36, 38}, {12, 60, 0, 37}}};

void read_level2(const Section& four, Message& message, Kind& kind) {
    constexpr std::int64_t none = 255, pressure = 100, hybrid = 105;
    const std::int64_t type = four.get(23), factor = four.get(24), value = four.get(25, 4);
    if (four.get(29) != none || factor != 0 || value > 0x7fffffff) return;
    if (type == pressure && value % 100 == 0 && value > 0) {
        message.level = value / 100;  // Pa in the message, hPa in levelist
    } else if (type == hybrid) {
        message.level = value;
    } else {
        return;
    }
    kind.leave_out(25, 4);
}

void read_step2(const Section& four, const Product& product, Message& message, Kind& kind) {
    constexpr std::int64_t hour = 1;
    if (four.get(18) != hour || four.get_signed(19, 4) < 0) return;
    const std::int64_t first = four.get(19, 4);
    std::int64_t length = 0;
    if (product.end_of_interval > 0) {
        const std::int64_t ranges = product.end_of_interval + 7, unit = ranges + 7;
        if (four.get(ranges) != 1 || four.get(unit) != hour) return;
        length = four.get(unit + 1, 4);
        if (length > 0xffffff) return;
        kind.leave_out(product.end_of_interval, 7);
    }
    message.step_start = first;
    message.step_end = first + length;
    kind.leave_out(19, 4);
    kind.note(length == 0 ? '=' : '-');
}

void read_product(const Section& four, Message& message, Kind& kind) {
    for (const Product& product : products) {
        if (four.get(8, 2) != product.number || !four.has(product.least)) continue;
        read_level2(four, message, kind);
        if (product.member > 0) {
            message.number = four.get(product.member);
            kind.leave_out(product.member, 1);
        }
        read_step2(four, product, message, kind);
    }
}

/// As may_leave_out1: other local definitions give date and number other meanings.
bool may_leave_out2(const Sections2& sections) {
    const bool is_local = sections.identification.get(6, 2) == ecmwf && sections.local.has(7);
    return !is_local || sections.local.get(6, 2) == 1;
}

Result<Message> read_edition2(const Section& all, Bytes bytes) {
    Result<Sections2> sections = sections_of_one_field(bytes);
    if (!sections.ok()) return sections.status();
    const Section& one = sections.value().identification;
    const Section& four = sections.value().product;
    Message message{.edition = 2};
    Kind kind(message.kind);
    message.kind.reserve(192);
    kind.note('2');
    kind.note(static_cast<char>(all.get(7)));  // discipline
    kind.begin(one, '1');
    const bool may_leave_out = may_leave_out2(sections.value());
    if (may_leave_out && one.get(19) == 0) {
        message.date = one.get(13, 2) * 10000 + one.get(15) * 100 + one.get(16);
        message.time = one.get(17) * 100 + one.get(18);
        kind.leave_out(13, 6);
    }
    kind.begin(sections.value().local, '2');
    if (sections.value().grid.size() > 0) {
        kind.note_checksum(sections.value().grid.bytes());
    }
    kind.begin(four, '4');
    if (may_leave_out) read_product(four, message, kind);
    return message;
}

Result<int> edition_of(const Section& all) {
    if (!all.has(8)) return broken("only " + std::to_string(all.size()) + " bytes");
    if (all.text().substr(0, 4) != "GRIB")
        return Status(ErrorCode::format, "not a GRIB message: no GRIB at its head");
    const auto edition = static_cast<int>(all.get(8));
    if (edition != 1 && edition != 2) return broken("edition " + std::to_string(edition) + ", not 1 or 2");
    return edition;
}

}  // namespace

namespace {

Result<std::int64_t> stated_length(Bytes bytes) {
    const Section all(bytes);
    Result<int> edition = edition_of(all);
    if (!edition.ok()) return edition.status();
    if (edition.value() == 1) {
        Result<Lengths1> lengths = lengths_of_edition1(all);
        if (!lengths.ok()) return lengths.status();
        return lengths.value().total;
    }
    if (!all.has(16)) return broken("it ends in section 0");
    const std::int64_t length = all.get(9, 8);
    return length < 0 ? broken("its length is beyond 63 bits") : Result<std::int64_t>(length);
}

}  // namespace

Result<std::vector<std::pair<int, Section>>> sections_of_edition2(Bytes message) {
    const Section all(message);
    std::vector<std::pair<int, Section>> found;
    const std::int64_t end = all.size() - end_bytes;
    for (std::int64_t at = edition2_head_bytes; at < end;) {
        if (at + 5 > end) return broken("it ends in the head of a section");
        const std::int64_t length = all.get(at + 1, 4), number = all.get(at + 5);
        if (number < 1 || number > 7) return broken("a section of number " + std::to_string(number));
        if (length < 5 || length > end - at)
            return broken("section " + std::to_string(number) + " ends beyond the message");
        found.emplace_back(
            static_cast<int>(number),
            Section(message.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(length))));
        at += length;
    }
    return found;
}

Result<std::int64_t> message_length(Bytes bytes) {
    Result<std::int64_t> length = stated_length(bytes);
    // Whoever goes from message to message by their lengths would stay where it is.
    if (length.ok() && length.value() < 16 + end_bytes)
        return broken("it says that it is shorter than its first section and its end");
    return length;
}

Status check_whole(Bytes bytes) {
    const Section all(bytes);
    Result<std::int64_t> length = message_length(bytes);
    if (!length.ok()) return length.status();
    const auto difference = all.size() - length.value();
    if (difference < 0) {
        return broken("it says that it has " + std::to_string(length.value()) + " bytes, and " +
                      std::to_string(all.size()) + " are there");
    }
    if (difference > 0) {
        return {ErrorCode::format,
                std::to_string(difference) + " bytes follow the GRIB message: one message at a time"};
    }
    if (all.text().substr(all.text().size() - end_bytes) != "7777") return broken("no 7777 at its end");
    return {};
}

Result<Message> read_message(Bytes bytes) {
    if (Status whole = check_whole(bytes); !whole.ok()) return whole;
    const Section all(bytes);
    return all.get(8) == 1 ? read_edition1(all, bytes) : read_edition2(all, bytes);
}

}  // namespace hakobi::format::grib
