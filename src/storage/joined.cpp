#include "storage/joined.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <string_view>

#include "storage/backend.hpp"
#include "storage/posix.hpp"

namespace hakobi::storage {
namespace {

std::string members_path(const std::string& folder) {
    return folder + "/members";
}

Status damaged(const std::string& folder) {
    return {ErrorCode::format, members_path(folder) + ": it does not say where members are"};
}

Result<std::vector<Member>> read_members(const std::string& folder, const OpenMode& mode) {
    Result<FilePtr> file = open_file(members_path(folder), {.is_others = mode.is_others});
    if (!file.ok()) return file.status();
    const Result<std::int64_t> size = file.value()->size_bytes();
    if (!size.ok()) return size.status();
    constexpr std::int64_t most_bytes = 64 << 20;
    if (size.value() > most_bytes) return damaged(folder);
    std::string text(static_cast<std::size_t>(size.value()), '\0');
    const Result<std::int64_t> read = file.value()->read_at(std::as_writable_bytes(std::span(text)), 0);
    if (!read.ok()) return read.status();
    if (read.value() != size.value() || (!text.empty() && text.back() != '\n')) return damaged(folder);
    std::vector<Member> members;
    std::int64_t before = 0;
    for (const char *at = text.data(), *const end = at + text.size(); at != end;) {
        Member member;
        const auto [space, bad_begin] = std::from_chars(at, end, member.begin);
        if (bad_begin != std::errc() || space == end || *space != ' ') return damaged(folder);
        const auto [line, bad_end] = std::from_chars(space + 1, end, member.end);
        if (bad_end != std::errc() || line == end || *line != '\n') return damaged(folder);
        if (member.begin < before || member.end < member.begin) return damaged(folder);
        before = member.end;
        members.push_back(member);
        at = line + 1;
    }
    return members;
}

class JoinedFile final : public File {
  public:
    JoinedFile(std::string folder, const OpenMode& mode, std::vector<Member> members, FilePtr rest)
        : folder_(std::move(folder)),
          mode_(mode),
          members_(std::move(members)),
          files_(members_.size()),
          rest_(std::move(rest)),
          total_bytes_(members_.empty() ? 0 : members_.back().end) {
        assert(std::ranges::is_sorted(members_, {}, &Member::end));
    }

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override {
        if (Status status = check_range(offset, data.size(), "cannot write", folder_); !status.ok())
            return status;
        return for_each_part(data, offset, [](File& file, std::span<const std::byte> part, std::int64_t at) {
            return file.write_at(part, at);
        });
    }

    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        if (Status status = check_range(offset, data.size(), "cannot read", folder_); !status.ok())
            return status;
        const Result<std::int64_t> size = size_bytes();
        if (!size.ok()) return size;
        const std::int64_t there = std::clamp<std::int64_t>(size.value() - offset, 0, std::ssize(data));
        data = data.first(static_cast<std::size_t>(there));
        std::ranges::fill(data, std::byte{0});
        Status status =
            for_each_part(data, offset, [](File& file, std::span<std::byte> part, std::int64_t at) -> Status {
                return file.read_at(part, at).status();
            });
        if (!status.ok()) return status;
        return there;
    }

    Result<std::int64_t> size_bytes() override {
        const Result<std::int64_t> rest = rest_->size_bytes();
        return rest.ok() ? std::max(rest.value(), total_bytes_) : rest;
    }

    Status set_size(std::int64_t bytes) override { return rest_->set_size(bytes > total_bytes_ ? bytes : 0); }

    Status preallocate(std::int64_t /*bytes*/) override {
        Status status;
        for (std::size_t m = 0; m < members_.size() && status.ok(); ++m) {
            Result<File*> file = member(m);
            status =
                file.ok() ? file.value()->preallocate(members_[m].end - members_[m].begin) : file.status();
        }
        return status;
    }

    Status lock_range(std::int64_t offset, std::int64_t length) override {
        return rest_->lock_range(offset, length);
    }
    Status unlock_range(std::int64_t offset, std::int64_t length) override {
        return rest_->unlock_range(offset, length);
    }

    Status sync() override {
        Status status;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            Result<File*> file = member(m);
            // One that is gone was put into its place by a process that was killed, after it had synced it.
            if (file.status().code() == ErrorCode::not_found) continue;
            status.keep_first(file.ok() ? file.value()->sync() : file.status());
        }
        status.keep_first(rest_->sync());
        // The list of members is written when the folder is made.
        Result<FilePtr> list = open_file(members_path(folder_), {.read = true, .write = true});
        status.keep_first(list.ok() ? list.value()->sync() : list.status());
        const Location location = locate(folder_);
        if (location.backend->has_system_paths) status.keep_first(sync_posix_folder(location.path));
        return status;
    }

    Status close() override {
        const std::scoped_lock lock(mutex_);
        Status status;
        for (FilePtr& file : files_) {
            if (file) status.keep_first(file->close());
        }
        status.keep_first(rest_->close());
        return status;
    }

    [[nodiscard]] const std::string& path() const noexcept override { return folder_; }
    [[nodiscard]] const Abilities& abilities() const noexcept override { return rest_->abilities(); }
    [[nodiscard]] int descriptor_behind() const noexcept override { return rest_->descriptor(); }

  private:
    /// Opened when it is needed: an aggregator has bytes of a few.
    Result<File*> member(std::size_t m) {
        const std::scoped_lock lock(mutex_);
        assert(m < members_.size());
        if (!files_[m]) {
            Result<FilePtr> opened = open_file(member_path(folder_, m), mode_);
            if (!opened.ok()) return opened.status();
            files_[m] = std::move(opened).value();
        }
        return files_[m].get();
    }

