// The functions that open, close and describe a file, as the front (front.c) looks them up: MPI_File_open is
// hakobi_File_open.
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "mpiio/comm_pool.hpp"
#include "mpiio/entry.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/hints.hpp"
#include "mpiio/imports.hpp"
#include "mpiio/report.hpp"
#include "mpiio/stand_in.hpp"

namespace hakobi::mpiio {
namespace {

constexpr auto lustre_magic = 0x0bd00bd0;

/// The part of a file name before its colon, in small letters, for the prefixes by which ROMIO names file systems (it
/// knows them in small and in capital letters); else "".
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

/// By which path to find on this node what the MPI library opens as `name`: ROMIO takes a prefix off, OMPIO leaves it in the
/// name. Null where both files are there and the library may be either.
const char* path_of(const char* name) {
    const std::string_view prefix = prefix_of(name);
    if (prefix.empty()) return name;
    const char* const without = name + prefix.size() + 1;
#ifdef OPEN_MPI
    struct stat found = {};
    const bool is_literal = ::stat(name, &found) == 0;
    if (is_literal && ::stat(without, &found) == 0) return nullptr;
    return is_literal ? name : without;
#else
    return without;
#endif
}

/// Modes in which opening a file is open(2), as far as any library shows.
bool is_plain_mode(int mode) {
    const int direction = mode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    const int others = mode & ~(direction | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_UNIQUE_OPEN);
    if (others != 0) return false;
    if (direction == MPI_MODE_RDONLY) return (mode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) == 0;
    return direction == MPI_MODE_WRONLY || direction == MPI_MODE_RDWR;
}

/// What rank 0 did before a late open.
struct LateOpen {
    bool is_there = false;  ///< the file can be opened
    Descriptor file;        ///< is open
    bool is_made = false;   ///< it was not there before
};

/// Rank 0's part of opening a file as the libraries do: it is there on return, or there is some error, which the library
/// will meet again. Not where a library lays a new file out by hints (Lustre).
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
    struct statfs system = {};
    made.is_there = file.get() >= 0 && ::fstatfs(file.get(), &system) == 0 && system.f_type != lustre_magic;
    return made;
}

/// Fills in what the file is, and why the engine cannot take it, as far as this rank sees. `opened`: this rank has just
/// opened it by POSIX calls in this mode; else -1.
void examine(OpenFile& file, Descriptor opened) {
    const int mode = file.mode;
    file.can_read = (mode & (MPI_MODE_RDONLY | MPI_MODE_RDWR)) != 0;
    file.can_write = (mode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0;
    if (!has_world())
        file.why_not = "the program runs in sessions, without MPI_Init";
    else if ((mode & MPI_MODE_SEQUENTIAL) != 0)
        file.why_not = "it is open in sequential mode";
    else if ((mode & MPI_MODE_APPEND) != 0)
        file.why_not = "it is open for appending";
    else if (!is_posix(prefix_of(file.name)))
        file.why_not = "its file system has no POSIX interface";
    if (!is_posix(prefix_of(file.name))) return;
    struct stat found = {};
    const bool has_opened = opened.get() >= 0;
    file.descriptor = std::move(opened);
    const char* const path = has_opened ? nullptr : path_of(file.name.c_str());
    if (!has_opened && has_many_files()) {
        if (file.why_not.empty()) file.why_not = "descriptors are left for more files";
        if (path != nullptr && ::stat(path, &found) == 0) file.identity = {found.st_dev, found.st_ino};
        return;
    }
    if (path != nullptr) file.descriptor = Descriptor(::open(path, O_PATH | O_CLOEXEC));
    const bool is_found = file.descriptor.get() >= 0 && ::fstat(file.descriptor.get(), &found) == 0;
    if (is_found) file.identity = {found.st_dev, found.st_ino};  // also for a handle beside one that is taken
    if (!file.why_not.empty()) return;
    if (!is_found) {
        file.why_not = "its path cannot be found by POSIX calls";
    } else if (!S_ISREG(found.st_mode)) {
        file.why_not = "it is not a regular file";
    } else if (!has_opened) {
        // The library may have the file open with more rights than its mode gives now (umask, chmod).
        const int access = !file.can_write ? O_RDONLY : file.can_read ? O_RDWR : O_WRONLY;
        const Descriptor again(::open(file.opened_path().c_str(), access | O_CLOEXEC));
        if (again.get() < 0) file.why_not = "it cannot be opened a second time";
    }
}

/// What ranks must know of each other at open; a bit stays when all ranks have it.
constexpr unsigned opened = 1, taken = 2, silent = 4, late_views = 8;

/// Whether the library may open the file and get views when it needs them (library_view.hpp) as far as this rank sees. A call
/// at the shared pointer is one rank's and needs the view on the file's handle: not in programs that can make one.
bool may_be_late() {
    const char* const text = std::getenv("HAKOBI_LATE_VIEWS");
    return text != nullptr && *text != '\0' ? std::string_view(text) != "0" : !may_use_shared_pointers();
}

unsigned flags_of(const OpenFile& file) {
    return opened | (file.why_not.empty() ? taken : 0U) |
           (wants_profile() || wants_explanation() ? 0U : silent) | (may_be_late() ? late_views : 0U);
}

/// What all ranks have agreed on: `all`.
OpenFile& finish_open(std::unique_ptr<OpenFile> file, unsigned all, MPI_Info info) {
    file->is_reported = (all & silent) == 0;
    if ((all & taken) == 0 && file->why_not.empty())
        file->why_not = "another rank cannot reach it by POSIX calls, or has too many files open";
    PMPI_Comm_rank(file->comms->comm, &file->rank);
    PMPI_Comm_size(file->comms->comm, &file->num_ranks);
    file->hints = hints_of_info(info);
    file->has_late_views = (all & late_views) != 0 && file->why_not.empty();
    if (!file->why_not.empty()) explain(*file, "passes to the MPI library: " + file->why_not);
    return *add_file(std::move(file));
}

/// A file that rank 0 made and that the library is to open after all.
void unmake(const LateOpen& made, const char* name) {
    if (made.is_made) ::unlink(name);
}

/// Opens the file without the MPI library where all ranks can: rank 0 makes it, the others look it up. Collective. False:
/// everything is as before.
bool open_late(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    auto file = std::make_unique<OpenFile>();
    LateOpen made;
    std::int64_t word = -1;
    if (rank == 0 && is_plain_mode(mode) && has_world() && !has_many_files())
        made = make_for_late(name, mode);
    if (made.is_there) word = mode;
    unsigned all = 0;
    const auto look = [&](std::int64_t mode_of_rank_0) -> unsigned {
        if (mode_of_rank_0 != mode || !has_world() || has_many_files() || !prefix_of(name).empty()) return 0;
        file->name = name;
        file->mode = mode;
        examine(*file, made.is_there ? std::move(made.file) : Descriptor());
        const unsigned mine = flags_of(*file);
        if ((mine & taken) == 0 || (mine & late_views) == 0) return mine & ~opened;
        file->handle = take_stand_in();
        return file->handle != MPI_FILE_NULL ? mine : mine & ~opened;
    };
    constexpr unsigned needed = opened | taken | late_views;
    file->comms = take_comm(comm, word, needed, look, all);
    if (file->comms == nullptr) {
        if (file->handle != MPI_FILE_NULL) give_back_stand_in(file->handle, true);
        unmake(made, name);
        return false;
    }
    *handle = file->handle;
    file->is_late = true;
    OpenFile& known = finish_open(std::move(file), all, info);
    known.library_view.start_late(known.comms->comm, info, known.num_ranks, known.opened_path(), mode);
    return true;
}

/// What to call a file whose name OMPIO cannot take, which is one of one letter or a long one: by `folder` then.
std::string name_for_library([[maybe_unused]] const std::string& name, [[maybe_unused]] Descriptor& folder) {
#ifdef OPEN_MPI
    if (name.size() == 1) return "./" + name;
    const std::size_t slash = name.rfind('/');
    if (name.size() > longest_name && slash != std::string::npos && prefix_of(name).empty()) {
        folder = Descriptor(::open(name.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (folder.get() >= 0) return "/proc/self/fd/" + std::to_string(folder.get()) + name.substr(slash);
    }
#endif
    return name;
}

int open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle) {
    // A communicator that MPI_File_open refuses has no collectives to agree by.
    int is_inter = 0;
    const bool is_sane = comm != MPI_COMM_NULL && name != nullptr && handle != nullptr &&
                         PMPI_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter == 0;
    if (is_sane && open_late(comm, name, mode, info, handle)) return MPI_SUCCESS;
    Descriptor folder;
    const std::string name_there = is_sane ? name_for_library(name, folder) : "";
    const int error = pass(MPI_FILE_NULL, [&] {
        return library.File_open(comm, is_sane ? name_there.c_str() : name, mode, info, handle);
    });
    int error_class = MPI_SUCCESS;  // one rank alone may have failed
    if (error != MPI_SUCCESS) PMPI_Error_class(error, &error_class);
    if (error_class == MPI_ERR_COMM || error_class == MPI_ERR_ARG) return error;
    auto file = std::make_unique<OpenFile>();
    unsigned all = 0;
    if (error == MPI_SUCCESS) {
        file->handle = *handle;
        file->name = name;
        file->mode = mode;
        file->folder = std::move(folder);
        examine(*file, Descriptor());
    }
    const auto look = [&](std::int64_t) { return error == MPI_SUCCESS ? flags_of(*file) : 0U; };
    file->comms = take_comm(comm, 0, opened, look, all);
    if (file->comms == nullptr) return error;
    OpenFile& known = finish_open(std::move(file), all, info);
    known.library_view.start(known.handle, known.num_ranks, known.opened_path(), mode);
    return error;
}

int close(MPI_File* handle) {
    std::shared_ptr<OpenFile> file = handle != nullptr ? remove_file(*handle) : nullptr;
    int error = MPI_SUCCESS;
    if (file != nullptr) {
        const bool has_met = file->engine != nullptr;
        if (has_met) error = result_of(*file, "MPI_File_close", close_engine(*file));
        if (file->is_reported) report(*file);
        file->library_view.close_own();
        // Nobody returns before all have come, as from the engine's close and the library's.
        if (!has_met && file->num_ranks > 1 && file->library_view.file() == MPI_FILE_NULL)
            PMPI_Barrier(file->comms->comm);
    }
    int closed = MPI_SUCCESS;
    if (file != nullptr && file->is_late) {
        closed = told(*file, MPI_FILE_NULL, file->library_view.close_late());
        give_back_stand_in(file->handle, !file->has_used_stand_in);
        *handle = MPI_FILE_NULL;
    } else {
        closed =
            pass(handle != nullptr ? *handle : MPI_FILE_NULL, [&] { return library.File_close(handle); });
    }
    if (file != nullptr) give_back(file->comms);
    return error != MPI_SUCCESS ? error : closed;
}

/// New hints over the file's, until the engine is open: it does not change under way.
void take_hints(OpenFile& file, MPI_Info info) {
    if (file.engine != nullptr || info == MPI_INFO_NULL) return;
    Hints hints = hints_of_info(info);
    hints.merge(file.hints);
    file.hints = std::move(hints);
}

/// Bytes in increasing order that lie within one extent: what MPI wants of the types of a view.
bool is_plain(const Layout& type) {
    return type.is_known && type.size_bytes > 0 && type.item.begin_bytes() >= 0 && type.item.is_ordered() &&
           type.item.end_bytes() - type.item.begin_bytes() <= type.extent_bytes;
}

/// Whether a view's arguments are such that the MPI library would not refuse them, by what can be told without it.
bool is_plain(MPI_Offset displacement, const Layout& etype, const Layout& filetype) {
    return displacement >= 0 && is_plain(etype) && is_plain(filetype) &&
           filetype.size_bytes % etype.size_bytes == 0;
}

int set_view(OpenFile& file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* representation, MPI_Info info) {
    // Equal on all ranks, as MPI wants the representation to be: the library's call is collective.
    const bool is_late = file.has_late_views && file.why_not.empty() && !file.is_atomic &&
                         representation != nullptr && strcasecmp(representation, "native") == 0;
    const bool is_null = etype == MPI_DATATYPE_NULL || filetype == MPI_DATATYPE_NULL;
    Layout element, tile;
    if (is_late && !is_null) {
        element = committed_layout_of(etype);
        tile = etype == filetype ? element : committed_layout_of(filetype);
        if (!element.is_committed || !tile.is_committed) {
            PMPI_File_call_errhandler(file.handle, MPI_ERR_TYPE);
            return MPI_ERR_TYPE;
        }
    }
    ViewArguments arguments(displacement, etype, filetype, info);
    if (is_late) {
        if (!is_plain(displacement, element, tile)) {
            file.pointer.leave(file.library_view.in_force());  // the judge loses it
            const int error = file.library_view.verdict(arguments);
            if (error != MPI_SUCCESS) {
                PMPI_File_call_errhandler(file.handle, error);
                return error;
            }
        }
        file.library_view.keep(std::move(arguments));
        ++file.counts.late_views;
    } else {
        int error = file.library_view.file() == MPI_FILE_NULL ? settle_view(file) : MPI_SUCCESS;
        if (error != MPI_SUCCESS) return error;
        const MPI_File at = file.library_view.file();
        error = told(file, at, arguments.set_on(at, representation));
        if (error != MPI_SUCCESS) return error;
        if (file.is_late) {  // MPI_File_get_type_extent goes by the handle's representation
            file.has_used_stand_in = true;
            (void)pass(file.handle, [&] {
                return library.File_set_view(file.handle, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE,
                                             representation, MPI_INFO_NULL);
            });
        }
        file.library_view.was_set(arguments);
        element = layout_of(etype);
        tile = etype == filetype ? element : layout_of(filetype);
    }
    ++file.counts.views;
    file.has_nonblocking_writes = false;  // MPI: no request may be active here
    file.view = View(displacement, element, tile);
    file.pointer.reset(element.size_bytes, !is_late);
    file.is_native = strcasecmp(representation, "native") == 0;
    if (!file.is_native)
        explain(file, std::string("passes while its data representation is ") + representation);
    take_hints(file, info);
    return MPI_SUCCESS;
}

}  // namespace

int settle_view(OpenFile& file) {
    if (!file.library_view.is_waiting()) return MPI_SUCCESS;
    file.pointer.leave(file.library_view.in_force());
    const int error = file.library_view.set_on_file();
    if (error != MPI_SUCCESS && file.is_late) PMPI_File_call_errhandler(file.handle, error);
    return error;
}

int refuse_split(const OpenFile& file) {
#ifdef OPEN_MPI
    constexpr int error = MPI_ERR_REQUEST;
#else
    constexpr int error = MPI_ERR_IO;
#endif
    PMPI_File_call_errhandler(file.handle, error);
    return error;
}

void place_from_end(OpenFile& file, MPI_Offset& offset, int& whence) {
    wait_for_left_calls(file);
    const std::int64_t size_bytes = file.is_native ? file.size_bytes() : -1;
    const std::int64_t end = size_bytes >= 0 ? file.view.etypes_below(size_bytes) : -1;
    MPI_Offset from_start = 0;
    if (end < 0 || __builtin_add_overflow(offset, end, &from_start)) return;
    offset = from_start;
    whence = MPI_SEEK_SET;
}

int refuse_shared(const OpenFile& file) {
    std::fprintf(
        stderr,
        "hakobi: %s: a call at the shared file pointer that no program or library here was linked with; "
        "HAKOBI_LATE_VIEWS=0 makes it possible\n",
        file.name.c_str());
    PMPI_File_call_errhandler(file.handle, MPI_ERR_UNSUPPORTED_OPERATION);
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

}  // namespace hakobi::mpiio

extern "C" {

HAKOBI_EXPORT int hakobi_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
    using namespace hakobi::mpiio;
    if (Inside::is_nested()) return library.File_open(comm, name, mode, info, file);
    return hakobi::mpiio::open(comm, name, mode, info, file);
}

HAKOBI_EXPORT int hakobi_File_close(MPI_File* file) {
    using namespace hakobi::mpiio;
    if (file != nullptr && Inside::covers(*file)) {
        // By an error handler, within the call that failed: its caller still has the file.
        static auto* const closed_within = new std::vector<std::shared_ptr<OpenFile>>;
        static std::mutex mutex;
        const std::lock_guard lock(mutex);
        if (auto known = remove_file(*file)) {
            known->descriptor = hakobi::Descriptor();
            closed_within->push_back(std::move(known));
        }
        return library.File_close(file);
    }
    return hakobi::mpiio::close(file);
}

HAKOBI_EXPORT int hakobi_File_set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype,
                                       MPI_Datatype filetype, const char* representation, MPI_Info info) {
    using namespace hakobi::mpiio;
    if (OpenFile* const known = entered(file)) {
        return set_view(*known, displacement, etype, filetype, representation, info);
    }
    return pass(file, [&] {
        return library.File_set_view(file, displacement, etype, filetype, representation, info);
    });
}

HAKOBI_EXPORT int hakobi_File_set_atomicity(MPI_File file, int flag) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    const int error = known != nullptr
                          ? pass_together(*known, Pointer::unused,
                                          [&](MPI_File at) { return library.File_set_atomicity(at, flag); })
                          : pass(file, [&] { return library.File_set_atomicity(file, flag); });
    if (error != MPI_SUCCESS || known == nullptr) return error;
    known->is_atomic = flag != 0;
    if (known->is_atomic) explain(*known, "passes while it is in atomic mode");
    return error;
}

