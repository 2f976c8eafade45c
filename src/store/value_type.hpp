#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hakobi::store {

/// The type of a keyword's values, under the name in FDB's schemas. It decides how a value is written in
/// keys, and how ranges and order work.
enum class ValueType {
    text,
    integer,
    real,
    date,    ///< YYYYMMDD
    time,    ///< HHMM
    step,    ///< hours, "30m", ranges "0-24"
    param,   ///< ECMWF's number of a parameter; known short names become one
    expver,  ///< four characters, zeros in front
    grid,    ///< '/' becomes '+'
    first3,  ///< the first three characters
    lowercase,
    year,             ///< of a date
    month,            ///< of a date, 1 … 12
    month_of_date,    ///< of a date, 01 … 12
    year_month,       ///< of a date, YYYYMM
    climate_daily,    ///< of a date, MMDD
    climate_monthly,  ///< of a date, 1 … 12
    ignore            ///< always ""
};

/// The type with this name in a schema ("Step", "Integer", …); nothing for an unknown one.
std::optional<ValueType> value_type_of(std::string_view name);
std::string_view name_of(ValueType type);
/// "Date, Double, …": for messages.
std::string value_type_names();
/// The known type name nearest to `name`, or "".
std::string nearest_value_type(std::string_view name);

/// Where a value comes from: a request may say a date relative to today ("-1").
enum class ValueSource { field, request };

/// The one way in which keys write this value. invalid_argument, with the reason, for a value that is none of
/// the type's.
Result<std::string> canonical(ValueType type, std::string_view value, ValueSource source);

/// The number behind a canonical value, in the type's own unit (days, minutes, hours, …): what ranges count
/// by. Nothing for values without one.
std::optional<double> number_of(ValueType type, std::string_view canonical_value);
/// The unit that `by` counts in a range, in number_of's unit: 60 for times, whose ranges go by hours.
double range_unit(ValueType type);

/// Order of canonical values: numbers by value, then texts.
bool value_less(std::string_view a, std::string_view b);

/// ECMWF's number of the parameter with this short name ("t" is 130), or "".
std::string_view param_number(std::string_view short_name);
/// The short name behind a number ("130" is "t"), or "".
std::string_view param_name(std::string_view number);

}  // namespace hakobi::store
