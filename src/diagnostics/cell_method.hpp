#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hakobi::diagnostics {

/// The way from a field's values in an interval to one, by CF's names (appendix E).
struct CellMethod {
    enum class Kind : std::uint8_t {
        point,
        mean,
        minimum,
        maximum,
        sum,
        variance,
        standard_deviation,
        range,
        count  ///< of values above a threshold: CF has no name for it
    };

    Kind kind = Kind::point;
    double above = 0;  ///< the threshold of `count`

    [[nodiscard]] bool is_point() const { return kind == Kind::point; }
    friend bool operator==(const CellMethod&, const CellMethod&) = default;
};

/// "mean", also "time: mean"; "count above 300". "": point. invalid_argument, naming the known ones. Pure.
Result<CellMethod> parse_cell_method(std::string_view text);
/// "mean", …
[[nodiscard]] std::string_view name_of(CellMethod::Kind kind);
/// CF's attribute cell_methods: "time: mean".
[[nodiscard]] std::string attribute_of(const CellMethod& method);
/// The units of what the method makes of values in `units`: "K2" for a variance.
[[nodiscard]] std::string units_of(const CellMethod& method, std::string_view units);

}  // namespace hakobi::diagnostics
