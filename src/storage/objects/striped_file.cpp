#include "storage/objects/striped_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/random.hpp"

namespace hakobi::storage {
namespace {

constexpr std::string_view head_title = "hakobi striped file 1\n";

struct Head {
    std::string id;
    std::int64_t object_bytes = stripe_object_bytes;
};

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(const Head& head) {
    return std::string(head_title) + "id " + head.id + "\nobject_bytes " + std::to_string(head.object_bytes) +
           "\n";
}

std::string data_name(const Head& head, std::int64_t index) {
    return head.id + "." + std::to_string(index);
}

std::string place_of(const StripedPlace& place, const std::string& name) {
    return place.heads->root() + "/" + name;
}

Result<Head> read_head(const StripedPlace& place, const std::string& name, std::string_view what) {
    std::array<char, 256> text{};
    const Result<std::int64_t> length = place.heads->get(name, 0, std::as_writable_bytes(std::span(text)));
    if (!length.ok()) {
        if (length.status().code() == ErrorCode::not_found)
            return status_of_errno(ENOENT, what, place_of(place, name));
        return length.status();
    }
    const std::string_view found(text.data(), static_cast<std::size_t>(length.value()));
    constexpr std::size_t id_length = 32;
    const std::string_view id_key = "id ", size_key = "\nobject_bytes ";
    const std::size_t size_at = head_title.size() + id_key.size() + id_length;
    Head head;
    const bool is_head = found.starts_with(head_title) && found.size() > size_at + size_key.size() &&
                         found.substr(head_title.size()).starts_with(id_key) &&
                         found.substr(size_at).starts_with(size_key);
    if (is_head) {
        head.id = found.substr(head_title.size() + id_key.size(), id_length);
        std::from_chars(found.data() + size_at + size_key.size(), found.data() + found.size(),
                        head.object_bytes);
    }
    if (!is_head || head.object_bytes <= 0) {
        return Status(ErrorCode::format, std::string(what) + " " + place_of(place, name) +
                                             ": an object of this name is there, but no file of Hakobi's");
    }
    return head;
}

Status remove_data(const StripedPlace& place, const Head& head) {
    const Result<std::int64_t> size = place.data->ranged()->number(head.id);
    if (size.status().code() == ErrorCode::not_found) return {};
    if (!size.ok()) return size.status();
    Status status;
    for (std::int64_t i = 0; i * head.object_bytes < size.value(); ++i)
        status.keep_first(place.data->remove(data_name(head, i)));
    status.keep_first(place.data->remove(head.id));
    return status;
}

/// Whether a file has a second name (step 4), which its bytes belong to.
bool is_owned_by_another(const StripedPlace& place, const Head& head, const std::string& name) {
    std::array<char, 1024> text{};
    const Result<std::int64_t> length = place.data->get(head.id, 0, std::as_writable_bytes(std::span(text)));
    if (!length.ok()) return false;
    const std::string owner(text.data(), static_cast<std::size_t>(length.value()));
    if (owner == name || !check_object_name(owner).ok()) return false;
    const Result<Head> owners = read_head(place, owner, "cannot find");
    return owners.ok() && owners.value().id == head.id;
}

class StripedFile final : public File {
  public:
    StripedFile(std::string path, StripedPlace place, Head head, const OpenMode& mode, std::int64_t size)
        : path_(std::move(path)),
          place_(std::move(place)),
          data_(*place_.data->ranged()),
          head_(std::move(head)),
          can_read_(mode.read),
          can_write_(mode.write),
          size_(size) {
        assert(place_.data->ranged() != nullptr && head_.object_bytes > 0);
        abilities_.file_system = place_.data->abilities().kind;
        abilities_.stripe_bytes = head_.object_bytes;
        abilities_.passes_cache = true;
    }

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override {
        if (!can_write_) return status_of_errno(EBADF, "cannot write", path_);
        if (Status status = check_range(offset, data.size(), "cannot write", path_); !status.ok())
            return status;
        if (data.empty()) return {};
        const std::int64_t end = offset + std::ssize(data);
        while (!data.empty()) {
            const auto [index, within, length] = piece(offset, std::ssize(data));
            const auto first = data.first(static_cast<std::size_t>(length));
            if (Status status = data_.write(data_name(head_, index), within, first); !status.ok())
                return named(status);
            data = data.subspan(first.size());
            offset += length;
        }
        return grow_to(end);
    }

    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        if (!can_read_) return status_of_errno(EBADF, "cannot read", path_);
        if (Status status = check_range(offset, data.size(), "cannot read", path_); !status.ok())
            return status;
        // Others may have made it longer: asked only where that matters.
        if (offset + std::ssize(data) > size_.load()) {
            if (Result<std::int64_t> size = size_bytes(); !size.ok()) return size;
        }
        const std::int64_t there = std::clamp<std::int64_t>(size_.load() - offset, 0, std::ssize(data));
        data = data.first(static_cast<std::size_t>(there));
        while (!data.empty()) {
            const auto [index, within, length] = piece(offset, std::ssize(data));
            const auto first = data.first(static_cast<std::size_t>(length));
            const Result<std::int64_t> got = data_.get(data_name(head_, index), within, first);
            if (!got.ok() && got.status().code() != ErrorCode::not_found) return named(got.status());
            const auto num = static_cast<std::size_t>(got.ok() ? got.value() : 0);
            std::memset(first.data() + num, 0, first.size() - num);
            data = data.subspan(first.size());
            offset += length;
        }
        return there;
    }

