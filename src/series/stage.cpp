#include "series/stage.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/checksum.hpp"
#include "format/found_step.hpp"
#include "format/registry.hpp"
#include "overview/overview.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"
#include "storage/place.hpp"
#include "storage/posix.hpp"

namespace hakobi::series {
namespace {

constexpr std::string_view head = "hakobi stage\n", node_word = "node ", folder_word = "folder ",
                           nothing_line = "nothing is there\n";
constexpr std::int64_t most_marker_bytes = 8192;

std::string node_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string where(const Marker& marker) {
    return marker.folder + " of node " + marker.node;
}

std::string text_of(const Marker& marker) {
    std::string text(head);
    text.append(node_word).append(marker.node).append("\n");
    text.append(folder_word).append(marker.folder).append("\n");
    return marker.is_of_nothing ? text.append(nothing_line) : text;
}

/// The first of a run replaces none.
Status write_marker(const std::string& prefix, const Marker& marker, bool is_first) {
    const std::string path = marker_path(prefix), text = text_of(marker);
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    const storage::PlacedName to = storage::open_place_of(path);
    if (to.place->limits().is_on_objects) {
        Status status = to.place->put_new(to.name, bytes);
        if (status.code() != ErrorCode::exists) return status;
        const Result<std::optional<Marker>> other = read_marker(prefix);
        const bool is_told = other.ok() && other.value();
        return {ErrorCode::exists, "the steps of " + prefix + ": in use by a run" +
                                       (is_told ? ", with the stage " + where(*other.value()) : "") + " (" +
                                       path + ")"};
    }
    const std::string part = part_path(path, random_run_id()[0]);
    Result<storage::FilePtr> file = storage::open_file(
        part, {.read = false, .write = true, .create = true, .exclusive = true, .regular_only = true});
    if (!file.ok()) return file.status();
    Discarding discarding(part);
    Status status = file.value()->write_at(bytes, 0);
    // The marker is all that leads to the steps.
    if (status.ok()) status = file.value()->sync();
    status.keep_first(file.value()->close());
    if (status.ok()) status = is_first ? finish_file(part, path, true) : replace_file(part, path, true);
    if (status.ok()) discarding.keep();
    return status;
}

Status remove_marker(const std::string& prefix) {
    const storage::PlacedName marker = storage::open_place_of(marker_path(prefix));
    return marker.place->remove(marker.name);
}

/// After a marker's write has failed: whether it is certain that none leads to `folder`.
bool take_back_marker(const std::string& prefix, const std::string& folder, const Status& failed) {
    if (failed.code() == ErrorCode::exists) return true;
    // A server that does not answer may have it yet, and would be waited for once more.
    if (storage::limits_of(prefix).is_on_objects) return failed.code() != ErrorCode::io;
    const Result<std::optional<Marker>> there = read_marker(prefix);
    if (!there.ok()) return false;
    return !there.value() || there.value()->folder != folder || remove_marker(prefix).ok();
}

/// Whether the path is a stage's folder, which a marker names: one of our making is no link.
bool is_run_folder(const std::string& path) {
    return storage::facts_of(path).is_folder();
}

/// A file that is whole on the stage.
struct Staged {
    std::int64_t step = 0;
    bool is_mesh = false;
    std::string_view extension;
    std::string path;
};

/// In the order in which a run names them: a step's mesh before the step.
std::vector<Staged> staged_files(const Series& series) {
    std::vector<Staged> files;
    for (const Series::Entry& mesh : series.meshes)
        files.push_back({mesh.step, true, mesh.extension, mesh.path});
    for (const Series::Entry& file : series.files)
        files.push_back({file.step, false, file.extension, file.path});
    std::ranges::sort(files, [](const Staged& a, const Staged& b) {
        return std::pair(a.step, !a.is_mesh) < std::pair(b.step, !b.is_mesh);
    });
    return files;
}

/// Has its format check a file that may have been damaged since; a folder's members are checked when it is
/// carried. A mesh that it links to has gone before it, now or in the run, to the folder of its place.
Status look_into(const Staged& file, const std::string& place) {
    if (file.is_mesh || !store_of(file.path).empty()) return {};
    const Result<format::FoundStep> found = format_of_step(file.path)->read_alone(file.path);
    if (!found.ok()) return found.status();
    std::string linked;
    for (const format::FoundField& field : found.value().fields) {
        if (field.file.empty() || std::exchange(linked, field.file) == field.file) continue;
        const std::string path = folder_of(place) + "/" + linked;
        const Status status = storage::open_file(path, {.regular_only = true}).status();
        if (status.code() == ErrorCode::not_found)
            return {ErrorCode::format, file.path + " needs " + path + ", which is not there"};
        if (!status.ok()) return status;
    }
    return {};
}

std::int64_t size_of(const std::string& path) {
    const storage::FileFacts found = storage::facts_behind(path);
    return found.is_there() ? found.size_bytes : -1;
}

/// 3 of 5. With Gaps::none up to the first step that is lost, or cannot be carried.
Status carry_all(const std::string& prefix, const std::string& staged_prefix, const Series& series, Gaps gaps,
                 Unfinished& result) {
    const std::uint64_t run = checksum_of(std::as_bytes(std::span(staged_prefix)));
    bool is_gap = false;
    format::LeftStore store;
    for (const Staged& file : staged_files(series)) {
        const std::string what = (file.is_mesh ? "the mesh of step " : "step ") + std::to_string(file.step);
        is_gap = is_gap || (result.first_lost >= 0 && file.step >= result.first_lost);
        if (is_gap && gaps == Gaps::none) {
            result.staying.push_back(
                what + " is whole on the stage, but not one before it: it stays there (" + file.path + ")");
            continue;
        }
        const std::string place = prefix + file.path.substr(staged_prefix.size());
        Status status = look_into(file, place);
        if (status.ok()) {
            status = carry(
                {.step = file.step,
                 .from = file.path,
                 .to = place,
                 .token = token({run, run}, file.step),
                 .file_bytes = size_of(file.path),
                 .may_be_there = true},
                true, [](std::int64_t) { return true; }, store);
        }
        if (is_of_step_alone(status.code())) {
            result.staying.push_back(what + " did not come from the stage, where it stays (" + file.path +
                                     "): " + status.text());
            is_gap = true;
            continue;
        }
        if (!status.ok()) return {status.code(), what + " stays on the stage: " + status.text()};
        if (!file.is_mesh) result.completed.push_back({file.step, place, file.extension});
    }
    return {};
}

void discard(const Staged& file) noexcept {
    if (!store_of(file.path).empty()) return storage::discard_file(storage::joined_scheme + file.path);
    storage::discard_file(file.path + std::string(overview::suffix));
    storage::discard_file(file.path);
}

/// Whether it has gone: what is not ours keeps it.
bool remove_folder(const std::string& folder) {
    return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

/// 4, with the lock of the series on the stage. An error is of the marker, which stays.
Status end_stage(const std::string& prefix, const Marker& marker, storage::LockFile& lock) {
    // A full place may take no new marker: then a kill may leave the folder.
    const auto say_so = [&] {
        // Who has said so was killed, perhaps before that was stable.
        return marker.is_of_nothing ? sync_named(marker_path(prefix))
                                    : write_marker(prefix, {marker.node, marker.folder, true}, false);
    };
    const bool says_so = !storage::limits_of(prefix).is_on_objects && say_so().ok();
    Status removed = says_so ? Status() : remove_marker(prefix);
    lock.release();
    // Without its marker nobody is led to it, and a marker without its folder would be taken for steps that
    // are lost.
    if (removed.ok() && !remove_folder(marker.folder))
        std::fprintf(stderr, "hakobi: %s: something is left on the stage, in %s\n", prefix.c_str(),
                     marker.folder.c_str());
    if (says_so) removed = remove_marker(prefix);
    return removed.code() == ErrorCode::not_found ? Status() : removed;
}

/// Ends a stage whose marker says that it is empty. The caller holds the lock of `prefix`.
Status end_empty_stage(const std::string& prefix, const Marker& marker) {
    storage::LockFile lock;
    if (is_run_folder(marker.folder)) {
        Result<storage::LockFile> taken = lock_series(series_on_stage(marker.folder));
        if (!taken.ok()) return taken.status();
        lock = std::move(taken).value();
    }
    return end_stage(prefix, marker, lock);
}

}  // namespace

bool is_staged(const std::string& prefix) {
    const storage::PlacedName marker = storage::open_place_of(marker_path(prefix));
    const Result<std::optional<std::int64_t>> size = marker.place->size_of(marker.name);
    // A folder of that name is no marker either, which read_marker tells.
    return size.ok() ? size.value().has_value() : size.status().code() == ErrorCode::format;
}

std::string Stage::prefix_on(std::string_view stage, std::string_view prefix, const RunId& run) {
    return staged_prefix(stage, prefix, token(run, -1));
}

Result<Stage> Stage::make(const std::string& stage, const std::string& prefix, const RunId& run) {
    std::error_code error;
    const std::string whole = std::filesystem::absolute(stage, error).string();
    if (error || !storage::facts_behind(whole).is_folder())
        return Status(ErrorCode::not_found, "stage " + stage + ": there is no such folder");
    Stage made;
    made.prefix_ = prefix;
    const std::string staged = prefix_on(whole, prefix, run);
    made.folder_ = folder_of(staged);
    const Marker marker{node_name(), made.folder_};
    const bool is_on_objects = storage::limits_of(prefix).is_on_objects;
    Status status = is_on_objects ? Status() : write_marker(prefix, {marker.node, marker.folder, true}, true);
    if (!status.ok()) return status;
    if (::mkdir(made.folder_.c_str(), 0777) != 0) {
        status = status_of_errno(errno, "cannot make the stage's folder", made.folder_);
    } else {
        // Behind a power loss the marker would lead to nothing.
        status = storage::sync_posix_folder(folder_of(made.folder_));
        Result<storage::LockFile> lock = lock_series(staged);
        status.keep_first(lock.status());
        if (lock.ok()) made.lock_ = std::move(lock).value();
        const bool is_locked = status.ok();
        if (status.ok()) status = write_marker(prefix, marker, is_on_objects);
        if (status.ok()) return made;
        const bool may_be_there = is_locked && !take_back_marker(prefix, made.folder_, status);
        made.lock_.release();
        // With a marker but no folder nobody could know that no steps are lost.
        if (!may_be_there) (void)remove_folder(made.folder_);
    }
    if (!is_on_objects) (void)remove_marker(prefix);  // one that stays says that nothing is there
    return status;
}

Carried Stage::carried(std::int64_t step, const std::string& from, std::int64_t file_bytes) const {
    const std::string staged = series_on_stage(folder_);
    const std::uint64_t run = checksum_of(std::as_bytes(std::span(staged)));
    return {.step = step,
            .from = from,
            .to = prefix_ + from.substr(staged.size()),
            .token = token({run, run}, step),
            .file_bytes = file_bytes};
}

void Stage::end() noexcept {
    // Where a run with if_exists replace has taken the place, the marker is that one's.
    const Result<std::optional<Marker>> marker = read_marker(prefix_);
    Status ended = marker.status();
    if (marker.ok() && marker.value() && marker.value()->folder == folder_) {
        ended = end_stage(prefix_, *marker.value(), lock_);
    } else {
        lock_.release();
        if (marker.ok() && !remove_folder(folder_)) ended = status_of_errno(errno, "cannot remove", folder_);
    }
    if (!ended.ok())
        std::fprintf(stderr, "hakobi: %s: all steps have arrived, but the stage %s stays: %s\n",
                     prefix_.c_str(), folder_.c_str(), ended.text().c_str());
}

Result<std::optional<Marker>> read_marker(const std::string& prefix) {
    const std::string path = marker_path(prefix);
    const storage::PlacedName from = storage::open_place_of(path);
    const Result<std::optional<storage::WholeObject>> found =
        from.place->get_beginning(from.name, most_marker_bytes);
    if (!found.ok()) return found.status();
    if (!found.value()) return std::optional<Marker>();
    const std::vector<std::byte>& bytes = found.value()->bytes;
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto line_after = [&rest](std::string_view word) -> std::string {
        const std::size_t end = rest.find('\n');
        if (!rest.starts_with(word) || end == std::string_view::npos) return {};
        const std::string line(rest.substr(word.size(), end - word.size()));
        rest.remove_prefix(end + 1);
        return line;
    };
    if (rest.starts_with(head)) {
        rest.remove_prefix(head.size());
        Marker marker;
        marker.node = line_after(node_word);
        marker.folder = line_after(folder_word);
        marker.is_of_nothing = rest.starts_with(nothing_line);
        if (!series_on_stage(marker.folder).empty()) return std::optional(marker);
    }
    return Status(ErrorCode::format, path + " does not say where its steps are staged: look for " +
                                         file_name(prefix) +
                                         ".*.stage on the nodes of the run, or remove it to give them up");
}

Result<Unfinished> bring_home(const std::string& prefix, Gaps gaps, bool removes) {
    const Result<std::optional<Marker>> found = read_marker(prefix);
    if (!found.ok()) return found.status();
    if (!found.value()) return Unfinished();
    const Marker& marker = *found.value();
    const std::string staged = series_on_stage(marker.folder);
    if (marker.is_of_nothing) {
        if (Status status = end_empty_stage(prefix, marker); !status.ok()) return status;
        return Unfinished();
    }
    if (!is_run_folder(marker.folder)) {
        return Status(ErrorCode::not_found, "steps of " + prefix + " are on the stage " + where(marker) +
                                                ", which is not to be seen on node " + node_name() +
                                                ": hakobi gather " + prefix +
                                                " on that node brings them here; without " +
                                                marker_path(prefix) + " they are given up");
    }
    Result<storage::LockFile> lock = lock_series(staged);
    if (!lock.ok()) return lock.status();
    Result<Series> series = find_series(staged);
    if (!series.ok()) return series.status();
    Result<Unfinished> unfinished = complete_steps(staged, series.value(), gaps);
    if (!unfinished.ok()) return unfinished.status();
    Unfinished result;
    result.lost = std::move(unfinished.value().lost);
    result.has_gap = unfinished.value().has_gap;
    result.first_lost = unfinished.value().first_lost;
    if (removes) tell_lost(prefix, result, "is given up");
    series = find_series(staged);
    if (!series.ok()) return series.status();
    if (Status status = carry_all(prefix, staged, series.value(), gaps, result); !status.ok()) return status;
    // Whole steps stay behind a part, which tells who comes next of the gap.
    const bool goes_on = removes && result.staying.empty();
    if (Status status = goes_on ? remove_parts(series.value()) : Status(); !status.ok()) return status;
    series = find_series(staged);
    if (!series.ok()) return series.status();
    const bool is_empty = staged_files(series.value()).empty() && series.value().parts.empty();
    // Who goes on with nothing leaves the way to steps that may come when what they need is back.
    if (!is_empty && (!removes || gaps == Gaps::left)) return result;
    if (Status status = end_stage(prefix, marker, lock.value()); !status.ok()) return status;
    return result;
}

Status discard_stage(const std::string& prefix) {
    const Result<std::optional<Marker>> found = read_marker(prefix);
    if (!found.ok()) return found.status();
    if (!found.value()) return {};
    const Marker& marker = *found.value();
    if (marker.is_of_nothing) return end_empty_stage(prefix, marker);
    if (is_run_folder(marker.folder)) {
        const std::string staged = series_on_stage(marker.folder);
        Result<storage::LockFile> lock = lock_series(staged);
        if (!lock.ok()) return lock.status();
        const Result<Series> series = find_series(staged);
        if (!series.ok()) return series.status();
        // The youngest first, as remove_parts does: a kill leaves no step without what it is read with.
        if (Status status = remove_parts(series.value()); !status.ok()) return status;
        std::vector<Staged> files = staged_files(series.value());
        std::ranges::reverse(files);
        for (const Staged& file : files) discard(file);
        return end_stage(prefix, marker, lock.value());
    }
    std::fprintf(stderr,
                 "hakobi: %s: the steps that are replaced are partly on the stage %s, and stay there\n",
                 prefix.c_str(), where(marker).c_str());
    return remove_marker(prefix);
}

}  // namespace hakobi::series
