// Pieces become a file:
//
//  1. The folder is locked (<file>.pieces/.lock): one gathering at a time, and a dead one keeps nobody out.
//  2. Every piece's header is read, and the file made with its metadata under a temporary name of this
//     gathering's own.
//  3. The values are brought into file order (assemble.hpp), and their checksums compared.
//  4. The file is read back and proved (prove_file), and gets its name, which nothing has.
//  5. <file>.pieces becomes <file>.pieces.gathered, whose pieces nobody needs, and is removed.
//
// A file that has the name before is proved in place of 2 to 4: a gathering killed between 4 and 5 has made
// it. Another file, older or newer, is never replaced, and its pieces stay. Killed in 5, the next gathering
// removes what is left. `gather_pieces` also holds the prefix's lock (series.hpp): pieces of a run that goes
// on are its own.
#include "series/gather.hpp"

#include <algorithm>
#include <filesystem>
#include <hakobi/error.hpp>
#include <hakobi/gather.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/guard.hpp"
#include "format/registry.hpp"
#include "series/piece_set.hpp"
#include "series/series.hpp"
#include "series/series_view.hpp"
#include "series/stage.hpp"
#include "series/step_file.hpp"
#include "series/unfinished.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"
#include "storage/lock_file.hpp"
#include "storage/place.hpp"

namespace hakobi {
namespace series {
namespace {

namespace fs = std::filesystem;

/// Whether the step's store has it.
bool is_stored(const std::string& path) {
    return !store_of(path).empty() && read_step(path).ok();
}

/// Whether the step's file is there, or its store has it.
bool is_made(const std::string& path) {
    std::error_code ignored;
    return fs::is_regular_file(fs::symlink_status(path, ignored)) || is_stored(path);
}

Result<storage::LockFile> lock_pieces(const std::string& folder) {
    return storage::LockFile::take(folder + "/" + std::string(pieces_lock), "the pieces of " + folder);
}

/// 5, the second half. Without their file these pieces may be all there is.
Status remove_gathered(const std::string& gathered, const std::string& path) {
    Result<storage::LockFile> lock = lock_pieces(gathered);
    if (!lock.ok()) return lock.status().code() == ErrorCode::not_found ? Status() : lock.status();
    if (is_made(path)) return remove_pieces(gathered, std::move(lock).value());
    return {ErrorCode::format, gathered + ": its file " + path + " is gone"};
}

/// 2 to 4.
Status write_file(const PieceSet& set, const std::string& path, std::int64_t buffer_bytes, bool sync) {
    std::string part = part_path(path, random_run_id()[0]);
    if (!store_of(path).empty()) part.insert(0, storage::joined_scheme);
    format::Layout layout;
    layout.file_bytes = set.file_bytes();
    layout.members = set.pieces[0].header.members;
    if (Status status = create_step(part, layout, set.metadata(), set.description); !status.ok())
        return status;
    Discarding discarding(part);
    if (Status status = write_values(set, part, buffer_bytes); !status.ok()) return status;
    if (Status status = prove_file(set, part, buffer_bytes); !status.ok()) return status;
    Status status = finish_step(part, path, sync);
    if (status.ok()) discarding.keep();
    return status;
}

Status make_file(const std::string& folder, std::int64_t buffer_bytes, bool sync) {
    const std::string gathered = gathered_folder(folder);
    const std::string path = file_of_pieces(folder);
    std::error_code ignored;
    if (fs::is_directory(gathered, ignored)) {
        if (Status status = remove_gathered(gathered, path); !status.ok()) return status;
    }
    Result<storage::LockFile> lock = lock_pieces(folder);
    if (!lock.ok()) {
        // Another gathering has come before.
        const bool is_done = lock.status().code() == ErrorCode::not_found && is_made(path);
        return is_done ? Status() : lock.status();
    }
    Result<PieceSet> set = read_piece_set(folder);
    if (!set.ok()) return set.status();
    if (Status status = check_free(path, true); !status.ok()) return status;
    Status status;
    if (fs::exists(fs::symlink_status(path, ignored))) {
        status = prove_file(set.value(), path, buffer_bytes);
    } else if (!is_stored(path)) {
        status = write_file(set.value(), path, buffer_bytes, sync);
    }
    if (!status.ok()) return status;
    Status renamed = storage::rename_file(folder, gathered);
    if (renamed.code() == ErrorCode::permission) {
        // SMB renames no folder in which a file is open, and the lock is one.
        lock.value().release();
        renamed = storage::rename_file(folder, gathered);
        // Another gathering has found the file whole.
        if (renamed.code() == ErrorCode::not_found) renamed = {};
    }
    if (!renamed.ok()) return renamed;
    return remove_pieces(gathered, std::move(lock).value());
}

bool is_marker(const Name& name) {
    return name.kind == Kind::marker && !name.is_temporary();
}

bool is_of_pieces(const Name& name) {
    return name.kind == Kind::pieces || name.kind == Kind::mesh_pieces;
}

/// The name of the pieces' folder that `path` is, also where it is one that a gathering was killed in
/// removing.
std::optional<std::string> pieces_folder_of(const fs::path& path) {
    const std::string name = path.string();
    const Name parsed = parse(name);
    std::error_code ignored;
    if (!is_of_pieces(parsed) || !fs::is_directory(path, ignored)) return std::nullopt;
    return parsed.form == Name::Form::gathered ? folder_of_gathered(name) : name;
}

/// The work below a path: folders of pieces, and prefixes with steps under temporary names.
struct Work {
    std::set<std::string> folders, prefixes;
    [[nodiscard]] bool empty() const { return folders.empty() && prefixes.empty(); }

