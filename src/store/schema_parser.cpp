#include "store/schema_parser.hpp"

#include <algorithm>

namespace hakobi::store {

namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_special(char c) {
    return std::string_view("/=,;:[]?#").find(c) != std::string_view::npos;
}

std::string quoted(char c) {
    return c == '\0' ? "the end" : std::string("'") + c + "'";
}

}  // namespace

void SchemaParser::fail_at(std::size_t at, std::string_view text) const {
    const std::string_view before = text_.substr(0, at);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t begin = before.rfind('\n');
    const std::size_t column = begin == std::string_view::npos ? at + 1 : at - begin;
    std::string place(source_);
    place.append(":").append(std::to_string(line)).append(":").append(std::to_string(column)).append(": ");
    throw Error(ErrorCode::invalid_argument, place.append(text));
}

void SchemaParser::skip_blanks() {
    while (at_ < text_.size()) {
        if (text_[at_] == '#') {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (is_blank(text_[at_])) {
            ++at_;
        } else {
            return;
        }
    }
}

bool SchemaParser::at_end() {
    skip_blanks();
    return at_ == text_.size();
}

char SchemaParser::peek() {
    return at_end() ? '\0' : text_[at_];
}

void SchemaParser::expect(char wanted, std::string_view where) {
    if (peek() != wanted) {
        fail(std::string("expected '") + wanted + "' " + std::string(where) + ", found " + quoted(peek()));
    }
    ++at_;
}

/// A keyword, type or value. In a keyword '-' ends the word: it marks one that is not kept.
std::string SchemaParser::word(std::string_view what, bool is_value) {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && !is_special(text_[at_]) &&
           (is_value || text_[at_] != '-')) {
        if (static_cast<unsigned char>(text_[at_]) < 0x20) fail("a control character");
        ++at_;
    }
    if (at_ == begin) fail("expected " + std::string(what) + ", found " + quoted(peek()));
    return std::string(text_.substr(begin, at_ - begin));
}

ValueType SchemaParser::parse_type() {
    skip_blanks();
    const std::size_t at = at_;
    const std::string name = word("a type", false);
    if (const auto type = value_type_of(name)) return *type;
    const std::string nearest = nearest_value_type(name);
    fail_at(at, "no type is called '" + name + "'" +
                    (nearest.empty() ? ": the types are " + value_type_names()
                                     : ": did you mean '" + nearest + "'?"));
}

void SchemaParser::parse_types() {
    while (!at_end() && peek() != '[') {
        const std::size_t at = at_;
        const std::string name = word("a keyword or '['", false);
        expect(':', "after the keyword " + name);
        const ValueType type = parse_type();
        expect(';', "after the type of " + name);
        if (!types_.emplace(name, type).second) fail_at(at, "the keyword " + name + " has a type already");
    }
}

void SchemaParser::parse_values(KeywordRule& rule) {
    do {
        ++at_;  // '=' or '/'
        skip_blanks();
        const std::size_t at = at_;
        const std::string value = word("a value of " + rule.keyword.name, true);
        Result<std::string> found = canonical(rule.keyword.type, value, ValueSource::field);
        if (!found.ok()) fail_at(at, rule.keyword.name + ": " + found.status().text());
        rule.values.push_back(std::move(found).value());
    } while (peek() == '/');
}

KeywordRule SchemaParser::parse_keyword(int level, const std::vector<KeywordRule>& earlier) {
    skip_blanks();
    const std::size_t at = at_;
    KeywordRule rule;
    rule.keyword.name = word("a keyword", false);
    const auto same = [&](const KeywordRule& other) { return other.keyword.name == rule.keyword.name; };
    if (std::ranges::any_of(earlier, same)) {
        fail_at(at, "the keyword " + rule.keyword.name + " stands twice in this bracket (" +
                        std::string(name_of(static_cast<Level>(level))) + " level)");
    }
    if (const auto type = types_.find(rule.keyword.name); type != types_.end())
        rule.keyword.type = type->second;
    if (peek() == ':') {
        ++at_;
        rule.keyword.type = parse_type();
    }
    const char sign = peek();
    if (sign == '=') {
        parse_values(rule);
    } else if (sign == '?' || sign == '-') {
        ++at_;
        rule.presence = sign == '?' ? KeywordRule::Presence::optional : KeywordRule::Presence::removed;
        const char next = peek();
        if (next != '\0' && !is_special(next)) {
            const std::size_t value_at = at_;
            Result<std::string> found =
                canonical(rule.keyword.type, word("a value", true), ValueSource::field);
            if (!found.ok()) fail_at(value_at, rule.keyword.name + ": " + found.status().text());
            rule.fallback = std::move(found).value();
        }
    }
    return rule;
}

SchemaParser::Bracket SchemaParser::parse_bracket(int level) {
    const std::size_t begin = at_;
    expect('[', "");
    Bracket bracket;
    bracket.line = 1 + static_cast<int>(std::ranges::count(text_.substr(0, begin), '\n'));
    for (;;) {
        const char c = peek();
        if (c == '\0') fail_at(begin, "this bracket is not closed");
        if (c == ']') break;
        if (c == '[') {
            if (level == field_level)
                fail("a fourth level: a rule has three, [dataset [collocation [field]]]");
            bracket.inner.push_back(parse_bracket(level + 1));
            continue;
        }
        if (c == ',' && !bracket.keywords.empty()) ++at_;
        bracket.keywords.push_back(parse_keyword(level, bracket.keywords));
        const char next = peek();
        if (next != ',' && next != '[' && next != ']' && next != '\0') {
            fail("expected ',', '[' or ']' after the keyword " + bracket.keywords.back().keyword.name +
                 ", found " + quoted(next));
        }
    }
    if (bracket.keywords.empty()) fail("no keyword in this bracket");
    if (level < field_level && bracket.inner.empty()) {
        fail("no inner bracket: a rule has three levels, [dataset [collocation [field]]]");
    }
    ++at_;
    return bracket;
}

void SchemaParser::flatten(const Bracket& dataset, std::vector<Rule>& rules) const {
    for (const Bracket& collocation : dataset.inner) {
        for (const Bracket& field : collocation.inner) {
            rules.push_back({{dataset.keywords, collocation.keywords, field.keywords}, field.line});
        }
    }
}

std::vector<Rule> SchemaParser::parse() {
    parse_types();
    std::vector<Rule> rules;
    while (!at_end()) {
        if (peek() != '[') fail("expected '[', found " + quoted(peek()));
        flatten(parse_bracket(dataset_level), rules);
    }
    if (rules.empty()) fail("no rule: [dataset keywords [collocation keywords [field keywords]]]");
    return rules;
}

}  // namespace hakobi::store
