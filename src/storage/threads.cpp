#include "storage/threads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/thread.hpp"
#include "storage/concurrency.hpp"
#include "storage/transfer.hpp"

namespace hakobi::storage {

namespace {

class ThreadsAccess final : public Access {
  public:
    ThreadsAccess(File* file, const AccessOptions& options)
        : file_(file),
          limit_(std::max(1, options.num_threads)),
          cores_(options.cores),
          concurrency_(options.learnt && options.learnt->limit() == limit_
                           ? *options.learnt
                           : Concurrency(limit_, num_cores())) {
        blocks_.store(concurrency_.blocks());
    }

    ~ThreadsAccess() override {
        {
            std::unique_lock lock(mutex_);
            is_drained_.wait(lock, [&] { return num_pending_ == 0; });
            is_ending_ = true;
        }
        has_work_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    void submit(Request& request) override {
        {
            std::unique_lock lock(mutex_);
            queue_.push_back(&request);
            ++num_pending_;
            start_threads();
            if (!threads_.empty()) {
                if (may_begin()) has_work_.notify_one();
                return;
            }
            // No thread to be had: the caller does the work itself.
            queue_.pop_back();
        }
        transfer(file_of(request, file_), request, 0);
        finish(request);
    }

    void drain() override {
        std::unique_lock lock(mutex_);
        is_drained_.wait(lock, [&] { return num_pending_ == 0; });
    }

    [[nodiscard]] std::string_view name() const noexcept override { return "threads"; }
    [[nodiscard]] bool storage_blocks() const noexcept override {
        return blocks_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] ServiceCosts::Cost cost(bool is_write) const override {
        const std::unique_lock lock(mutex_);
        return concurrency_.cost(is_write);
    }
    [[nodiscard]] std::optional<Concurrency> learnt() const override {
        const std::unique_lock lock(mutex_);
        return concurrency_;
    }

  private:
    // All below with mutex_ held, if not said otherwise.

    [[nodiscard]] bool may_begin() const {
        return !queue_.empty() && num_running_ < concurrency_.allowed(queue_.front()->is_write);
    }

    /// One thread for each request that may begin now and finds none asleep.
    void start_threads() {
        const int wanted = std::min({concurrency_.allowed(queue_.front()->is_write), limit_,
                                     num_running_ + static_cast<int>(queue_.size())});
        while (static_cast<int>(threads_.size()) < wanted) {
            const int index = static_cast<int>(threads_.size());
            std::optional<std::thread> thread =
                start_thread("hakobi-io" + std::to_string(index), cores_, [this, index] { work(index); });
            if (!thread) return;  // the process has none left to give; those that run must do
            threads_.push_back(std::move(*thread));
        }
    }

    /// Takes the lock itself.
    void work(int thread) {
        std::unique_lock lock(mutex_);
        for (;;) {
            has_work_.wait(lock, [&] { return may_begin() || (is_ending_ && queue_.empty()); });
            if (queue_.empty()) return;
            Request& request = *queue_.front();
            queue_.pop_front();
            ServiceSample sample;
            sample.is_write = request.is_write;
            sample.num_running = ++num_running_;
            if (may_begin()) has_work_.notify_one();
            lock.unlock();

            const ServiceClock clock;
            transfer(file_of(request, file_), request, thread);
            account(request, sample);
            clock.stop(sample);

            lock.lock();
            concurrency_.completed(sample);
            blocks_.store(concurrency_.blocks(), std::memory_order_relaxed);
            --num_running_;
            if (!queue_.empty()) {
                start_threads();
                if (may_begin()) has_work_.notify_one();
            }
            lock.unlock();
            finish(request);
            lock.lock();
        }
    }

    /// Without the lock: `done` may submit. The request is not touched afterwards; it may be gone.
    void finish(Request& request) {
        if (request.done != nullptr) request.done(request);
        std::unique_lock lock(mutex_);
        if (--num_pending_ == 0) is_drained_.notify_all();
    }

    File* file_;
    const int limit_;
    const CoreSet cores_;
    std::atomic<bool> blocks_{false};
    mutable std::mutex mutex_;
    std::condition_variable has_work_;
    std::condition_variable is_drained_;
    std::deque<Request*> queue_;    // not yet taken up
    std::int64_t num_pending_ = 0;  // submitted and not done: in the queue, in service, or in `done`
    int num_running_ = 0;           // in service
    bool is_ending_ = false;
    Concurrency concurrency_;
    std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Access> make_threads_access(File* file, const AccessOptions& options) {
    return std::make_unique<ThreadsAccess>(file, options);
}

}  // namespace hakobi::storage
