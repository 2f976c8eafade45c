#pragma once

#include <hakobi/store.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/catalogue.hpp"
#include "store/request.hpp"

namespace hakobi {

namespace store {
/// Keywords of which a field of a catalogue has a value, replaced ones too.
using UsedKeywords = std::set<std::string, std::less<>>;
}  // namespace store

/// Behind hakobi::Listing: rows of a catalogue, which stays as long as somebody lists it.
struct HAKOBI_HIDDEN Listing::Impl {
    std::shared_ptr<const store::Catalogue> catalogue;
    std::vector<store::RowReference> rows;
    std::vector<bool> is_replaced;      ///< empty: none is
    store::UsedKeywords used_keywords;  ///< of the catalogue, when the fields were listed

    /// None of its fields, for some of them.
    [[nodiscard]] std::shared_ptr<Impl> without_fields() const {
        auto impl = std::make_shared<Impl>();
        impl->catalogue = catalogue;
        impl->used_keywords = used_keywords;
        return impl;
    }
};

namespace store {

/// The rows that a request selects, in the selection's order. The catalogue's orders are up to date.
std::shared_ptr<const Listing::Impl> select(std::shared_ptr<const Catalogue> catalogue,
                                            const Request& request, const Selection& selection);

/// The latest field with this key, or nothing.
std::optional<RowReference> find_field(const Catalogue& catalogue, const SplitKey& key);

/// Everything about a row. The caller holds the catalogue's mutex.
FieldInfo describe(const Catalogue& catalogue, RowReference reference);
[[nodiscard]] UsedKeywords used_keywords(const Catalogue& catalogue);
/// The key as a request for this field alone, and its replaced values: with an empty value for each keyword
/// that it has not and another field of the catalogue with the same values may have.
void append_key_text(const Catalogue& catalogue, const UsedKeywords& used, RowReference reference,
                     std::string& text);

}  // namespace store
}  // namespace hakobi
