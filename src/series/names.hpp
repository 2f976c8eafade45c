#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hakobi::series {

// The names of a series, the prefix "folder/run", here with the extension of NetCDF-4:
//
//   run_000012.nc                         step 12, whole
//   run_000012.nc.0123456789abcdef.part   its file until it is whole; 16 hexadecimal digits that nobody can foretell
//   run_000012.nc.0123456789abcdef.whole  the same between its last byte and its final name, where it was hidden
//   run_000012.nc.overview.zip            its overview (overview/overview.hpp)
//   run_000012.nc.commit.0123456789abcdef.part   what makes step 12 part of a file of several (pending_commit.hpp)
//   run_000012.nc.pieces/                 its pieces (per-process)
//   run_000012.nc.pieces.gathered/        pieces that are in the step's file, while they are removed
//   run.series.nc                         all whole steps as one data set (series_view.hpp)
//   run.series.000256.nc                  a part of what that shows: steps 256 and later
//   run.zarr/                             all whole steps of a format that has a store (format/store_format.hpp); there run_000012.zarr
//                                         is a step's name, and of no file but, on a stage, of the folder of its members
//   run_000012.hdf.mesh                   the mesh that was put in step 12; it may stand in temporary names and pieces, too
//   run.staged                            where steps are that have not arrived (stage.hpp)
//   run.0123456789abcdef.stage/           on a stage: the folder of a run's steps
//   run.lock                              who writes at present: a run, or a gathering (storage/lock_file.hpp)
//
// How a step's file comes to its final name. Each line is an event, which `next` takes; a mesh's file goes
// the same way.
//
//  1. make        Rank 0 lays it out under its temporary name: everything is there but the values.
//  2. store       All values are there. All ranks agree on that, or, of a hidden step, each writer leaves a receipt behind the
//                 file's end (receipts.hpp).
//  3. call_whole  Of a hidden step: rank 0 says it in the temporary name (whole_path).
//  4. cut         It cuts the receipts off.
//  5. name        The file gets its final name, which nothing has. What has a final name is whole, whatever is killed when.
//  6. discard     What nobody will complete is removed.
//
// A kill leaves the file between two of these. Whoever opens the series next learns from name and receipts
// where it stands (state_of), and does the rest from 3 on; from before 2 only 6 leads. On a stage 5 gives the
// name there (stage.hpp). A step in a file of several becomes part of it by a commit instead
// (pending_commit.hpp).

enum class Kind {
    none,         ///< no name of a series
    step,         ///< a step's file
    mesh,         ///< a mesh's
    overview,     ///< a step's
    commit,       ///< has temporary names only
    pieces,       ///< the folder of a step's; also of a file that belongs to no series: its step is -1
    mesh_pieces,  ///< of a mesh's
    view,         ///< shows the whole series
    chapter,      ///< a part of it
    store,
    marker,
    stage,
    lock,
    other  ///< begins with a step's name, and is nothing of the above
};

/// A name taken apart. Pieces that are being removed are `gathered`.
struct Name {
    enum class Form { final, part, whole, gathered };

    Kind kind = Kind::none;
    Form form = Form::final;
    std::string prefix = {};          ///< with its folder
    std::int64_t step = -1;           ///< a chapter's first; -1: of all
    std::string_view extension = {};  ///< of a format; "" where the name has none
    std::uint64_t token = 0;          ///< of a temporary name, or a stage's

    [[nodiscard]] bool is_of_step() const noexcept { return step >= 0 && kind != Kind::chapter; }
    [[nodiscard]] bool is_temporary() const noexcept { return form == Form::part || form == Form::whole; }
    [[nodiscard]] bool is_of_mesh() const noexcept { return kind == Kind::mesh || kind == Kind::mesh_pieces; }
};
/// Takes a name of the series of `prefix` apart; `none` where it is none. Pure, as all here.
[[nodiscard]] Name parse(std::string_view path, std::string_view prefix);
/// The same in the series that the name itself says. "run_000012.zarr" is a step of "run" then, not the store
/// of "run_000012".
[[nodiscard]] Name parse(std::string_view path);

/// Where a step's file stands, by the numbers above.
enum class FileState { absent, part, stored, whole, cut, named };
enum class Event { make, store, call_whole, cut, name, discard };
/// Nothing where the event cannot come in that state.
[[nodiscard]] std::optional<FileState> next(FileState state, Event event);
/// The next event on the way of a hidden step's file to its name; nothing where it has that, or never will.
[[nodiscard]] std::optional<Event> to_complete(FileState state);

inline constexpr std::string_view commit_suffix = ".commit";

[[nodiscard]] std::string step_path(std::string_view prefix, std::int64_t step, std::string_view extension);
/// The file of the mesh that was put in a step, from the step's.
[[nodiscard]] std::string mesh_path(const std::string& step_path);
/// A temporary name. Whoever may write to the folder could make it a trap: `token` is one that nobody can
/// foretell.
[[nodiscard]] std::string part_path(const std::string& path, std::uint64_t token);
/// Made from a part_path.
[[nodiscard]] std::string whole_path(const std::string& part);
[[nodiscard]] std::string pieces_folder(const std::string& step_path);
[[nodiscard]] std::string gathered_folder(const std::string& pieces_folder);
[[nodiscard]] std::string folder_of_gathered(const std::string& gathered_folder);
/// The file whose pieces are in a pieces_folder.
[[nodiscard]] std::string file_of_pieces(const std::string& pieces_folder);
[[nodiscard]] std::string view_path(std::string_view prefix, std::string_view extension);
[[nodiscard]] std::string chapter_path(std::string_view prefix, std::int64_t first_step,
                                       std::string_view extension);
[[nodiscard]] std::string lock_path(std::string_view prefix);
[[nodiscard]] std::string marker_path(std::string_view prefix);
/// Where the steps of `prefix` are in the folder `stage`: "stage/run.0123456789abcdef.stage/run".
[[nodiscard]] std::string staged_prefix(std::string_view stage, std::string_view prefix, std::uint64_t token);
/// The same, of the run's own folder there, which is absolute. "" where the folder is no such one.
[[nodiscard]] std::string series_on_stage(const std::string& folder);

/// The folder a file is in: "." for a bare name.
[[nodiscard]] std::string folder_of(const std::string& path);
/// Without its folder.
[[nodiscard]] std::string file_name(std::string_view path);

}  // namespace hakobi::series
