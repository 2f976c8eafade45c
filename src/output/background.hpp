#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <hakobi/comm.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/futex.hpp"
#include "base/mapping.hpp"
#include "base/thread.hpp"
#include "storage/file.hpp"

namespace hakobi::output {

class Background;

/// A file of which one thread writes what another gives. `write_at` copies and returns, `sync` and `close` return at
/// once; all are carried out in their order by Background's thread, and the first error of any is the file's. Nothing
/// can be read, and there is no lock. Thread rule: the functions belong to the thread that gave the file.
class BackgroundFile final : public storage::File, public std::enable_shared_from_this<BackgroundFile> {
  public:
    BackgroundFile(Background& background, storage::FilePtr file)
        : background_(background), file_(std::move(file)) {}

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override;
    Status sync() override;
    Status close() override;
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override;
    Result<std::int64_t> size_bytes() override;
    Status set_size(std::int64_t bytes) override;
    Status preallocate(std::int64_t bytes) override;
    [[nodiscard]] const std::string& path() const noexcept override { return file_->path(); }
    [[nodiscard]] const storage::Abilities& abilities() const noexcept override { return file_->abilities(); }

    /// Has the thread call `then` with the file when what was written before has been, unless that has failed.
    void when_written(std::function<void(storage::File&)> then);
    /// What follows is not written.
    void abandon() noexcept { is_abandoned_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool is_done() const noexcept { return is_done_.load(std::memory_order_acquire) != 0; }

  private:
    friend class Background;
    Background& background_;
    storage::FilePtr file_;
    Status status_;         // the thread's own until is_done_
    double done_s_ = 0;     // likewise
    FutexWord is_done_{0};  // closed
    std::atomic<bool> is_abandoned_{false};
};

/// The thread, and the memory that values wait in: at most `budget_bytes`; who finds no room waits for the thread.
class Background {
  public:
    /// The thread may run on `cores`.
    Background(const Comm& comm, std::int64_t budget_bytes, const CoreSet& cores)
        : comm_(comm), budget_bytes_(budget_bytes), cores_(cores) {}
    /// What has not been written is not written any more.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// Takes memory and starts the thread. Where the process can have none of either, that is said on stderr once and
    /// files are written before their calls return. Local.
    void prepare();
    /// `file`, to be written behind the caller; it is waited for after its `close`.
    std::shared_ptr<BackgroundFile> take(storage::FilePtr file);
    /// When `file` is closed: its error. `done_s` is when that was, on now_s(). Local; MPI is progressed meanwhile.
    Status wait(BackgroundFile& file, double& done_s);

  private:
    friend class BackgroundFile;
    enum class Kind { write, sync, then, close };
    struct Job {
        Kind kind = Kind::close;
        std::shared_ptr<BackgroundFile> file;
        const std::byte* data = nullptr;
        std::int64_t length_bytes = 0, offset_bytes = 0;
        std::int64_t end_of_memory = 0;  // taken by this job and those before it
        std::function<void(storage::File&)> then = {};
    };
    /// Carries the job out now where there is no thread.
    void give(Job job);
    void write(const std::shared_ptr<BackgroundFile>& file, std::span<const std::byte> data,
               std::int64_t offset);
    /// Room for `length_bytes` in one piece, a quarter of the memory at most.
    std::byte* room(std::int64_t length_bytes);
    void run();  // the thread's body
    static void carry_out(const Job& job);

    Comm comm_;
    std::int64_t budget_bytes_;
    CoreSet cores_;
    bool is_prepared_ = false;
    Mapping memory_;
    // A ring, in bytes since it was last empty; `released_` is the thread's.
    std::int64_t taken_ = 0;
    std::atomic<std::int64_t> released_{0};

    std::mutex mutex_;  // of jobs_
    std::deque<Job> jobs_;
    FutexWord num_given_{0}, num_done_{0};
    std::atomic<bool> is_ending_{false};
    std::optional<std::thread> thread_;
};

/// A rank's files of steps that drain, the oldest first; null for a step of which it writes none.
using DrainingFiles = std::deque<std::shared_ptr<BackgroundFile>>;
inline constexpr int most_draining_files = 8;

/// The open step's file, which may be null, becomes the youngest of them, or is written no further. Local.
void start_draining(std::shared_ptr<BackgroundFile>& filled, bool is_ok, DrainingFiles& files);
/// How many of the oldest need no waiting. Local.
[[nodiscard]] int drained(const DrainingFiles& files);
/// Takes the oldest out when it is closed; `background` may be null where this rank writes none. Local.
Status wait_for_oldest(DrainingFiles& files, Background* background, double& stored_s);
/// Lets none of them be written any further. Local.
void drop(DrainingFiles& files);

}  // namespace hakobi::output
