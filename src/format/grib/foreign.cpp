#include "format/grib/foreign.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace hakobi::format::grib {
namespace {

using Text = std::optional<std::string>;

/// WMO's code table 4.5, and 3 of edition 1.
constexpr long no_surface = 255, isobaric = 100, first_with_level = 100, mean_sea_level2 = 101,
               mean_sea_level1 = 102, potential_vorticity = 109, first_local = 192;
constexpr int max_factor = 20;

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> level_types{
    {{"isobaricInhPa", "pl"},
     {"hybrid", "ml"},
     {"theta", "pt"},
     {"potentialVorticity", "pv"},
     {"surface", "sfc"}}};

bool is_word(const Text& text) {
    return text && !text->empty() && *text != "unknown" &&
           text->find_first_not_of("0123456789") != std::string::npos;
}

/// A surface's value, which counts as ecCodes does not: below zero, and not rounded.
Text value_of_surface(const Handle& handle, const std::string& which, long type) {
    const auto factor = handle.number(("scaleFactorOf" + which).c_str());
    const auto scaled = handle.number(("scaledValueOf" + which).c_str());
    if (!factor || !scaled) return {};
    constexpr long sign = 0x80000000;
    const long value = (*scaled & sign) != 0 && *scaled > 0 ? -(*scaled & (sign - 1)) : *scaled;
    const int to_unit = type == isobaric ? 2 : type == potential_vorticity ? -9 : 0;
    return decimal_text(value, *factor + to_unit);
}

/// Surfaces below 100 are places such as the tropopause: a level 0 there is none.
bool has_levels(long type, bool is_edition1) {
    return type >= first_with_level && type < first_local &&
           type != (is_edition1 ? mean_sea_level1 : mean_sea_level2);
}

struct Levels {
    std::string type, list;  ///< levtype, levelist ("": none)
};

std::string level_type(const Handle& handle, const std::string& numbers) {
    const Text name = handle.text("typeOfLevel");
    if (!is_word(name)) return "type" + numbers;
    const auto* found =
        std::ranges::find(level_types, *name, &std::pair<std::string_view, std::string_view>::first);
    return found != level_types.end() ? std::string(found->second) : *name;
}

Levels levels_of_edition2(const Handle& handle) {
    const long first = handle.number("typeOfFirstFixedSurface").value_or(no_surface);
    const long second = handle.number("typeOfSecondFixedSurface").value_or(no_surface);
    const bool is_layer = second != no_surface;
    std::string numbers = std::to_string(first);
    if (is_layer) numbers.append("-").append(std::to_string(second));
    Levels levels{level_type(handle, numbers), {}};
    const Text top = value_of_surface(handle, "FirstFixedSurface", first);
    if (!is_layer) {
        if (top && (*top != "0" || has_levels(first, false))) levels.list = *top;
        return levels;
    }
    const Text bottom = value_of_surface(handle, "SecondFixedSurface", second);
    const bool is_place = top.value_or("0") == "0" && bottom.value_or("0") == "0";
    if (!is_place) levels.list = top.value_or("0") + "-" + bottom.value_or("0");
    return levels;
}

Levels levels_of_edition1(const Handle& handle) {
    const long type = handle.number("indicatorOfTypeOfLevel").value_or(no_surface);
    Levels levels{level_type(handle, std::to_string(type)), {}};
    const Text level = handle.text("level"), top = handle.text("topLevel"),
               bottom = handle.text("bottomLevel");
    const bool is_layer = levels.type.ends_with("Layer") || levels.type.ends_with("Layers");
    if (is_layer && top && bottom && *top != *bottom) {
        levels.list = *top + "-" + *bottom;
    } else if (level && (*level != "0" || has_levels(type, true))) {
        levels.list = *level;
    }
    return levels;
}

std::string grid_of(const Handle& handle, bool is_edition1) {
    const Text name = handle.text("gridType");
    std::string grid =
        is_word(name)
            ? *name
            : "grid" + handle.text(is_edition1 ? "dataRepresentationType" : "gridDefinitionTemplateNumber")
                           .value_or("");
    const auto columns = handle.number("Ni"), rows = handle.number("Nj");
    const auto size = handle.number("J") ? handle.number("J") : handle.number("numberOfDataPoints");
    if (columns && rows) {
        grid.append("-").append(std::to_string(*columns)).append("x").append(std::to_string(*rows));
    } else if (size) {
        grid.append("-").append(std::to_string(*size));
    }
    return grid;
}

std::string param_of(const Handle& handle, bool is_edition1) {
    const auto id = handle.number("paramId");
    if (id && *id > 0) return std::to_string(*id);
    const auto number = [&](const char* key) {
        return std::to_string(handle.number(key).value_or(no_surface));
    };
    if (is_edition1) return number("table2Version") + "-" + number("indicatorOfParameter");
    return number("discipline") + "-" + number("parameterCategory") + "-" + number("parameterNumber");
}

/// WMO's code table 4.9.
std::string probability_of(const Handle& handle) {
    const auto type = handle.number("probabilityType");
    if (!type) return {};
    const auto limit = [&](const char* which) {
        const auto factor = handle.number((std::string("scaleFactorOf") + which).c_str());
        const auto value = handle.number((std::string("scaledValueOf") + which).c_str());
        return value ? decimal_text(*value, factor.value_or(0)) : std::string();
    };
    const std::string lower = limit("LowerLimit"), upper = limit("UpperLimit");
    switch (*type) {
        case 0:
            return "below" + lower;
        case 1:
            return "above" + upper;
        case 2:
            return "between" + lower + "to" + upper;
        case 3:
            return "above" + lower;
        case 4:
            return "below" + upper;
        default:
            return "type" + std::to_string(*type) + ":" + lower + "to" + upper;
    }
}

}  // namespace