    Result<std::int64_t> size_bytes() override {
        Result<std::int64_t> size = data_.number(head_.id);
        if (!size.ok()) {
            if (size.status().code() != ErrorCode::not_found) return named(size.status());
            return Status(ErrorCode::io,
                          "cannot read " + path_ + ": it has been removed or replaced since it was opened");
        }
        size_ = size.value();
        return size;
    }

    Status set_size(std::int64_t bytes) override {
        if (!can_write_) return status_of_errno(EBADF, "cannot resize", path_);
        if (Status status = check_range(bytes, 0, "cannot resize", path_); !status.ok()) return status;
        const Result<std::int64_t> size = size_bytes();
        if (!size.ok()) return size.status();
        if (bytes < size.value()) {  // what a later growth uncovers reads as zeros
            const auto [index, within, length] = piece(bytes, head_.object_bytes);
            for (std::int64_t i = within > 0 ? index + 1 : index; i * head_.object_bytes < size.value();
                 ++i) {
                if (Status status = place_.data->remove(data_name(head_, i)); !status.ok())
                    return named(status);
            }
            if (within > 0) {
                const Result<ObjectFacts> last = data_.facts(data_name(head_, index));
                if (last.ok() && last.value().size_bytes > within) {
                    if (Status status = data_.resize(data_name(head_, index), within); !status.ok())
                        return named(status);
                }
            }
        }
        Status status = data_.set_number(head_.id, bytes);
        if (status.ok()) size_ = bytes;
        return named(status);
    }

    Status preallocate(std::int64_t bytes) override {
        if (!can_write_) return status_of_errno(EBADF, "cannot preallocate", path_);
        if (Status status = check_range(bytes, 0, "cannot preallocate", path_); !status.ok()) return status;
        return grow_to(bytes);
    }

    Status sync() override { return {}; }  // what a store has acknowledged is on stable storage
    Status close() override { return {}; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] const Abilities& abilities() const noexcept override { return abilities_; }

  private:
    struct Piece {
        std::int64_t index, within, length;
    };
    /// The part of the range that lies in one object.
    [[nodiscard]] Piece piece(std::int64_t offset, std::int64_t length) const {
        assert(offset >= 0 && length > 0);
        const std::int64_t within = offset % head_.object_bytes;
        return {offset / head_.object_bytes, within, std::min(length, head_.object_bytes - within)};
    }
    /// Tells the others, unless they know.
    Status grow_to(std::int64_t bytes) {
        std::int64_t known = size_.load();
        if (bytes <= known) return {};
        if (Status status = data_.raise_number(head_.id, bytes); !status.ok()) return named(status);
        while (known < bytes && !size_.compare_exchange_weak(known, bytes)) {
        }
        return {};
    }
    /// Errors name the file beside the object.
    [[nodiscard]] Status named(const Status& status) const {
        return status.ok() ? Status() : Status(status.code(), path_ + ": " + status.text());
    }

