#include "storage/uring.hpp"

#ifdef HAKOBI_HAVE_URING

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/thread.hpp"
#include "storage/ring.hpp"
#include "storage/threads.hpp"
#include "storage/transfer.hpp"

namespace hakobi::storage {

namespace {

constexpr std::int64_t alignment_bytes = 4096;  // what O_DIRECT is trusted with

/// A request that the ring carries out, and how far it is.
struct Running {
    Running(Request& of, File& in)
        : request(&of),
          file(&in),
          descriptor(in.descriptor()),
          is_direct(descriptor >= 0 && (::fcntl(descriptor, F_GETFL) & O_DIRECT) != 0) {}
    Request* request;
    File* file;
    int descriptor;
    bool is_direct;
    std::size_t next_extent = 0;
    int num_in_flight = 0;
    bool is_started = false;
    bool is_failed = false;
};

/// The rest of one extent.
struct Piece {
    Running* owner = nullptr;
    std::byte* address = nullptr;
    std::int64_t offset = 0;
    std::int64_t remaining = 0;
};

/// The pieces of requests, in the order of these: `depth` are in flight at most. Not thread-safe.
class PieceQueue {
  public:
    explicit PieceQueue(int depth) : pieces_(static_cast<std::size_t>(depth)) {
        for (Piece& piece : pieces_) free_.push_back(&piece);
    }

    [[nodiscard]] int depth() const noexcept { return static_cast<int>(pieces_.size()); }

    void add(const Running& running) { backlog_.push_back(std::make_unique<Running>(running)); }

    /// The next piece, which is in flight from now on; null where none waits or no place is free.
    Piece* next() {
        while (!backlog_.empty() && !free_.empty()) {
            Running& running = *backlog_.front();
            const Extent* const extent = next_extent(running);
            // Before the piece is returned: with its last piece a request leaves the backlog.
            if (!has_extents(running)) {
                in_flight_.emplace(&running, std::move(backlog_.front()));
                backlog_.pop_front();
            }
            if (extent == nullptr) continue;
            if (!std::exchange(running.is_started, true)) running.request->start_s = now_s();
            Piece& piece = *free_.back();
            free_.pop_back();
            piece = {&running, running.request->buffer + extent->buffer_bytes, extent->file_bytes,
                     extent->length_bytes};
            ++running.num_in_flight;
            return &piece;
        }
        return nullptr;
    }

    /// The piece is over: its place is free.
    void give_back(Piece& piece) {
        assert(piece.owner->num_in_flight > 0);
        --piece.owner->num_in_flight;
        free_.push_back(&piece);
    }

    /// The request is over if all its pieces were in flight and are given back: it leaves the queue, then.
    std::unique_ptr<Running> take_finished(Running& running) {
        if (running.num_in_flight > 0) return nullptr;
        auto node = in_flight_.extract(&running);
        return node.empty() ? nullptr : std::move(node.mapped());
    }

  private:
    /// After an error no further extent is issued.
    [[nodiscard]] static bool has_extents(const Running& running) {
        return !running.is_failed && running.next_extent < running.request->extents.size();
    }
    /// That has bytes.
    static const Extent* next_extent(Running& running) {
        while (has_extents(running)) {
            const Extent& extent = running.request->extents[running.next_extent++];
            if (extent.length_bytes > 0) return &extent;
        }
        return nullptr;
    }

    std::vector<Piece> pieces_;
    std::vector<Piece*> free_;
    std::deque<std::unique_ptr<Running>> backlog_;                      // extents left to issue
    std::unordered_map<Running*, std::unique_ptr<Running>> in_flight_;  // all issued, pieces under way
};

/// The life of a request:
/// 1. submit adds it to queue_ and issues entries while fewer than its depth are in flight.
/// 2. Each entry moves a piece. The reaper takes completions, issues the rest of a piece that moved in part,
///    and issues further extents into the free places.
/// 3. After an error no further extent is issued. With its last piece back the request is done, on the
///    reaper's thread.
/// Everything but the ring's completions is under mutex_.
class UringAccess final : public Access {
  public:
    UringAccess(File* file, const AccessOptions& options)
        : file_(file),
          others_(make_threads_access(file, options)),
          queue_(std::clamp(options.queue_depth, 1, 1024)) {
        rlimit limit{};
        if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
            size_limit_bytes_ = static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
        }
    }

    ~UringAccess() override {
        if (!reaper_.joinable()) return;
        drain();
        {
            std::scoped_lock lock(mutex_);
            ring_.put({});  // its completion, without a piece, ends the reaper
            ring_.enter();
        }
        reaper_.join();
    }

