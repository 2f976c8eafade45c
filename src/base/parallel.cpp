#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/guard.hpp"
#include "base/thread.hpp"

namespace hakobi {

Status for_each_parallel(std::size_t count, int num_threads, const std::string& name,
                         const std::function<Status(std::size_t)>& work) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    Status first;
    const auto run = [&] {
        for (std::size_t number = next++; number < count; number = next++) {
            Status status = guarded(name, [&] { return work(number); });
            if (status.ok()) continue;
            const std::scoped_lock lock(mutex);
            first.keep_first(std::move(status));
            next = count;
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < std::min(count, static_cast<std::size_t>(std::max(1, num_threads))); ++i) {
        if (auto thread = start_thread(name, CoreSet{}, run)) threads.push_back(std::move(*thread));
    }
    run();
    for (std::thread& thread : threads) thread.join();
    return first;
}

}  // namespace hakobi
