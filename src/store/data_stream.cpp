#include "store/data_stream.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "store/format.hpp"

namespace hakobi::store {

namespace {

// Copied and hashed together: the second finds the bytes in the core's own cache.
constexpr std::int64_t stream_chunk_bytes = 128 << 10;
// Buffers are used in parts of so many bytes, the lowest that is free first: while the storage keeps up, few
// are in turn and stay in the processor's cache (1 GB through 256 MB of fresh memory took twice as long as
// through 32 MB).
constexpr std::int64_t part_bytes = 4 << 20;
// A smaller field is worth a copy: it goes out together with others.
constexpr std::int64_t large_bytes = 1'000'000;
constexpr std::int64_t direct_alignment_bytes = 4096;
constexpr std::int64_t least_buffer_bytes = 64 << 10;
// Objects: a buffer goes out when it has so much. AWS advises requests of 8 to 16 MB ("Performance guidelines
// for Amazon S3"); more requests of fewer bytes keep more of them under way.
constexpr std::int64_t object_bytes = 8 << 20;
// And is so large, since a field lies in one object; of memory it takes what is filled.
constexpr std::int64_t object_buffer_bytes = 32 << 20;

}  // namespace

DataStream::DataStream(storage::FilePtr file, std::int64_t most_object_bytes, const StoreOptions& options,
                       StoreCounters& counters)
    : counters_(counters),
      most_object_bytes_(most_object_bytes),
      is_direct_(options.direct),
      file_(std::move(file)) {
    if (!options.asynchronous && !makes_objects()) return;
    if (options.num_buffers < 2 || options.buffer_bytes < least_buffer_bytes) {
        throw Error(ErrorCode::invalid_argument,
                    "asynchronous writing takes at least 2 buffers of at least 64 KiB");
    }
    const std::int64_t num_parts = std::max<std::int64_t>(
        1, options.buffer_bytes / (makes_objects() ? object_buffer_bytes : part_bytes));
    buffers_.resize(static_cast<std::size_t>(options.num_buffers * num_parts));
    for (Buffer& buffer : buffers_) {
        buffer.stream = this;
        // The bytes for an unaligned beginning come on top.
        const std::int64_t bytes = options.buffer_bytes / num_parts + direct_alignment_bytes;
        buffer.memory = Mapping::of(bytes, options.huge_pages ? huge_page_bytes : direct_alignment_bytes);
        if (buffer.memory.data() == nullptr) {
            throw Error(ErrorCode::out_of_memory,
                        "no memory for a buffer of " + std::to_string(bytes) + " bytes");
        }
        if (options.huge_pages)
            (void)::madvise(buffer.memory.data(), static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
    }
    auto access =
        storage::make_access(*file_, {.name = "threads", .num_threads = std::max(1, options.num_threads)});
    access.status().throw_if_error();
    access_ = std::move(access).value();
}

DataStream::~DataStream() {
    if (access_) access_->drain();
}

Status DataStream::begin_field(std::int64_t length_bytes, std::int64_t pad_bytes) {
    return makes_objects() ? begin_in_object(length_bytes) : pad_to(pad_bytes);
}

/// Where it does not fit into the current buffer, or that has enough, it begins the next object.
Status DataStream::begin_in_object(std::int64_t length_bytes) {
    if (length_bytes > most_object_bytes_) {
        return {ErrorCode::unsupported, file_->path() + ": a field of " + std::to_string(length_bytes) +
                                            " bytes, and an object has at most " +
                                            std::to_string(most_object_bytes_)};
    }
    if (current_ != nullptr) {
        const std::int64_t most = std::min(current_->memory.size_bytes(), most_object_bytes_);
        if (current_->filled_bytes < object_bytes && current_->filled_bytes + length_bytes <= most) return {};
        leave_buffer();
    }
    end_bytes_ = (end_bytes_ + segment_span_bytes - 1) / segment_span_bytes * segment_span_bytes;
    if (end_bytes_ < most_offset_bytes) return {};
    return {ErrorCode::no_space,
            file_->path() + ": a writer has no more objects than this: open another one"};
}

Status DataStream::pad_to(std::int64_t multiple) {
    if (multiple <= 1 || end_bytes_ % multiple == 0) return {};
    const std::vector<std::byte> zeros(static_cast<std::size_t>(multiple - end_bytes_ % multiple));
    return access_ ? fill(zeros) : write_through(zeros);
}

Status DataStream::append(std::span<const std::byte> bytes, std::uint64_t& checksum) {
    if (!access_ || goes_through(std::ssize(bytes))) {
        leave_buffer();
        checksum = checksum_of(bytes);
        return write_through(bytes);
    }
    if (std::ssize(bytes) <= stream_chunk_bytes) {
        checksum = checksum_of(bytes);
        return fill(bytes);
    }
    checksum_.reset();
    while (!bytes.empty()) {
        const auto part = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(stream_chunk_bytes)));
        checksum_.add(part);
        if (Status status = fill(part); !status.ok()) return status;
        bytes = bytes.subspan(part.size());
    }
    checksum = checksum_.value();
    return {};
}

