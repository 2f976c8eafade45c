#pragma once

#include <hakobi/store.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "store/catalogue.hpp"
#include "store/request.hpp"

namespace hakobi {

/// Behind hakobi::Listing: rows of a catalogue, which stays as long as somebody lists it.
struct HAKOBI_HIDDEN Listing::Impl {
    std::shared_ptr<const store::Catalogue> catalogue;
    std::vector<store::RowReference> rows;
    std::vector<bool> is_replaced;  ///< empty: none is
};

namespace store {

/// The rows that a request selects, in the selection's order. The catalogue's orders are up to date.
std::shared_ptr<const Listing::Impl> select(std::shared_ptr<const Catalogue> catalogue,
                                            const Request& request, const Selection& selection);

/// The latest field with this key, or nothing.
std::optional<RowReference> find_field(const Catalogue& catalogue, const SplitKey& key);

/// Everything about a row. The caller holds the catalogue's mutex.
FieldInfo describe(const Catalogue& catalogue, RowReference reference);
/// The key as a request for this field alone, and its replaced values: with an empty value for each keyword
/// that it has not and another field with the same values might have.
void append_key_text(const Catalogue& catalogue, RowReference reference, std::string& text);

}  // namespace store
}  // namespace hakobi
