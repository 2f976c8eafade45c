#pragma once

#include "storage/objects.hpp"

namespace hakobi::storage {

/// Makes a listing of names that come in bytewise order: what `mode` asks for.
class ListingMaker {
  public:
    explicit ListingMaker(const ListMode& mode) : mode_(mode) {}
    /// Takes a name, or not; false: the listing is full.
    bool take(const std::string& name, const ObjectFacts& facts);
    Listing finish() { return std::move(listing_); }

  private:
    const ListMode& mode_;
    Listing listing_;
};

}  // namespace hakobi::storage
