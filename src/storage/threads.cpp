#include "storage/threads.hpp"

#include <algorithm>
#include <cassert>
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
        : file_(file), limit_(std::max(1, options.num_threads)), cores_(options.cores) {}

    ~ThreadsAccess() override {
        {
            std::unique_lock lock(mutex_);
            is_drained_.wait(lock, [&] { return num_pending_ == 0; });
            assert(queue_.empty());
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
    [[nodiscard]] int thread_limit() const noexcept override { return limit_; }

  private:
    // All below with mutex_ held, if not said otherwise.

    [[nodiscard]] int allowed() const {
        assert(!queue_.empty());
        const Request& next = *queue_.front();
        if (next.begins_at_once) return limit_;
        const int allowed = file_of(next, file_).profile().allowed_threads(limit_, next.is_write);
        // Reading and filling around holes is work of the processor's, which takes no writer's lock.
        const bool has_holes = std::ranges::any_of(next.extents, &Extent::has_holes);
        return has_holes ? std::max(allowed, std::min(limit_, num_cores_)) : allowed;
    }
    [[nodiscard]] bool may_begin() const { return !queue_.empty() && num_running_ < allowed(); }

    /// One thread for each request that may begin now and finds none asleep.
    void start_threads() {
        const int wanted = std::min({allowed(), limit_, num_running_ + static_cast<int>(queue_.size())});
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
            assert(num_running_ <= num_pending_);
            if (may_begin()) has_work_.notify_one();
            lock.unlock();

            const ServiceClock clock;
            File& file = file_of(request, file_);
            transfer(file, request, thread);
            account(request, sample);
            clock.stop(sample);
            file.profile().observe(limit_, sample);

            lock.lock();
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
        assert(num_pending_ > 0);
        if (--num_pending_ == 0) is_drained_.notify_all();
    }

    File* file_;
    const int limit_;
    const CoreSet cores_;
    const int num_cores_ = num_cores();
    std::mutex mutex_;
    std::condition_variable has_work_;
    std::condition_variable is_drained_;
    std::deque<Request*> queue_;    // not yet taken up
    std::int64_t num_pending_ = 0;  // submitted and not done: in the queue, in service, or in `done`
    int num_running_ = 0;           // in service
    bool is_ending_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Access> make_threads_access(File* file, const AccessOptions& options) {
    return std::make_unique<ThreadsAccess>(file, options);
}

}  // namespace hakobi::storage
