#include "mpiio/open_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hakobi::mpiio {
namespace {

struct Table {
    std::shared_mutex mutex;
    std::atomic<std::uint64_t> num_changes = 0;  // changed under the mutex
    std::unordered_map<MPI_File, std::shared_ptr<OpenFile>> files;
    std::multimap<FileIdentity, MPI_File> handles;  // of `files`, where there is an identity

    std::shared_ptr<OpenFile> take(MPI_File handle) {
        const auto found = files.find(handle);
        if (found == files.end()) return nullptr;
        std::shared_ptr<OpenFile> file = std::move(found->second);
        files.erase(found);
        const auto [begin, end] = handles.equal_range(file->identity);
        const auto of_handle =
            std::find_if(begin, end, [&](const auto& each) { return each.second == handle; });
        if (of_handle != end) handles.erase(of_handle);
        return file;
    }
};

Table& table() {
    static auto* const the_table = new Table;  // never destroyed: see open_file.hpp
    return *the_table;
}

void add(io::EngineCounters& sum, const io::EngineCounters& part) {
    sum.calls += part.calls;
    sum.cycles += part.cycles;
    sum.direct_calls += part.direct_calls;
    sum.user_bytes += part.user_bytes;
    sum.copied_bytes += part.copied_bytes;
    sum.pieces += part.pieces;
    sum.messages += part.messages;
    sum.message_bytes += part.message_bytes;
    sum.storage_bytes += part.storage_bytes;
    sum.call_s += part.call_s;
    sum.plan_s += part.plan_s;
    sum.copy_s += part.copy_s;
    sum.wait_buffer_s += part.wait_buffer_s;
    sum.wait_peer_s += part.wait_peer_s;
    sum.storage_s += part.storage_s;
}

/// That this rank has of the same file. Nobody waits for a file's `engine_use` with the table's mutex.
std::vector<std::shared_ptr<OpenFile>> handles_of(const OpenFile& file) {
    std::vector<std::shared_ptr<OpenFile>> found;
    Table& files = table();
    const std::shared_lock lock(files.mutex);
    if (file.identity.inode == 0) {
        found.push_back(files.files.at(file.handle));
    } else {
        const auto [begin, end] = files.handles.equal_range(file.identity);
        for (auto at = begin; at != end; ++at) found.push_back(files.files.at(at->second));
    }
    return found;
}

}  // namespace

std::string OpenFile::real_path() const {
    return target_of(opened_path());
}

std::int64_t OpenFile::size_bytes() const {
    struct stat found = {};
    return ::fstat(descriptor.get(), &found) == 0 ? found.st_size : -1;
}

io::EngineCounters total_counters(const OpenFile& file) {
    io::EngineCounters sum = file.closed_counters;
    if (file.engine != nullptr) add(sum, file.engine->counters());
    return sum;
}

OpenFile* find_file(MPI_File handle) {
    // The same file as last time, mostly. What comes or goes meanwhile is another handle's, or the program's mistake.
    thread_local struct {
        MPI_File handle = MPI_FILE_NULL;
        OpenFile* file = nullptr;
        std::uint64_t num_changes = 0;
    } last;
    Table& files = table();
    const std::uint64_t num_changes = files.num_changes.load(std::memory_order_acquire);
    if (last.num_changes == num_changes && last.handle == handle && num_changes != 0) return last.file;
    const std::shared_lock lock(files.mutex);
    const auto found = files.files.find(handle);
    last = {handle, found != files.files.end() ? found->second.get() : nullptr, num_changes};
    return last.file;
}

OpenFile* add_file(std::unique_ptr<OpenFile> file) {
    Table& files = table();
    const std::unique_lock lock(files.mutex);
    files.num_changes.fetch_add(1, std::memory_order_release);
    (void)files.take(file->handle);
    auto& place = files.files[file->handle];
    place = std::move(file);
    if (place->identity.inode != 0) files.handles.emplace(place->identity, place->handle);
    return place.get();
}

bool has_many_files() {
    constexpr rlim_t part = 16;  // of the process's descriptors
    struct rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    const std::shared_lock lock(table().mutex);
    return table().files.size() >= limit.rlim_cur / part;
}

std::shared_ptr<OpenFile> remove_file(MPI_File handle) {
    Table& files = table();
    const std::unique_lock lock(files.mutex);
    files.num_changes.fetch_add(1, std::memory_order_release);
    return files.take(handle);
}

namespace {

/// Whether somebody may be in a collective write of the file while this rank writes it by this handle: through another handle
/// of it, or by another thread. A rank's one thread cannot, where all ranks of the program are the handle's.
bool may_meet_fillers(const OpenFile& file, std::size_t num_handles) {
    if (!has_world()) return true;
    int world_size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    return num_handles > 1 || file.num_ranks < world_size || is_called_by_threads();
}

int lock_of(OpenFile& file) {
    std::call_once(file.lock_opened, [&] {
        if (file.descriptor.get() >= 0)
            file.lock = Descriptor(::open(file.opened_path().c_str(), O_RDONLY | O_CLOEXEC));
    });
    return file.lock.get();
}

/// The call may last beyond its return, without a lock: no collective call of this rank's handles fills holes any more.
void leave_holes(OpenFile& file) {
    if (file.has_unfinished_writes.exchange(true)) return;
    const std::shared_lock lock(file.engine_use);
    if (file.engine != nullptr) file.engine->leave_holes();
}

}  // namespace

void wait_for_left_calls(OpenFile& file) {
    const std::shared_lock lock(file.engine_use);
    if (file.engine != nullptr) file.engine->wait_for_left_calls();
}

OwnWrite::OwnWrite(OpenFile& file, bool ends_later) {
    const auto handles = handles_of(file);
    for (const auto& each : handles) wait_for_left_calls(*each);
    if (ends_later) {
        for (const auto& each : handles) leave_holes(*each);
    } else if (may_meet_fillers(file, handles.size())) {
        lock_.emplace(lock_of(file));
    }
}

}  // namespace hakobi::mpiio
