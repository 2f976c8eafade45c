#include "store/request.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "base/nearest.hpp"

namespace hakobi::store {

namespace {

std::string_view trimmed(std::string_view part) {
    constexpr std::string_view blanks = " \t\r\n";
    part.remove_prefix(std::min(part.find_first_not_of(blanks), part.size()));
    return part.substr(0, part.find_last_not_of(blanks) + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

bool is_word(std::string_view text, std::string_view word) {
    return std::ranges::equal(text, word,
                              [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

bool is_star(std::string_view text) {
    return text == "*" || is_word(text, "all");
}

bool asks_for_none(const Condition& condition) {
    return std::ranges::find(condition.values, "") != condition.values.end();
}

Status refused(std::string text) {
    return {ErrorCode::invalid_argument, std::move(text)};
}

Result<Condition> parse_condition(std::string_view item) {
    const std::size_t equals = item.find('=');
    Condition condition;
    condition.keyword = trimmed(item.substr(0, equals));
    if (equals == std::string_view::npos || condition.keyword.empty()) {
        return refused("'" + std::string(item) + "' in the request is not keyword=value");
    }
    const std::vector<std::string_view> values = split(item.substr(equals + 1), '/');
    // Alone, "to" is a value: MARS has such a class.
    const bool is_list = values.size() > 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const bool is_range = i + 1 < values.size() && is_word(values[i + 1], "to");
        if (!is_range) {
            if (is_list && (is_word(values[i], "to") || is_word(values[i], "by"))) {
                return refused(std::string(item) + ": a range is first/to/last or first/to/last/by/step");
            }
            if (is_star(values[i])) condition.is_any = true;
            condition.values.emplace_back(values[i]);
            continue;
        }
        if (i + 2 >= values.size()) return refused(std::string(item) + ": the range has no end");
        Condition::Range range{std::string(values[i]), std::string(values[i + 2]), ""};
        i += 2;
        if (i + 1 < values.size() && is_word(values[i + 1], "by")) {
            if (i + 2 >= values.size())
                return refused(std::string(item) + ": the range has no step after 'by'");
            range.by = values[i + 2];
            i += 2;
        }
        condition.ranges.push_back(std::move(range));
    }
    return condition;
}

/// A range as a type counts it.
struct Numbers {
    double first = 0, last = 0, by = 0;
    [[nodiscard]] bool holds(double number) const {
        constexpr double slack = 1e-9;
        if (number < first - slack || number > last + slack) return false;
        if (by <= 0) return true;
        const double steps = (number - first) / by;
        return std::abs(steps - std::round(steps)) < 1e-6;
    }
};

bool is_part_of_date(ValueType type) {
    return type == ValueType::year || type == ValueType::year_month;
}

Result<Numbers> numbers_of(const Condition::Range& range, ValueType type, const std::string& keyword) {
    const auto number = [&](const std::string& text) -> std::optional<double> {
        Result<std::string> value = canonical(type, text, ValueSource::request);
        return value.ok() ? number_of(type, value.value()) : std::nullopt;
    };
    const auto first = number(range.first), last = number(range.last);
    if (!first || !last) {
        return refused(keyword + "=" + range.first + "/to/" + range.last + ": " +
                       (first ? "'" + range.last : "'" + range.first) + "' is no number of the type " +
                       std::string(name_of(type)));
    }
    Numbers numbers{*first, *last, type == ValueType::real ? 0.0 : range_unit(type)};
    if (!range.by.empty()) {
        const auto by = number_of(ValueType::real, range.by);
        if (!by || *by == 0)
            return refused(keyword + ": 'by' takes a number other than 0, not '" + range.by + "'");
        numbers.by = std::abs(*by) * range_unit(type);
    }
    // Days picked from a range fall into any month and year between its ends.
    if (is_part_of_date(type) || type == ValueType::step)
        numbers.by = range.by.empty() || is_part_of_date(type) ? 0 : numbers.by;
    if (numbers.first > numbers.last) std::swap(numbers.first, numbers.last);
    return numbers;
}

/// Whether months and days that a date is cut down to can be told from a range of whole dates: they cannot.
bool takes_any_of_range(ValueType type) {
    return type == ValueType::month || type == ValueType::month_of_date || type == ValueType::climate_daily ||
           type == ValueType::climate_monthly;
}

/// Matches a condition against values of one type.
struct Matcher {
    std::set<std::string, std::less<>> values;
    std::vector<Numbers> ranges;
    ValueType type = ValueType::text;
    bool is_any = false;

    Matcher(const Condition& condition, ValueType value_type) : type(value_type), is_any(condition.is_any) {
        for (const std::string& text : condition.values) {
            if (text.empty()) values.insert("");
            Result<std::string> value = canonical(type, text, ValueSource::request);
            if (value.ok()) values.insert(std::move(value).value());
        }
        for (const Condition::Range& range : condition.ranges) {
            if (takes_any_of_range(type) || type == ValueType::ignore) is_any = true;
            if (auto numbers = numbers_of(range, type, condition.keyword); numbers.ok()) {
                ranges.push_back(numbers.value());
            }
        }
    }
    [[nodiscard]] bool matches(std::string_view value) const {
        if (is_any || values.contains(value)) return true;
        if (ranges.empty() || value.empty()) return false;
        const auto number = number_of(type, value);
        return number &&
               std::ranges::any_of(ranges, [&](const Numbers& range) { return range.holds(*number); });
    }
};

}  // namespace

bool reads_as_request(std::string_view value) {
    return is_star(value) || value.find('/') != std::string_view::npos || trimmed(value) != value;
}

Result<std::vector<Condition>> parse_request(std::string_view text) {
    std::vector<Condition> conditions;
    if (trimmed(text).empty()) return conditions;
    for (const std::string_view item : split(text, ',')) {
        if (item.empty()) continue;
        Result<Condition> condition = parse_condition(item);
        if (!condition.ok()) return condition.status();
        const auto same = [&](const Condition& other) { return other.keyword == condition.value().keyword; };
        if (std::ranges::any_of(conditions, same)) {
            return refused("the keyword " + condition.value().keyword + " stands twice in the request");
        }
        conditions.push_back(std::move(condition).value());
    }
    return conditions;
}

Request::Request(std::string_view text, const Schema& schema) : schema_(schema) {
    auto parsed = parse_request(text);
    parsed.status().throw_if_error();
    conditions_ = std::move(parsed).value();
    for (const Condition& condition : conditions_) {
        // A value is wrong when no level of no rule takes it.
        std::set<std::pair<ValueType, Level>> types;
        for (const Rule& rule : schema.rules()) {
            for (int level = 0; level < num_levels; ++level) {
                for (const KeywordRule& keyword : rule.levels[static_cast<std::size_t>(level)]) {
                    if (keyword.keyword.name == condition.keyword) {
                        types.emplace(keyword.keyword.type, static_cast<Level>(level));
                    }
                }
            }
        }
        if (types.empty()) {
            throw Error(ErrorCode::invalid_argument, "the store's schema has no keyword '" +
                                                         condition.keyword +
                                                         "': " + schema.suggestion(condition.keyword));
        }
        const auto refuse_unless_taken = [&](auto&& problem_with) {
            std::string problem;
            for (const auto& [type, level] : types) {
                const Status status = problem_with(type);
                if (status.ok()) return;
                problem =
                    condition.keyword + ": " + status.text() + " (" + std::string(name_of(level)) + " level)";
            }
            throw Error(ErrorCode::invalid_argument, problem);
        };
        for (const std::string& value : condition.values) {
            if (value.empty() || value == "*" || condition.is_any) continue;
            refuse_unless_taken(
                [&](ValueType type) { return canonical(type, value, ValueSource::request).status(); });
        }
        for (const Condition::Range& range : condition.ranges) {
            refuse_unless_taken([&](ValueType type) {
                return takes_any_of_range(type) ? Status()
                                                : numbers_of(range, type, condition.keyword).status();
            });
        }
    }
}

bool Request::select(const Group& group, std::vector<std::vector<bool>>& wanted) const {
    wanted.assign(group.num_keywords(), {});
    for (const Condition& condition : conditions_) {
        bool is_known = condition.is_any || asks_for_none(condition);
        for (std::size_t level = 0; level < num_levels; ++level) {
            const auto& keywords = group.name.keywords[level];
            for (std::size_t k = 0; k < keywords.size(); ++k) {
                if (keywords[k].name != condition.keyword) continue;
                is_known = true;
                const Matcher matcher(condition, keywords[k].type);
                if (level < field_level) {
                    if (!matcher.matches(group.name.values[level][k])) return false;
                    continue;
                }
                if (matcher.is_any) continue;
                const Dictionary& dictionary = group.dictionaries[k];
                bool is_any_wanted = false;
                wanted[k].resize(dictionary.num_values());
                for (std::uint32_t code = 0; code < dictionary.num_values(); ++code) {
                    wanted[k][code] = matcher.matches(dictionary.value(code));
                    is_any_wanted = is_any_wanted || wanted[k][code];
                }
                if (!is_any_wanted) return false;
            }
        }
        if (!is_known) return false;
    }
    return true;
}

namespace {

bool has_keyword(const GroupName& name, std::string_view keyword) {
    return std::ranges::any_of(name.keywords, [&](const std::vector<Keyword>& level) {
        return std::ranges::find(level, keyword, &Keyword::name) != level.end();
    });
}

/// Calls `look` with the level and number of each of a group's keywords that has that name.
template <class Look>
void for_keywords(const Group& group, std::string_view keyword, const Look& look) {
    for (std::size_t level = 0; level < num_levels; ++level) {
        const std::vector<Keyword>& keywords = group.name.keywords[level];
        for (std::size_t k = 0; k < keywords.size(); ++k) {
            if (keywords[k].name == keyword) look(level, k);
        }
    }
}

/// Whether a field of the group has a value that matches there.
bool has_match(const Group& group, std::size_t level, std::size_t k, const Matcher& matcher) {
    if (matcher.is_any) return true;
    if (level < field_level) return matcher.matches(group.name.values[level][k]);
    const Dictionary& dictionary = group.dictionaries[k];
    if (matcher.ranges.empty()) {
        return std::ranges::any_of(matcher.values, [&](const std::string& value) {
            return dictionary.find(value) < dictionary.num_values();
        });
    }
    for (std::uint32_t code = 0; code < dictionary.num_values(); ++code)
        if (matcher.matches(dictionary.value(code))) return true;
    return false;
}

/// All values that fields have of the keyword.
std::set<std::string> values_of(const Catalogue& catalogue, std::string_view keyword) {
    std::set<std::string> values;
    for (const auto& group : catalogue.groups) {
        for_keywords(*group, keyword, [&](std::size_t level, std::size_t k) {
            if (level < field_level) {
                values.insert(group->name.values[level][k]);
                return;
            }
            const Dictionary& dictionary = group->dictionaries[k];
            for (std::uint32_t code = 0; code < dictionary.num_values(); ++code)
                values.emplace(dictionary.value(code));
        });
    }
    return values;
}

bool is_a_number(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

/// Suggests the value that may have been meant: a number is not taken for a word.
std::string nearest_value(const std::string& wanted, const std::set<std::string>& present) {
    std::vector<std::string_view> alike;
    for (const std::string& value : present)
        if (is_a_number(value) == is_a_number(wanted)) alike.push_back(value);
    return nearest_name(wanted, alike);
}

/// "did you mean t?", or the values that there are.
std::string instead_of(const std::string& wanted, bool is_value, const std::set<std::string>& present) {
    constexpr std::size_t most_names = 8;
    if (present.empty()) return "the store is empty";
    if (const std::string nearest = is_value ? nearest_value(wanted, present) : ""; !nearest.empty())
        return "did you mean " + nearest + "?";
    std::vector<std::string_view> names(present.begin(), present.end());
    std::ranges::sort(names, value_less);
    if (names.size() > most_names) {
        return "there are " + std::to_string(names.size()) + " values, " + std::string(names.front()) +
               " … " + std::string(names.back());
    }
    std::string text = "there are";
    for (const std::string_view name : names) text.append(" ").append(name.empty() ? "''" : name);
    return text;
}

}  // namespace

Status Request::check_values(const Catalogue& catalogue) const {
    for (const Condition& condition : conditions_) {
        if (condition.is_any) continue;
        std::vector<bool> is_there(condition.values.size(), false);
        bool is_range_there = condition.ranges.empty();
        Level found_level = field_level;
        const Condition ranges{.keyword = condition.keyword, .values = {}, .ranges = condition.ranges};
        for (const auto& group : catalogue.groups) {
            if (!has_keyword(group->name, condition.keyword)) {
                for (std::size_t i = 0; i < is_there.size(); ++i)
                    is_there[i] = is_there[i] || condition.values[i].empty();
            }
            for_keywords(*group, condition.keyword, [&](std::size_t level, std::size_t k) {
                found_level = static_cast<Level>(level);
                const ValueType type = group->name.keywords[level][k].type;
                for (std::size_t i = 0; i < condition.values.size(); ++i) {
                    const Condition one{
                        .keyword = condition.keyword, .values = {condition.values[i]}, .ranges = {}};
                    is_there[i] = is_there[i] || has_match(*group, level, k, Matcher(one, type));
                }
                is_range_there = is_range_there || has_match(*group, level, k, Matcher(ranges, type));
            });
        }
        const auto missing = std::ranges::find(is_there, false);
        const bool is_value = missing != is_there.end();
        if (!is_value && is_range_there) continue;
        const std::string wanted =
            is_value ? condition.values[static_cast<std::size_t>(missing - is_there.begin())]
                     : condition.ranges[0].first + "/to/" + condition.ranges[0].last;
        return {ErrorCode::not_found,
                "no field has " + condition.keyword + "=" + wanted + " (" +
                    std::string(name_of(found_level)) +
                    " level): " + instead_of(wanted, is_value, values_of(catalogue, condition.keyword))};
    }
    return {};
}

}  // namespace hakobi::store
