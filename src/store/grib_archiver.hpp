#pragma once

#include <cstdint>
#include <functional>
#include <hakobi/store.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/schema.hpp"

namespace hakobi::store {

/// Archives the messages of GRIB files, each by its own keywords.
///
///  1. A damaged message, or one whose keywords the schema does not take, is told as a problem, and the rest
///     goes on.
///  2. Two different fields of these files with the same key: the first stays, the second is told as a
///     problem.
///  3. A field that the store has with the same bytes is not archived again; one with other bytes is
///     replaced.
///  4. Each file is flushed when it is read.
class GribArchiver {
  public:
    struct Report {
        std::int64_t num_messages = 0, num_archived = 0, num_bytes = 0;
        std::int64_t num_known = 0;     ///< there already, or twice in the files
        std::int64_t num_replaced = 0;  ///< fields of the store that have new values now
        std::int64_t num_problems = 0;
    };
    using Tell = std::function<void(const std::string& problem)>;

    /// `tell` gets a line for each problem. `is_deep`: unpacks every field too, and one that cannot be is
    /// damaged. `store` outlives this.
    GribArchiver(Store& store, Tell tell, bool is_deep);
    /// A file that cannot be opened is a problem, too. Throws io where reading fails, unsupported without
    /// ecCodes, and what archiving throws but for its key.
    void archive_file(const std::string& path);
    [[nodiscard]] const Report& report() const noexcept { return report_; }

  private:
    struct Origin {
        std::size_t file = 0;
        std::int64_t message = 0;  ///< counts from 1
        std::int64_t begin_bytes = 0;
        std::uint64_t checksum = 0;
    };
    void archive_message(std::span<const std::byte> message, const Origin& origin);
    void archive_field(std::span<const std::byte> field, Origin origin);
    void tell(const Origin& origin, std::string_view problem);
    [[nodiscard]] std::string name_of(const Origin& origin) const;

    Store& store_;
    Tell tell_;
    bool is_deep_;
    Listing there_;  ///< what the store had before
    std::vector<std::string> files_;
    std::map<std::string, Origin> archived_;  ///< by canonical key
    Report report_;
};

/// Throws invalid_argument, naming keyword and both values, where a key says other than the GRIB message that
/// it is for; also for a message with several fields. Keywords that only one of them has are not compared.
void check_key_of_grib(const Schema& schema, const Key& key, std::span<const std::byte> message);

}  // namespace hakobi::store
