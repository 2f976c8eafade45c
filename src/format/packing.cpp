#include "format/packing.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace hakobi::format {
namespace {

struct Named {
    std::string_view name;
    ValueType type;
};
constexpr std::array<Named, 5> integers = {{{"int8", ValueType::int8},
                                            {"uint8", ValueType::uint8},
                                            {"int16", ValueType::int16},
                                            {"uint16", ValueType::uint16},
                                            {"int32", ValueType::int32}}};

/// Calls `visit` with a value of the integer type.
template <class Visit>
auto with_integer(ValueType type, Visit visit) {
    switch (type) {
        case ValueType::int8:
            return visit(std::int8_t{});
        case ValueType::uint8:
            return visit(std::uint8_t{});
        case ValueType::int16:
            return visit(std::int16_t{});
        case ValueType::uint16:
            return visit(std::uint16_t{});
        default:
            assert(type == ValueType::int32);
            return visit(std::int32_t{});
    }
}

template <class Visit>
auto with_real(ValueType type, Visit visit) {
    assert(type == ValueType::float64 || type == ValueType::float32);
    return type == ValueType::float64 ? visit(double{}) : visit(float{});
}

/// The stored numbers that values have, all but the one of missing values.
template <class Integer>
struct Stored {
    static constexpr Integer least = std::is_signed_v<Integer>
                                         ? static_cast<Integer>(std::numeric_limits<Integer>::min() + 1)
                                         : Integer{0};
    static constexpr Integer greatest = std::is_signed_v<Integer>
                                            ? std::numeric_limits<Integer>::max()
                                            : static_cast<Integer>(std::numeric_limits<Integer>::max() - 1);
    static constexpr Integer missing =
        std::is_signed_v<Integer> ? std::numeric_limits<Integer>::min() : std::numeric_limits<Integer>::max();
};

Status bad(std::string_view text, const std::string& why) {
    return {ErrorCode::invalid_argument, "store_as '" + std::string(text) + "': " + why};
}

std::optional<double> number_in(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return {};
    return number;
}

Status take_range(std::string_view text, std::string_view range, Packing& packing) {
    const std::size_t dots = range.find("..");
    const auto least = number_in(range.substr(0, std::min(dots, range.size())));
    const auto greatest = dots == std::string_view::npos ? std::nullopt : number_in(range.substr(dots + 2));
    if (!least || !greatest || !(*least < *greatest))
        return bad(text, "its range is two numbers, the smaller one first: range=180..330");
    with_integer(packing.type, [&]<class Integer>(Integer) {
        const double first = Stored<Integer>::least, last = Stored<Integer>::greatest;
        packing.scale_factor = *greatest / (last - first) - *least / (last - first);
        packing.add_offset = *least - first * packing.scale_factor;
    });
    return {};
}

/// One of what follows the colon.
Status take_word(std::string_view text, std::string_view word, Packing& packing) {
    if (word == "saturate") {
        packing.saturates = true;
        return {};
    }
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    const bool is_known = name == "scale_factor" || name == "add_offset" || name == "range";
    if (!is_known || !packing.is_scaled())
        return bad(text, "'" + std::string(word) + "' is no part of it: " +
                             (packing.is_scaled() ? "scale_factor=, add_offset=, range= and saturate are"
                                                  : "saturate alone may follow float32"));
    if (name == "range") return take_range(text, value, packing);
    const auto number = number_in(value);
    if (!number || (name == "scale_factor" && *number == 0))
        return bad(text, "its " + std::string(name) + " is '" + std::string(value) + "'");
    (name == "scale_factor" ? packing.scale_factor : packing.add_offset) = *number;
    return {};
}

template <class Real>
Real value_at(const std::byte* values, std::int64_t stride_bytes, std::int64_t index) {
    Real value;
    std::memcpy(&value, values + index * stride_bytes, sizeof value);
    return value;
}

/// In pieces, whose loop has no way out: compilers make vectors of it.
constexpr std::int64_t piece = 1024;

template <class PackPiece, class Find>
std::optional<Misfit> in_pieces(std::int64_t num, PackPiece pack_piece, Find find) {
    std::optional<Misfit> first;
    for (std::int64_t begin = 0; begin < num; begin += piece) {
        const std::int64_t end = std::min(begin + piece, num);
        if (pack_piece(begin, end) && !first) first = find(begin, end);
    }
    return first;
}

std::optional<Misfit> pack_to_float(const Packing& packing, const std::byte* values,
                                    std::int64_t stride_bytes, std::int64_t num, std::byte* packed) {
    constexpr float most = std::numeric_limits<float>::max();
    const auto is_misfit = [](double value) {
        return std::isinf(static_cast<float>(value)) && !std::isinf(value);
    };
    const auto stored = [&](double value) {
        if (packing.saturates && is_misfit(value)) return value < 0 ? -most : most;
        return static_cast<float>(value);
    };
    return in_pieces(
        num,
        [&](std::int64_t begin, std::int64_t end) {
            float out[piece];
            unsigned num_misfits = 0;
            for (std::int64_t i = begin; i < end; ++i) {
                const auto value = value_at<double>(values, stride_bytes, i);
                const auto rounded = static_cast<float>(value);
                out[i - begin] = rounded;
                num_misfits += static_cast<unsigned>(
                    (std::fabs(rounded) > most) & (std::fabs(value) <= std::numeric_limits<double>::max()));
            }
            if (num_misfits > 0)
                for (std::int64_t i = begin; i < end; ++i)
                    out[i - begin] = stored(value_at<double>(values, stride_bytes, i));
            std::memcpy(packed + begin * static_cast<std::int64_t>(sizeof(float)), out,
                        static_cast<std::size_t>(end - begin) * sizeof(float));
            return num_misfits > 0 && !packing.saturates;
        },
        [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const auto value = value_at<double>(values, stride_bytes, i);
                if (is_misfit(value)) return Misfit{i, value};
            }
            return Misfit{};
        });
}