HAKOBI_EXPORT int hakobi_File_sync(MPI_File file) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    const MPI_File at = known != nullptr ? known->library_view.file() : file;
    int error = at != MPI_FILE_NULL ? pass(at, [&] { return library.File_sync(at); }) : MPI_SUCCESS;
    if (known == nullptr) return error;
    (void)told(*known, at, error);
    if (error == MPI_SUCCESS) {
        error = known->library_view.sync_own();
        if (error != MPI_SUCCESS) PMPI_File_call_errhandler(file, error);
    }
    known->has_nonblocking_writes = false;  // MPI: no request may be active here
    const bool is_engine_asked = known->engine != nullptr && known->has_unsynced_writes;
    known->has_unsynced_writes = false;
    const int everywhere = agreed_error(*known, error);
    if (is_engine_asked) {
        const hakobi::mpi::Agreed synced = known->engine->sync();
        if (everywhere == MPI_SUCCESS) return result_of(*known, "MPI_File_sync", synced);
    }
    return everywhere;
}

HAKOBI_EXPORT int hakobi_File_set_info(MPI_File file, MPI_Info info) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    const MPI_File at = known != nullptr ? known->library_view.file() : file;
    int error = at != MPI_FILE_NULL ? pass(at, [&] { return library.File_set_info(at, info); }) : MPI_SUCCESS;
    if (known != nullptr) (void)told(*known, at, error);
    if (error != MPI_SUCCESS || known == nullptr) return error;
    take_hints(*known, info);
    return known->library_view.set_info(info);
}

