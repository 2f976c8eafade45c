#include "mpiio/open_file.hpp"

#include <shared_mutex>
#include <unordered_map>

namespace hakobi::mpiio {
namespace {

struct Table {
    std::shared_mutex mutex;
    std::unordered_map<MPI_File, std::unique_ptr<OpenFile>> files;
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

}  // namespace

io::EngineCounters total_counters(const OpenFile& file) {
    io::EngineCounters sum = file.closed_counters;
    if (file.engine != nullptr) add(sum, file.engine->counters());
    return sum;
}

OpenFile* find_file(MPI_File handle) {
    Table& files = table();
    const std::shared_lock lock(files.mutex);
    const auto found = files.files.find(handle);
    return found != files.files.end() ? found->second.get() : nullptr;
}

OpenFile* add_file(std::unique_ptr<OpenFile> file) {
    Table& files = table();
    const std::unique_lock lock(files.mutex);
    auto& place = files.files[file->handle];
    place = std::move(file);
    return place.get();
}

std::unique_ptr<OpenFile> remove_file(MPI_File handle) {
    Table& files = table();
    const std::unique_lock lock(files.mutex);
    const auto found = files.files.find(handle);
    if (found == files.files.end()) return nullptr;
    std::unique_ptr<OpenFile> file = std::move(found->second);
    files.files.erase(found);
    return file;
}

}  // namespace hakobi::mpiio
