#include "store/segments.hpp"

#include <atomic>
#include <cassert>
#include <utility>

#include "store/format.hpp"
#include "store/place.hpp"

namespace hakobi::store {

std::string segments_folder(std::string_view stem) {
    return std::string(data_folder) + std::string(stem) + "/";
}
std::string segment_name(std::string_view stem, std::int64_t offset_bytes) {
    return segments_folder(stem) +
           hexadecimal(static_cast<std::uint64_t>(offset_bytes / segment_span_bytes), 6);
}

namespace {

/// A writer's data: every write is an object.
class SegmentsToWrite final : public storage::File {
  public:
    SegmentsToWrite(storage::ObjectsPtr objects, std::string stem)
        : objects_(std::move(objects)),
          stem_(std::move(stem)),
          path_(objects_->root() + "/" + segments_folder(stem_)) {}

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override {
        assert(offset % segment_span_bytes == 0 && std::ssize(data) <= segment_span_bytes);
        const std::int64_t end_bytes = offset + std::ssize(data);
        for (std::int64_t seen = end_bytes_;
             seen < end_bytes && !end_bytes_.compare_exchange_weak(seen, end_bytes);) {
        }
        return objects_->put(segment_name(stem_, offset), data);
    }
    Result<std::int64_t> read_at(std::span<std::byte> /*data*/, std::int64_t /*offset*/) override {
        return Status(ErrorCode::unsupported, path_ + " is written only");
    }
    Result<std::int64_t> size_bytes() override { return end_bytes_.load(); }
    Status set_size(std::int64_t bytes) override {
        Status status;
        for (std::int64_t at = (bytes + (segment_span_bytes - 1)) & ~(segment_span_bytes - 1);
             at < end_bytes_; at += segment_span_bytes)
            status.keep_first(objects_->remove(segment_name(stem_, at)));
        return status;
    }
    Status preallocate(std::int64_t /*bytes*/) override { return {}; }
    Status sync() override { return {}; }  // what was acknowledged is on stable storage
    Status close() override { return {}; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }

  private:
    storage::ObjectsPtr objects_;
    std::string stem_, path_;
    std::atomic<std::int64_t> end_bytes_ = 0;
};

/// One object, to be read.
class SegmentToRead final : public storage::File {
  public:
    SegmentToRead(storage::ObjectsPtr objects, std::string name)
        : objects_(std::move(objects)), name_(std::move(name)), path_(objects_->root() + "/" + name_) {}

    Status write_at(std::span<const std::byte> /*data*/, std::int64_t /*offset*/) override {
        return read_only();
    }
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        return objects_->get(name_, offset, data);
    }
    Result<std::int64_t> size_bytes() override {
        const auto facts = objects_->facts(name_);
        if (!facts.ok()) return facts.status();
        return facts.value().size_bytes;
    }
    Status set_size(std::int64_t /*bytes*/) override { return read_only(); }
    Status preallocate(std::int64_t /*bytes*/) override { return read_only(); }
    Status sync() override { return {}; }
    Status close() override { return {}; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }

  private:
    [[nodiscard]] Status read_only() const { return {ErrorCode::unsupported, path_ + " is read only"}; }
    storage::ObjectsPtr objects_;
    std::string name_, path_;
};

}  // namespace

storage::FilePtr segments_to_write(storage::ObjectsPtr objects, const std::string& stem) {
    return std::make_unique<SegmentsToWrite>(std::move(objects), stem);
}

storage::FilePtr segment_to_read(storage::ObjectsPtr objects, const std::string& name) {
    return std::make_unique<SegmentToRead>(std::move(objects), name);
}

}  // namespace hakobi::store