HAKOBI_EXPORT int hakobi_File_get_info(MPI_File file, MPI_Info* info) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    const int error = known != nullptr ? known->library_view.get_info(info)
                                       : pass(file, [&] { return library.File_get_info(file, info); });
    if (known != nullptr) (void)told(*known, known->library_view.file(), error);
    if (error == MPI_SUCCESS && known != nullptr && known->library_view.is_waiting())
        overlay_info(known->library_view.waiting().info(), *info);
    if (error == MPI_SUCCESS && known != nullptr && known->is_taken()) {
        add_to_info(known->engine != nullptr ? known->engine->options() : local_options(*known, false),
                    *info);
    }
    return error;
}

HAKOBI_EXPORT int hakobi_File_seek(MPI_File file, MPI_Offset offset, int whence) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known == nullptr) return pass(file, [&] { return library.File_seek(file, offset, whence); });
    if (whence == MPI_SEEK_END) place_from_end(*known, offset, whence);
    if (known->is_taken() && whence == MPI_SEEK_SET && offset >= 0) {
        known->pointer.set(offset);
        return MPI_SUCCESS;
    }
    return pass_alone(*known, Pointer::individual,
                      [&](MPI_File at) { return library.File_seek(at, offset, whence); });
}

HAKOBI_EXPORT int hakobi_File_get_position(MPI_File file, MPI_Offset* offset) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known == nullptr) return pass(file, [&] { return library.File_get_position(file, offset); });
    if (known->is_taken() && offset != nullptr) {
        const std::int64_t position = known->pointer.position_etypes(known->library_view.in_force());
        if (position >= 0) {
            *offset = position;
            return MPI_SUCCESS;
        }
    }
    return pass_alone(*known, Pointer::individual,
                      [&](MPI_File at) { return library.File_get_position(at, offset); });
}

HAKOBI_EXPORT int hakobi_File_get_view(MPI_File file, MPI_Offset* displacement, MPI_Datatype* etype,
                                       MPI_Datatype* filetype, char* representation) {
    using namespace hakobi::mpiio;
    const auto call = [&](MPI_File at) {
        return library.File_get_view(at, displacement, etype, filetype, representation);
    };
    OpenFile* const known = entered(file);
    return known != nullptr ? pass_alone(*known, Pointer::unused, call)
                            : pass(file, [&] { return call(file); });
}

HAKOBI_EXPORT int hakobi_File_get_byte_offset(MPI_File file, MPI_Offset offset, MPI_Offset* displacement) {
    using namespace hakobi::mpiio;
    const auto call = [&](MPI_File at) { return library.File_get_byte_offset(at, offset, displacement); };
    OpenFile* const known = entered(file);
    return known != nullptr ? pass_alone(*known, Pointer::unused, call)
                            : pass(file, [&] { return call(file); });
}

}  // extern "C"
