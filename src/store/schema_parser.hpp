#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/schema.hpp"

namespace hakobi::store {

/// Reads a schema's text; throws Error (invalid_argument, "<source>:<line>:<column>: …").
class SchemaParser {
  public:
    SchemaParser(std::string_view text, std::string_view source) : text_(text), source_(source) {}
    std::vector<Rule> parse();

  private:
    struct Bracket {
        std::vector<KeywordRule> keywords;
        std::vector<Bracket> inner;
        int line = 0;
    };
    void skip_blanks();
    [[nodiscard]] bool at_end();
    [[nodiscard]] char peek();
    void expect(char wanted, std::string_view where);
    std::string word(std::string_view what, bool is_value);
    void parse_types();
    Bracket parse_bracket(int level);
    KeywordRule parse_keyword(int level, const std::vector<KeywordRule>& earlier);
    void parse_values(KeywordRule& rule);
    ValueType parse_type();
    void flatten(const Bracket& dataset, std::vector<Rule>& rules) const;
    [[noreturn]] void fail(std::string_view text) const { fail_at(at_, text); }
    [[noreturn]] void fail_at(std::size_t at, std::string_view text) const;

    std::string_view text_;
    std::string_view source_;
    std::size_t at_ = 0;
    std::map<std::string, ValueType, std::less<>> types_;
};

}  // namespace hakobi::store