template <class Real, class Integer>
std::optional<Misfit> pack_to_integer(const Packing& packing, const std::byte* values,
                                      std::int64_t stride_bytes, std::int64_t num, std::byte* packed) {
    const double least = Stored<Integer>::least, greatest = Stored<Integer>::greatest;
    const auto is_missing = [&](double value) {
        return std::isnan(value) || (packing.missing && value == *packing.missing);
    };
    const auto scaled = [&](double value) {
        return std::nearbyint((value - packing.add_offset) / packing.scale_factor);
    };
    return in_pieces(
        num,
        [&](std::int64_t begin, std::int64_t end) {
            bool has_misfits = false;
            for (std::int64_t i = begin; i < end; ++i) {
                const auto value = static_cast<double>(value_at<Real>(values, stride_bytes, i));
                Integer stored = Stored<Integer>::missing;
                if (!is_missing(value)) {
                    const double number = scaled(value);
                    has_misfits = has_misfits || number < least || number > greatest;
                    stored = static_cast<Integer>(std::clamp(number, least, greatest));
                }
                std::memcpy(packed + i * static_cast<std::int64_t>(sizeof stored), &stored, sizeof stored);
            }
            return has_misfits && !packing.saturates;
        },
        [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const auto value = static_cast<double>(value_at<Real>(values, stride_bytes, i));
                const double number = is_missing(value) ? least : scaled(value);
                if (number < least || number > greatest) return Misfit{i, value};
            }
            return Misfit{};
        });
}

std::optional<double> number_of(const Attributes& attributes, const std::string& name) {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    if (const auto* reals = std::get_if<std::vector<double>>(&found->second))
        return reals->size() == 1 ? std::optional((*reals)[0]) : std::nullopt;
    if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&found->second))
        return whole->size() == 1 ? std::optional(static_cast<double>((*whole)[0])) : std::nullopt;
    return {};
}

}  // namespace

