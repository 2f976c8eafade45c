#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "io/summary.hpp"
#include "storage/concurrency.hpp"
#include "storage/file.hpp"

namespace hakobi::io {

/// What this process has learnt of a file system, by its device: a file opened later need not learn it again. Any thread.
class StorageMemory {
  public:
    struct Known {
        Service service = Service::unknown;
        /// Access::learnt by its limit: aggregators and direct accesses have different numbers of threads.
        std::map<int, storage::Concurrency> threads;

        [[nodiscard]] std::optional<storage::Concurrency> of_limit(int limit) const {
            const auto at = threads.find(limit);
            return at != threads.end() ? std::optional(at->second) : std::nullopt;
        }
    };
    [[nodiscard]] static Known of(const storage::File& file);
    static void learn(const storage::File& file, Service service,
                      std::optional<storage::Concurrency> threads = {}) {
        learn(device_of(file), service, std::move(threads));
    }
    /// Nothing for device 0.
    static void learn(std::uint64_t device, Service service, std::optional<storage::Concurrency> threads);
    /// 0: the file has none.
    [[nodiscard]] static std::uint64_t device_of(const storage::File& file);
};

}  // namespace hakobi::io
