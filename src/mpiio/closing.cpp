#include "mpiio/closing.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "io/hidden_writes.hpp"
#include "mpi/wait.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/hidden.hpp"
#include "mpiio/report.hpp"

namespace hakobi::mpiio {
namespace {

struct Left {
    std::mutex mutex;
    std::vector<std::shared_ptr<OpenFile>> files;  // of each communicator in the order of the calls
    std::map<std::string, int> failures;           // classes, by path
    std::set<const OpenFile*> told;                // of `files`: an open has told of their error
    std::map<std::string, int> pending;            // by how many files of this process a name is used
};

Left& left() {
    static auto* const the_left = new Left;  // exit may come after static destructors
    return *the_left;
}

constexpr std::string_view suffix = ".hakobi-pending";

/// The name beside the file, of one of its ranks; "" where the file has no name.
std::string pending_name(const FileFacts& facts, int rank) {
    struct stat found = {};
    if (::fstat(facts.descriptor.get(), &found) != 0 || found.st_nlink == 0) return {};
    std::string name = facts.real_path();
    if (name.empty() || name.front() != '/') return {};
    name += suffix;
    if (rank > 0) name += "-" + std::to_string(rank);
    return name;
}

std::string pending_name(const FileFacts& facts) {
    return pending_name(facts, facts.rank);
}

// Empty: a write would wait behind what is under way.
bool make_pending(const std::string& name) {
    const std::scoped_lock lock(left().mutex);
    int& num = left().pending[name];
    const Descriptor made(num == 0 ? ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1);
    if (num == 0 && made.get() < 0) {
        left().pending.erase(name);
        return false;
    }
    ++num;
    return true;
}

void end_pending(const std::string& name, bool is_stored) {
    const std::scoped_lock lock(left().mutex);
    const auto found = left().pending.find(name);
    if (found == left().pending.end() || --found->second > 0) return;
    left().pending.erase(found);
    if (is_stored) ::unlink(name.c_str());
}

void note_failure(OpenFile& file, const mpi::Agreed& agreed) {
    if (agreed.status.ok()) return;
    const int error = error_class_of(agreed.status);
    {
        const std::scoped_lock lock(left().mutex);
        if (!left().told.contains(&file)) left().failures[file.facts.real_path()] = error;
    }
    end_with_failure();
    if (agreed.rank == file.facts.rank) tell_unheard(file, agreed.status);
}

/// The end of a file that was left behind. Collective over its communicator.
void finish(OpenFile& file) {
    if (file.engine_side.engine() != nullptr) note_failure(file, file.engine_side.close());
    if (file.facts.is_reported) report(file);
}

std::vector<std::shared_ptr<OpenFile>> left_on(const FileComm* comms) {
    std::vector<std::shared_ptr<OpenFile>> found;
    const std::scoped_lock lock(left().mutex);
    for (const auto& file : left().files)
        if (comms == nullptr || file->facts.comms.get() == comms) found.push_back(file);
    return found;
}

void drop(const std::shared_ptr<OpenFile>& file) {
    const std::scoped_lock lock(left().mutex);
    std::erase(left().files, file);
    left().told.erase(file.get());
}

/// Whether a rank that had the file open has not removed its sign.
bool is_marked(const FileFacts& facts) {
    const std::filesystem::path sign = pending_name(facts, 0);
    if (sign.empty()) return false;
    const std::string first = sign.filename();
    std::error_code error;
    for (std::filesystem::directory_iterator at(sign.parent_path(), error), end; !error && at != end;
         at.increment(error)) {
        const std::string name = at->path().filename();
        if (!name.starts_with(first)) continue;
        int rank = 0;
        const char* const behind = name.data() + first.size();
        const char* const last = name.data() + name.size();
        const bool is_first = behind == last;
        const bool is_rank =
            !is_first && *behind == '-' && std::from_chars(behind + 1, last, rank).ptr == last;
        if (is_first || (is_rank && rank < facts.num_ranks)) return true;
    }
    return false;
}

/// Why a file that was left behind is not stored, as far as this rank can tell. Of another node it only sees,
/// once nothing is under way, the signs that are not removed.
ErrorCode error_of_left(OpenFile& file) {
    if (const ErrorCode error = file.engine_side.left_error(); error != ErrorCode::ok) return error;
    if (file.facts.comms->engine.num_nodes() == 1 ||
        io::HiddenWrites::is_held(file.facts.descriptor.get()) == 1)
        return ErrorCode::ok;
    return is_marked(file.facts) ? ErrorCode::io : ErrorCode::ok;
}

struct FailedLeft {
    std::shared_ptr<OpenFile> file;
    ErrorCode error = ErrorCode::ok;
};

/// The file of that name which this process has left behind, where it is not stored and no open has told of
/// that.
FailedLeft failed_left(const FileFacts& facts) {
    for (const auto& file : left_on(nullptr)) {
        if (file->facts.identity != facts.identity) continue;
        {
            const std::scoped_lock lock(left().mutex);
            if (left().told.contains(file.get())) continue;
        }
        if (const ErrorCode error = error_of_left(*file); error != ErrorCode::ok) return {file, error};
    }
    return {};
}

}  // namespace

bool may_close_hidden() {
    static const bool may = [] {
        const Result<Hints> hints = io::hints_of_process();
        if (!hints.ok()) return false;
        const auto found = hints.value().find("hakobi_hidden");
        return found != hints.value().end() && found->second == "close";
    }();
    return may;
}

bool leave_behind(const std::shared_ptr<OpenFile>& file) {
    io::Engine* const engine = file->engine_side.engine();
    const FileComm& comms = *file->facts.comms;
    // Equal on all ranks: a communicator that is not kept would be freed, one that several files share has
    // other calls meanwhile.
    if (engine == nullptr || !engine->may_hide() || engine->options().hidden != "close" || !comms.is_kept ||
        comms.num_files != 1 || !engine->hidden_writes().is_any())
        return false;
    enum { stored, open, failed };
    const auto state = [&]() -> std::int64_t {
        const bool is_stored = engine->is_stored();  // first: an error is known before
        if (!may_close_hidden() || engine->hidden_error() != ErrorCode::ok) return failed;
        return is_stored ? stored : open;
    };
    std::int64_t mine = state();
    if (mine == open) {
        const std::string name = pending_name(file->facts);
        const bool is_made = name.empty() || make_pending(name);
        const bool is_left = is_made && engine->leave_behind([name](bool is_stored) {
            if (!name.empty()) end_pending(name, is_stored);
        });
        if (!is_left) {  // nobody will call: it is stored by now, or will be
            if (is_made && !name.empty()) end_pending(name, true);
            (void)engine->wait_for_own_storage();
            mine = state();
        }
    }
    if (mine == stored && stores_hidden(*file)) remove_leftover(file->facts);
    std::int64_t worst = failed;
    if (PMPI_Allreduce(&mine, &worst, 1, MPI_INT64_T, MPI_MAX, comms.comm) != MPI_SUCCESS) return false;
    return worst == open;
}

bool stores_hidden(const OpenFile& file) {
    const io::Engine* const engine = file.engine_side.engine();
    constexpr auto independent = static_cast<std::size_t>(Passed::independent);
    return engine != nullptr && engine->may_hide() &&
           (engine->is_aggregator() || file.counts.deferred > 0 || file.counts.passed[independent] > 0);
}

void add_closing(std::shared_ptr<OpenFile> file) {
    const std::scoped_lock lock(left().mutex);
    left().files.push_back(std::move(file));
}

void reap(const std::shared_ptr<FileComm>& comms, const FileIdentity& same) {
    const std::vector<std::shared_ptr<OpenFile>> files = left_on(comms.get());
    if (files.empty()) return;
    std::vector<std::int64_t> mine(2 * files.size()), all(mine.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
        io::Engine* const engine = files[i]->engine_side.engine();
        mine[2 * i] = engine != nullptr && !engine->is_stored() ? 1 : 0;
        mine[2 * i + 1] = same.inode != 0 && files[i]->facts.identity == same ? 1 : 0;
    }
    if (PMPI_Allreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_INT64_T, MPI_MAX,
                       comms->comm) != MPI_SUCCESS)
        return;
    std::size_t num_left = files.size();
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (all[2 * i] != 0 && all[2 * i + 1] == 0 && num_left < most_closing) continue;
        finish(*files[i]);
        drop(files[i]);
        --num_left;
    }
}

