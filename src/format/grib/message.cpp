#include "format/grib/message.hpp"

#include <array>
#include <string_view>

// Octet numbers below count from 1 within a section, as WMO's Manual on Codes (306, volume I.2) numbers them.

namespace hakobi::format::grib {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::int64_t end_bytes = 4;  // "7777"
constexpr int ecmwf = 98;

Status broken(std::string text) {
    return {ErrorCode::format, "not a whole GRIB message: " + std::move(text)};
}

/// A section whose octets are read by their number; the reader has checked that it is long enough.
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
    [[nodiscard]] std::string_view text() const {
        return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
    }

  private:
    Bytes bytes_;
};

/// Collects the octets of a section that belong to the message's kind: all but those that were left out.
class Kind {
  public:
    explicit Kind(std::string& text) : text_(text) {}

    void begin(const Section& section, char name) {
        text_ += name;
        at_ = text_.size();
        text_ += section.text();
    }
    /// Octets that were read as a number: zero in the kind, which says so. A message whose octets are zero, and were
    /// not read as a number, is of another kind.
    void leave_out(std::int64_t octet, int count) {
        text_.replace(at_ + static_cast<std::size_t>(octet - 1), static_cast<std::size_t>(count),
                      static_cast<std::size_t>(count), '\0');
        note(static_cast<char>(octet));
        note(static_cast<char>(count));
    }
    void note(char what) { text_ += what; }

  private:
    std::string& text_;
    std::size_t at_ = 0;
};

// ---- Edition 1 ------------------------------------------------------------------------------------------------

constexpr int edition1_first_section = 28;

/// Lengths of sections are 3 octets. A message above 8 MB has the top bit of its length set and counts 120 octets;
/// section 4's length is then how much that is too long.
struct Lengths1 {
    std::int64_t total = 0, section1 = 0;
};

Result<Lengths1> lengths_of_edition1(const Section& all) {
    constexpr std::int64_t large = 0x800000;
    Lengths1 lengths{.total = all.get(5, 3)};
    if (!all.has(8 + edition1_first_section)) return broken("it ends in section 1");
    lengths.section1 = all.get(9, 3);
    if (lengths.section1 < edition1_first_section) return broken("section 1 is too short");
    if ((lengths.total & large) == 0) return lengths;
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
        lengths.total = (lengths.total & (large - 1)) * 120 - section4 + end_bytes;
    }
    return lengths;
}

/// In ECMWF's local use of section 1 only definition 1 (MARS labelling, ensembles) is known to leave date, step, level
/// and number where they are; all of the section is the kind in the others.
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

Result<Message> read_edition1(const Section& all, Bytes bytes) {
    Result<Lengths1> lengths = lengths_of_edition1(all);
    if (!lengths.ok()) return lengths.status();
    const std::int64_t length1 = lengths.value().section1;
    if (!all.has(8 + length1)) return broken("it ends in section 1");
    const Section one(bytes.subspan(8, static_cast<std::size_t>(length1)));
    Message message{.edition = 1};
    Kind kind(message.kind);
    message.kind.reserve(64);
    kind.note('1');
    kind.begin(one, '1');
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

// ---- Edition 2 ------------------------------------------------------------------------------------------------

/// Sections 0 to 4 of a message with one field.
struct Sections2 {
    Section identification, local, grid, product;
};

Result<Sections2> sections_of_edition2(const Section& all, Bytes bytes) {
    Sections2 found;
    bool has_data = false;
    const std::int64_t end = all.size() - end_bytes;
    for (std::int64_t at = 16; at < end;) {
        if (at + 5 > end) return broken("it ends in the head of a section");
        const std::int64_t length = all.get(at + 1, 4), number = all.get(at + 5);
        const std::string which = "section " + std::to_string(number);
        if (length < 5 || length > end - at) return broken(which + " ends beyond the message");
        if (has_data)
            return Status(ErrorCode::unsupported, "a GRIB message with several fields: split it first");
        const Section section(bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(length)));
        const auto is_long = [&](std::int64_t least) { return length >= least; };
        bool good = true;
        switch (number) {
            case 1:
                found.identification = section, good = is_long(21);
                break;
            case 2:
                found.local = section;
                break;
            case 3:
                found.grid = section, good = is_long(14);
                break;
            case 4:
                found.product = section, good = is_long(11);
                break;
            case 5:
            case 6:
                break;
            case 7:
                has_data = true;
                break;
            default:
                return broken("a section of number " + std::to_string(number));
        }
        if (!good) return broken(which + " is too short");
        at += length;
    }
    if (found.identification.size() == 0) return broken("it has no section 1");
    if (found.product.size() == 0 || !has_data) return broken("it has no field");
    return found;
}

/// Where the product definition templates that a weather model writes have what varies. 0: the template has it not.
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
    Result<Sections2> sections = sections_of_edition2(all, bytes);
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
        kind.note(static_cast<char>(sections.value().grid.get(13)));
        kind.note(static_cast<char>(sections.value().grid.get(14)));
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

Result<std::int64_t> message_length(Bytes bytes) {
    Result<std::int64_t> length = stated_length(bytes);
    // Whoever goes from message to message by their lengths would stay where it is.
    if (length.ok() && length.value() < 16 + end_bytes)
        return broken("it says that it is shorter than its first section and its end");
    return length;
}

Result<Message> read_message(Bytes bytes) {
    const Section all(bytes);
    Result<std::int64_t> length = message_length(bytes);
    if (!length.ok()) return length.status();
    const auto difference = all.size() - length.value();
    if (difference < 0) {
        return broken("it says that it has " + std::to_string(length.value()) + " bytes, and " +
                      std::to_string(all.size()) + " are there");
    }
    if (difference > 0) {
        return Status(ErrorCode::format,
                      std::to_string(difference) + " bytes follow the GRIB message: one message at a time");
    }
    if (length.value() < 16 + end_bytes || all.text().substr(all.text().size() - end_bytes) != "7777") {
        return broken("no 7777 at its end");
    }
    return all.get(8) == 1 ? read_edition1(all, bytes) : read_edition2(all, bytes);
}

}  // namespace hakobi::format::grib