    template <class Bytes, class Move>
    Status for_each_part(Bytes data, std::int64_t offset, Move move) {
        const std::int64_t end = offset + std::ssize(data);
        const auto part = [&](std::int64_t from, std::int64_t to) {
            return data.subspan(static_cast<std::size_t>(from - offset), static_cast<std::size_t>(to - from));
        };
        auto at = std::ranges::upper_bound(members_, offset, {}, &Member::end);
        for (; at != members_.end() && at->begin < end; ++at) {
            const std::int64_t from = std::max(offset, at->begin), to = std::min(end, at->end);
            if (from >= to) continue;
            Result<File*> file = member(static_cast<std::size_t>(at - members_.begin()));
            if (!file.ok()) return file.status();
            if (Status status = move(*file.value(), part(from, to), from - at->begin); !status.ok())
                return status;
        }
        const std::int64_t behind = std::max(offset, total_bytes_);
        return behind < end ? move(*rest_, part(behind, end), behind) : Status();
    }

    std::string folder_;
    OpenMode mode_;
    std::vector<Member> members_;
    std::mutex mutex_;  // of files_
    std::vector<FilePtr> files_;
    FilePtr rest_;
    std::int64_t total_bytes_;
};

}  // namespace

std::string member_path(const std::string& folder, std::size_t member) {
    return folder + "/" + std::to_string(member);
}

std::string rest_path(const std::string& folder) {
    return folder + "/rest";
}

std::string joined_folder(const std::string& path) {
    return path.starts_with(joined_scheme) ? path.substr(std::string_view(joined_scheme).size())
                                           : std::string();
}

Status make_joined(const std::string& folder, std::span<const Member> members) {
    const Location location = locate(folder);
    if (location.backend->has_system_paths && ::mkdir(location.path.c_str(), 0777) != 0)
        return status_of_errno(errno, "cannot make folder", folder);
    const OpenMode making = {.read = false, .write = true, .create = true, .exclusive = true};
    const auto make = [&](const std::string& path, std::string_view text, std::int64_t bytes) {
        Result<FilePtr> file = open_file(path, making);
        if (!file.ok()) return file.status();
        Status status = file.value()->write_at(std::as_bytes(std::span(text)), 0);
        if (status.ok() && bytes > 0) status = file.value()->set_size(bytes);
        status.keep_first(file.value()->close());
        return status;
    };
    Status status = make(rest_path(folder), "", 0);
    std::string text;
    for (std::size_t m = 0; m < members.size() && status.ok(); ++m) {
        assert(members[m].begin >= (m == 0 ? 0 : members[m - 1].end) && members[m].end >= members[m].begin);
        text += std::to_string(members[m].begin) + " " + std::to_string(members[m].end) + "\n";
        status = make(member_path(folder, m), "", members[m].end - members[m].begin);
    }
    if (status.ok()) status = make(members_path(folder), text, 0);
    if (!status.ok()) (void)remove_joined(folder);
    return status;
}

Result<std::vector<std::int64_t>> sizes_of_members(const std::string& folder) {
    const Result<std::vector<Member>> members = read_members(folder, {});
    if (!members.ok()) return members.status();
    std::vector<std::int64_t> sizes;
    for (const Member& member : members.value()) {
        sizes.push_back(member.end - member.begin);
        const std::string path = member_path(folder, sizes.size() - 1);
        Result<FilePtr> file = open_file(path, {.regular_only = true});
        if (file.status().code() == ErrorCode::not_found)
            return Status(ErrorCode::format, path + " is missing");
        if (!file.ok()) return file.status();
        const Result<std::int64_t> size = file.value()->size_bytes();
        if (!size.ok()) return size.status();
        if (size.value() != sizes.back()) {
            return Status(ErrorCode::format, path + " is damaged: it has " + std::to_string(size.value()) +
                                                 " of its " + std::to_string(sizes.back()) + " bytes");
        }
    }
    return sizes;
}

Result<FilePtr> open_joined(const std::string& folder, const OpenMode& mode) {
    if (mode.create) {
        return Status(ErrorCode::unsupported,
                      "cannot open " + folder + ": joined files are made with their members");
    }
    Result<std::vector<Member>> members = read_members(folder, mode);
    if (!members.ok()) return members.status();
    OpenMode inner = mode;
    inner.truncate = false;
    inner.name.clear();
    Result<FilePtr> rest = open_file(rest_path(folder), inner);
    if (!rest.ok()) return rest.status();
    return FilePtr(
        std::make_unique<JoinedFile>(folder, inner, std::move(members).value(), std::move(rest).value()));
}

Status commit_joined(const std::string& from, const std::string& to, const CommitMode& mode) {
    const Location source = locate(from), target = locate(to);
    return source.backend->commit(source.path, target.path, mode);
}

Status remove_joined(const std::string& folder) {
    const Location location = locate(folder);
    const Result<std::vector<Listed>> listed = location.backend->list(location.path);
    if (!listed.ok()) return listed.status();
    for (const Listed& each : listed.value()) {
        if (each.kind != Listed::Kind::file) continue;
        if (Status status = location.backend->remove(location.path + "/" + each.name); !status.ok())
            return status;
    }
    if (!location.backend->has_system_paths || ::rmdir(location.path.c_str()) == 0) return {};
    return status_of_errno(errno, "cannot remove folder", folder);
}

Result<std::vector<Listed>> list_joined(const std::string& folder) {
    return list_folder(folder);
}

}  // namespace hakobi::storage
