#pragma once

#include <array>
#include <cstdint>
#include <hakobi/if_exists.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "series/names.hpp"
#include "storage/lock_file.hpp"

namespace hakobi::series {

// The steps of a prefix, whose names names.hpp has, and who may write them. All local: one rank's work.

/// The number of a run, in each piece that it writes: random, made by rank 0 in create.
using RunId = std::array<std::uint64_t, 2>;
[[nodiscard]] RunId random_run_id();
/// The number in the temporary name of a run's step; equal on all ranks.
[[nodiscard]] std::uint64_t token(const RunId& run, std::int64_t step);

/// The files of a series in the prefix's folder, in order of steps.
struct Series {
    struct Entry {
        std::int64_t step = 0;
        std::string path;
        std::string_view extension = {};
        std::int64_t num_steps = 1;  ///< of a file: those from `step` on (count_steps)
        [[nodiscard]] std::int64_t next_step() const noexcept { return step + num_steps; }
    };
    std::vector<Entry> files;        ///< whole steps
    std::vector<Entry> pieces;       ///< folders of pieces, also those that are being removed
    std::vector<Entry> meshes;       ///< files of steps' meshes
    std::vector<Entry> mesh_pieces;  ///< folders of a mesh's pieces
    std::vector<std::string> parts;  ///< files of steps and views that have no final name
    std::vector<std::string>
        views;  ///< files that show the steps as one data set, by their names; that of all steps first

    [[nodiscard]] bool holds_steps() const noexcept { return !files.empty() || !pieces.empty(); }
};
/// Says of each file how many steps it has. Read are the last one and those that are not followed by the next
/// number.
void count_steps(std::vector<Series::Entry>& files);
/// An empty series where the folder is missing.
Result<Series> find_series(const std::string& prefix);

/// Removes the files that have no final name. One that stayed could pass for a step of the run that comes
/// after it.
Status remove_parts(const Series& series);

/// Removes the views, the one that shows all first: it never leads to parts that are gone.
Status remove_views(const Series& series);
/// exists when something else has such a name: what nobody here made is not replaced.
Status check_views(std::string_view prefix, const Series& series);

/// Takes the prefix's lock; says on stderr what a dead owner left, or that the file system has no locks.
Result<storage::LockFile> lock_series(const std::string& prefix);

/// A prefix that this run alone writes from now on.
struct Claim {
    storage::LockFile lock;
    std::vector<Series::Entry> earlier;  ///< whole steps that stay, in their order

    [[nodiscard]] std::int64_t next_step() const { return earlier.empty() ? 0 : earlier.back().next_step(); }
};
/// Brings home the steps that an earlier run has on a stage, or removes them where they are replaced. Errors
/// are bring_home's.
Status take_stage(const std::string& prefix, IfExists if_exists);

/// The means that keep other runs out of a prefix.
enum class Holding {
    lock,   ///< that claim_series takes
    marker  ///< that the caller has put on an object store, after take_stage (stage.hpp)
};
/// Makes the prefix's folder if it is missing, with those above it, proves that a file can be made in it,
/// takes the lock, gives steps their names that a killed run had stored (unfinished.hpp; not with
/// IfExists::replace, nor where `fail` finds others, which changes nothing), removes files of steps that
/// never became whole and says so, and does with earlier steps what `if_exists` says: `resume` gathers whole
/// pieces, removes those of a step that is not whole and lies behind the last whole one, and goes on after
/// that. exists when another run writes the prefix, when it holds steps (`fail`), or when something that is
/// not a regular file has a step's name.
Result<Claim> claim_series(std::string_view prefix, std::string_view extension, IfExists if_exists,
                           std::int64_t buffer_bytes, Holding holding = Holding::lock);

/// Removes a folder of pieces, and nothing else that somebody put into it. `lock`: of the folder, where the
/// caller holds it.
Status remove_pieces(const std::string& folder, storage::LockFile lock = {});

}  // namespace hakobi::series