Status DataStream::fill(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        if (current_ == nullptr) {
            if (Status status = next_buffer(); !status.ok()) return status;
        }
        Buffer& buffer = *current_;
        const auto room = static_cast<std::size_t>(buffer.memory.size_bytes() - buffer.filled_bytes);
        const std::size_t length = std::min(bytes.size(), room);
        std::memcpy(buffer.memory.data() + buffer.filled_bytes, bytes.data(), length);
        buffer.filled_bytes += static_cast<std::int64_t>(length);
        end_bytes_ += static_cast<std::int64_t>(length);
        bytes = bytes.subspan(length);
        if (buffer.filled_bytes == buffer.memory.size_bytes()) leave_buffer();
    }
    return {};
}

/// Waits for a buffer that is written.
Status DataStream::next_buffer() {
    std::unique_lock lock(mutex_);
    auto found = std::ranges::find_if(buffers_, &Buffer::is_free);
    if (found == buffers_.end()) {
        const double begin_s = now_s();
        is_written_.wait(lock, [&] {
            found = std::ranges::find_if(buffers_, &Buffer::is_free);
            return found != buffers_.end();
        });
        counters_.wait_s += now_s() - begin_s;
    }
    if (!status_.ok()) return status_;
    assert(current_ == nullptr);
    current_ = &*found;
    current_->is_free = false;
    // Memory and file begin at the same place in a block, as direct writes want it.
    current_->skipped_bytes = end_bytes_ % direct_alignment_bytes;
    current_->begin_bytes = end_bytes_ - current_->skipped_bytes;
    current_->filled_bytes = current_->skipped_bytes;
    return {};
}

/// Hands the current buffer, if there is one, to the I/O threads: what follows does not join it.
void DataStream::leave_buffer() {
    if (current_ == nullptr) return;
    Buffer& buffer = *std::exchange(current_, nullptr);
    assert(buffer.skipped_bytes < buffer.filled_bytes && buffer.filled_bytes <= buffer.memory.size_bytes());
    buffer.request = {};
    buffer.request.is_write = true;
    buffer.request.begins_at_once = makes_objects();
    buffer.request.buffer = buffer.memory.data();
    buffer.request.extents = {{.buffer_bytes = buffer.skipped_bytes,
                               .file_bytes = buffer.begin_bytes + buffer.skipped_bytes,
                               .length_bytes = buffer.filled_bytes - buffer.skipped_bytes}};
    buffer.request.context = &buffer;
    buffer.request.done = [](storage::Request& request) {
        auto& written = *static_cast<Buffer*>(request.context);
        written.stream->finish(written);
    };
    access_->submit(buffer.request);
}

/// On an I/O thread.
void DataStream::finish(Buffer& buffer) {
    const std::scoped_lock lock(mutex_);
    status_.keep_first(buffer.request.status);
    ++counters_.num_data_writes;
    counters_.data_write_s += buffer.request.end_s - buffer.request.start_s;
    assert(!buffer.is_free);
    buffer.is_free = true;
    is_written_.notify_all();
}

Status DataStream::drain() {
    if (!access_) return status_;
    leave_buffer();
    access_->drain();
    const std::scoped_lock lock(mutex_);
    return status_;
}

bool DataStream::goes_through(std::int64_t length_bytes) const {
    if (makes_objects()) return current_ == nullptr && length_bytes > buffers_[0].memory.size_bytes();
    return length_bytes >= large_bytes && !is_direct_ && !file_->profile().blocks(1) &&
           !file_->profile().blocks(access_->thread_limit());
}

Status DataStream::write_through(std::span<const std::byte> bytes) {
    {
        const std::scoped_lock lock(mutex_);
        if (!status_.ok()) return status_;
    }
    storage::ServiceSample sample;
    sample.is_write = true;
    sample.length_bytes = std::ssize(bytes);
    const storage::ServiceClock clock;
    Status status = file_->write_at(bytes, end_bytes_);
    clock.stop(sample);
    file_->profile().observe(1, sample);
    const std::scoped_lock lock(mutex_);
    ++counters_.num_data_writes;
    counters_.data_write_s += sample.wall_s;
    if (status.ok()) end_bytes_ += std::ssize(bytes);
    status_.keep_first(status);
    return status;
}

}  // namespace hakobi::store
