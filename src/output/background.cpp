#include "output/background.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/clock.hpp"
#include "mpi/wait.hpp"

namespace hakobi::output {
namespace {

/// What one write takes at most: large enough for every server of a striped storage, small enough that the ring's room
/// comes back while a large write is under way.
constexpr std::int64_t most_piece_bytes = 16 << 20;

Status not_in_the_background(const std::string& path) {
    return {ErrorCode::unsupported, path + " is being written in the background"};
}

}  // namespace

Status BackgroundFile::write_at(std::span<const std::byte> data, std::int64_t offset) {
    background_.write(shared_from_this(), data, offset);
    return {};
}

Status BackgroundFile::sync() {
    background_.give({.kind = Background::Kind::sync, .file = shared_from_this()});
    return {};
}

void BackgroundFile::when_written(std::function<void(storage::File&)> then) {
    background_.give({.kind = Background::Kind::then, .file = shared_from_this(), .then = std::move(then)});
}

Status BackgroundFile::close() {
    background_.give({.kind = Background::Kind::close, .file = shared_from_this()});
    return {};
}

Result<std::int64_t> BackgroundFile::read_at(std::span<std::byte>, std::int64_t) {
    return not_in_the_background(path());
}
Result<std::int64_t> BackgroundFile::size_bytes() {
    return not_in_the_background(path());
}
Status BackgroundFile::set_size(std::int64_t) {
    return not_in_the_background(path());
}
Status BackgroundFile::preallocate(std::int64_t) {
    return not_in_the_background(path());
}

Background::~Background() {
    if (!thread_) return;
    is_ending_.store(true);
    num_given_.fetch_add(1, std::memory_order_release);
    futex_wake_all(num_given_);
    thread_->join();
}

void Background::prepare() {
    if (is_prepared_) return;
    is_prepared_ = true;
    memory_ = Mapping::of(budget_bytes_, huge_page_bytes);
    if (memory_.data() != nullptr) {
        (void)::madvise(memory_.data(), static_cast<std::size_t>(budget_bytes_), MADV_HUGEPAGE);
        thread_ = start_thread("hakobi-output", cores_, [this] { run(); });
    }
    if (thread_) return;
    std::fprintf(
        stderr,
        "hakobi: rank %d has no %s for hidden output: its values are written before end_step returns\n",
        comm_.rank(), memory_.data() == nullptr ? "memory" : "thread");
}

std::shared_ptr<BackgroundFile> Background::take(storage::FilePtr file) {
    return std::make_shared<BackgroundFile>(*this, std::move(file));
}

Status Background::wait(BackgroundFile& file, double& done_s) {
    mpi::wait_until(comm_, file.is_done_, {}, [](std::uint32_t done) { return done != 0; });
    done_s = file.done_s_;
    return file.status_;
}

void Background::write(const std::shared_ptr<BackgroundFile>& file, std::span<const std::byte> data,
                       std::int64_t offset) {
    const std::int64_t most_bytes =
        thread_ ? std::min(most_piece_bytes, memory_.size_bytes() / 4) : std::ssize(data);
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
              .end_of_memory = taken_});
        data = data.subspan(piece.size());
        offset += std::ssize(piece);
    }
}

std::byte* Background::room(std::int64_t length_bytes) {
    // Nothing is under way: from the beginning, where the pages are mapped and in the caches.
    if (num_done_.load(std::memory_order_acquire) == num_given_.load(std::memory_order_relaxed)) {
        taken_ = 0;
        released_.store(0, std::memory_order_relaxed);
    }
    const std::int64_t size = memory_.size_bytes();
    std::int64_t at = taken_ % size;
    if (at + length_bytes > size) {  // one piece: the ring's end is left out
        taken_ += size - at;
        at = 0;
    }
    taken_ += length_bytes;
    mpi::wait_until(comm_, num_done_, {}, [&](std::uint32_t) {
        return taken_ - released_.load(std::memory_order_acquire) <= size;
    });
    return memory_.data() + at;
}

void Background::give(Job job) {
    if (!thread_) {
        carry_out(job);
        return;
    }
    if (job.kind != Kind::write) job.end_of_memory = taken_;
    {
        const std::scoped_lock lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    num_given_.fetch_add(1, std::memory_order_release);
    futex_wake_one(num_given_);
}

void Background::run() {
    for (std::uint32_t num_taken = 0;; ++num_taken) {
        futex_wait_until(num_given_, {},
                         [&](std::uint32_t n) { return n != num_taken || is_ending_.load(); });
        if (is_ending_.load()) return;
        Job job;
        {
            const std::scoped_lock lock(mutex_);
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        carry_out(job);
        released_.store(job.end_of_memory, std::memory_order_release);
        num_done_.fetch_add(1, std::memory_order_release);
        futex_wake_all(num_done_);
    }
}

void Background::carry_out(const Job& job) {
    BackgroundFile& file = *job.file;
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

void start_draining(std::shared_ptr<BackgroundFile>& filled, bool is_ok, DrainingFiles& files) {
    const std::shared_ptr<BackgroundFile> file = std::move(filled);
    filled.reset();
    if (is_ok) {
        files.push_back(file);
    } else if (file) {
        file->abandon();
    }
}

int drained(const DrainingFiles& files) {
    const auto waited_for =
        std::ranges::find_if(files, [](const auto& file) { return file && !file->is_done(); });
    return static_cast<int>(waited_for - files.begin());
}

Status wait_for_oldest(DrainingFiles& files, Background* background, double& stored_s) {
    const std::shared_ptr<BackgroundFile> file = std::move(files.front());
    files.pop_front();
    return file ? background->wait(*file, stored_s) : Status();
}

void drop(DrainingFiles& files) {
    for (const auto& file : files) {
        if (file) file->abandon();
    }
    files.clear();
}

}  // namespace hakobi::output
