#include "diagnostics/cell_method.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace hakobi::diagnostics {
namespace {

constexpr std::array<std::string_view, 9> names = {
    "point", "mean", "minimum", "maximum", "sum", "variance", "standard_deviation", "range", "count"};
constexpr std::string_view along_time = "time: ", above = "count above ";

}  // namespace

std::string_view name_of(CellMethod::Kind kind) {
    return names[static_cast<std::size_t>(kind)];
}

Result<CellMethod> parse_cell_method(std::string_view text) {
    std::string_view name = text;
    if (name.starts_with(along_time)) name.remove_prefix(along_time.size());
    CellMethod method;
    if (name.empty()) return method;
    if (name.starts_with(above)) {
        name.remove_prefix(above.size());
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), method.above);
        if (error == std::errc() && end == name.data() + name.size() && std::isfinite(method.above)) {
            method.kind = CellMethod::Kind::count;
            return method;
        }
    }
    const auto* const found = std::ranges::find(names, name);
    if (found == names.end() || name == "count") {
        return Status(
            ErrorCode::invalid_argument,
            "cell_method '" + std::string(text) +
                "' is none of point, mean, minimum, maximum, sum, variance, standard_deviation, range "
                "and 'count above <number>'");
    }
    method.kind = static_cast<CellMethod::Kind>(found - names.begin());
    return method;
}

std::string attribute_of(const CellMethod& method) {
    if (method.kind != CellMethod::Kind::count) return "time: " + std::string(name_of(method.kind));
    std::array<char, 32> digits{};
    char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), method.above).ptr;
    return "time: sum (number of values above " + std::string(digits.data(), end) + ")";
}

std::string units_of(const CellMethod& method, std::string_view units) {
    if (method.kind == CellMethod::Kind::count) return "1";
    if (method.kind != CellMethod::Kind::variance || units.empty() || units == "1") return std::string(units);
    const bool is_word =
        std::ranges::all_of(units, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
    return is_word ? std::string(units) + "2" : "(" + std::string(units) + ")2";
}

}  // namespace hakobi::diagnostics
