#pragma once

#include <cstdint>
#include <hakobi/store.hpp>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/folder.hpp"

// How fields and files are removed from a store whose writers go on (format.hpp describes the files; the
// numbers there are F1, F2, …, and O1, O2, … on object storage).
//
// The rule of all maintenance: nothing is removed that was not asked for, or copied and read back, in a look
// that has it; and no file is deleted that was read before its writer died.
//
//  1. Fields are removed by their places: a data file and an offset, as a look (a Listing with replaced
//     fields) has them. No place is ever used again (F1), so that whatever is flushed after the look is not
//     meant, and stays.
//  2. One record (F8) removes them all, those together with a field that it has replaced. Before the record
//     is whole nothing is removed, after that everything: no kill brings an older value back.
//  3. Space is given back and files are deleted after the record only. `remove_emptied` alone deletes files
//     that had fields: it finds a writer dead first, and reads its index then. A dead writer adds nothing, so
//     that what is read is all there will ever be; it deletes the files where records of step 2 remove all of
//     that. The record's own index stays as long as one of the indexes does whose fields it removes.
//  4. Whatever has happened stays true: removed fields, dead writers and emptied files remain so. Hence any
//     number of programs may do this at once, on what each has found by itself, and what a killed one leaves
//     is finished by the next.
//  5. A reader that misses a deleted index knows the record of step 2 (IndexReader::read_folder). A catalogue
//     that was consolidated meanwhile names an index that is gone, or does not know the record: both are
//     noticed, and it is not used.
//  6. `recover` takes away only what no record has: behind the last one of a dead writer, whose death it sees
//     before it reads; and a data file without an index, which it looks for after it has found the data file:
//     a writer makes it first.
//  7. Fields move with the time of their flush, replaced ones too: as in their own store the latest counts,
//     whoever moved it, and however often.
//  8. A store moves as a whole while nobody writes: it is closed to writers (gate.hpp). On another file
//     system the copy gets its name when it is whole, verified and on stable storage; then the source's
//     marker goes, and then the rest of it. A kill before the marker is gone leaves the source as it was,
//     open again. Where one of the two is on object storage, all fields are written anew, by one flush, and
//     read back; until that flush the target is a store without fields.
//
// On object storage the same holds, by O3 and O4: "finds a writer dead" is Place::is_over, which makes it so;
// "given back" are segments in which no field is left, as a look after the record shows (the fields of a
// segment are all of one flush, so that none comes later); and a record's own index ends with `end`, as every
// other's.

namespace hakobi::store {

/// The findings of `check`. Everything in order: no problem, no orphan.
struct CheckReport {
    std::int64_t num_fields = 0;        ///< whole ones, replaced ones too
    std::int64_t num_lost = 0;          ///< flushed fields that cannot be read any more
    std::int64_t num_alive = 0;         ///< writers at work: their unflushed data is no orphan
    std::int64_t orphan_bytes = 0;      ///< data and index bytes of dead writers that belong to no field
    std::vector<std::string> problems;  ///< damage, one line each
    std::vector<std::string> orphans;   ///< what `recover` takes away, one line each
};
/// Holds indexes, data files and catalogue against each other; `deep` reads every field and holds it against
/// its checksum.
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
/// Cuts off and removes what dead writers left behind their last flush: afterwards no byte of theirs is
/// without a field.
RecoverReport recover(const Folder& folder, const RecoverOptions& options);

/// Writes the catalogue anew from what the indexes say now; beside running writers.
void consolidate(const Folder& folder);

struct WipePlan {
    /// Fields in one data file.
    struct Part {
        std::string stem;
        std::uint64_t id = 0;
        std::vector<Extent> extents;  ///< rising
    };
    std::int64_t num_fields = 0, num_bytes = 0;
    std::vector<Part> parts;
};
/// Plans the removal of these fields; changes nothing.
WipePlan plan_wipe(const Listing& fields);
/// Removes them, deletes the files that are emptied by it, and makes the catalogue anew where there is one.
void wipe(const Folder& folder, const WipePlan& plan);

/// Deletes the files of dead writers in which wipes have left no field, and wipes of which no field's file is
/// left (step 3). The data files' paths.
std::vector<std::string> remove_emptied(const Folder& folder);

/// Moves the whole store to the folder `target`, which must not exist, on any file system (step 8). Throws
/// exists where a writer is at work, the store is being moved already, or something is in the way.
void move_store(const Folder& folder, const std::string& target);
/// Moves fields, and what they replaced, into another store, which is made with the same schema where it is
/// missing; those that arrived are then wiped here. The number of fields, without replaced ones.
std::int64_t move_fields(const Store& source, std::string_view request, const std::string& target);
/// The same with what a look at the source, with replaced fields, has found.
std::int64_t move_fields(const Store& source, const Listing& fields, const std::string& target);

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
