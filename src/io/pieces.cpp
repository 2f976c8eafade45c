#include "io/pieces.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "base/copy_bytes.hpp"
#include "base/guard.hpp"
#include "io/policy.hpp"
#include "mpi/wait.hpp"
#include "region/copy.hpp"
#include "storage/concurrency.hpp"

namespace hakobi::io {
namespace {

// One chunk under way: its bytes in the file, and where they are in memory: in place, or through a buffer.
struct Chunk {
    storage::Request request;
    std::vector<std::byte> bounce_memory;
    std::byte* bounce = nullptr;  // in it; null: in place
    std::int64_t stream = 0, length = 0;
    class Mover* mover = nullptr;
};

class Mover {
  public:
    Mover(const Comm& comm, storage::File& file, storage::Access* access, int depth,
          const PiecesRequest& request)
        : comm_(comm),
          file_(file),
          access_(access),
          request_(request),
          memory_(request.memory),
          chunks_(static_cast<std::size_t>(depth)) {
        for (Chunk& chunk : chunks_) {
            chunk.mover = this;
            free_.push_back(&chunk);
        }
        num_free_.store(static_cast<std::uint32_t>(depth));
    }

    PiecesResult run() {
        Cursor cursor(request_.file);
        cursor.seek(request_.stream_begin);
        memory_.seek(request_.stream_begin);
        while (cursor.stream() < request_.stream_end) {
            Chunk* chunk = take_free();
            if (chunk == nullptr) break;  // an error, or the end of the file
            const std::int64_t length = std::min(
                {cursor.remaining(), request_.stream_end - cursor.stream(), chunk_bytes(cursor.offset())});
            if (!try_prepare(*chunk, cursor.offset(), cursor.stream(), length)) break;
            cursor.advance(length);
            ++result_.num_calls;
            if (access_ != nullptr) {
                access_->submit(chunk->request);
            } else {
                in_line(*chunk);
            }
        }
        mpi::wait_until(comm_, num_free_, {}, [this](std::uint32_t n) { return n == chunks_.size(); });
        return std::move(result_);
    }

    void finished(Chunk& chunk) {
        const std::int64_t moved =
            chunk.request.status.ok() ? std::min(chunk.request.transferred_bytes, chunk.length) : 0;
        if (chunk.bounce != nullptr && !request_.is_write && moved > 0) {
            Cursor memory(request_.memory);
            memory.seek(chunk.stream);
            if (is_long() && memory.remaining() >= moved) {
                copy_past_cache(request_.origin + memory.offset(), chunk.bounce,
                                static_cast<std::size_t>(moved));
            } else {
                unpack(memory, request_.origin, chunk.stream + moved, chunk.bounce);
            }
        }
        {
            const std::scoped_lock lock(mutex_);
            result_.status.keep_first(std::move(chunk.request.status));
            result_.bytes += moved;
            // Behind the file's end an ordered region has nothing more; another may.
            if (moved < chunk.length && request_.file.is_ordered()) is_over_ = true;
            if (!result_.status.ok()) is_over_ = true;
            free_.push_back(&chunk);
        }
        // The last touch of this object: the last chunk's lets its owner destroy it.
        num_free_.fetch_add(1, std::memory_order_release);
        futex_wake_one(num_free_);
    }

  private:
    [[nodiscard]] std::int64_t chunk_bytes(std::int64_t file_offset) const {
        if (access_ == nullptr)
            return request_.is_in_memory && kernel_would_be_slow(file_offset)
                       ? std::min(request_.chunk_bytes, policy_limits::bounce)
                       : request_.chunk_bytes;
        // In place it takes no memory, and large ones meet less often at the file's lock; enough of them to
        // overlap.
        const std::int64_t in_place = std::clamp((request_.stream_end - request_.stream_begin) / 4,
                                                 request_.chunk_bytes, 4 * request_.chunk_bytes);
        return memory_.remaining() >= in_place ? in_place : request_.chunk_bytes;
    }

    // More than would stay in a cache: by the call's end its beginning has left it.
    [[nodiscard]] bool is_long() const {
        return request_.stream_end - request_.stream_begin >= policy().past_cache_from;
    }

    // With storage that serves from memory the copy out of it is the call's whole cost.
    [[nodiscard]] bool kernel_would_be_slow(std::int64_t file_offset) const {
        const auto memory = reinterpret_cast<std::size_t>(request_.origin + memory_.offset());
        const auto file = static_cast<std::size_t>(file_offset);
        return request_.is_write ? is_slow_copy(file, memory) : is_slow_copy(memory, file);
    }