    Status start(const AccessOptions& options) {
        // One entry more than the depth: the one that ends the reaper.
        if (Status status = ring_.start(queue_.depth() + 1); !status.ok()) return status;
        ring_.register_buffers(options.buffers);
        std::optional<std::thread> reaper = start_thread("hakobi-uring", options.cores, [this] { reap(); });
        if (!reaper) return {ErrorCode::unsupported, "file access 'uring': no thread can be started"};
        reaper_ = std::move(*reaper);
        return {};
    }

    void submit(Request& request) override {
        std::unique_lock lock(mutex_);
        ++num_pending_;
        Running running(request, file_of(request, file_));
        if (!fits_ring(running)) {
            lent_.emplace(&request, Lent{this, request.done, request.context});
            lock.unlock();
            submit_elsewhere(request);
            return;
        }
        request.status = {};
        request.transferred_bytes = 0;
        queue_.add(running);
        issue();
    }

    void drain() override {
        std::unique_lock lock(mutex_);
        is_drained_.wait(lock, [&] { return num_pending_ == 0; });
    }

    [[nodiscard]] std::string_view name() const noexcept override { return "uring"; }
    [[nodiscard]] int thread_limit() const noexcept override { return others_->thread_limit(); }

  private:
    struct Lent {
        UringAccess* access;
        void (*done)(Request&);
        void* context;
    };

    [[nodiscard]] bool fits_ring(const Running& running) const {
        const Request& request = *running.request;
        // A direct read of the file's last, partial block would fill the rest of the buffer's block with
        // zeros.
        std::int64_t end_bytes = request.is_write ? size_limit_bytes_ : INT64_MAX;
        if (running.is_direct && !request.is_write) {
            const Result<std::int64_t> size = running.file->size_bytes();
            end_bytes = size.ok() ? size.value() - size.value() % alignment_bytes : 0;
        }
        std::int64_t total = 0;
        for (const Extent& extent : request.extents) {
            if (extent.has_holes) return false;
            if (extent.file_bytes < 0 || extent.length_bytes < 0 ||
                extent.file_bytes > INT64_MAX - extent.length_bytes) {
                return false;
            }
            if (extent.length_bytes > 0 && extent.file_bytes + extent.length_bytes > end_bytes) return false;
            const auto address = reinterpret_cast<std::uintptr_t>(request.buffer) +
                                 static_cast<std::uintptr_t>(extent.buffer_bytes);
            const bool is_aligned = address % alignment_bytes == 0 &&
                                    extent.file_bytes % alignment_bytes == 0 &&
                                    extent.length_bytes % alignment_bytes == 0;
            if (running.is_direct && !is_aligned) return false;
            total += extent.length_bytes;
        }
        return running.descriptor >= 0 && total > 0;
    }

    /// By threads; `done` and `context` are borrowed to learn of the end.
    void submit_elsewhere(Request& request) {
        {
            std::scoped_lock lock(mutex_);
            request.context = &lent_.at(&request);  // node of an unordered_map: stays where it is
        }
        request.done = [](Request& finished) {
            UringAccess& access = *static_cast<Lent*>(finished.context)->access;
            {
                std::scoped_lock lock(access.mutex_);
                const auto node = access.lent_.extract(&finished);
                assert(!node.empty());
                finished.done = node.mapped().done;
                finished.context = node.mapped().context;
            }
            access.finish(finished);
        };
        others_->submit(request);
    }

    // Below with mutex_ held.

    /// Fills the free places with extents of waiting requests.
    void issue() {
        bool is_issued = false;
        while (Piece* const piece = queue_.next()) {
            put(*piece);
            is_issued = true;
        }
        if (is_issued) ring_.enter();
    }

    void put(Piece& piece) {
        assert(piece.remaining > 0);
        // The submitting thread, which has other work, would copy bytes that the page cache can take at once.
        ring_.put({.is_write = piece.owner->request->is_write,
                   .descriptor = piece.owner->descriptor,
                   .address = piece.address,
                   .offset_bytes = piece.offset,
                   .length_bytes = piece.remaining,
                   .is_deferred = !piece.owner->is_direct,
                   .data = &piece});
    }

    // The reaper.

    void reap() {
        for (;;) {
            const auto [data, moved] = ring_.wait();
            auto* piece = static_cast<Piece*>(data);
            if (piece == nullptr) return;
            const Piece taken = copy_of(*piece);
            if (taken.owner->is_direct && needs_file_call(taken, moved)) {
                auto [bytes, status] = move_by_file(taken);
                complete(*piece, bytes, std::move(status));
            } else {
                complete(*piece, moved);
            }
        }
    }

