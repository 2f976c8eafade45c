#include "store/schema.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>

#include "base/nearest.hpp"
#include "store/schema_parser.hpp"

namespace hakobi::store {

namespace {

constexpr std::string_view weather_schema = R"(# MARS keywords: the output of a weather model.
date:      Date;
time:      Time;
expver:    Expver;
step:      Step;
number:    Integer;
levelist:  Double;
frequency: Integer;
direction: Integer;
param:     Param;

[ class, expver, stream, date, time, domain?
    [ type, levtype
        [ step, number?, levelist?, frequency?, direction?, param ]]]
)";

constexpr std::string_view grib_schema =
    R"(# GRIB messages of any centre, by their own keywords. What a message lacks has the value behind '?'.
date:      Date;
time:      Time;
expver:    Expver;
step:      Step;
number:    Integer;
frequency: Integer;
direction: Integer;
param:     Param;
hdate:     Date;
refdate:   Date;
method:    Integer;
system:    Integer;
fcmonth:   Integer;

# Labelled for MARS: the keywords of the schema weather.
[ class, expver, stream, date, time, domain?
    [ type, levtype
        [ step, number?, levelist: Double?, frequency?, direction?, param ]]]

# Not labelled, as NOAA's, CMC's and DWD's; and TIGGE's, which are, but tell their centre.
# levelist: hPa for levtype=pl, else the message's unit; a layer is top-bottom.
# param: ECMWF's number; where there is none discipline-category-number, of edition 1 table-number.
[ origin, process?, class?xx, expver?0001, stream?oper, model?, grid?, date, time, hdate?
    [ type?fc, levtype
        [ step, number?, levelist?, param, steptype?, derived?, quantile?, probability?, chem? ]]]

# Labelled for MARS with further keywords: seasonal forecasts, satellite images.
[ class, expver, stream, date, time?, hdate?, refdate?, system?, method?
    [ type, levtype?
        [ step?, fcmonth?, fcperiod?, number?, levelist?, channel?, ident?, instrument?, iteration?, diagnostic?,
          quantile?, chem?, wavelength?, frequency?, direction?, anoffset?, timespan?, param ]]]
)";

constexpr std::string_view flow_schema = R"(# The output of a flow solver: a variable's blocks, step by step.
step:  Integer;
block: Integer;

[ case, run
    [ variable
        [ step, block? ]]]
)";

constexpr std::string_view lattice_schema = R"(# Configurations and measurements of an ensemble's streams.
trajectory: Integer;

[ ensemble
    [ stream
        [ trajectory, field ]]]
)";

std::string place_of(const Rule& rule) {
    return rule.line > 0 ? " (rule at line " + std::to_string(rule.line) + " of the schema)" : "";
}

/// How far a key follows a rule.
struct Fit {
    std::uint64_t used = 0;  ///< bit i: entry i of the key is a keyword of the rule
    int num_fitting = 0;     ///< keywords of the rule that are satisfied
    std::string problem;     ///< the first one that is not
};

/// One keyword of a rule: its value in `split`, or why there is none in `problem`.
void take(const Key& key, const KeywordRule& rule, Level level, Fit& fit, std::vector<std::string>* values) {
    const auto& entries = key.entries();
    const auto entry = std::ranges::find(entries, rule.keyword.name, &Key::Entry::first);
    const bool is_there = entry != entries.end() && !entry->second.empty();
    if (is_there) fit.used |= std::uint64_t{1} << (entry - entries.begin());
    if (!is_there) {
        if (rule.presence == KeywordRule::Presence::required) {
            if (fit.problem.empty()) {
                fit.problem = "the keyword " + rule.keyword.name + " is missing (" +
                              std::string(name_of(level)) + " level)";
            }
            return;
        }
        if (values != nullptr && rule.presence == KeywordRule::Presence::optional)
            values->push_back(rule.fallback);
        ++fit.num_fitting;
        return;
    }
    Result<std::string> value = canonical(rule.keyword.type, entry->second, ValueSource::field);
    if (!value.ok()) {
        if (fit.problem.empty()) {
            fit.problem = rule.keyword.name + "=" + value.status().text() + " (" +
                          std::string(name_of(level)) + " level)";
        }
        return;
    }
    if (!rule.values.empty() && std::ranges::find(rule.values, value.value()) == rule.values.end()) {
        if (fit.problem.empty()) {
            fit.problem = rule.keyword.name + "=" + entry->second + " is none of";
            for (const std::string& allowed : rule.values) fit.problem += " " + allowed;
            fit.problem += " (" + std::string(name_of(level)) + " level)";
            std::vector<std::string_view> known(rule.values.begin(), rule.values.end());
            if (const std::string near = nearest_name(entry->second, known); !near.empty()) {
                fit.problem += ": did you mean " + near + "?";
            }
        }
        return;
    }
    if (values != nullptr && rule.presence != KeywordRule::Presence::removed) {
        values->push_back(std::move(value).value());
    }
    ++fit.num_fitting;
}

}  // namespace

