#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/found_step.hpp"
#include "format/step.hpp"
#include "storage/paced_copy.hpp"

namespace hakobi::format {

/// The state of a store as the caller that added the steps before left it.
struct LeftStore {
    std::string version;  ///< on objects; "": none was added
    /// Checksums of shards of static fields that the caller has put there, or has found to have the store's
    /// values, by the names of the fields. Such a shard is neither compared nor put again.
    std::map<std::string, std::uint64_t> statics;
};

/// How a step becomes part of a store.
struct Adding {
    bool sync = false;  ///< it is on stable storage on return
    /// Where it is set the step's folder is on other storage, a stage: files are copied at this pace, and the
    /// folder goes last.
    storage::Pace pace = {};
    /// Nobody has added it: `exists` where the store has a step of its number.
    bool is_new = false;
    /// `exists` where others have changed a store on objects since. Null: nothing is known of it.
    LeftStore* left = nullptr;
};

/// The fields of a store's steps, as a run that adds to them knows them. Local, without access to storage.
class StoredFields {
  public:
    virtual ~StoredFields() = default;
    StoredFields() = default;
    StoredFields(const StoredFields&) = delete;
    StoredFields& operator=(const StoredFields&) = delete;
    /// Counts the step among those that later ones have to go with. invalid_argument, naming the field, where
    /// it does not go with those before, or its coordinates are in none of them.
    virtual Status take(const StepDescription& step) = 0;
};

/// The part of a format that keeps all steps of a series in one store, PREFIX + extension, rather than a file
/// each. A step is then several files (Layout::members) in a folder of their own, until whoever holds the
/// prefix's lock adds them to the store: whole, or not at all, whenever that one is killed. Local; any
/// thread.
class StoreFormat {
  public:
    virtual ~StoreFormat() = default;
    StoreFormat() = default;
    StoreFormat(const StoreFormat&) = delete;
    StoreFormat& operator=(const StoreFormat&) = delete;

    /// The whole steps in it, ascending; none where it is missing. Returns unsupported for what is no store
    /// of Hakobi's, format for a damaged one.
    [[nodiscard]] virtual Result<std::vector<std::int64_t>> steps_in(const std::string& store) const = 0;
    /// As Format::read; where values are in files of the store, FoundField::file leads to them from the
    /// store's folder.
    [[nodiscard]] virtual Result<FoundStep> read_stored(const std::string& store,
                                                        std::int64_t number) const = 0;
    /// The fields of a store, which may be missing.
    [[nodiscard]] virtual Result<std::unique_ptr<StoredFields>> fields_in(const std::string& store) const = 0;
    /// Adds the step whose members are in `folder`, which goes, from an add that was killed, too.
    [[nodiscard]] virtual Status add_step(const std::string& folder, const std::string& store,
                                          std::int64_t number, const StepDescription& step,
                                          const Adding& how) const = 0;
    /// Ends what a killed run has left undone that readers of the store could notice.
    [[nodiscard]] virtual Status mend_store(const std::string& store) const = 0;
    /// Removes it, but for what others put into it.
    [[nodiscard]] virtual Status remove_store(const std::string& store) const = 0;
};

}  // namespace hakobi::format
