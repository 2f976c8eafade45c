#pragma once

#include <cstdint>
#include <hakobi/block.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/format.hpp"
#include "format/found_step.hpp"
#include "format/step.hpp"
#include "format/zarr/array.hpp"
#include "storage/place.hpp"

namespace hakobi::format::zarr {

// A series as one group of Zarr 3, PREFIX.zarr:
//
//   zarr.json            the group, with the metadata of all arrays ("consolidated")
//   eta/zarr.json        the array of a field; eta/c.12.0.0 is its shard of step 12, mask/c.0.0 that of a static field
//   time/zarr.json       times of steps; time/c.0 has those of the first 1024. NaN: no such step
//   lat/zarr.json        coordinates of an axis, in lat/c.0
//
// How a step gets into it, by the one process that holds the prefix's lock:
//
//  1. Its shards are whole, in a folder of their own (storage/joined.hpp). Each gets its place by a rename;
//     nobody looks there, since the arrays end before.
//  2. The chunk of times is replaced, behind the end of what readers take for the array.
//  3. The group's zarr.json is replaced by one with longer arrays: the step is there, all of it.
//  4. Each array's own zarr.json follows. Who opens arrays by themselves sees the step a moment later.
//
// A file is replaced by a rename. Killed in 1 or 2, it leaves shards that the next step of that number
// replaces, or removes where it has no such field; in 4, arrays that `mend` makes longer.
//
// The store may be on objects (storage/place.hpp), "s3://bucket/run.zarr": the step's folder is on a stage,
// and each file is put as one object. In 3 the object is put over the version that was read, which is the one
// that this process put last: where anybody else has been, nothing is changed. Decision 80.

inline constexpr std::int64_t times_a_chunk = 1024;
/// In the store: a chunk of times.
[[nodiscard]] std::string times_in(std::size_t chunk);

/// The metadata of a group. Functions are local; they return unsupported for a group that is not Hakobi's,
/// format for a damaged one. A group is damaged, too, if arrays have names that no field or axis may have,
/// since names are followed.
struct Group {
    nlohmann::ordered_json attributes, arrays;  ///< arrays: zarr.json of each by its name
    std::vector<double> times;
    std::string version = {};        ///< of its zarr.json on objects
    std::string times_version = {};  ///< of the last chunk of times there: zarr.json says how many they are
    nlohmann::ordered_json others = {};  ///< what else its zarr.json has, which others put there
};

/// Nothing where there is no group.
Result<std::optional<Group>> read_group(const storage::Place& store);
/// Step `number` without its values; `file` of its fields is relative to the store's folder, with
/// in_place_of_step for the number.
Result<FoundStep> read_stored(const storage::PlacePtr& store, std::int64_t number);

/// Whether two shards of an array, files of their own, have the same values, however they are packed;
/// `root`: the second one's store.
Result<bool> has_same_values(const Array& array, const std::string& shard, const std::string& other,
                             const std::string& root);

Result<std::unique_ptr<StoredFields>> fields_in(const storage::Place& store);
/// 1 to 4; `folder` is gone afterwards. Done before as far as it was killed, it is done to the end. exists
/// where the group has another step of that number. Attributes that others have put into the group's
/// zarr.json stay in it.
Status add_step(const std::string& folder, const storage::Place& store, std::int64_t number,
                const StepDescription& step, const Adding& how);
/// 4, where it was killed. Attributes that others have put into arrays' own zarr.json stay, there and in the
/// group's from now on.
Status mend(const storage::Place& store);
/// Removes what 1 to 4 have made, and no other file.
Status remove_store(const storage::Place& store);

/// Reads a block of a field's values from its shard at `path`. Throws nothing but for memory.
Status read_values(const std::string& path, const Block& block, std::span<std::byte> values);

}  // namespace hakobi::format::zarr