std::string decimal_text(std::int64_t value, std::int64_t factor) {
    if (value == 0 || factor < -max_factor || factor > max_factor) return std::to_string(value);
    std::string digits = std::to_string(value < 0 ? -value : value);
    if (factor <= 0) {
        digits.append(static_cast<std::size_t>(-factor), '0');
    } else {
        const auto places = static_cast<std::size_t>(factor);
        if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
        digits.insert(digits.size() - places, 1, '.');
        digits.erase(digits.find_last_not_of('0') + 1);
        if (digits.ends_with('.')) digits.pop_back();
    }
    return value < 0 ? "-" + digits : digits;
}

Keywords foreign_keywords(const Handle& handle, const Keywords& mars) {
    const bool is_edition1 = handle.number("edition") == 1;
    Keywords keywords;
    const auto add = [&](const char* keyword, const std::string& value) {
        if (!value.empty()) keywords.emplace_back(keyword, value);
    };
    const auto add_number = [&](const char* keyword, const char* key) {
        if (const auto number = handle.number(key)) add(keyword, std::to_string(*number));
    };
    add("origin", handle.text("centre").value_or(""));
    if (const auto process = handle.number("generatingProcessIdentifier"); process && *process != no_surface)
        add("process", std::to_string(*process));
    add("grid", grid_of(handle, is_edition1));
    for (const auto& [keyword, value] : mars) {
        if (keyword == "date" || keyword == "time" || keyword == "step") add(keyword.c_str(), value);
    }
    if (const Text type = handle.text("dataType"); !is_edition1 && is_word(type)) add("type", *type);
    const Levels levels = is_edition1 ? levels_of_edition1(handle) : levels_of_edition2(handle);
    add("levtype", levels.type);
    add("levelist", levels.list);
    add_number("number", "perturbationNumber");
    add("param", param_of(handle, is_edition1));
    if (const Text kind = handle.text("stepType"); is_word(kind) && *kind != "instant")
        add("steptype", *kind);
    if (is_edition1) return keywords;
    add_number("derived", "derivedForecast");
    add_number("quantile", "percentileValue");
    add("probability", probability_of(handle));
    add_number("chem", "constituentType");
    if (!handle.number("constituentType")) add_number("chem", "aerosolType");
    return keywords;
}

}  // namespace hakobi::format::grib
