#include "storage/null.hpp"

#include <algorithm>
#include <atomic>

namespace hakobi::storage {

namespace {

class NullFile final : public File {
  public:
    explicit NullFile(std::string path) : path_(std::move(path)) {}

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override {
        if (Status status = check_range(offset, data.size(), "cannot write", path_); !status.ok())
            return status;
        if (!data.empty()) grow_to(offset + static_cast<std::int64_t>(data.size()));
        return {};
    }
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        if (Status status = check_range(offset, data.size(), "cannot read", path_); !status.ok())
            return status;
        std::ranges::fill(data, std::byte{0});
        return static_cast<std::int64_t>(data.size());
    }
    Result<std::int64_t> size_bytes() override { return size_bytes_.load(); }
    Status set_size(std::int64_t bytes) override {
        if (Status status = check_range(bytes, 0, "cannot resize", path_); !status.ok()) return status;
        size_bytes_ = bytes;
        return {};
    }
    Status preallocate(std::int64_t bytes) override {
        if (Status status = check_range(bytes, 0, "cannot preallocate", path_); !status.ok()) return status;
        grow_to(bytes);
        return {};
    }
    Status sync() override { return {}; }
    Status close() override { return {}; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] const Abilities& abilities() const noexcept override {
        static constexpr Abilities discarding{.keeps_data = false};
        return discarding;
    }

  private:
    void grow_to(std::int64_t bytes) {
        std::int64_t seen = size_bytes_.load();
        while (seen < bytes && !size_bytes_.compare_exchange_weak(seen, bytes)) {
        }
    }

    std::string path_;
    std::atomic<std::int64_t> size_bytes_{0};
};

}  // namespace

FilePtr make_null(const std::string& path) {
    return std::make_unique<NullFile>(path);
}

Result<FilePtr> open_null(const std::string& path, const OpenMode& /*mode*/) {
    return make_null(path);
}

Status commit_null(const std::string& /*from*/, const std::string& /*to*/, const CommitMode& /*mode*/) {
    return {};
}

Status remove_null(const std::string& /*path*/) {
    return {};
}

Result<std::vector<Listed>> list_null(const std::string& /*folder*/) {
    return std::vector<Listed>();
}

}  // namespace hakobi::storage