std::string_view name_of(Level level) {
    return level == dataset_level ? "dataset" : level == collocation_level ? "collocation" : "field";
}

std::span<const ShippedSchema> shipped_schemas() {
    static constexpr std::array<ShippedSchema, 4> all{{{"weather", weather_schema},
                                                       {"grib", grib_schema},
                                                       {"flow", flow_schema},
                                                       {"lattice", lattice_schema}}};
    return all;
}

std::string_view shipped_schema(std::string_view name) {
    const auto found = std::ranges::find(shipped_schemas(), name, &ShippedSchema::name);
    return found != shipped_schemas().end() ? found->text : std::string_view();
}

Result<Schema> Schema::parse(std::string_view text, std::string_view source) {
    Schema schema;
    schema.text_ = text;
    try {
        schema.rules_ = SchemaParser(schema.text_, source).parse();
    } catch (const Error& error) {
        return Status(error.code(), error.what());
    }
    return schema;
}

Status Schema::split(const Key& key, SplitKey& split) const {
    const std::size_t num_entries = key.entries().size();
    if (num_entries == 0 || num_entries > 64) {
        return {ErrorCode::invalid_argument,
                num_entries == 0 ? "an empty key" : "a key of more than 64 keywords"};
    }
    // An empty value stands for no value, whether the rule has the keyword or not.
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < num_entries; ++i) {
        const auto& [keyword, value] = key.entries()[i];
        if (!value.empty()) all |= std::uint64_t{1} << i;
        if (value.empty() && !has_keyword(keyword)) return explain(key);
    }
    for (const Rule& rule : rules_) {
        Fit fit;
        split.rule = &rule;
        for (int level = 0; level < num_levels && fit.problem.empty(); ++level) {
            auto& values = split.values[static_cast<std::size_t>(level)];
            values.clear();
            for (const KeywordRule& keyword : rule.levels[static_cast<std::size_t>(level)]) {
                take(key, keyword, static_cast<Level>(level), fit, &values);
                if (!fit.problem.empty()) break;
            }
        }
        if (fit.problem.empty() && fit.used == all) return {};
    }
    return explain(key);
}

Status Schema::explain(const Key& key) const {
    for (const auto& [keyword, value] : key.entries()) {
        if (!has_keyword(keyword)) {
            return {ErrorCode::invalid_argument,
                    "the schema has no keyword '" + keyword + "': " + suggestion(keyword)};
        }
    }
    // The rule that takes most is the one that was meant.
    Fit best;
    const Rule* best_rule = nullptr;
    for (const Rule& rule : rules_) {
        Fit fit;
        for (int level = 0; level < num_levels; ++level) {
            for (const KeywordRule& keyword : rule.levels[static_cast<std::size_t>(level)]) {
                take(key, keyword, static_cast<Level>(level), fit, nullptr);
            }
        }
        fit.num_fitting += 2 * std::popcount(fit.used);
        if (best_rule == nullptr || fit.num_fitting > best.num_fitting) {
            best = fit;
            best_rule = &rule;
        }
    }
    if (best.problem.empty()) {
        for (std::size_t i = 0; i < key.entries().size(); ++i) {
            if ((best.used >> i & 1U) == 0 && !key.entries()[i].second.empty()) {
                best.problem = "the keyword " + key.entries()[i].first + " has no place beside the others";
            }
        }
    }
    return {ErrorCode::invalid_argument,
            "the key " + key.text() + ": " + best.problem + place_of(*best_rule)};
}

bool Schema::has_keyword(std::string_view name) const {
    for (const Rule& rule : rules_) {
        for (const auto& level : rule.levels) {
            for (const KeywordRule& keyword : level) {
                if (keyword.keyword.name == name) return true;
            }
        }
    }
    return false;
}

std::string Schema::suggestion(std::string_view unknown_keyword) const {
    std::map<std::string, Level> levels;
    for (const Rule& rule : rules_) {
        for (int level = 0; level < num_levels; ++level) {
            for (const KeywordRule& keyword : rule.levels[static_cast<std::size_t>(level)]) {
                levels.emplace(keyword.keyword.name, static_cast<Level>(level));
            }
        }
    }
    std::vector<std::string_view> names;
    for (const auto& [name, level] : levels) names.push_back(name);
    if (const std::string nearest = nearest_name(unknown_keyword, names); !nearest.empty()) {
        return "did you mean '" + nearest + "' (" + std::string(name_of(levels[nearest])) + " level)?";
    }
    std::string text = "it has";
    for (const std::string_view name : names) text.append(" ").append(name);
    return text;
}

}  // namespace hakobi::store
