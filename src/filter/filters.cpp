#include "filter/filters.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/nearest.hpp"
#include "filter/round.hpp"

namespace hakobi::filter {
namespace {

struct Entry {
    std::string_view name;
    Codec codec;
    int default_level, most_level, hdf5_filter;
};
constexpr std::array entries = {Entry{"none", Codec::none, 0, 0, 0},
                                Entry{"deflate", Codec::deflate, 1, 9, 1},
                                Entry{"zstd", Codec::zstd, 3, 22, 32015}};

Result<Filters> parse_compression(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    std::array<std::string_view, entries.size()> names;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Entry& entry = entries[i];
        names[i] = entry.name;
        if (entry.name != name) continue;
        int level = entry.default_level;
        if (colon != std::string_view::npos) {
            const std::string_view digits = text.substr(colon + 1);
            const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
            if (error != std::errc{} || end != digits.data() + digits.size() || level < 1 ||
                level > entry.most_level) {
                return Status(ErrorCode::invalid_argument,
                              "compression '" + std::string(text) + "': " +
                                  (entry.most_level == 0 ? "none has no level"
                                                         : std::string(name) + "'s levels are 1 to " +
                                                               std::to_string(entry.most_level)));
            }
        }
        return Filters{.codec = entry.codec, .level = static_cast<std::int8_t>(level)};
    }
    std::string message = "unknown compression '" + std::string(text) + "'";
    if (const std::string nearest = nearest_name(name, names); !nearest.empty()) {
        message += ": did you mean '" + nearest + "'?";
    } else {
        message += "; there are none, deflate and zstd, with a level as in deflate:1";
    }
    return Status(ErrorCode::invalid_argument, std::move(message));
}

}  // namespace

Result<Filters> parse_filters(std::string_view compression, int significant_bits) {
    if (significant_bits < 0 || significant_bits > bits_of_double) {
        return Status(ErrorCode::invalid_argument, "significant_bits is " + std::to_string(significant_bits) +
                                                       ": a mantissa has 1 to 52, and 0 keeps all");
    }
    Result<Filters> filters = parse_compression(compression);
    if (!filters.ok()) return filters;
    if (significant_bits > 0 && filters.value().codec == Codec::none) {
        return Status(ErrorCode::invalid_argument,
                      "significant_bits without compression: rounding alone saves nothing");
    }
    filters.value().significant_bits = static_cast<std::int8_t>(significant_bits);
    return filters;
}

Result<Filters> parse_filters(std::string_view compression, int significant_bits, const Filters& others) {
    if (compression.empty() && significant_bits == 0) return others;
    if (compression.empty()) {
        if (others.codec == Codec::none) return parse_filters("none", significant_bits);
        Filters filters = others;
        Result<Filters> bits = parse_filters("zstd", significant_bits);
        if (!bits.ok()) return bits;
        filters.significant_bits = bits.value().significant_bits;
        return filters;
    }
    Result<Filters> filters = parse_filters(compression, significant_bits);
    if (filters.ok() && filters.value().codec != Codec::none && significant_bits == 0)
        filters.value().significant_bits = others.significant_bits;
    return filters;
}

bool is_valid(const Filters& filters) {
    if (static_cast<std::size_t>(filters.codec) >= entries.size()) return false;
    const Entry& entry = entries[static_cast<std::size_t>(filters.codec)];
    return filters.level >= std::min(1, entry.most_level) && filters.level <= entry.most_level &&
           filters.significant_bits >= 0 && filters.significant_bits <= bits_of_double &&
           filters.frame <= Frame::blosc;
}

int hdf5_filter_of(Codec codec) {
    return entries[static_cast<std::size_t>(codec)].hdf5_filter;
}

}  // namespace hakobi::filter
