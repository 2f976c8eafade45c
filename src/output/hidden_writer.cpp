#include "output/hidden_writer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "mpi/wait.hpp"

namespace hakobi::output {
namespace {

/// The most bytes of one write: large enough for every server of a striped storage, small enough that the
/// ring's room comes back while a large write is under way.
constexpr std::int64_t most_piece_bytes = 16 << 20;

Status not_while_hidden(const std::string& path) {
    return {ErrorCode::unsupported, path + " is being written by hidden output"};
}

}  // namespace

Status HiddenFile::write_at(std::span<const std::byte> data, std::int64_t offset) {
    writer_.write(shared_from_this(), data, offset);
    return {};
}

Status HiddenFile::sync() {
    writer_.give({.kind = HiddenWriter::Kind::sync, .file = shared_from_this()});
    return {};
}

void HiddenFile::when_written(std::function<void(storage::File&)> then) {
    writer_.give({.kind = HiddenWriter::Kind::then, .file = shared_from_this(), .then = std::move(then)});
}

Status HiddenFile::close() {
    writer_.give({.kind = HiddenWriter::Kind::close, .file = shared_from_this()});
    return {};
}

Result<std::int64_t> HiddenFile::read_at(std::span<std::byte>, std::int64_t) {
    return not_while_hidden(path());
}
Result<std::int64_t> HiddenFile::size_bytes() {
    return not_while_hidden(path());
}
Status HiddenFile::set_size(std::int64_t) {
    return not_while_hidden(path());
}
Status HiddenFile::preallocate(std::int64_t) {
    return not_while_hidden(path());
}

HiddenWriter::~HiddenWriter() {
    if (!thread_) return;
    is_ending_.store(true);
    num_given_.fetch_add(1, std::memory_order_release);
    futex_wake_all(num_given_);
    thread_->join();
}

void HiddenWriter::prepare() {
    if (is_prepared_) return;
    is_prepared_ = true;
    ring_.memory = Mapping::of(budget_bytes_, huge_page_bytes);
    if (ring_.memory.data() != nullptr) {
        (void)::madvise(ring_.memory.data(), static_cast<std::size_t>(budget_bytes_), MADV_HUGEPAGE);
        thread_ = start_thread("hakobi-output", cores_, [this] { run(); });
    }
    if (thread_) return;
    std::fprintf(
        stderr,
        "hakobi: rank %d has no %s for hidden output: its values are written before end_step returns\n",
        comm_.rank(), ring_.memory.data() == nullptr ? "memory" : "thread");
}

std::shared_ptr<HiddenFile> HiddenWriter::take(storage::FilePtr file) {
    return std::make_shared<HiddenFile>(*this, std::move(file));
}

Status HiddenWriter::wait(HiddenFile& file, double& done_s) {
    mpi::wait_until(comm_, file.is_done_, {}, [](std::uint32_t done) { return done != 0; });
    done_s = file.done_s_;
    return file.status_;
}

void HiddenWriter::write(const std::shared_ptr<HiddenFile>& file, std::span<const std::byte> data,
                         std::int64_t offset) {
    const std::int64_t most_bytes =
        thread_ ? std::min(most_piece_bytes, ring_.memory.size_bytes() / 4) : std::ssize(data);
    while (!data.empty()) {
        const std::span<const std::byte> piece =
            data.first(std::min(data.size(), static_cast<std::size_t>(most_bytes)));
        const std::byte* kept = piece.data();
        if (thread_) {
            std::byte* const copy = room(std::ssize(piece));
            std::memcpy(copy, piece.data(), piece.size());
            kept = copy;
        }
        give({.kind = Kind::write,
              .file = file,
              .data = kept,
              .length_bytes = std::ssize(piece),
              .offset_bytes = offset,
              .end_of_memory = ring_.taken});
        data = data.subspan(piece.size());
        offset += std::ssize(piece);
    }
}

std::byte* HiddenWriter::room(std::int64_t length_bytes) {
    // Nothing is under way: from the beginning, where the pages are mapped and in the caches.
    if (num_done_.load(std::memory_order_acquire) == num_given_.load(std::memory_order_relaxed)) {
        ring_.taken = 0;
        ring_.released.store(0, std::memory_order_relaxed);
    }
    const std::int64_t size = ring_.memory.size_bytes();
    assert(length_bytes <= size / 4);
    std::int64_t at = ring_.taken % size;
    if (at + length_bytes > size) {  // one piece: the ring's end is left out
        ring_.taken += size - at;
        at = 0;
    }
    ring_.taken += length_bytes;
    mpi::wait_until(comm_, num_done_, {}, [&](std::uint32_t) {
        return ring_.taken - ring_.released.load(std::memory_order_acquire) <= size;
    });
    return ring_.memory.data() + at;
}

void HiddenWriter::give(Job job) {
    if (!thread_) {
        carry_out(job);
        return;
    }
    if (job.kind != Kind::write) job.end_of_memory = ring_.taken;
    {
        const std::scoped_lock lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    num_given_.fetch_add(1, std::memory_order_release);
    futex_wake_one(num_given_);
}

void HiddenWriter::run() {
    for (std::uint32_t num_taken = 0;; ++num_taken) {
        futex_wait_until(num_given_, {},
                         [&](std::uint32_t n) { return n != num_taken || is_ending_.load(); });
        if (is_ending_.load()) return;
        Job job;
        {
            const std::scoped_lock lock(mutex_);
            assert(!jobs_.empty());
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        carry_out(job);
        ring_.released.store(job.end_of_memory, std::memory_order_release);
        num_done_.fetch_add(1, std::memory_order_release);
        futex_wake_all(num_done_);
    }
}

void HiddenWriter::carry_out(const Job& job) {
    HiddenFile& file = *job.file;
    const bool is_wanted = file.status_.ok() && !file.is_abandoned_.load(std::memory_order_relaxed);
    switch (job.kind) {
        case Kind::write:
            if (is_wanted)
                file.status_ = file.file_->write_at({job.data, static_cast<std::size_t>(job.length_bytes)},
                                                    job.offset_bytes);
            return;
        case Kind::sync:
            if (is_wanted) file.status_ = file.file_->sync();
            return;
        case Kind::then:
            if (is_wanted) job.then(*file.file_);
            return;
        case Kind::close:
            file.status_.keep_first(file.file_->close());
            file.done_s_ = now_s();
            file.is_done_.store(1, std::memory_order_release);
            futex_wake_all(file.is_done_);
    }
}

HiddenFile& HiddenFiles::take(storage::FilePtr file) {
    assert(has_writer() && !open_);
    open_ = writer_->take(std::move(file));
    return *open_;
}

void HiddenFiles::end_step(bool is_ok) {
    const std::shared_ptr<HiddenFile> file = std::exchange(open_, nullptr);
    assert(num() < most);
    if (is_ok) {
        files_.push_back(file);
    } else if (file) {
        file->abandon();
    }
}

int HiddenFiles::num_stored() const {
    const auto waited_for =
        std::ranges::find_if(files_, [](const auto& file) { return file && !file->is_done(); });
    return static_cast<int>(waited_for - files_.begin());
}

Status HiddenFiles::wait_for_oldest(double& stored_s) {
    assert(!files_.empty());
    const std::shared_ptr<HiddenFile> file = std::move(files_.front());
    files_.pop_front();
    return file ? writer_->wait(*file, stored_s) : Status();
}

void HiddenFiles::drop() {
    for (const auto& file : files_) {
        if (file) file->abandon();
    }
    files_.clear();
}

}  // namespace hakobi::output
