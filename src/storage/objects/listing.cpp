#include "storage/objects/listing.hpp"

namespace hakobi::storage {

bool ListingMaker::take(const std::string& name, const ObjectFacts& facts) {
    if (!name.starts_with(mode_.prefix)) return true;
    const std::size_t cut =
        mode_.delimiter.empty() ? std::string::npos : name.find(mode_.delimiter, mode_.prefix.size());
    const bool is_prefix = cut != std::string::npos;
    const std::string entry = is_prefix ? name.substr(0, cut + mode_.delimiter.size()) : name;
    if (entry <= mode_.start_after) return true;
    if (is_prefix && !listing_.prefixes.empty() && listing_.prefixes.back() == entry) return true;
    const auto num_entries = static_cast<std::int64_t>(listing_.objects.size() + listing_.prefixes.size());
    if (mode_.max_entries > 0 && num_entries == mode_.max_entries) {
        listing_.is_whole = false;
        return false;
    }
    if (is_prefix) {
        listing_.prefixes.push_back(entry);
    } else {
        listing_.objects.push_back({name, facts});
    }
    return true;
}

}  // namespace hakobi::storage
