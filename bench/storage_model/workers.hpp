#pragma once

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace hakobi::storage_model {

/// Threads for what goes on behind an asynchronous call: as many as there have been jobs at once. They live
/// as long as the process; a forked child begins with none.
class Workers {
  public:
    static Workers& instance() {
        static Workers* workers = [] {
            ::pthread_atfork(nullptr, nullptr,
                             [] { current() = new Workers; });  // the parent's threads are not here
            return current() = new Workers;
        }();
        (void)workers;
        return *current();
    }

    void take(std::function<void()> job) {
        const std::scoped_lock lock(mutex_);
        jobs_.push_back(std::move(job));
        if (num_idle_ < static_cast<int>(jobs_.size())) std::thread([this] { work(); }).detach();
        is_there_.notify_one();
    }

  private:
    static Workers*& current() {
        static Workers* workers = nullptr;
        return workers;
    }

    [[noreturn]] void work() {
        for (;;) {
            std::unique_lock lock(mutex_);
            ++num_idle_;
            is_there_.wait(lock, [this] { return !jobs_.empty(); });
            --num_idle_;
            const std::function<void()> job = std::move(jobs_.front());
            jobs_.pop_front();
            lock.unlock();
            job();
        }
    }

    std::mutex mutex_;
    std::condition_variable is_there_;
    std::deque<std::function<void()>> jobs_;
    int num_idle_ = 0;
};

}  // namespace hakobi::storage_model
