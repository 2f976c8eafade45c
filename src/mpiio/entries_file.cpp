// The functions that open, close and describe a file, as the front (front.c) looks them up: MPI_File_open is
// hakobi_File_open. The MPI library is always called too: handle, view, info and errors are its own.
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>

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

namespace hakobi::mpiio {
namespace {

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

/// Which file on this node the MPI library opened as `name`: ROMIO takes a prefix off, OMPIO leaves it in the
/// name. "" where both files are there and the library may be either.
std::string path_of(const char* name) {
    const std::string_view prefix = prefix_of(name);
    const char* path = name;
    if (!prefix.empty()) {
        const char* const without = name + prefix.size() + 1;
#ifdef OPEN_MPI
        struct stat found = {};
        const bool is_literal = ::stat(name, &found) == 0;
        if (is_literal && ::stat(without, &found) == 0) return "";
        if (!is_literal) path = without;
#else
        path = without;
#endif
    }
    char* absolute = ::realpath(path, nullptr);
    std::string result = absolute != nullptr ? absolute : "";
    std::free(absolute);
    return result;
}

/// Fills in what the file is, and why the engine cannot take it, as far as this rank sees.
void examine(OpenFile& file, int mode) {
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
    file.path = path_of(file.name.c_str());
    file.descriptor = Descriptor(file.path.empty() ? -1 : ::open(file.path.c_str(), O_PATH | O_CLOEXEC));
    const bool is_found = file.descriptor.get() >= 0 && ::fstat(file.descriptor.get(), &found) == 0;
    if (is_found) file.identity = {found.st_dev, found.st_ino};  // also for a handle beside one that is taken
    if (!file.why_not.empty()) return;
    if (!is_found) {
        file.why_not = "its path cannot be found by POSIX calls";
    } else if (!S_ISREG(found.st_mode)) {
        file.why_not = "it is not a regular file";
    } else {
        // The library may have the file open with more rights than its mode gives now (umask, chmod).
        const int access = !file.can_write ? O_RDONLY : file.can_read ? O_RDWR : O_WRONLY;
        const Descriptor again(::open(file.opened_path().c_str(), access | O_CLOEXEC));
        if (again.get() < 0) file.why_not = "it cannot be opened a second time";
    }
}

/// What ranks must know of each other at open; a bit stays when all ranks have it.
constexpr unsigned opened = 1, taken = 2, silent = 4, late_views = 8;

/// Whether the library may get views when it needs them (library_view.hpp) as far as this rank sees. A call at the shared
/// pointer is one rank's and needs the view on the file's handle: not in programs that can make one.
bool may_have_late_views() {
    const char* const text = std::getenv("HAKOBI_LATE_VIEWS");
    return text != nullptr && *text != '\0' ? std::string_view(text) != "0" : !may_use_shared_pointers();
}

int open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle) {
    const int error = pass(MPI_FILE_NULL, [&] { return library.File_open(comm, name, mode, info, handle); });
    // One rank alone may have failed. A communicator that MPI_File_open refuses has no collectives to agree
    // by.
    int error_class = MPI_SUCCESS;
    if (error != MPI_SUCCESS) PMPI_Error_class(error, &error_class);
    if (error_class == MPI_ERR_COMM || error_class == MPI_ERR_ARG) return error;
    auto file = std::make_unique<OpenFile>();
    unsigned all = 0;
    if (error == MPI_SUCCESS) {
        file->handle = *handle;
        file->name = name;
        examine(*file, mode);
        all = opened | (file->why_not.empty() ? taken : 0U) |
              (wants_profile() || wants_explanation() ? 0U : silent) |
              (may_have_late_views() ? late_views : 0U);
    }
    file->comms = take_comm(comm, opened, all);
    if (file->comms == nullptr) return error;
    file->is_reported = (all & silent) == 0;
    if ((all & taken) == 0 && file->why_not.empty())
        file->why_not = "another rank cannot reach it by POSIX calls";
    PMPI_Comm_rank(file->comms->comm, &file->rank);
    PMPI_Comm_size(file->comms->comm, &file->num_ranks);
    file->hints = hints_of_info(info);
    file->has_late_views = (all & late_views) != 0 && file->why_not.empty();
    file->library_view.start(file->handle, file->num_ranks, file->opened_path(), mode);
    if (!file->why_not.empty()) explain(*file, "passes to the MPI library: " + file->why_not);
    add_file(std::move(file));
    return error;
}

int close(MPI_File* handle) {
    std::shared_ptr<OpenFile> file = handle != nullptr ? remove_file(*handle) : nullptr;
    int error = MPI_SUCCESS;
    if (file != nullptr) {
        if (file->engine != nullptr) error = result_of(*file, "MPI_File_close", close_engine(*file));
        if (file->is_reported) report(*file);
        file->library_view.close_own();
        give_back(file->comms);
    }
    const int closed =
        pass(handle != nullptr ? *handle : MPI_FILE_NULL, [&] { return library.File_close(handle); });
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
        const int error = pass(file.handle, [&] {
            return library.File_set_view(file.handle, displacement, etype, filetype, representation, info);
        });
        if (error != MPI_SUCCESS) return error;
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
    return file.library_view.set_on_file();
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
    const int settled = known != nullptr ? settle_view(*known) : MPI_SUCCESS;
    if (settled != MPI_SUCCESS) return settled;
    const int error = pass(file, [&] { return library.File_set_atomicity(file, flag); });
    if (error != MPI_SUCCESS || known == nullptr) return error;
    known->is_atomic = flag != 0;
    if (known->is_atomic) explain(*known, "passes while it is in atomic mode");
    return error;
}

HAKOBI_EXPORT int hakobi_File_sync(MPI_File file) {
    using namespace hakobi::mpiio;
    int error = pass(file, [&] { return library.File_sync(file); });
    OpenFile* const known = entered(file);
    if (known == nullptr) return error;
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
    const int error = pass(file, [&] { return library.File_set_info(file, info); });
    OpenFile* const known = entered(file);
    if (error != MPI_SUCCESS || known == nullptr) return error;
    take_hints(*known, info);
    return known->library_view.set_info(info);
}

HAKOBI_EXPORT int hakobi_File_get_info(MPI_File file, MPI_Info* info) {
    using namespace hakobi::mpiio;
    const int error = pass(file, [&] { return library.File_get_info(file, info); });
    OpenFile* const known = entered(file);
    if (error == MPI_SUCCESS && known != nullptr && known->library_view.is_waiting())
        overlay_info(known->library_view.waiting().info(), *info);
    if (error == MPI_SUCCESS && known != nullptr && known->is_taken()) {
        add_to_info(known->engine != nullptr ? known->engine->options() : local_options(known->hints, false),
                    *info);
    }
    return error;
}

HAKOBI_EXPORT int hakobi_File_seek(MPI_File file, MPI_Offset offset, int whence) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known == nullptr) return pass(file, [&] { return library.File_seek(file, offset, whence); });
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
