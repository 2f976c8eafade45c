#include "mpiio/opening.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "mpi/at_finalize.hpp"
#include "mpi/messages.hpp"
#include "mpiio/closing.hpp"
#include "mpiio/comm_pool.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/hidden.hpp"
#include "mpiio/hints.hpp"
#include "mpiio/imports.hpp"
#include "mpiio/library_call.hpp"
#include "mpiio/new_layout.hpp"
#include "mpiio/operation_queue.hpp"
#include "mpiio/placeholder.hpp"
#include "mpiio/report.hpp"
#include "mpiio/requests.hpp"
#include "mpiio/storage_share.hpp"
#include "storage/posix_abilities.hpp"

namespace hakobi::mpiio {
namespace {

/// The part of a file name before its colon, in small letters, for the prefixes by which ROMIO names file
/// systems (it knows them in small and in capital letters); else "".
std::string_view prefix_of(std::string_view name) {
    static constexpr std::array<std::string_view, 14> known = {"ufs",   "nfs",     "xfs",  "lustre", "gpfs",
                                                               "panfs", "pvfs2",   "pvfs", "testfs", "daos",
                                                               "dfs",   "quobyte", "ime",  "gridftp"};
    const std::string_view prefix = name.substr(0, name.find(':'));
    for (const std::string_view candidate : known) {
        const bool is_small = prefix == candidate;
        const bool is_capital =
            std::equal(prefix.begin(), prefix.end(), candidate.begin(), candidate.end(),
                       [](char capital, char small) { return capital == small - 'a' + 'A'; });
        if ((is_small || is_capital) && prefix.size() < name.size()) return candidate;
    }
    return {};
}

bool is_posix(std::string_view prefix) {
    return prefix.empty() || prefix == "ufs" || prefix == "nfs" || prefix == "xfs" || prefix == "lustre" ||
           prefix == "gpfs" || prefix == "panfs";
}

/// By which path to find on this node what the MPI library opens as `name`: ROMIO takes a prefix off, OMPIO
/// leaves it in the name. Null where both files are there and the library may be either.
const char* path_of(const char* name) {
    const std::string_view prefix = prefix_of(name);
    if (prefix.empty()) return name;
    const char* const without = name + prefix.size() + 1;
    if (!library.is_open_mpi) return without;
    struct stat found = {};
    const bool is_literal = ::stat(name, &found) == 0;
    if (is_literal && ::stat(without, &found) == 0) return nullptr;
    return is_literal ? name : without;
}

/// Modes in which opening a file is open(2), as far as any library shows.
bool is_plain_mode(int mode) {
    const int direction = mode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    const int others = mode & ~(direction | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_UNIQUE_OPEN);
    if (others != 0) return false;
    if (direction == MPI_MODE_RDONLY) return (mode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) == 0;
    return direction == MPI_MODE_WRONLY || direction == MPI_MODE_RDWR;
}

/// The result of rank 0's preparation before the ranks open a file without the library.
struct LateOpen {
    bool is_there = false;  ///< the file can be opened
    Descriptor file;        ///< is open
    bool is_made = false;   ///< it was not there before
};

/// Rank 0's part of opening a file as the libraries do: it is there on return, or there is some error, which
/// the library will meet again.
LateOpen make_for_late(const char* name, int mode) {
    const int access = (mode & MPI_MODE_RDONLY) != 0   ? O_RDONLY
                       : (mode & MPI_MODE_WRONLY) != 0 ? O_WRONLY
                                                       : O_RDWR;
    LateOpen made;
    Descriptor& file = made.file;
    if ((mode & MPI_MODE_EXCL) == 0) file = Descriptor(::open(name, access | O_CLOEXEC));
    if (file.get() < 0 && (mode & MPI_MODE_CREATE) != 0) {
        file = Descriptor(::open(name, access | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        made.is_made = file.get() >= 0;
    }
    made.is_there = file.get() >= 0;
    return made;
}

/// Fills in which file it is. `opened`: this rank has just opened it by POSIX calls in this mode; else -1.
/// Returns why the engine cannot take it, as far as this rank sees; else "".
std::string examine(FileFacts& facts, Descriptor opened) {
    std::string why_not;
    if (!has_world())
        why_not = "the program runs in sessions, without MPI_Init";
    else if ((facts.mode & MPI_MODE_SEQUENTIAL) != 0)
        why_not = "it is open in sequential mode";
    else if ((facts.mode & MPI_MODE_APPEND) != 0)
        why_not = "it is open for appending";
    if (!is_posix(prefix_of(facts.name)))
        return why_not.empty() ? "its file system has no POSIX interface" : why_not;
    struct stat found = {};
    const bool has_opened = opened.get() >= 0;
    facts.descriptor = std::move(opened);
    const char* const path = has_opened ? nullptr : path_of(facts.name.c_str());
    if (!has_opened && has_many_files()) {
        if (path != nullptr && ::stat(path, &found) == 0) facts.identity = {found.st_dev, found.st_ino};
        return why_not.empty() ? "so many files are open that their descriptors might run out" : why_not;
    }
    if (path != nullptr) facts.descriptor = Descriptor(::open(path, O_PATH | O_CLOEXEC));
    const bool is_found = facts.descriptor.get() >= 0 && ::fstat(facts.descriptor.get(), &found) == 0;
    if (is_found)
        facts.identity = {found.st_dev, found.st_ino};  // also for a handle beside one that is taken
    if (!why_not.empty()) return why_not;
    if (!is_found) return "POSIX calls find no file of this name";
    if (!S_ISREG(found.st_mode)) return "it is not a regular file";
    if (has_opened) return "";
    // The library may have the file open with more rights than its mode gives now (umask, chmod).
    const int access = !facts.can_write() ? O_RDONLY : facts.can_read() ? O_RDWR : O_WRONLY;
    const Descriptor again(::open(facts.opened_path().c_str(), access | O_CLOEXEC));
    return again.get() < 0 ? "it cannot be opened a second time" : "";
}

/// Facts that ranks must know of each other at open; a bit stays when all ranks have it.
constexpr unsigned opened = 1, taken = 2, silent = 4, late_views = 8, queued = 16, is_sound = 32;

/// Whether the library may open the file and get views when it needs them (library_handles.hpp), as far as
/// this rank sees. A call with the shared file pointer is one rank's and needs the view on the file's handle:
/// not in programs that can make one.
bool may_be_late() {
    const char* const text = std::getenv("HAKOBI_LATE_VIEWS");
    return text != nullptr && *text != '\0' ? std::string_view(text) != "0" : !may_use_shared_pointers();
}

/// Whether this rank's program may make calls that are queued, and wants them to be.
bool may_queue(MPI_Info info) {
    std::vector<std::string> said;
    return may_use_queue() && options_of(hints_of_info(info), said).nonblocking == "auto";
}

unsigned flags_of(const FileFacts& facts, const std::string& why_not, MPI_Info info) {
    return opened | (has_failed(facts) ? 0U : is_sound) | (why_not.empty() && may_queue(info) ? queued : 0U) |
           (why_not.empty() ? taken : 0U) | (wants_profile() || wants_explanation() ? 0U : silent) |
           (may_be_late() ? late_views : 0U);
}

/// A program that ends MPI with a file open, or with one that was left behind: its operations are carried out
/// nevertheless. In one order on all ranks.
void end_all_at_finalize() {
    static std::once_flag once;
    std::call_once(once, [] {
        mpi::at_finalize(mpi::FinalizeStage::with_others, [] {
            for (const auto& file : all_files())
                if (file->queue != nullptr) {
                    const Status closed = file->queue->close(file->facts.comms->engine);
                    if (!closed.ok()) std::fprintf(stderr, "hakobi: %s\n", closed.text().c_str());
                }
            const double begin_s = now_s();
            end_open_files();
            reap_all();
            int world_rank = 0;
            PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
            if (world_rank != 0) return;
            note_last_wait(now_s() - begin_s);
            if (wants_profile()) tell_storage_share();
        });
    });
}

/// Whether a file may not have the queue since other nodes use it, too: they must not lose this node's
/// writes.
bool may_lose_others_writes(const FileFacts& facts) {
    const Descriptor file(
        ::open(facts.opened_path().c_str(), (facts.can_read() ? O_RDONLY : O_WRONLY) | O_CLOEXEC));
    if (file.get() < 0) return true;
    return facts.can_write() && storage::look_at(file.get()).abilities.writer_block_bytes > 1;
}

/// Makes the file's queue where it can have one. Collective.
void make_queue(OpenFile& file) {
    FileComm& comms = *file.facts.comms;
    if (comms.num_files > 1) return;  // another file may have its queue
    std::array<std::int64_t, 1> obstacles{make_queue_comm(comms) ? 0 : 1};
    if (!comms.engine) return;  // on all ranks
    const bool has_other_nodes = comms.engine.num_nodes() > 1;
    if (has_other_nodes) {
        if (obstacles[0] == 0 && may_lose_others_writes(file.facts)) obstacles[0] = 1;
        mpi::all_max(comms.engine, obstacles);
    }
    if (obstacles[0] != 0) return;
    const std::string shown =
        wants_profile() || wants_explanation() ? file.facts.real_path() : file.facts.name;
    file.queue = std::make_unique<OperationQueue>(comms.queue,
                                                  io::EngineFile{.path = file.facts.opened_path(),
                                                                 .is_writable = file.facts.can_write(),
                                                                 .shown = shown,
                                                                 .has_other_nodes = has_other_nodes},
                                                  comms.queue_cores);
}

/// A new file in the table. `why_not`: this rank's reason against the engine; `all`: the flags that all ranks
/// have.
OpenFile& add(FileFacts facts, std::string why_not, unsigned all, MPI_Info info) {
    if ((all & taken) == 0 && why_not.empty())
        why_not = "another rank cannot reach it by POSIX calls, or has too many files open";
    facts.is_reported = (all & silent) == 0;
    PMPI_Comm_rank(facts.comms->comm, &facts.rank);
    PMPI_Comm_size(facts.comms->comm, &facts.num_ranks);
    auto file = std::make_unique<OpenFile>(std::move(facts));
    file->library_side.gets_views_late = (all & late_views) != 0 && why_not.empty();
    file->engine_side.why_not = std::move(why_not);
    file->engine_side.hints = hints_of_info(info);
    explain_why_not(*file);
    if (has_world()) end_all_at_finalize();
    begin_storage_share();
    if ((all & queued) != 0 && file->engine_side.why_not.empty()) make_queue(*file);
    return add_file(std::move(file));
}

/// Rank 0's message about a file that is to be opened: the mode in which it exists, and whether all have to
/// meet, since it gets a layout by the number of their nodes.
constexpr std::int64_t not_there = -1, lays_out = std::int64_t{1} << 40;

/// Opens the file without the MPI library where all ranks can: rank 0 makes it, the others look it up.
/// Collective. False: everything is as before, but that the file may be there, with its layout: `has_layout`
/// on all ranks. `is_failed`: one has closed a file of this name that is not stored whole.
bool open_late(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle, bool& has_layout,
               bool& is_failed) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    FileFacts facts;
    std::string why_not;
    LateOpen made;
    const auto make = [&](int how) {
        if (is_plain_mode(mode) && !has_many_files()) made = make_for_late(name, how);
        return made.is_there ? std::int64_t{mode} : not_there;
    };
    std::int64_t word = not_there;
    if (rank == 0 && has_world())
        word = prefix_of(name).empty() && makes_file_with_layout(name, mode) ? lays_out : make(mode);
    unsigned all = 0;
    const auto look = [&](std::int64_t mode_of_rank_0) -> unsigned {
        if (mode_of_rank_0 == lays_out) {
            std::array<std::int64_t, 2> words = {make_file_with_layout(comm, name, info) ? 1 : 0, not_there};
            if (rank == 0) words[1] = make(words[0] != 0 ? mode & ~MPI_MODE_EXCL : mode);
            PMPI_Bcast(words.data(), static_cast<int>(words.size()), MPI_INT64_T, 0, comm);
            has_layout = words[0] != 0;
            mode_of_rank_0 = words[1];
        }
        if (mode_of_rank_0 != mode || !has_world() || has_many_files() || !prefix_of(name).empty()) return 0;
        facts.name = name;
        facts.mode = mode;
        why_not = examine(facts, made.is_there ? std::move(made.file) : Descriptor());
        const unsigned mine = flags_of(facts, why_not, info);
        if ((mine & taken) == 0 || (mine & late_views) == 0) return mine & ~opened;
        facts.handle = take_placeholder();
        return facts.handle != MPI_FILE_NULL ? mine : mine & ~opened;
    };
    constexpr unsigned needed = opened | taken | late_views;
    facts.comms = take_comm(comm, word, needed, look, all);
    if (facts.comms == nullptr) {
        if (facts.handle != MPI_FILE_NULL) give_back_placeholder(facts.handle, true);
        if (made.is_made) ::unlink(name);  // the library is to make the file after all
        return false;
    }
    *handle = facts.handle;
    OpenFile& file = add(std::move(facts), std::move(why_not), all, info);
    file.library_side.is_placeholder = true;
    file.library_side.handles.start_late(file.facts, info);
    is_failed = (all & is_sound) == 0;
    return true;
}

/// By which name the library opens a file. OMPIO takes none of one letter, and no long one: that is then in
/// `folder`.
std::string name_for_library(const std::string& name, Descriptor& folder) {
    if (!library.is_open_mpi) return name;
    if (name.size() == 1) return "./" + name;
    const std::size_t slash = name.rfind('/');
    if (name.size() > longest_name && slash != std::string::npos && prefix_of(name).empty()) {
        folder = Descriptor(::open(name.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (folder.get() >= 0) return "/proc/self/fd/" + std::to_string(folder.get()) + name.substr(slash);
    }
    return name;
}

/// Before the file of this name is opened: what is under way of it comes first. The ranks meet when they
/// open.
void wait_for_file(MPI_Comm comm, const char* name) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    if (const char* const path = rank == 0 ? path_of(name) : nullptr; path != nullptr) wait_until_whole(path);
}

/// The end of opening a file that is in the table: files that were left behind on its communicator are closed
/// where they can be, and the error of one of this name is the program's now. Collective. Returns an MPI
/// error code, the handler of MPI_FILE_NULL called.
int after_hidden(MPI_File* handle, bool is_failed) {
    OpenFile* const file = find_file(*handle);
    if (file == nullptr) return MPI_SUCCESS;
    settle_others(*file);
    reap(file->facts.comms, file->facts.identity);
    // The ranks have reaped together and know alike what that has shown; what was known before, `is_failed`.
    std::array<int, 1> mine{take_failure(file->facts, is_failed)}, worst = mine;
    if (!is_failed && mine[0] == MPI_SUCCESS) return MPI_SUCCESS;
    if (PMPI_Allreduce(mine.data(), worst.data(), 1, MPI_INT, MPI_MAX, file->facts.comms->comm) !=
        MPI_SUCCESS)
        return MPI_SUCCESS;
    if (worst[0] == MPI_SUCCESS) return MPI_SUCCESS;
    // The handler that the file has from MPI_FILE_NULL, which Open MPI does not call by that handle.
    PMPI_File_call_errhandler(*handle, worst[0]);
    (void)close_file(handle);
    *handle = MPI_FILE_NULL;
    return worst[0];
}

/// Whether an earlier job may have left a sign that bytes of this rank are not stored. Local; the engine has
/// the file.
bool may_be_marked_here(const OpenFile& file) {
    return file.counts.writes > 0 &&
           (stores_hidden(file) || (may_close_hidden() && file.facts.comms->engine.node_rank() == 0));
}

}  // namespace

int open_file(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle) {
    // A communicator that MPI_File_open refuses has no collectives to agree by.
    int is_inter = 0;
    const bool is_sane = comm != MPI_COMM_NULL && name != nullptr && handle != nullptr &&
                         PMPI_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter == 0;
    bool has_layout =
        false;  // then the file has been made, and the program has been asked for none that was there
    bool is_failed = false;
    if (is_sane && may_close_hidden()) wait_for_file(comm, name);
    if (is_sane && open_late(comm, name, mode, info, handle, has_layout, is_failed))
        return after_hidden(handle, is_failed);
    const int mode_there = has_layout ? mode & ~MPI_MODE_EXCL : mode;
    Descriptor folder;
    const std::string name_there = is_sane ? name_for_library(name, folder) : "";
    const int error = pass(MPI_FILE_NULL, [&] {
        return open_by_library(comm, is_sane ? name_there.c_str() : name, mode_there, info, handle);
    });
    int error_class = MPI_SUCCESS;  // one rank alone may have failed
    if (error != MPI_SUCCESS) PMPI_Error_class(error, &error_class);
    if (error_class == MPI_ERR_COMM || error_class == MPI_ERR_ARG) return error;
    FileFacts facts;
    std::string why_not;
    if (error == MPI_SUCCESS) {
        facts.handle = *handle;
        facts.name = name;
        facts.mode = mode;
        why_not = examine(facts, Descriptor());
    }
    unsigned all = 0;
    const auto look = [&](std::int64_t) {
        return error == MPI_SUCCESS ? flags_of(facts, why_not, info) : 0U;
    };
    facts.comms = take_comm(comm, 0, opened, look, all);
    if (facts.comms == nullptr) return error;
    OpenFile& file = add(std::move(facts), std::move(why_not), all, info);
    file.library_side.folder = std::move(folder);
    file.library_side.handles.start(file.facts);
    return after_hidden(handle, (all & is_sound) == 0);
}

int close_file(MPI_File* handle) {
    const std::shared_ptr<OpenFile> file = handle != nullptr ? remove_file(*handle) : nullptr;
    if (file == nullptr)
        return pass(handle != nullptr ? *handle : MPI_FILE_NULL, [&] { return library.File_close(handle); });
    LibrarySide& library_side = file->library_side;
    int error = MPI_SUCCESS;
    if (file->queue != nullptr) {
        const Status closed = file->queue->close(file->facts.comms->engine);
        complete_requests();
        error = error_class_of(closed);
        if (error != MPI_SUCCESS) PMPI_File_call_errhandler(*handle, error);
        error = agreed_error(*file, error);  // the queue's are a node's
    }
    const bool is_left = error == MPI_SUCCESS && leave_behind(file);
    const bool has_met = is_left || file->engine_side.engine() != nullptr;
    const bool may_be_marked = has_met && may_be_marked_here(*file);
    if (has_met && !is_left) {
        const int met = result_of(*file, "MPI_File_close", file->engine_side.close());
        if (error == MPI_SUCCESS) error = met;
    }
    if (file->facts.is_reported && !is_left) report(*file);
    library_side.handles.close_own();
    // Nobody returns before all have come, as from the engine's close and the library's.
    if (!has_met && file->facts.num_ranks > 1 && library_side.handles.file() == MPI_FILE_NULL)
        PMPI_Barrier(file->facts.comms->comm);
    int closed = MPI_SUCCESS;
    if (library_side.is_placeholder) {
        closed = told(*file, MPI_FILE_NULL, library_side.handles.close_late());
        give_back_placeholder(file->facts.handle, !library_side.is_placeholder_changed);
        *handle = MPI_FILE_NULL;
    } else {
        closed = pass(*handle, [&] { return library.File_close(handle); });
    }
    if (is_left) add_closing(file);
    if (!is_left && has_met && error == MPI_SUCCESS && closed == MPI_SUCCESS && may_be_marked)
        remove_leftover(file->facts);
    give_back(file->facts.comms);
    return error != MPI_SUCCESS ? error : closed;
}

int close_file_within_call(MPI_File* handle) {
    static auto* const closed_within = new std::vector<std::shared_ptr<OpenFile>>;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (auto file = remove_file(*handle)) {
        file->facts.descriptor = Descriptor();
        closed_within->push_back(std::move(file));
    }
    return library.File_close(handle);
}

}  // namespace hakobi::mpiio
