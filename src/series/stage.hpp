#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "series/carrier.hpp"
#include "series/series.hpp"
#include "series/unfinished.hpp"
#include "storage/lock_file.hpp"

namespace hakobi::series {

// A stage is a folder on a node's own storage where a run's steps are written first. Here of the series
// "folder/run", with the stage "/local/nvme":
//
//   /local/nvme/run.0123456789abcdef.stage/     the run's own folder there: random digits, so that runs share a stage
//   /local/nvme/run.0123456789abcdef.stage/run_000012.nc
//                                               and all other names of a series (names.hpp), its lock among them
//   folder/run.staged                           the marker: a text that names that folder and its node
//
//  1. `make` writes the marker, which says that nothing is on the stage, makes the folder, and writes the
//     marker anew without that. From here until all steps have arrived both are there. Where it is not known
//     whether the marker was written, as when a server's answer is lost, the folder stays: whoever finds the
//     marker finds it empty.
//  2. A step is written on the stage as any step is anywhere: temporary name, receipts, final name. A file
//     with its final name is whole.
//  3. A whole file is copied to its place (Carrier), under a temporary name there, gets its final name, and
//     is removed from the stage: a step is whole in at least one of the two at any time. A file with a final
//     name at its place is whole, as ever.
//  4. When all have arrived `end` has the marker say again that nothing is there, and removes the folder,
//     then the marker. Where a kill comes between, the marker leads to the folder, which may be gone:
//     nobody's steps are lost with it.
//  5. Whoever takes the series' lock and finds a marker brings home what the stage holds (`bring_home`): 2
//     for what is whole under a temporary name, then 3 in the order of the steps, then 4. Where the folder is
//     not to be seen, on another node, nothing is changed, and the error says where the steps are.
//
// The place may be on objects, "s3://bucket/run": 3 is then a put (carrier.hpp), and the marker, created
// conditionally before the run looks at what is there, keeps other runs out: no lock is. It never says that
// the stage is empty: 1 makes the folder first, 4 removes it last. Who finds it asks the lock of the stage's
// folder whether its writer lives. Decision 80. With a format that has a store the stage has the folder of
// each step's members, run_000012.zarr.
//
// The marker moves with the steps, so a series may be moved to another folder, or renamed: the file names on
// the stage keep the old name, and steps arrive by the new one. Decision 70. All local.

class Stage {
  public:
    Stage() = default;
    Stage(Stage&&) noexcept = default;
    Stage& operator=(Stage&&) noexcept = default;

    /// 1, for the run that has claimed `prefix`, which is absolute. not_found where there is no folder
    /// `stage`.
    static Result<Stage> make(const std::string& stage, const std::string& prefix, const RunId& run);
    /// Where the run's steps are written. Pure.
    [[nodiscard]] static std::string prefix_on(std::string_view stage, std::string_view prefix,
                                               const RunId& run);

    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
    /// 3, of a file that is whole on the stage.
    [[nodiscard]] Carried carried(std::int64_t step, const std::string& from, std::int64_t file_bytes) const;
    /// 4.
    void end() noexcept;

  private:
    std::string prefix_, folder_;
    storage::LockFile lock_;  // of the series on the stage
};

/// The contents of a marker.
struct Marker {
    std::string node, folder;
    bool is_of_nothing = false;  ///< the folder has no step, and may not be there
};
/// Whether the series has a marker.
[[nodiscard]] bool is_staged(const std::string& prefix);
/// Nothing where the series has none; format where it cannot be read.
Result<std::optional<Marker>> read_marker(const std::string& prefix);

/// 5. `gaps` as in complete_steps. With `removes` what never became whole goes, and the stage with it; else
///    it stays, with the marker.
/// Damaged steps are among the lost, and stay on the stage in any case. The caller holds the lock of
/// `prefix`. not_found where the stage is not to be seen here.
Result<Unfinished> bring_home(const std::string& prefix, Gaps gaps, bool removes);

/// For a run that replaces the series: removes what the stage holds, and the marker.
Status discard_stage(const std::string& prefix);

}  // namespace hakobi::series
