#pragma once

#include <cstdint>
#include <hakobi/store.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/folder.hpp"

namespace hakobi::store {

/// What `check` found. Everything in order: no problem, no orphan.
struct CheckReport {
    std::int64_t num_fields = 0;        ///< whole ones, replaced ones too
    std::int64_t num_lost = 0;          ///< flushed fields that cannot be read any more
    std::int64_t num_alive = 0;         ///< writers at work: their unflushed data is no orphan
    std::int64_t orphan_bytes = 0;      ///< data and index bytes of dead writers that belong to no field
    std::vector<std::string> problems;  ///< damage, one line each
    std::vector<std::string> orphans;   ///< what `recover` takes away, one line each
};
/// Holds indexes, data files and catalogue against each other; `deep` reads every field and holds it against its checksum.
CheckReport check(const Folder& folder, bool deep, int num_threads);

struct RecoverReport {
    std::int64_t freed_bytes = 0;
    std::vector<std::string> actions;  ///< what was done, one line each
    std::vector<std::string> left;     ///< what was left as it is, with the reason
};
struct RecoverOptions {
    std::string keep_in =
        {};  ///< a folder for the data that is cut off, one file a writer; "": it is dropped
    bool also_damaged = false;  ///< cut also behind a last record that is damaged rather than unfinished
};
/// Cuts off and removes what dead writers left behind their last flush: afterwards no byte of theirs is without a field.
RecoverReport recover(const Folder& folder, const RecoverOptions& options);

/// Writes the catalogue anew from what the indexes say now; beside running writers.
void consolidate(const Folder& folder);

struct WipePlan {
    std::int64_t num_fields = 0, num_bytes = 0;
    std::vector<std::string> whole_files;  ///< stems of dead writers none of whose fields remain
    std::vector<Wiped> parts;              ///< fields of other files
    std::vector<std::string> part_stems;   ///< of those files
};
/// What removing these fields takes; nothing is changed.
WipePlan plan_wipe(const Folder& folder, const Listing& fields);
/// Removes them (step 8 of format.hpp), and makes the catalogue anew where there is one.
void wipe(const Folder& folder, const WipePlan& plan);

/// Moves the whole store to the folder `target`, which must not exist, on any file system: copied, verified and synced
/// before the source is removed. Throws exists where a writer is at work.
void move_store(const Folder& folder, const std::string& target);
/// Moves fields into another store, which is made with the same schema where it is missing; those that arrived are then
/// wiped here. The number of fields.
std::int64_t move_fields(Store& source, std::string_view request, const std::string& target);

/// Finds the fields that are flushed while it looks.
class Follower {
  public:
    /// `from_beginning`: the first look finds what is there already.
    Follower(const Store& store, std::string_view request, bool from_beginning);
    /// The fields flushed since the last look, in file order.
    Listing next();

  private:
    const Store& store_;
    std::string request_;
    std::map<std::uint64_t, std::int64_t> seen_;  // the latest stamp of each data file
};

}  // namespace hakobi::store
