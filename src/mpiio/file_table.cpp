#include "mpiio/file_table.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

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
        const auto [begin, end] = handles.equal_range(file->facts.identity);
        const auto of_handle =
            std::find_if(begin, end, [&](const auto& each) { return each.second == handle; });
        if (of_handle != end) handles.erase(of_handle);
        return file;
    }
};

Table& table() {
    static auto* const the_table = new Table;  // never destroyed: see file_table.hpp
    return *the_table;
}

}  // namespace

OpenFile* find_file(MPI_File handle) {
    // The same file as last time, mostly. Files that come or go meanwhile have other handles, or are the
    // program's mistake.
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

OpenFile& add_file(std::unique_ptr<OpenFile> file) {
    Table& files = table();
    const std::unique_lock lock(files.mutex);
    files.num_changes.fetch_add(1, std::memory_order_release);
    (void)files.take(file->facts.handle);
    auto& place = files.files[file->facts.handle];
    place = std::move(file);
    if (place->facts.identity.inode != 0) files.handles.emplace(place->facts.identity, place->facts.handle);
    return *place;
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

std::vector<std::shared_ptr<OpenFile>> all_files() {
    std::vector<std::shared_ptr<OpenFile>> found;
    const std::shared_lock lock(table().mutex);
    for (const auto& [handle, file] : table().files) found.push_back(file);
    std::ranges::sort(found, {}, [](const auto& file) {
        return std::pair(file->facts.comms->owner, file->facts.comms->id);
    });
    return found;
}

std::vector<std::shared_ptr<OpenFile>> handles_of(const OpenFile& file) {
    std::vector<std::shared_ptr<OpenFile>> found;
    Table& files = table();
    const std::shared_lock lock(files.mutex);
    if (file.facts.identity.inode == 0) {
        found.push_back(files.files.at(file.facts.handle));
    } else {
        const auto [begin, end] = files.handles.equal_range(file.facts.identity);
        for (auto at = begin; at != end; ++at) found.push_back(files.files.at(at->second));
    }
    return found;
}

}  // namespace hakobi::mpiio
