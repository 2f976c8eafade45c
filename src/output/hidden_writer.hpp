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

class HiddenWriter;

/// A file of which one thread writes what another gives. `write_at` copies and returns, `sync` and `close`
/// return at once; all are carried out in their order by HiddenWriter's thread, and the first error of any is
/// the file's. Nothing can be read, and there is no lock. Thread rule: the functions belong to the thread
/// that gave the file.
class HiddenFile final : public storage::File, public std::enable_shared_from_this<HiddenFile> {
  public:
    HiddenFile(HiddenWriter& writer, storage::FilePtr file) : writer_(writer), file_(std::move(file)) {}

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override;
    Status sync() override;
    Status close() override;
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override;
    Result<std::int64_t> size_bytes() override;
    Status set_size(std::int64_t bytes) override;
    Status preallocate(std::int64_t bytes) override;
    [[nodiscard]] const std::string& path() const noexcept override { return file_->path(); }
    [[nodiscard]] const storage::Abilities& abilities() const noexcept override { return file_->abilities(); }

    /// Has the thread call `then` with the file when what was written before has been, unless that has
    /// failed.
    void when_written(std::function<void(storage::File&)> then);
    /// Drops all that would be written from now on.
    void abandon() noexcept { is_abandoned_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool is_done() const noexcept { return is_done_.load(std::memory_order_acquire) != 0; }

  private:
    friend class HiddenWriter;
    HiddenWriter& writer_;
    storage::FilePtr file_;
    Status status_;         // the thread's own until is_done_
    double done_s_ = 0;     // likewise
    FutexWord is_done_{0};  // closed
    std::atomic<bool> is_abandoned_{false};
};

/// The thread, and the memory that values wait in: at most `budget_bytes`; who finds no room waits for the
/// thread.
class HiddenWriter {
  public:
    /// The thread may run on `cores`.
    HiddenWriter(const Comm& comm, std::int64_t budget_bytes, const CoreSet& cores)
        : comm_(comm), budget_bytes_(budget_bytes), cores_(cores) {}
    /// Drops what has not been written.
    ~HiddenWriter();
    HiddenWriter(const HiddenWriter&) = delete;
    HiddenWriter& operator=(const HiddenWriter&) = delete;

    /// Takes memory and starts the thread. Where the process can have none of either, that is said on stderr
    /// once and files are written before their calls return. Local.
    void prepare();
    /// `file`, whose writing is to be hidden; it is waited for after its `close`.
    std::shared_ptr<HiddenFile> take(storage::FilePtr file);
    /// When `file` is closed: its error. `done_s` is when that was, on now_s(). Local; MPI is progressed
    /// meanwhile.
    Status wait(HiddenFile& file, double& done_s);

  private:
    friend class HiddenFile;
    enum class Kind { write, sync, then, close };
    struct Job {
        Kind kind = Kind::close;
        std::shared_ptr<HiddenFile> file;
        const std::byte* data = nullptr;
        std::int64_t length_bytes = 0, offset_bytes = 0;
        std::int64_t end_of_memory = 0;  // taken by this job and those before it
        std::function<void(storage::File&)> then = {};
    };
    /// Carries the job out now where there is no thread.
    void give(Job job);
    void write(const std::shared_ptr<HiddenFile>& file, std::span<const std::byte> data, std::int64_t offset);
    /// Room for `length_bytes` in one piece, a quarter of the memory at most.
    std::byte* room(std::int64_t length_bytes);
    void run();  // the thread's body
    static void carry_out(const Job& job);

    Comm comm_;
    std::int64_t budget_bytes_;
    CoreSet cores_;
    bool is_prepared_ = false;
    /// The memory, used as a ring; positions in bytes since it was last empty.
    struct Ring {
        Mapping memory;
        std::int64_t taken = 0;
        std::atomic<std::int64_t> released{0};  // by the thread
    } ring_;

    std::mutex mutex_;  // of jobs_
    std::deque<Job> jobs_;
    FutexWord num_given_{0}, num_done_{0};
    std::atomic<bool> is_ending_{false};
    std::optional<std::thread> thread_;
};

/// A rank's files of hidden steps, and who writes them. All local.
///
/// Invariant: one entry a hidden step, the oldest first, null where this rank writes none of it.
class HiddenFiles {
  public:
    static constexpr int most = 8;  ///< steps at one time

    HiddenFiles() = default;  ///< this rank writes no files, or none of them hidden
    HiddenFiles(const Comm& comm, std::int64_t budget_bytes, const CoreSet& cores)
        : writer_(std::make_unique<HiddenWriter>(comm, budget_bytes, cores)) {}

    [[nodiscard]] bool has_writer() const noexcept { return writer_ != nullptr; }
    /// As HiddenWriter::prepare; nothing without a writer.
    void prepare() {
        if (writer_) writer_->prepare();
    }
    /// The open step's file, where there is a writer.
    HiddenFile& take(storage::FilePtr file);
    /// Ends the open step: its file, if it has one, becomes the youngest, or is written no further.
    void end_step(bool is_ok);

    [[nodiscard]] int num() const noexcept { return static_cast<int>(files_.size()); }
    /// How many of the oldest need no waiting.
    [[nodiscard]] int num_stored() const;
    /// Takes the oldest out when it is closed, and returns its error.
    Status wait_for_oldest(double& stored_s);
    /// Lets none of them be written any further.
    void drop();

  private:
    std::unique_ptr<HiddenWriter> writer_;
    std::shared_ptr<HiddenFile> open_;
    std::deque<std::shared_ptr<HiddenFile>> files_;
};

}  // namespace hakobi::output