    void look_at(const fs::path& path) {
        if (const auto folder = pieces_folder_of(path)) folders.insert(*folder);
        const Name name = parse(path.string());
        if ((name.is_of_step() && name.is_temporary()) || is_marker(name)) prefixes.insert(name.prefix);
    }
};

bool has_whole_steps(const std::string& prefix) {
    const Result<Series> series = find_series(prefix);
    return series.ok() && !series.value().files.empty();
}

/// The prefix of a step's name, or a store's; "" of any other.
std::string prefix_in(const std::string& path) {
    const Name name = parse(path);
    return name.is_of_step() || name.kind == Kind::store ? name.prefix : "";
}

Work find_work(std::string path) {
    storage::check_address(path).throw_if_error();
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    std::error_code error;
    Work work;
    if (storage::limits_of(path).is_on_objects) {
        const Result<std::optional<Marker>> marker = read_marker(path);
        marker.status().throw_if_error();
        if (marker.value()) {
            work.prefixes.insert(path);
        } else if (!has_whole_steps(path)) {
            throw Error(ErrorCode::not_found, "cannot gather " + path + ": no steps of it are on a stage");
        }
        return work;
    }
    if (pieces_folder_of(gathered_folder(path))) {
        work.folders.insert(path);
        return work;
    }
    const fs::file_status found = fs::status(path, error);
    const bool is_folder = fs::is_directory(found);
    if (fs::exists(found) && !is_folder)
        throw Error(ErrorCode::format, "cannot gather " + path + ": it is not a folder");
    if (is_folder) work.look_at(path);
    if (!work.empty()) return work;
    const std::string listed = is_folder ? path : folder_of(path);
    std::set<std::string> prefixes = {is_folder ? prefix_in(path) : path};
    for (fs::directory_iterator entry(listed, error), end; !error && entry != end; entry.increment(error)) {
        const std::string wanted = (fs::path(listed) / fs::path(path).filename()).string();
        const std::string each = entry->path().string();
        const Name name = parse(each);
        if (is_folder || ((name.is_of_step() || is_marker(name)) && name.prefix == wanted))
            work.look_at(entry->path());
        if (is_folder) prefixes.insert(prefix_in(each));
    }
    if (error) status_of_errno(error.value(), "cannot list folder", listed).throw_if_error();
    prefixes.erase("");
    if (work.empty() && std::ranges::none_of(prefixes, has_whole_steps)) {
        throw Error(ErrorCode::not_found,
                    "cannot gather " + path +
                        (is_folder ? ": no *.pieces folder and no step is in it"
                                   : ": there is no such folder, and no step of that prefix"));
    }
    return work;
}

/// Keeps the lock of one prefix at a time: a folder's files come in the order of their names. Before it
/// leaves one, all its steps are shown.
class SeriesLock {
  public:
    ~SeriesLock() { leave(); }
    Status hold(const std::string& prefix) {
        if (prefix == prefix_) return status_;
        leave();
        prefix_ = prefix;
        status_ = {};
        // For steps that go to an object store the stage is locked.
        if (!storage::limits_of(prefix).is_on_objects) {
            Result<storage::LockFile> taken = lock_series(prefix);
            if (!taken.ok()) return status_ = taken.status();
            lock_ = std::move(taken).value();
        }
        Result<Unfinished> home = bring_home(prefix, Gaps::left, true);
        if (!home.ok()) return status_ = home.status();
        const Result<Series> series = find_series(prefix);
        if (!series.ok()) return status_ = series.status();
        Result<Unfinished> unfinished = complete_steps(prefix, series.value(), Gaps::left);
        if (!unfinished.ok()) return status_ = unfinished.status();
        tell_lost(prefix, unfinished.value(), "is removed");
        if (Status removed = remove_parts(series.value()); !removed.ok()) return status_ = removed;
        unfinished_ = std::move(home).value();
        for (Series::Entry& step : unfinished.value().completed)
            unfinished_.completed.push_back(std::move(step));
        for (std::string& lost : unfinished.value().lost) unfinished_.lost.push_back(std::move(lost));
        return {};
    }
    /// The outcome for steps without pieces of the prefix that was locked last. Returned once.
    [[nodiscard]] Unfinished take_unfinished() { return std::exchange(unfinished_, {}); }