    std::string path_;
    StripedPlace place_;
    RangedObjects& data_;
    Head head_;
    bool can_read_, can_write_;
    std::atomic<std::int64_t> size_;
    Abilities abilities_;
};

}  // namespace

Result<FilePtr> open_striped(const StripedPlace& place, const std::string& name, const OpenMode& mode) {
    const std::string path = mode.name.empty() ? place_of(place, name) : mode.name;
    Result<Head> head = read_head(place, name, "cannot open");
    const bool is_missing = !head.ok() && head.status().code() == ErrorCode::not_found;
    if (is_missing && mode.create) {
        const Head made = {.id = random_name()};
        Status status = place.data->put(made.id, bytes_of(name));
        if (status.ok()) status = place.data->ranged()->set_number(made.id, 0);
        if (status.ok()) status = place.heads->put(name, bytes_of(text_of(made)), {.only_if_absent = true});
        if (status.ok()) return FilePtr(std::make_unique<StripedFile>(path, place, made, mode, 0));
        (void)place.data->remove(made.id);
        if (status.code() != ErrorCode::exists || mode.exclusive) {
            return status.code() == ErrorCode::exists ? status_of_errno(EEXIST, "cannot open", path) : status;
        }
        head = read_head(place, name, "cannot open");  // somebody else was first
    } else if (!is_missing && mode.create && mode.exclusive) {
        return status_of_errno(EEXIST, "cannot open", path);
    }
    if (!head.ok()) return head.status();
    auto file = std::make_unique<StripedFile>(path, place, std::move(head).value(), mode, 0);
    if (Result<std::int64_t> size = file->size_bytes(); !size.ok()) return size.status();
    if (mode.truncate && mode.write) {
        if (Status status = file->set_size(0); !status.ok()) return status;
    }
    return FilePtr(std::move(file));
}

Status commit_striped(const StripedPlace& place, const std::string& from, const std::string& to,
                      const CommitMode& mode) {
    const std::string what = "cannot rename " + place_of(place, from) + " to";
    const Result<Head> head = read_head(place, from, "cannot rename");
    if (!head.ok()) return head.status();
    const Result<Head> old = read_head(place, to, what);
    if (!old.ok() && old.status().code() != ErrorCode::not_found) return old.status();
    if (old.ok() && !mode.replaces) return status_of_errno(EEXIST, what, place_of(place, to));
    if (from == to) return {};
    if (Status status = place.data->put(head.value().id, bytes_of(to)); !status.ok()) return status;
    Status status = place.heads->put(to, bytes_of(text_of(head.value())), {.only_if_absent = !mode.replaces});
    if (status.code() == ErrorCode::exists) return status_of_errno(EEXIST, what, place_of(place, to));
    if (status.ok()) status = place.heads->remove(from);
    if (status.ok() && old.ok() && old.value().id != head.value().id)
        status = remove_data(place, old.value());
    return status;
}

Status remove_striped(const StripedPlace& place, const std::string& name) {
    const Result<Head> head = read_head(place, name, "cannot remove");
    if (!head.ok()) return head.status();
    const bool is_others = is_owned_by_another(place, head.value(), name);
    if (Status status = place.heads->remove(name); !status.ok()) return status;
    return is_others ? Status() : remove_data(place, head.value());
}

Result<std::vector<Listed>> list_names(Objects& objects, const std::string& folder) {
    const std::string before = folder.empty() ? "" : folder + "/";
    const Result<Listing> listing = objects.list({.prefix = before, .delimiter = "/"});
    if (!listing.ok()) return listing.status();
    std::vector<Listed> found;
    for (const ListedObject& each : listing.value().objects)
        found.push_back({each.name.substr(before.size()), Listed::Kind::file});
    for (const std::string& prefix : listing.value().prefixes)
        found.push_back(
            {prefix.substr(before.size(), prefix.size() - before.size() - 1), Listed::Kind::folder});
    if (found.empty()) return status_of_errno(ENOENT, "cannot list folder", objects.root() + "/" + folder);
    return found;
}

}  // namespace hakobi::storage