    [[nodiscard]] Piece copy_of(const Piece& piece) {
        std::scoped_lock lock(mutex_);
        return piece;
    }

    /// Whether the rest of the piece must go by the file's own calls: O_DIRECT refused it after all, or it
    /// moved up to a place that O_DIRECT cannot go on from (the end of the file).
    [[nodiscard]] static bool needs_file_call(const Piece& piece, int moved) {
        if (moved == -EINVAL || moved == -EOPNOTSUPP) return true;
        if (moved <= 0 || moved == piece.remaining || moved % alignment_bytes == 0) return false;
        return true;
    }

    struct Moved {
        std::int64_t bytes;
        Status status;
    };
    /// Moves the whole piece again: the part that has moved moves to the same place.
    Moved move_by_file(const Piece& piece) {
        const auto length = static_cast<std::size_t>(piece.remaining);
        if (piece.owner->request->is_write) {
            Status status = piece.owner->file->write_at({piece.address, length}, piece.offset);
            return {status.ok() ? piece.remaining : 0, std::move(status)};
        }
        Result<std::int64_t> bytes = piece.owner->file->read_at({piece.address, length}, piece.offset);
        return bytes.ok() ? Moved{bytes.value(), {}} : Moved{0, bytes.status()};
    }

    void complete(Piece& piece, std::int64_t moved) {
        Status status;
        {
            std::scoped_lock lock(mutex_);
            Running& running = *piece.owner;
            const bool is_write = running.request->is_write;
            // Cancelled is what a submitting thread leaves behind when it ends; the reaper stays.
            const bool is_again = moved == -EAGAIN || moved == -EINTR || moved == -ECANCELED;
            const std::int64_t bytes = std::max<std::int64_t>(0, moved);
            assert(bytes <= piece.remaining);
            piece.address += bytes;
            piece.offset += bytes;
            piece.remaining -= bytes;
            running.request->transferred_bytes += bytes;
            if ((bytes > 0 || is_again) && piece.remaining > 0 && !running.is_failed) {
                put(piece);
                ring_.enter();
                return;
            }
            if (moved < 0 && !is_again) {
                status = status_of_errno(static_cast<int>(-moved), is_write ? "cannot write" : "cannot read",
                                         running.file->path());
            } else if (moved == 0 && is_write) {
                status = {ErrorCode::io,
                          "cannot write " + running.file->path() + ": the file system took no byte"};
            }
        }
        complete(piece, 0, std::move(status));
    }

    /// The piece ends here, with `bytes` more and this status.
    void complete(Piece& piece, std::int64_t bytes, Status status) {
        std::unique_ptr<Running> over;
        {
            std::scoped_lock lock(mutex_);
            Running& running = *piece.owner;
            running.request->transferred_bytes += bytes;
            if (!status.ok()) {
                running.is_failed = true;
                running.request->status.keep_first(std::move(status));
            }
            queue_.give_back(piece);
            issue();  // first, so that a failed request leaves the backlog
            over = queue_.take_finished(running);
            // The kernel's workers cannot be watched as our own threads can.
            if (over) over->file->profile().observe_bypass(over->is_direct);
        }
        if (!over) return;
        Request* const finished = over->request;
        finished->end_s = now_s();
        finished->thread = 0;
        finish(*finished);
    }

    /// Without the lock.
    void finish(Request& request) {
        if (request.done != nullptr) request.done(request);
        std::scoped_lock lock(mutex_);
        assert(num_pending_ > 0);
        if (--num_pending_ == 0) is_drained_.notify_all();
    }

    File* file_;
    std::int64_t size_limit_bytes_ = INT64_MAX;  // RLIMIT_FSIZE, whose signal only File's own calls avoid
    std::unique_ptr<Access> others_;             // for what the ring does not take
    Ring ring_;
    std::thread reaper_;

    std::mutex mutex_;
    std::condition_variable is_drained_;
    std::int64_t num_pending_ = 0;
    PieceQueue queue_;
    std::unordered_map<Request*, Lent> lent_;
};

}  // namespace

Result<std::unique_ptr<Access>> make_uring_access(File* file, const AccessOptions& options) {
    auto access = std::make_unique<UringAccess>(file, options);
    if (Status status = access->start(options); !status.ok()) return status;
    return std::unique_ptr<Access>(std::move(access));
}

}  // namespace hakobi::storage

#else

namespace hakobi::storage {

Result<std::unique_ptr<Access>> make_uring_access(File*, const AccessOptions&) {
    return Status(ErrorCode::unsupported, "file access 'uring': this build was made without liburing");
}

}  // namespace hakobi::storage

#endif
