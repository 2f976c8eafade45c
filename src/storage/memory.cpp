#include "storage/memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <shared_mutex>
#include <unordered_map>

namespace hakobi::storage {

namespace {

constexpr std::int64_t memory_page_bytes = 65536;
using Page = std::array<std::byte, memory_page_bytes>;

/// The bytes of one file. A page that was never written reads as zeros.
struct Contents {
    std::shared_mutex mutex;
    std::unordered_map<std::int64_t, std::unique_ptr<Page>> pages;
    std::int64_t size_bytes = 0;
};

struct Directory {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<Contents>, std::less<>> files;
};

Directory& directory() {
    static Directory instance;
    return instance;
}

class MemoryFile final : public File {
  public:
    MemoryFile(std::string path, std::shared_ptr<Contents> contents, const OpenMode& mode)
        : path_(std::move(path)),
          contents_(std::move(contents)),
          can_read_(mode.read),
          can_write_(mode.write) {}

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override try {
        if (!can_write_) return failure(EBADF, "cannot write");
        if (Status status = check_range(offset, data.size(), "cannot write", path_); !status.ok())
            return status;
        if (data.empty()) return {};
        std::unique_lock lock(contents_->mutex);
        while (!data.empty()) {
            const std::int64_t begin = offset % memory_page_bytes;
            const std::size_t length =
                std::min(data.size(), static_cast<std::size_t>(memory_page_bytes - begin));
            std::unique_ptr<Page>& page = contents_->pages[offset / memory_page_bytes];
            if (!page) page = std::make_unique<Page>();
            std::memcpy(page->data() + begin, data.data(), length);
            data = data.subspan(length);
            offset += static_cast<std::int64_t>(length);
            contents_->size_bytes = std::max(contents_->size_bytes, offset);
        }
        return {};
    } catch (const std::bad_alloc&) {
        return failure(ENOMEM, "cannot write");
    }

    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        if (!can_read_) return failure(EBADF, "cannot read");
        if (Status status = check_range(offset, data.size(), "cannot read", path_); !status.ok())
            return status;
        std::shared_lock lock(contents_->mutex);
        const std::int64_t there = std::max<std::int64_t>(0, contents_->size_bytes - offset);
        if (static_cast<std::int64_t>(data.size()) > there)
            data = data.first(static_cast<std::size_t>(there));
        const auto total = static_cast<std::int64_t>(data.size());
        while (!data.empty()) {
            const std::int64_t begin = offset % memory_page_bytes;
            const std::size_t length =
                std::min(data.size(), static_cast<std::size_t>(memory_page_bytes - begin));
            const auto page = contents_->pages.find(offset / memory_page_bytes);
            if (page == contents_->pages.end() || !page->second) {
                std::memset(data.data(), 0, length);
            } else {
                std::memcpy(data.data(), page->second->data() + begin, length);
            }
            data = data.subspan(length);
            offset += static_cast<std::int64_t>(length);
        }
        return total;
    }

    Result<std::int64_t> size_bytes() override {
        std::shared_lock lock(contents_->mutex);
        return contents_->size_bytes;
    }

    Status set_size(std::int64_t bytes) override {
        if (!can_write_) return failure(EBADF, "cannot resize");
        if (Status status = check_range(bytes, 0, "cannot resize", path_); !status.ok()) return status;
        std::unique_lock lock(contents_->mutex);
        if (bytes < contents_->size_bytes) {
            std::erase_if(contents_->pages,
                          [&](const auto& entry) { return entry.first * memory_page_bytes >= bytes; });
            // Bytes that a later growth uncovers must read as zeros.
            const auto last = contents_->pages.find(bytes / memory_page_bytes);
            if (last != contents_->pages.end() && last->second) {
                std::fill(last->second->begin() + bytes % memory_page_bytes, last->second->end(),
                          std::byte{0});
            }
        }
        contents_->size_bytes = bytes;
        return {};
    }

    Status preallocate(std::int64_t bytes) override {
        if (!can_write_) return failure(EBADF, "cannot preallocate");
        if (Status status = check_range(bytes, 0, "cannot preallocate", path_); !status.ok()) return status;
        std::unique_lock lock(contents_->mutex);
        contents_->size_bytes = std::max(contents_->size_bytes, bytes);
        return {};
    }

    Status sync() override { return {}; }
    Status close() override { return {}; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }

  private:
    [[nodiscard]] Status failure(int error, std::string_view what) const {
        return status_of_errno(error, what, path_);
    }

    std::string path_;
    std::shared_ptr<Contents> contents_;
    bool can_read_, can_write_;
};

}  // namespace

Result<FilePtr> open_memory(const std::string& path, const OpenMode& mode) {
    std::scoped_lock lock(directory().mutex);
    auto entry = directory().files.find(path);
    if (entry == directory().files.end()) {
        if (!mode.create) return status_of_errno(ENOENT, "cannot open", path);
        entry = directory().files.emplace(path, std::make_shared<Contents>()).first;
    } else if (mode.create && mode.exclusive) {
        return status_of_errno(EEXIST, "cannot open", path);
    }
    if (mode.truncate) {
        std::unique_lock contents_lock(entry->second->mutex);
        entry->second->pages.clear();
        entry->second->size_bytes = 0;
    }
    return FilePtr(std::make_unique<MemoryFile>(path, entry->second, mode));
}

Status remove_memory(const std::string& path) {
    std::scoped_lock lock(directory().mutex);
    return directory().files.erase(path) == 1 ? Status() : status_of_errno(ENOENT, "cannot remove", path);
}

Status commit_memory(const std::string& from, const std::string& to, const CommitMode& mode) {
    const std::scoped_lock lock(directory().mutex);
    const auto entry = directory().files.find(from);
    if (entry == directory().files.end()) return status_of_errno(ENOENT, "cannot rename", from);
    if (!mode.replaces && directory().files.contains(to))
        return status_of_errno(EEXIST, "cannot rename " + from + " to", to);
    if (from == to) return {};
    directory().files.insert_or_assign(to, entry->second);
    directory().files.erase(from);
    return {};
}

Result<std::vector<Listed>> list_memory(const std::string& folder) {
    const std::scoped_lock lock(directory().mutex);
    const std::string before = folder + "/";
    std::set<std::string> files, folders;
    for (auto entry = directory().files.lower_bound(before);
         entry != directory().files.end() && entry->first.starts_with(before); ++entry) {
        const std::string rest = entry->first.substr(before.size());
        const std::size_t slash = rest.find('/');
        (slash == std::string::npos ? files : folders).insert(rest.substr(0, slash));
    }
    if (files.empty() && folders.empty()) return status_of_errno(ENOENT, "cannot list folder", folder);
    std::vector<Listed> found;
    for (const std::string& name : files) found.push_back({name, Listed::Kind::file});
    for (const std::string& name : folders) found.push_back({name, Listed::Kind::folder});
    return found;
}

}  // namespace hakobi::storage
