#include "series/series.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/random.hpp"
#include "format/found_step.hpp"
#include "format/registry.hpp"
#include "overview/overview.hpp"
#include "series/gather.hpp"
#include "series/pending_commit.hpp"
#include "series/piece.hpp"
#include "series/piece_set.hpp"
#include "series/stage.hpp"
#include "series/step_file.hpp"
#include "series/unfinished.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"
#include "storage/place.hpp"

namespace hakobi::series {
namespace {

/// A run that goes on after it does not run out of numbers.
constexpr std::int64_t last_resumed_step = std::numeric_limits<std::int64_t>::max() / 2;

/// Proves that a file can be made: permission bits do not tell (root, read-only mounts, quotas).
Status probe(const std::string& prefix) {
    // Not a step's name: a run killed here would leave a step that is not whole.
    const std::string path = part_path(marker_path(prefix), random_run_id()[0]);
    Result<storage::FilePtr> file = storage::open_file(
        path, {.read = false, .write = true, .create = true, .exclusive = true, .regular_only = true});
    if (!file.ok()) return file.status();
    Status closed = file.value()->close();
    storage::discard_file(path);
    return closed;
}

Status make_folder(const std::string& folder) {
    struct stat info {};
    if (::stat(folder.c_str(), &info) == 0) {
        if (S_ISDIR(info.st_mode)) return {};
        return {ErrorCode::exists, "cannot write to folder " + folder + ": it is not a folder"};
    }
    if (errno != ENOENT) return status_of_errno(errno, "cannot write to folder", folder);
    bool is_parent_tried = false;
    while (::mkdir(folder.c_str(), 0777) != 0) {
        if (errno == EEXIST) return {};
        const auto slash = folder.find_last_of('/');
        if (errno == ENOENT && !is_parent_tried && slash != std::string::npos && slash > 0) {
            is_parent_tried = true;
            if (Status status = make_folder(folder.substr(0, slash)); !status.ok()) return status;
            continue;
        }
        if (errno != EINTR) return status_of_errno(errno, "cannot make folder", folder);
    }
    return {};
}

std::string describe(const Series& series) {
    std::string text;
    const auto add = [&](const std::vector<Series::Entry>& entries, std::string_view what) {
        if (entries.empty()) return;
        if (!text.empty()) text += ", ";
        text.append(what).append(" of ").append(std::to_string(entries.size()));
        text += entries.size() == 1 ? " step (" : " steps (";
        text += file_name(entries.front().path);
        if (entries.size() > 1) text += " to " + file_name(entries.back().path);
        text += ")";
    };
    add(series.files, "files");
    add(series.pieces, "pieces");
    return text;
}

Status remove_steps(const Series& series) {
    for (const Series::Entry& file : series.files) {
        const std::string store = store_of(file.path);
        // With the first of its steps all are gone.
        Status status = store.empty() ? storage::remove_file(file.path)
                                      : format_of_step(file.path)->store()->remove_store(store);
        if (!status.ok()) return status;
        storage::discard_file(file.path + std::string(overview::suffix));
    }
    for (const Series::Entry& folder : series.pieces) {
        if (Status status = remove_pieces(folder.path); !status.ok()) return status;
    }
    return {};
}

/// Removes the meshes of steps from `first` on.
Status remove_meshes(const Series& series, std::int64_t first) {
    for (const Series::Entry& mesh : series.meshes) {
        if (mesh.step < first) continue;
        if (Status status = storage::remove_file(mesh.path); !status.ok()) return status;
    }
    for (const Series::Entry& folder : series.mesh_pieces) {
        if (folder.step < first) continue;
        if (Status status = remove_pieces(folder.path); !status.ok()) return status;
    }
    return {};
}

/// Gathers what is whole; afterwards the series has files, and pieces only where they stay as they are.
Result<std::vector<Series::Entry>> resume_steps(const std::string& prefix, const Series& found,
                                                std::int64_t buffer_bytes) {
    std::vector<std::pair<Series::Entry, Status>> incomplete;
    // Meshes first: a step's file without the one that it links to would not be whole.
    std::map<std::int64_t, Status> meshes;
    for (const Series::Entry& mesh : found.meshes) meshes[mesh.step] = {};
    for (const Series::Entry& entry : found.mesh_pieces) {
        const std::string folder = pieces_folder(mesh_path(step_path(prefix, entry.step, entry.extension)));
        Status status = gather_folder(folder, buffer_bytes, true);
        if (!status.ok() && status.code() != ErrorCode::format) return status;
        meshes[entry.step] = std::move(status);
    }
    for (const Series::Entry& entry : found.pieces) {
        const std::string folder = pieces_folder(step_path(prefix, entry.step, entry.extension));
        const auto behind = meshes.upper_bound(entry.step);
        const Status of_mesh = behind == meshes.begin() ? Status() : std::prev(behind)->second;
        if (!of_mesh.ok() && read_piece_set(folder).ok()) {
            return Status(ErrorCode::format,
                          "cannot continue " + prefix + ": the pieces of step " + std::to_string(entry.step) +
                              " are whole and stay, but not those of its mesh: " + of_mesh.text());
        }
        Status status = of_mesh.ok() ? gather_folder(folder, buffer_bytes, true) : of_mesh;
        if (!status.ok() && status.code() != ErrorCode::format) return status;
        if (!status.ok()) incomplete.emplace_back(Series::Entry{entry.step, folder}, std::move(status));
    }
    Result<Series> now = find_series(prefix);
    if (!now.ok()) return now.status();
    count_steps(now.value().files);
    if (!now.value().files.empty() && now.value().files.back().step > last_resumed_step) {
        return Status(ErrorCode::exists, "cannot continue " + prefix + " after " +
                                             now.value().files.back().path +
                                             ": its step's number leaves none for those that follow: give "
                                             "it another name, or move it");
    }
    const std::int64_t next = now.value().files.empty() ? 0 : now.value().files.back().next_step();
    for (const auto& [entry, why] : incomplete) {
        if (entry.step < next) continue;
        std::fprintf(stderr, "hakobi: %s is removed, step %lld was not whole (%s)\n", entry.path.c_str(),
                     static_cast<long long>(entry.step), why.text().c_str());
        if (Status status = remove_pieces(entry.path); !status.ok()) return status;
    }
    if (Status status = remove_meshes(now.value(), next); !status.ok()) return status;
    return std::move(now.value().files);
}

}  // namespace

RunId random_run_id() {
    return {random_bits(), random_bits()};
}

std::uint64_t token(const RunId& run, std::int64_t step) {
    ByteWriter writer;
    writer.put(run);
    writer.put(step);
    return checksum_of(writer.take());
}

Status remove_views(const Series& series) {
    for (const std::string& view : series.views) {
        if (Status status = storage::remove_file(view); !status.ok()) return status;
    }
    return {};
}

Status check_views(std::string_view prefix, const Series& series) {
    for (const std::string& view : series.views) {
        bool is_ours = false;
        for (const format::Format* format : format::formats())
            is_ours = is_ours || (view.ends_with(format->extension()) && format->series() != nullptr &&
                                  format->series()->is_series_or_rest(view));
        if (is_ours) continue;
        return {ErrorCode::exists,
                "cannot write the steps of " + std::string(prefix) + ": " + view +
                    " has the name of the file that shows them all, and Hakobi did not make it: "
                    "give it another name"};
    }
    return {};
}

namespace {

/// exists where something else has the name of the series' store; else what a killed run left in it is put
/// right.
Status check_store(const std::string& prefix, std::string_view extension) {
    const format::Format* const format = format::format_with(extension);
    assert(format != nullptr);
    if (format->store() == nullptr) return {};
    const std::string store = prefix + std::string(extension);
    const bool is_on_objects = storage::limits_of(store).is_on_objects;
    const storage::FileFacts found = storage::facts_of(store);
    if (!is_on_objects && !found.is_there()) return {};
    Status status = is_on_objects || found.is_folder()
                        ? format->store()->steps_in(store).status()
                        : Status(ErrorCode::format, store + ": it is no folder");
    if (status.ok()) return format->store()->mend_store(store);
    if (status.code() != ErrorCode::format && status.code() != ErrorCode::unsupported) return status;
    return {ErrorCode::exists, "cannot write the steps of " + prefix + ": " + status.text()};
}

/// Puts a name that is in the prefix's folder where it belongs.
Status add(Series& series, const Name& name, std::string path, storage::Listed::Kind kind) {
    const Series::Entry entry{name.step, path, name.extension};
    if (name.is_temporary()) {
        const bool is_in_store = name.is_of_step() && format::format_with(name.extension)->store() != nullptr;
        if (kind == storage::Listed::Kind::file) series.parts.push_back(std::move(path));
        if (kind == storage::Listed::Kind::folder && is_in_store)
            series.parts.push_back(storage::joined_scheme + path);
        return {};
    }
    switch (name.kind) {
        case Kind::step:
            series.files.push_back(entry);
            return {};
        case Kind::mesh:
            series.meshes.push_back(entry);
            return {};
        case Kind::pieces:
            if (kind == storage::Listed::Kind::folder) series.pieces.push_back(entry);
            return {};
        case Kind::mesh_pieces:
            if (kind == storage::Listed::Kind::folder) series.mesh_pieces.push_back(entry);
            return {};
        case Kind::view:
        case Kind::chapter:
            series.views.push_back(std::move(path));
            return {};
        case Kind::store: {
            const Result<std::vector<std::int64_t>> steps =
                format::format_with(name.extension)->store()->steps_in(path);
            // A folder that is no store of ours has no steps.
            if (steps.status().code() == ErrorCode::unsupported) return {};
            if (!steps.ok()) return steps.status();
            for (const std::int64_t step : steps.value())
                series.files.push_back({step, step_path(name.prefix, step, name.extension), name.extension});
            return {};
        }
        default:
            return {};
    }
}

}  // namespace

Result<Series> find_series(const std::string& prefix) {
    Series series;
    const std::string before = prefix.substr(0, prefix.rfind('/') + 1);
    const Result<std::vector<storage::Listed>> listed = storage::list_folder(folder_of(prefix));
    if (!listed.ok() && listed.status().code() == ErrorCode::not_found) return series;
    if (!listed.ok()) return listed.status();
    for (const auto& [name, kind] : listed.value()) {
        const std::string path = before + name;
        if (Status status = add(series, parse(path, prefix), path, kind); !status.ok()) return status;
    }
    const auto by_step = [](const Series::Entry& a, const Series::Entry& b) {
        return a.step != b.step ? a.step < b.step : a.path < b.path;
    };
    std::ranges::sort(series.views, [](const std::string& a, const std::string& b) {
        return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
    });
    std::ranges::sort(series.files, by_step);
    std::ranges::sort(series.pieces, by_step);
    std::ranges::sort(series.meshes, by_step);
    std::ranges::sort(series.mesh_pieces, by_step);
    return series;
}

Status remove_parts(const Series& series) {
    // The youngest first, and names that lead to a file before that file: a kill on the way leaves no step
    // that is taken for a whole one behind one that is gone.
    std::vector<std::string> parts = series.parts;
    const auto place_of = [](const std::string& part) {
        const Name name = parse(part);
        return std::tuple(name.step, !name.is_of_mesh(), name.kind == Kind::commit);
    };
    std::ranges::sort(parts, std::ranges::greater(), place_of);
    for (const std::string& part : parts) {
        Status status = storage::remove_file(part);
        if (!status.ok() && status.code() != ErrorCode::not_found) return status;
        // Since the listing it may have become whole, and was not taken.
        if (parse(part).form == Name::Form::part) storage::discard_file(whole_path(part));
    }
    return {};
}

void count_steps(std::vector<Series::Entry>& files) {
    assert(std::ranges::is_sorted(files, {}, &Series::Entry::step));
    for (std::size_t i = 0; i < files.size(); ++i) {
        Series::Entry& file = files[i];
        if (i + 1 < files.size() && files[i + 1].step <= file.step + 1) continue;
        const auto is_its = [&](const format::Format* format) {
            return format->extension() == file.extension && format->growing() != nullptr;
        };
        const auto format = std::ranges::find_if(format::formats(), is_its);
        if (format == format::formats().end()) continue;
        const Result<format::FoundStep> found = (*format)->read(file.path);
        if (found.ok()) file.num_steps = format::num_steps_of(found.value());
    }
}

Result<storage::LockFile> lock_series(const std::string& prefix) {
    const std::string path = lock_path(prefix);
    Result<storage::LockFile> lock = storage::LockFile::take(path, "the steps of " + prefix);
    if (!lock.ok()) return lock;
    if (!lock.value().is_held()) {
        std::fprintf(stderr, "hakobi: %s cannot be locked here: see to it that one run alone writes %s\n",
                     path.c_str(), prefix.c_str());
    } else if (!lock.value().left_by().empty()) {
        std::fprintf(stderr, "hakobi: took over %s from %s, which has ended\n", path.c_str(),
                     lock.value().left_by().c_str());
    }
    return lock;
}

namespace {

Status holds_already(const std::string& prefix, const Series& series) {
    const std::string steps = describe(series);
    return {ErrorCode::exists,
            prefix + " holds " + (steps.empty() ? "whole steps behind one that is not" : steps) +
                " already: set if_exists to resume (continue after the last complete step) or to replace "
                "(remove them)"};
}

}  // namespace

Status take_stage(const std::string& prefix, IfExists if_exists) {
    if (if_exists == IfExists::replace) return discard_stage(prefix);
    if (if_exists == IfExists::resume) {
        const Result<Unfinished> home = bring_home(prefix, Gaps::none, true);
        if (home.ok()) tell(prefix, home.value(), "is given up");
        return home.status();
    }
    const Result<std::optional<Marker>> marker = read_marker(prefix);
    if (!marker.ok() || !marker.value()) return marker.status();
    Result<Series> series = find_series(prefix);
    if (!series.ok()) return series.status();
    if (series.value().holds_steps()) return holds_already(prefix, series.value());
    const Result<Unfinished> home = bring_home(prefix, Gaps::none, false);
    if (!home.ok()) return home.status();
    series = find_series(prefix);
    if (!series.ok()) return series.status();
    const bool keeps_steps = series.value().holds_steps() || home.value().keeps_whole();
    tell(prefix, home.value(), keeps_steps ? "is left as it is" : "is given up");
    return keeps_steps ? holds_already(prefix, series.value()) : discard_stage(prefix);
}

namespace {

/// The lock, once a file can be made there, and what a stage has.
Status hold_by_lock(const std::string& given, const std::string& prefix, IfExists if_exists,
                    storage::LockFile& lock) {
    const bool has_folders = storage::limits_of(given).has_system_names;
    if (Status status = has_folders ? make_folder(folder_of(prefix)) : Status(); !status.ok()) return status;
    if (Status status = probe(given); !status.ok()) return status;
    Result<storage::LockFile> taken = lock_series(prefix);
    if (!taken.ok()) return taken.status();
    lock = std::move(taken).value();
    return take_stage(prefix, if_exists);
}

}  // namespace

Result<Claim> claim_series(std::string_view prefix_as_given, std::string_view extension, IfExists if_exists,
                           std::int64_t buffer_bytes, Holding holding) {
    const std::string given(prefix_as_given);
    const std::string prefix = storage::lasting_path(given);
    if (prefix.empty()) {
        return Status(ErrorCode::invalid_argument,
                      "output prefix '" + given +
                          "' names storage that keeps no files: use the method none to write nothing, or ./" +
                          given + " for files of that name in this folder");
    }
    Claim claim;
    if (holding == Holding::lock) {
        Status status = hold_by_lock(given, prefix, if_exists, claim.lock);
        if (!status.ok()) return status;
    }
    Result<Series> series = find_series(prefix);
    if (!series.ok()) return series.status();
    // Who is refused removes nothing, and completes no step behind a gap, which would stay.
    const bool may_fail = if_exists == IfExists::fail;
    bool is_refused = may_fail && series.value().holds_steps();
    if (if_exists != IfExists::replace && !is_refused) {
        const Result<Unfinished> unfinished = complete_steps(prefix, series.value(), Gaps::none);
        if (!unfinished.ok()) return unfinished.status();
        is_refused = may_fail && (unfinished.value().keeps_whole() || !unfinished.value().completed.empty());
        tell(prefix, unfinished.value(), is_refused ? "is left as it is" : "is removed");
    }
    if (Status status = is_refused ? Status() : remove_parts(series.value()); !status.ok()) return status;
    if (!series.value().parts.empty()) series = find_series(prefix);
    if (!series.ok()) return series.status();
    if (is_refused) return holds_already(prefix, series.value());
    if (Status status = check_free(step_path(prefix, 0, extension), true); !status.ok()) return status;
    if (Status status = check_views(prefix, series.value()); !status.ok()) return status;
    if (Status status = check_store(prefix, extension); !status.ok()) return status;
    if (!series.value().holds_steps()) {
        if (Status status = remove_views(series.value()); !status.ok()) return status;
        // Without a step, what a killed run left of its first mesh is nobody's.
        if (Status status = remove_meshes(series.value(), 0); !status.ok()) return status;
        return claim;
    }
    switch (if_exists) {
        case IfExists::fail:
            return holds_already(prefix, series.value());
        case IfExists::replace:
            if (Status status = remove_views(series.value()); !status.ok()) return status;
            if (Status status = remove_steps(series.value()); !status.ok()) return status;
            if (Status status = remove_meshes(series.value(), 0); !status.ok()) return status;
            return claim;
        case IfExists::resume: {
            Result<std::vector<Series::Entry>> steps = resume_steps(prefix, series.value(), buffer_bytes);
            if (!steps.ok()) return steps.status();
            claim.earlier = std::move(steps).value();
            return claim;
        }
    }
    return claim;
}

Status remove_pieces(const std::string& folder, storage::LockFile lock) {
    const Result<std::vector<storage::Listed>> pieces = storage::list_folder(folder);
    if (!pieces.ok()) return pieces.status().code() == ErrorCode::not_found ? Status() : pieces.status();
    for (const storage::Listed& piece : pieces.value()) {
        if (!is_piece(piece.name)) continue;
        if (Status removed = storage::remove_file(folder + "/" + piece.name); !removed.ok()) return removed;
    }
    // Closed before the folder goes: NFS keeps what is open in it, under another name.
    if (lock.is_held()) {
        lock.release();
    } else {
        storage::discard_file(folder + "/" + std::string(pieces_lock));
    }
    if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) return {};
    const Status failure = status_of_errno(errno, "cannot remove folder", folder);
    // Another gathering has just come, found nothing to do, and removes the folder.
    const Result<std::vector<storage::Listed>> left = storage::list_folder(folder);
    const bool is_locked_anew =
        left.ok() && !left.value().empty() &&
        std::ranges::all_of(left.value(), [](const auto& each) { return each.name == pieces_lock; });
    return is_locked_anew ? Status() : failure;
}

}  // namespace hakobi::series