Result<std::optional<Packing>> parse_packing(std::string_view text) {
    if (text.empty() || text == "float64") return std::optional<Packing>();
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view type = text.substr(0, colon);
    Packing packing;
    if (type != "float32") {
        const auto* const found = std::ranges::find(integers, type, &Named::name);
        if (found == integers.end())
            return bad(text, "the types are float64, float32, int8, uint8, int16, uint16 and int32");
        packing.type = found->type;
    }
    std::string_view rest = text.substr(std::min(colon + 1, text.size()));
    if (colon < text.size() && rest.empty()) return bad(text, "nothing follows its colon");
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        if (Status status = take_word(text, rest.substr(0, comma), packing); !status.ok()) return status;
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    if (packing.is_scaled() && text.find("scale_factor=") == std::string_view::npos &&
        text.find("range=") == std::string_view::npos)
        return bad(text, "an integer has a scale_factor, or a range of values: int16:range=180..330");
    if (!std::isfinite(packing.scale_factor) || packing.scale_factor == 0 ||
        !std::isfinite(packing.add_offset))
        return bad(text, "no scale_factor gives that range");
    return std::optional(packing);
}

FillValue missing_of(ValueType type) {
    return with_integer(
        type, []<class Integer>(Integer) -> FillValue { return FillValue(Stored<Integer>::missing); });
}

std::optional<Packing> packing_found(ValueType stored, const Attributes& attributes, ValueType wanted) {
    if (stored == wanted || (wanted != ValueType::float64 && wanted != ValueType::float32)) return {};
    const auto scale_factor = number_of(attributes, "scale_factor");
    const auto add_offset = number_of(attributes, "add_offset");
    if (stored != ValueType::float32) {
        if (std::ranges::find(integers, stored, &Named::type) == integers.end()) return {};
        if (!scale_factor && !add_offset) return {};
    }
    const auto missing = number_of(attributes, "missing_value");
    const bool is_other =
        attributes.contains("_Unsigned") || (missing && missing != number_of(attributes, "_FillValue"));
    if ((scale_factor || add_offset) && is_other) return {};
    return Packing{
        .type = stored, .scale_factor = scale_factor.value_or(1), .add_offset = add_offset.value_or(0)};
}

std::optional<Misfit> pack(const Packing& packing, ValueType from, const std::byte* values,
                           std::int64_t stride_bytes, std::int64_t num, std::byte* packed) {
    if (!packing.is_scaled()) {
        assert(from == ValueType::float64);
        return pack_to_float(packing, values, stride_bytes, num, packed);
    }
    return with_real(from, [&]<class Real>(Real) {
        return with_integer(packing.type, [&]<class Integer>(Integer) {
            return pack_to_integer<Real, Integer>(packing, values, stride_bytes, num, packed);
        });
    });
}

void unpack(const Packing& packing, const std::optional<FillValue>& fill, const std::byte* packed,
            std::int64_t num, ValueType to, std::byte* values) {
    const auto each = [&]<class Stored, class Real>(Stored, Real, auto value_of) {
        for (std::int64_t i = 0; i < num; ++i) {
            const Real value = value_of(value_at<Stored>(packed, sizeof(Stored), i));
            std::memcpy(values + i * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
        }
    };
    if (!packing.is_scaled()) {
        assert(to == ValueType::float64);
        const bool is_plain = packing.scale_factor == 1 && packing.add_offset == 0;
        return each(float{}, double{}, [&](float value) {
            return is_plain ? double{value} : value * packing.scale_factor + packing.add_offset;
        });
    }
    with_real(to, [&]<class Real>(Real real) {
        with_integer(packing.type, [&]<class Integer>(Integer integer) {
            const Integer* const missing = fill ? std::get_if<Integer>(&*fill) : nullptr;
            each(integer, real, [&](Integer stored) {
                if (missing != nullptr && stored == *missing) return std::numeric_limits<Real>::quiet_NaN();
                return static_cast<Real>(static_cast<double>(stored) * packing.scale_factor +
                                         packing.add_offset);
            });
        });
    });
}

}  // namespace hakobi::format
