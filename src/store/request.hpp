#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "store/catalogue.hpp"
#include "store/schema.hpp"

namespace hakobi::store {

/// A request's condition on one keyword.
struct Condition {
    struct Range {
        std::string first, last, by;  ///< as written; `by` may be empty: 1
    };
    std::string keyword;
    std::vector<std::string> values;  ///< as written; "" matches a field without the keyword
    std::vector<Range> ranges;
    bool is_any = false;  ///< `*`
};

/// Whether a request cannot ask for this value, since it reads as something else there: `*`, all, a list.
bool reads_as_request(std::string_view value);

/// A request in MARS's form: "param=t/u,levelist=500/850,step=0/to/24/by/6". An item without '=' is an error,
/// a keyword that stands twice too.
Result<std::vector<Condition>> parse_request(std::string_view text);

/// A request held against a schema and against the values that fields have.
class Request {
  public:
    /// Throws invalid_argument: a keyword that the schema has not (nearest, level), a value that no type of
    /// the keyword takes.
    Request(std::string_view text, const Schema& schema);

    /// For each value of the group's field keywords whether it is wanted; empty: every value. False: no field
    /// of the group is wanted.
    bool select(const Group& group, std::vector<std::vector<bool>>& wanted) const;
    /// Whether one field, given by its codes, is selected.
    [[nodiscard]] bool is_everything() const noexcept { return conditions_.empty(); }

    /// not_found where a value was asked for that no field of the catalogue has: the nearest that there is,
    /// and the level.
    [[nodiscard]] Status check_values(const Catalogue& catalogue) const;

  private:
    struct Wanted;
    std::vector<Condition> conditions_;
    const Schema& schema_;
};

}  // namespace hakobi::store
