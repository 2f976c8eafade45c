#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <hakobi/error.hpp>
#include <map>
#include <sstream>

#include "gauge_format.hpp"

namespace hakobi::lattice::nersc {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

class Header {
  public:
    Header(const std::string& text, std::string name) : name_(std::move(name)) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            const auto equals = line.find('=');
            if (equals == std::string::npos) continue;
            members_[std::string(trimmed(std::string_view(line).substr(0, equals)))] =
                trimmed(std::string_view(line).substr(equals + 1));
        }
    }

    [[nodiscard]] const std::string* find(const std::string& key) const {
        const auto found = members_.find(key);
        return found == members_.end() ? nullptr : &found->second;
    }
    [[nodiscard]] const std::string& get(const std::string& key) const {
        const std::string* value = find(key);
        if (value == nullptr) throw Error(ErrorCode::format, name_ + ": its header has no " + key);
        return *value;
    }
    template <class T, class... Base>
    [[nodiscard]] T number(const std::string& key, Base... base) const {
        const std::string& text = get(key);
        T value{};
        const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base...);
        if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) refuse(key);
        return value;
    }
    [[noreturn]] void refuse(const std::string& key) const {
        throw Error(ErrorCode::format, name_ + ": its header says " + key + " = " + get(key));
    }

  private:
    std::string name_;
    std::map<std::string, std::string> members_;
};

std::optional<HeaderNumber> optional_number(const Header& header, const std::string& key) {
    const std::string* text = header.find(key);
    if (text == nullptr) return std::nullopt;
    HeaderNumber number{.value = header.number<double>(key)};
    const auto exponent_at = text->find_first_of("eE");
    const std::string mantissa = text->substr(0, exponent_at);
    const int exponent = exponent_at == std::string::npos ? 0 : std::atoi(text->c_str() + exponent_at + 1);
    const auto point = mantissa.find('.');
    const auto decimals = point == std::string::npos ? 0 : static_cast<int>(mantissa.size() - point - 1);
    number.resolution = std::pow(10.0, exponent - decimals);
    return number;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

}  // namespace

GaugeLayout parse(const std::string& text, const std::string& name) {
    const Header header(text, name);
    GaugeLayout layout{.format = GaugeFormat::nersc};
    const std::string& type = header.get("DATATYPE");
    if (type == "4D_SU3_GAUGE") {
        layout.num_rows = 2;
    } else if (type != "4D_SU3_GAUGE_3x3") {
        throw Error(ErrorCode::unsupported, name + ": DATATYPE " + type +
                                                " is not read, 4D_SU3_GAUGE and "
                                                "4D_SU3_GAUGE_3x3 are");
    }
    for (int mu = 0; mu < num_directions; ++mu) {
        layout.extents[at(mu)] = header.number<std::int64_t>("DIMENSION_" + std::to_string(mu + 1));
    }
    const std::string& real = header.get("FLOATING_POINT");
    // IEEE32 without more is what the archive's first files have: big-endian.
    if (real == "IEEE32" || real == "IEEE32BIG") {
        layout.bytes_per_real = 4;
    } else if (real == "IEEE32LITTLE") {
        layout.bytes_per_real = 4;
        layout.is_big_endian = false;
    } else if (real == "IEEE64LITTLE") {
        layout.is_big_endian = false;
    } else if (real != "IEEE64BIG" && real != "IEEE64") {
        header.refuse("FLOATING_POINT");
    }
    if (header.find("CHECKSUM") != nullptr)
        layout.words_checksum = header.number<std::uint32_t>("CHECKSUM", 16);
    layout.plaquette = optional_number(header, "PLAQUETTE");
    layout.link_trace = optional_number(header, "LINK_TRACE");
    return layout;
}

std::string compose(const GaugeLayout& layout, const Checksums& checksums, const Provenance& provenance) {
    std::ostringstream out;
    out << "BEGIN_HEADER\nHDR_VERSION = 1.0\nDATATYPE = 4D_SU3_GAUGE" << (layout.num_rows == 3 ? "_3x3" : "")
        << "\nSTORAGE_FORMAT = 1.0\n";
    for (int mu = 0; mu < num_directions; ++mu) {
        out << "DIMENSION_" << mu + 1 << " = " << layout.extents[at(mu)] << '\n';
    }
    out.precision(15);
    out << std::fixed;
    if (layout.link_trace) out << "LINK_TRACE = " << layout.link_trace->value << '\n';
    if (layout.plaquette) out << "PLAQUETTE = " << layout.plaquette->value << '\n';
    for (int mu = 0; mu < num_directions; ++mu) out << "BOUNDARY_" << mu + 1 << " = PERIODIC\n";
    out << "CHECKSUM = " << std::hex << checksums.words << std::dec << "\nENSEMBLE_ID = " << provenance.label
        << "\nENSEMBLE_LABEL = " << provenance.label
        << "\nSEQUENCE_NUMBER = 0\nCREATOR = " << provenance.creator
        << "\nCREATOR_HARDWARE = any\nCREATION_DATE = " << utc_now() << "\nARCHIVE_DATE = " << utc_now()
        << "\nFLOATING_POINT = IEEE" << 8 * layout.bytes_per_real << (layout.is_big_endian ? "BIG" : "LITTLE")
        << "\nEND_HEADER\n";
    return out.str();
}

}  // namespace hakobi::lattice::nersc
