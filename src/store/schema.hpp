#pragma once

#include <array>
#include <hakobi/store.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "store/value_type.hpp"

namespace hakobi::store {

/// The levels of a schema's rules: what a data set is, what lies together in it, what tells its fields apart.
enum Level { dataset_level, collocation_level, field_level };
inline constexpr int num_levels = 3;
[[nodiscard]] std::string_view name_of(Level level);  ///< "dataset", "collocation", "field"

struct Keyword {
    std::string name;
    ValueType type = ValueType::text;
    friend bool operator==(const Keyword&, const Keyword&) = default;
};

/// A keyword in a rule.
struct KeywordRule {
    enum class Presence {
        required,
        optional,  ///< `levelist?`, `domain?g`: `fallback` stands in for it
        removed    ///< `grid-`: taken from the field's key and not kept
    };
    Keyword keyword;
    Presence presence = Presence::required;
    std::string fallback = {};
    std::vector<std::string> values = {};  ///< `stream=oper/wave`, canonical; empty: any
};

struct Rule {
    std::array<std::vector<KeywordRule>, num_levels> levels;
    int line = 0;  ///< of its innermost bracket
};

/// A key as a rule splits it: the canonical value of each keyword of its levels; removed keywords are left
/// out.
struct SplitKey {
    const Rule* rule = nullptr;
    std::array<std::vector<std::string>, num_levels> values;
};

/// The rules of a store: the syntax of FDB's schemas. Types first (`step: Step;`), then rules in nested
/// brackets, `[ class, stream=oper/wave [ type, levtype [ step, levelist?, param ]]]`; a bracket may hold
/// several inner ones; '#' begins a comment.
class Schema {
  public:
    /// Reads a schema; `source` names it in messages. invalid_argument: "<source>:<line>:<column>: …".
    static Result<Schema> parse(std::string_view text, std::string_view source);

    /// Splits a key by the first rule that takes all of its keywords. invalid_argument where none does: what
    /// is missing, or unknown (with the nearest keyword and its level), or refused, in the rule that fits
    /// best.
    Status split(const Key& key, SplitKey& split) const;

    [[nodiscard]] const std::vector<Rule>& rules() const noexcept { return rules_; }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    /// "did you mean 'param' (field level)?", or all keywords where none is near.
    [[nodiscard]] std::string suggestion(std::string_view unknown_keyword) const;
    [[nodiscard]] bool has_keyword(std::string_view name) const;

  private:
    [[nodiscard]] Status explain(const Key& key) const;

    std::string text_;
    std::vector<Rule> rules_;
};

struct ShippedSchema {
    std::string_view name, text;
};
[[nodiscard]] std::span<const ShippedSchema> shipped_schemas();
/// The text of a shipped schema ("weather", "grib", "flow", "lattice"), or "" for another name.
[[nodiscard]] std::string_view shipped_schema(std::string_view name);

}  // namespace hakobi::store
