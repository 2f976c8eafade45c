#include "io/storage_memory.hpp"

#include <sys/stat.h>

#include <mutex>

namespace hakobi::io {
namespace {

struct Memory {
    std::mutex mutex;
    std::map<std::uint64_t, StorageMemory::Known> known;
};
Memory& memory() {
    static Memory memory;
    return memory;
}

}  // namespace

std::uint64_t StorageMemory::device_of(const storage::File& file) {
    struct stat status {};
    return file.descriptor() >= 0 && fstat(file.descriptor(), &status) == 0 ? status.st_dev : 0;
}

StorageMemory::Known StorageMemory::of(const storage::File& file) {
    const std::uint64_t device = device_of(file);
    const std::scoped_lock lock(memory().mutex);
    const auto at = memory().known.find(device);
    return at == memory().known.end() ? Known() : at->second;
}

void StorageMemory::learn(std::uint64_t device, Service service,
                          std::optional<storage::Concurrency> threads) {
    if (device == 0) return;
    const std::scoped_lock lock(memory().mutex);
    Known& entry = memory().known[device];
    entry.service = service;
    if (threads) entry.threads.insert_or_assign(threads->limit(), *threads);
}

}  // namespace hakobi::io
