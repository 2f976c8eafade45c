#include "series/unfinished.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "base/guard.hpp"
#include "series/pending_commit.hpp"
#include "series/receipts.hpp"
#include "series/series_view.hpp"
#include "series/stage.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"
#include "storage/lock_file.hpp"
#include "storage/place.hpp"

namespace hakobi::series {
namespace {

/// A step's or a mesh's file under its temporary name, or what makes a step part of a file of several.
struct LeftFile {
    Name name;
    std::string path;        // with the temporary name
    std::string final_path;  // without
};

/// In the order in which a run names them: a step's mesh before the step.
std::vector<LeftFile> left_files(const Series& series) {
    std::vector<LeftFile> parts;
    for (const std::string& path : series.parts) {
        const Name name = parse(path);
        if (name.kind != Kind::step && name.kind != Kind::mesh && name.kind != Kind::commit) continue;
        std::string final_path = step_path(name.prefix, name.step, name.extension);
        if (name.is_of_mesh()) final_path = mesh_path(final_path);
        if (std::string of_store = storage::joined_folder(final_path); !of_store.empty())
            final_path = std::move(of_store);
        parts.push_back({name, path, std::move(final_path)});
    }
    // The file of the first of several is whole when that step is committed.
    std::set<std::int64_t> of_commits;
    for (const LeftFile& left : parts) {
        if (left.name.kind == Kind::commit) of_commits.insert(left.name.step);
    }
    std::erase_if(parts, [&](const LeftFile& left) {
        return left.name.kind == Kind::step && of_commits.contains(left.name.step);
    });
    std::ranges::sort(parts, [](const LeftFile& a, const LeftFile& b) {
        return std::pair(a.name.step, !a.name.is_of_mesh()) < std::pair(b.name.step, !b.name.is_of_mesh());
    });
    return parts;
}

std::string what_is(const LeftFile& left) {
    return (left.name.is_of_mesh() ? "the mesh of step " : "step ") + std::to_string(left.name.step);
}

/// Says in words what keeps the file from being whole; "" where nothing does.
std::string what_lacks(const LeftFile& left, const Result<Receipts>& receipts) {
    if (!receipts.ok()) return receipts.status().text();
    if (to_complete(state_of(left.name, receipts.value()))) return {};
    if (!storage::limits_of(left.final_path).has_system_names)
        return "this storage keeps no receipts of what was stored";
    if (receipts.value().num_writers == 0) return "none of its writers had stored its part";
    return std::to_string(receipts.value().num_stored) + " of its " +
           std::to_string(receipts.value().num_writers) + " writers had stored their parts";
}

std::string not_whole(const std::string& what, const std::string& why) {
    return what + " was not stored whole when its run ended: " + why;
}

std::string numbers(const std::vector<Series::Entry>& steps) {
    std::string text = steps.size() == 1 ? "step " : "steps ";
    for (std::size_t i = 0; i < steps.size(); ++i)
        text += (i == 0 ? "" : i + 1 == steps.size() ? " and " : ", ") + std::to_string(steps[i].step);
    return text;
}

FileNames names_of(const LeftFile& left, std::int64_t file_bytes) {
    const bool is_whole = left.name.form == Name::Form::whole;
    return {.part = left.path,
            .whole = is_whole ? left.path : whole_path(left.path),
            .path = left.final_path,
            .file_bytes = file_bytes};
}

}  // namespace

Result<Unfinished> complete_steps(const std::string& prefix, const Series& series, Gaps gaps) {
    Unfinished result;
    bool is_mesh_lost = false;      // steps link to it, up to the next mesh
    std::optional<LeftFile> first;  // that is lost
    const auto is_in_store = [&](const LeftFile& left) {
        const auto is_it = [&](const Series::Entry& file) { return file.path == left.final_path; };
        return !store_of(left.final_path).empty() && std::ranges::any_of(series.files, is_it);
    };
    const auto note_first = [&](const LeftFile& left) {
        if (first) return;
        first = left;
        result.first_lost = left.name.step;
    };
    const auto lose = [&](const LeftFile& left, const Status& why) {
        result.lost.push_back(what_is(left) + " was stored whole, but " + why.text());
        if (left.name.is_of_mesh()) is_mesh_lost = true;
        note_first(left);
    };
    for (const LeftFile& left : left_files(series)) {
        if (is_in_store(left)) {  // killed after the step was added
            storage::discard_file(left.path);
            continue;
        }
        const Result<Receipts> receipts = read_receipts(left.path);
        std::string why = what_lacks(left, receipts);
        if (why.empty() && !left.name.is_of_mesh() && is_mesh_lost) why = "its mesh is not whole";
        const bool is_commit = left.name.kind == Kind::commit;
        if (Status taken = check_free(left.final_path); !is_commit && why.empty() && !taken.ok())
            why = taken.text();
        Result<PendingCommit> pending =
            is_commit ? read_pending_commit(left.path) : Result<PendingCommit>(PendingCommit());
        if (why.empty() && !pending.ok()) why = pending.status().text();
        if (left.name.is_of_mesh()) is_mesh_lost = !why.empty();
        if (!why.empty()) {
            result.lost.push_back(not_whole(what_is(left), why));
            note_first(left);
            continue;
        }
        if (first && gaps == Gaps::none) {
            result.has_gap = true;
            result.lost.push_back(what_is(left) + " was stored whole, but not " + what_is(*first) +
                                  " before it");
            continue;
        }
        if (is_commit) {
            const Result<std::string> path = carry_out(pending.value(), folder_of(left.path));
            if (is_of_step_alone(path.status().code())) {
                lose(left, path.status());
                continue;
            }
            if (!path.ok())
                return Status(path.status().code(),
                              prefix + ": completing " + what_is(left) + ": " + path.status().text());
            storage::discard_file(left.path);
            result.completed.push_back({left.name.step, path.value(), left.name.extension});
            continue;
        }
        FileState state = state_of(left.name, receipts.value());
        const Status status = advance(names_of(left, receipts.value().file_bytes), state, FileState::named);
        if (is_of_step_alone(status.code())) {
            lose(left, status);
            continue;
        }
        if (!status.ok())
            return Status(status.code(), prefix + ": completing " + what_is(left) + ": " + status.text());
        if (!left.name.is_of_mesh())
            result.completed.push_back({left.name.step, left.final_path, left.name.extension});
    }
    return result;
}

void tell(const std::string& prefix, const Unfinished& unfinished, const char* becomes) {
    if (!unfinished.completed.empty()) {
        std::fprintf(stderr, "hakobi: %s: completed %s, stored by a run that did not close it\n",
                     prefix.c_str(), numbers(unfinished.completed).c_str());
    }
    for (std::size_t i = unfinished.num_told; i < unfinished.lost.size(); ++i)
        std::fprintf(stderr, "hakobi: %s: %s; it %s\n", prefix.c_str(), unfinished.lost[i].c_str(), becomes);
    for (const std::string& text : unfinished.staying)
        std::fprintf(stderr, "hakobi: %s: %s\n", prefix.c_str(), text.c_str());
}

void tell_lost(const std::string& prefix, Unfinished& unfinished, const char* becomes) {
    tell(prefix, {.completed = {}, .lost = unfinished.lost, .num_told = unfinished.num_told}, becomes);
    unfinished.num_told = unfinished.lost.size();
}

void complete_for_reading(const std::string& prefix) noexcept {
    const Status status = guarded("completing the steps of " + prefix, [&]() -> Status {
        const Result<storage::LockFile> lock =
            storage::LockFile::take(lock_path(prefix), "the steps of " + prefix);
        // A run writes them, or nobody can know that none does.
        const bool is_on_objects = storage::limits_of(prefix).is_on_objects;  // there the stage is locked
        if (!lock.ok() || (!lock.value().is_held() && !is_on_objects)) return {};
        const Result<Unfinished> home = bring_home(prefix, Gaps::none, false);
        if (home.ok()) tell(prefix, home.value(), "is left as it is");
        if (is_on_objects) return home.status().code() == ErrorCode::exists ? Status() : home.status();
        const Result<Series> series = find_series(prefix);
        if (!series.ok()) return series.status();
        const Result<Unfinished> unfinished = complete_steps(prefix, series.value(), Gaps::none);
        if (!unfinished.ok()) return unfinished.status();
        tell(prefix, unfinished.value(), "is left as it is");
        if (!unfinished.value().completed.empty() || (home.ok() && !home.value().completed.empty()))
            show_series(prefix);
        return home.status();
    });
    if (!status.ok()) std::fprintf(stderr, "hakobi: %s\n", status.text().c_str());
}

void tell_of_pieces(const std::string& prefix, const std::map<std::int64_t, std::string>& left_out) noexcept {
    if (left_out.empty()) return;
    (void)guarded("naming pieces of " + prefix, [&]() -> Status {
        const Result<storage::LockFile> lock =
            storage::LockFile::take(lock_path(prefix), "the steps of " + prefix);
        if (!lock.ok() || !lock.value().is_held()) return {};
        Unfinished unfinished;
        for (const auto& [number, why] : left_out)
            unfinished.lost.push_back(not_whole("step " + std::to_string(number), why));
        tell(prefix, unfinished, "is left as it is");
        return {};
    });
}

}  // namespace hakobi::series