  private:
    void leave() {
        if (!prefix_.empty() && status_.ok())
            (void)guarded("showing " + prefix_, [&] {
                show_series(prefix_);
                return Status();
            });
        lock_.release();
    }

    std::string prefix_;
    Status status_;
    Unfinished unfinished_;
    storage::LockFile lock_;
};

}  // namespace

Status gather_folder(const std::string& folder, std::int64_t buffer_bytes, bool sync) {
    return guarded("gathering " + folder, [&] { return make_file(folder, buffer_bytes, sync); });
}

}  // namespace series

GatherResult v0::gather_pieces(std::string_view path) {
    constexpr std::int64_t buffer_bytes = 64 << 20;
    GatherResult result;
    series::SeriesLock lock;
    series::Work work = series::find_work(std::string(path));
    const auto hold = [&](const std::string& prefix) {
        Status status = lock.hold(prefix);
        work.prefixes.erase(prefix);
        const series::Unfinished unfinished = lock.take_unfinished();
        for (const series::Series::Entry& step : unfinished.completed) result.files.push_back(step.path);
        for (const std::string& lost : unfinished.lost)
            result.incomplete.push_back(prefix + ": " + lost + "; it is removed");
        for (const std::string& staying : unfinished.staying)
            result.incomplete.push_back(prefix + ": " + staying);
        return status;
    };
    std::string waiting;  // prefix whose mesh could not be gathered: pieces of the steps behind it stay
    for (const std::string& folder : work.folders) {
        const series::Name name = series::parse(folder);
        Status status = name.step < 0 ? Status() : hold(name.prefix);
        const bool is_mesh = name.kind == series::Kind::mesh_pieces;
        if (is_mesh) waiting.clear();
        if (status.ok() && name.step >= 0 && waiting == name.prefix)
            status = Status(ErrorCode::format, folder + ": its mesh could not be gathered; its pieces stay");
        // Synced: once the pieces are gone the file is all there is, and nobody is there to run again.
        if (status.ok()) status = series::gather_folder(folder, buffer_bytes, true);
        if (is_mesh && !status.ok()) waiting = name.prefix;
        if (status.ok()) {
            result.files.push_back(series::file_of_pieces(folder));
        } else if (series::is_of_step_alone(status.code())) {
            const std::string step = name.step < 0 ? "" : "step " + std::to_string(name.step) + ": ";
            result.incomplete.push_back(step + status.text());
        } else {
            status.throw_if_error();
        }
    }
    while (!work.prefixes.empty()) {
        const Status status = hold(std::string(*work.prefixes.begin()));
        if (status.code() == ErrorCode::exists) {
            result.incomplete.push_back(status.text());
        } else {
            status.throw_if_error();
        }
    }
    return result;
}

}  // namespace hakobi