    static std::byte* bounce_for(Chunk& chunk, std::int64_t file_offset, std::int64_t length) {
        const auto needed = static_cast<std::size_t>(length + page_bytes);
        if (chunk.bounce_memory.size() < needed) chunk.bounce_memory.resize(needed);
        return congruent_with(file_offset, chunk.bounce_memory.data());
    }

    Chunk* take_free() {
        mpi::wait_until(comm_, num_free_, {}, [](std::uint32_t n) { return n > 0; });
        const std::scoped_lock lock(mutex_);
        if (is_over_) return nullptr;
        Chunk* chunk = free_.back();
        free_.pop_back();
        num_free_.fetch_sub(1, std::memory_order_relaxed);
        return chunk;
    }

    // Without memory for it the chunks under way are waited for, and the other ranks come to know.
    bool try_prepare(Chunk& chunk, std::int64_t file_offset, std::int64_t stream, std::int64_t length) {
        Status status = guarded("gathering an access", [&] {
            prepare(chunk, file_offset, stream, length);
            return Status();
        });
        if (status.ok()) return true;
        const std::scoped_lock lock(mutex_);
        result_.status.keep_first(std::move(status));
        free_.push_back(&chunk);
        num_free_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }

    void prepare(Chunk& chunk, std::int64_t file_offset, std::int64_t stream, std::int64_t length) {
        chunk.stream = stream;
        chunk.length = length;
        chunk.bounce = nullptr;
        std::byte* bytes = request_.origin + memory_.offset();
        if (memory_.remaining() < length || (access_ == nullptr && kernel_would_be_slow(file_offset))) {
            bytes = chunk.bounce = bounce_for(chunk, file_offset, length);
            if (request_.is_write) {
                pack(memory_, request_.origin, stream + length, bytes);
            } else {
                memory_.seek(stream + length);
            }
        } else {
            memory_.advance(length);
        }
        storage::Request& request = chunk.request;
        request.is_write = request_.is_write;
        request.buffer = bytes;
        request.extents.assign(1, {0, file_offset, length});
        request.status = {};
        request.transferred_bytes = 0;
        request.context = &chunk;
        request.done = [](storage::Request& done) {
            Chunk& of = *static_cast<Chunk*>(done.context);
            of.mover->finished(of);
        };
    }

    void in_line(Chunk& chunk) {
        const storage::Extent& extent = chunk.request.extents.front();
        const std::span<std::byte> bytes(chunk.request.buffer, static_cast<std::size_t>(extent.length_bytes));
        const bool is_first = result_.num_calls == 1;
        std::optional<storage::ServiceClock> clock;  // several calls of the kernel: a small piece costs less
        if (is_first) clock.emplace();
        if (request_.is_write) {
            chunk.request.status = file_.write_at(bytes, extent.file_bytes);
            chunk.request.transferred_bytes = extent.length_bytes;
        } else {
            Result<std::int64_t> read = file_.read_at(bytes, extent.file_bytes);
            chunk.request.status = read.ok() ? Status{} : read.status();
            chunk.request.transferred_bytes = read.ok() ? read.value() : 0;
        }
        if (clock) {
            storage::ServiceSample sample;
            clock->stop(sample);
            result_.has_waited = sample.asleep_s * 1e6 > static_cast<double>(policy().waited_us);
        }
        finished(chunk);
    }

    const Comm& comm_;
    storage::File& file_;
    storage::Access* access_;
    const PiecesRequest& request_;
    Cursor memory_;  // at the stream position of the next chunk
    std::vector<Chunk> chunks_;

    FutexWord num_free_{0};  // of free_
    std::mutex mutex_;       // of what follows
    std::vector<Chunk*> free_;
    bool is_over_ = false;
    PiecesResult result_;
};

}  // namespace

PiecesResult move_pieces(const Comm& comm, storage::File& file, storage::Access* access, int depth,
                         const PiecesRequest& request) {
    if (request.stream_begin >= request.stream_end) return {};
    PiecesResult result;
    Status status = guarded("accessing the file", [&] {
        result = Mover(comm, file, access, access != nullptr ? depth : 1, request).run();
        return Status();
    });
    result.status.keep_first(std::move(status));
    return result;
}

}  // namespace hakobi::io
