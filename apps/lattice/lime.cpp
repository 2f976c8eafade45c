#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <hakobi/error.hpp>

#include "gauge_format.hpp"

namespace hakobi::lattice::lime {
namespace {

constexpr std::int64_t header_bytes = 144;
constexpr std::uint64_t magic = 0x456789ab, version = 1;
constexpr std::uint64_t begins_message = 0x8000, ends_message = 0x4000;
constexpr std::int64_t max_text_bytes = 65536;  // of an XML record
constexpr int max_records = 10000;

std::uint64_t big_endian(const std::string& bytes, std::size_t from, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = from; i < from + count; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

void put_big_endian(std::string& bytes, std::uint64_t value, int count) {
    for (int i = count; i-- > 0;) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

std::string header_of(std::string type, std::int64_t data_bytes, bool begins, bool ends) {
    std::string bytes;
    put_big_endian(bytes, magic, 4);
    put_big_endian(bytes, version, 2);
    put_big_endian(bytes, (begins ? begins_message : 0) | (ends ? ends_message : 0), 2);
    put_big_endian(bytes, static_cast<std::uint64_t>(data_bytes), 8);
    type.resize(128);
    return bytes + type;
}

std::int64_t padding_of(std::int64_t data_bytes) {
    return (8 - data_bytes % 8) % 8;
}

std::string record(const std::string& type, const std::string& data, bool begins, bool ends) {
    const auto size = static_cast<std::int64_t>(data.size());
    return header_of(type, size, begins, ends) + data + std::string(at(padding_of(size)), '\0');
}

// The text of the first element <name> of an XML text, blanks around it left out; "" when there is none.
std::string element(const std::string& xml, const std::string& name) {
    for (auto open = xml.find('<' + name); open != std::string::npos; open = xml.find('<' + name, open + 1)) {
        const auto after = open + 1 + name.size();
        if (after >= xml.size() || (xml[after] != '>' && xml[after] != ' ')) continue;
        const auto from = xml.find('>', after);
        const auto to = xml.find("</" + name, after);
        if (from == std::string::npos || to == std::string::npos || from > to) return {};
        const std::string text = xml.substr(from + 1, to - from - 1);
        constexpr std::string_view blanks = " \t\r\n";
        const auto first = text.find_first_not_of(blanks);
        if (first == std::string::npos) return {};
        return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
    }
    return {};
}

template <class T>
T number(const std::string& xml, const std::string& key, const std::string& name, int base = 10) {
    const std::string text = element(xml, key);
    T value{};
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size()) {
        throw Error(ErrorCode::format, name + ": <" + key + "> is '" + text + "'");
    }
    return value;
}

void take_format(GaugeLayout& layout, const std::string& xml, const std::string& name) {
    if (const std::string field = element(xml, "field"); field != "su3gauge") {
        throw Error(ErrorCode::unsupported,
                    name + ": its ildg-format says field '" + field + "', not su3gauge");
    }
    const int precision = number<int>(xml, "precision", name);
    if (precision != 32 && precision != 64) {
        throw Error(ErrorCode::format, name + ": precision " + std::to_string(precision) + ", not 32 or 64");
    }
    layout.bytes_per_real = precision / 8;
    const std::array<std::string, num_directions> keys{"lx", "ly", "lz", "lt"};
    for (std::size_t mu = 0; mu < num_directions; ++mu) {
        layout.extents[mu] = number<std::int64_t>(xml, keys[mu], name);
    }
}

}  // namespace

GaugeLayout parse(const ReadAt& read_at, std::int64_t file_bytes, const std::string& name) {
    GaugeLayout layout{.format = GaugeFormat::ildg};
    bool has_format = false;
    std::int64_t links_bytes = -1;
    std::int64_t offset = 0;
    for (int count = 0; offset < file_bytes && count < max_records; ++count) {
        const std::string header = read_at(offset, header_bytes);
        if (static_cast<std::int64_t>(header.size()) < header_bytes || big_endian(header, 0, 4) != magic) {
            throw Error(ErrorCode::format, name + ": torn: no LIME record at byte " + std::to_string(offset) +
                                               " where one begins");
        }
        const std::uint64_t size = big_endian(header, 8, 8);
        const std::int64_t data_at = offset + header_bytes;
        const std::string type = header.substr(16).c_str();  // up to the first zero
        if (size > static_cast<std::uint64_t>(file_bytes - data_at)) {
            throw Error(ErrorCode::format, name + ": torn: record " + type + " has " + std::to_string(size) +
                                               " bytes, the file " + std::to_string(file_bytes - data_at) +
                                               " more");
        }
        const auto data_bytes = static_cast<std::int64_t>(size);
        const auto text = [&] { return read_at(data_at, std::min(data_bytes, max_text_bytes)); };
        if (type == "ildg-format" && !has_format) {
            take_format(layout, text(), name);
            has_format = true;
        } else if (type == "ildg-binary-data" && links_bytes < 0) {
            layout.links_offset_bytes = data_at;
            links_bytes = data_bytes;
        } else if (type == "scidac-checksum" && !layout.crc_29) {
            const std::string xml = text();
            layout.crc_29 = number<std::uint32_t>(xml, "suma", name, 16);
            layout.crc_31 = number<std::uint32_t>(xml, "sumb", name, 16);
        }
        offset = data_at + data_bytes + padding_of(data_bytes);
    }
    if (!has_format || links_bytes < 0) {
        throw Error(ErrorCode::format, name + ": a LIME file without " +
                                           (has_format ? "ildg-binary-data" : "ildg-format") +
                                           ": not a configuration");
    }
    if (links_bytes != layout.links_bytes()) {
        throw Error(ErrorCode::format, name + ": ildg-binary-data has " + std::to_string(links_bytes) +
                                           " bytes, " + std::to_string(8 * layout.bytes_per_real) +
                                           "-bit links of " + to_string(layout.extents) + " sites have " +
                                           std::to_string(layout.links_bytes()));
    }
    return layout;
}

GaugeFrame compose(const GaugeLayout& layout, const Checksums& checksums, const Provenance& provenance) {
    std::string xml =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ildgFormat xmlns=\"http://www.lqcd.org/ildg\"\n"
        "            xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"\n"
        "            xsi:schemaLocation=\"http://www.lqcd.org/ildg filefmt.xsd\">\n"
        "  <version>1.0</version>\n  <field>su3gauge</field>\n  <precision>" +
        std::to_string(8 * layout.bytes_per_real) + "</precision>\n";
    for (std::size_t mu = 0; mu < num_directions; ++mu) {
        const std::string key{'l', "xyzt"[mu]};
        xml += "  <" + key + ">" + std::to_string(layout.extents[mu]) + "</" + key + ">\n";
    }
    xml += "</ildgFormat>\n";
    std::array<char, 256> sums{};
    std::snprintf(sums.data(), sums.size(),
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<scidacChecksum><version>1.0</version>"
                  "<suma>%x</suma><sumb>%x</sumb></scidacChecksum>\n",
                  checksums.crc_29, checksums.crc_31);
    const std::int64_t size = layout.links_bytes();
    GaugeFrame frame;
    frame.before =
        record("ildg-format", xml, true, false) + header_of("ildg-binary-data", size, false, false);
    frame.after = std::string(at(padding_of(size)), '\0') +
                  record("ildg-data-lfn", "lfn://" + provenance.label, false, false) +
                  record("scidac-checksum", sums.data(), false, true);
    return frame;
}

}  // namespace hakobi::lattice::lime