void reap_all() {
    // In the order of all_files, which is the same on the ranks of each communicator.
    std::vector<std::shared_ptr<OpenFile>> files = left_on(nullptr);
    std::ranges::stable_sort(files, {}, [](const auto& file) {
        return std::pair(file->facts.comms->owner, file->facts.comms->id);
    });
    for (const auto& file : files) {
        finish(*file);
        drop(file);
    }
}

void wait_until_whole(const char* path) {
    const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const Descriptor writable(file.get() < 0 ? ::open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK) : -1);
    const int descriptor = file.get() >= 0 ? file.get() : writable.get();
    if (descriptor < 0) return;
    const Comm none;
    mpi::Wait wait(none);
    while (io::HiddenWrites::is_held(descriptor) == 1) wait.pause();
}

bool has_failed(const FileFacts& facts) {
    if (!may_have_hidden_writes() || facts.descriptor.get() < 0) return false;
    {
        const std::scoped_lock lock(left().mutex);
        if (!left().failures.empty() && left().failures.contains(facts.real_path())) return true;
    }
    return failed_left(facts).file != nullptr;
}

int take_failure(const FileFacts& facts, bool is_known_to_all) {
    {
        const std::scoped_lock lock(left().mutex);
        if (const auto found = left().failures.find(facts.real_path()); found != left().failures.end()) {
            const int error = found->second;
            left().failures.erase(found);
            return error;
        }
    }
    // Another group opens the file before its own does.
    const FailedLeft found = is_known_to_all ? failed_left(facts) : FailedLeft();
    if (found.file == nullptr) return MPI_SUCCESS;
    const std::scoped_lock lock(left().mutex);
    left().told.insert(found.file.get());
    return error_class_of(found.error);
}

std::vector<std::shared_ptr<OpenFile>> closing_files() {
    return left_on(nullptr);
}

void end_closing_alone() {
    for (const auto& file : left_on(nullptr)) {
        io::Engine* const engine = file->engine_side.engine();
        if (engine == nullptr) continue;
        if (const Status status = engine->take_hidden_error(); !status.ok()) tell_unheard(*file, status);
    }
}

void remove_leftover(const FileFacts& facts) {
    const std::string name = pending_name(facts);
    if (name.empty()) return;
    // It may be that of a file that had the name before, and is under way.
    const std::scoped_lock lock(left().mutex);
    if (!left().pending.contains(name)) ::unlink(name.c_str());
}

}  // namespace hakobi::mpiio
