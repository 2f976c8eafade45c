// Objects as files below a folder. An object that is being written lies in .hakobi-new/, an upload's parts in
// .hakobi-uploads/ID/; what a killed process has left there nobody reads.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/descriptor.hpp"
#include "base/random.hpp"
#include "storage/file.hpp"
#include "storage/objects/listing.hpp"
#include "storage/objects/stores.hpp"
#include "storage/posix.hpp"

namespace hakobi::storage {
namespace {

namespace fs = std::filesystem;

constexpr ObjectAbilities folder_abilities = {.kind = "folder",
                                              .max_object_bytes = std::int64_t{1} << 60,
                                              .min_part_bytes = 1,
                                              .max_part_bytes = std::int64_t{1} << 60,
                                              .max_parts = 10'000,
                                              .num_requests = 2};

ObjectFacts facts_of(const struct stat& info) {
    const std::int64_t modified_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
    return {info.st_size, std::to_string(info.st_ino) + "." + std::to_string(modified_ns), modified_ns};
}

/// The file has a name of its own until it gets the object's.
class FolderObjects final : public Objects {
  public:
    explicit FolderObjects(std::string root) : root_(std::move(root)) {}

    Status put(const std::string& name, std::span<const std::byte> bytes, const PutMode& mode) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        const std::string draft = root_ + "/.hakobi-new/" + random_name();
        Status status = write_file(draft, bytes);
        if (status.ok()) status = publish(draft, name, mode);
        if (!status.ok()) ::unlink(draft.c_str());
        return status;
    }

    Result<std::string> replace(const std::string& name, std::span<const std::byte> bytes,
                                const std::string& version) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        const std::string draft = root_ + "/.hakobi-new/" + random_name();
        Status status = write_file(draft, bytes);
        if (!status.ok()) return status;
        // Who replaces holds this lock while it looks and renames.
        const std::string gate = root_ + "/.hakobi-new/replacing";
        const Descriptor lock(::open(gate.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
        if (lock.get() < 0 || ::flock(lock.get(), LOCK_EX) != 0)
            status = status_of_errno(errno, "cannot lock", gate);
        struct stat info {};
        std::string there, now;
        if (status.ok() && ::stat(place(name).c_str(), &info) == 0) there = facts_of(info).version;
        if (status.ok() && there != version) status = replaced_before(place(name));
        if (status.ok() && ::stat(draft.c_str(), &info) == 0) now = facts_of(info).version;
        if (status.ok()) status = publish(draft, name, {.only_if_absent = version.empty()});
        if (status.ok()) return now;
        ::unlink(draft.c_str());
        return status;
    }

    Result<std::int64_t> get(const std::string& name, std::int64_t offset, std::span<std::byte> into,
                             const GetMode& mode) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        if (offset < 0) return Status(ErrorCode::invalid_argument, place(name) + ": a negative offset");
        const Descriptor file(::open(place(name).c_str(), O_RDONLY | O_CLOEXEC));
        struct stat info {};
        if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return failure("cannot read", name);
        if (!S_ISREG(info.st_mode)) return status_of_errno(ENOENT, "cannot read", place(name));
        if (!mode.version.empty() && mode.version != facts_of(info).version)
            return Status(ErrorCode::io, place(name) + " has been replaced since it was opened");
        std::int64_t total = 0;
        while (total < std::ssize(into)) {
            const ssize_t moved = ::pread(file.get(), into.data() + total,
                                          into.size() - static_cast<std::size_t>(total), offset + total);
            if (moved < 0 && errno == EINTR) continue;
            if (moved < 0) return failure("cannot read", name);
            if (moved == 0) break;
            total += moved;
        }
        return total;
    }

    Result<ObjectFacts> facts(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        struct stat info {};
        if (::stat(place(name).c_str(), &info) != 0) return failure("cannot find", name);
        if (!S_ISREG(info.st_mode)) return status_of_errno(ENOENT, "cannot find", place(name));
        return facts_of(info);
    }

    Result<Listing> list(const ListMode& mode) override {
        std::vector<std::pair<std::string, ObjectFacts>> found;
        if (Status status = walk("", mode.prefix, found); !status.ok()) return status;
        std::ranges::sort(found, {}, &std::pair<std::string, ObjectFacts>::first);
        ListingMaker listing(mode);
        for (const auto& [name, facts] : found) {
            if (!listing.take(name, facts)) break;
        }
        return listing.finish();
    }

    Status remove(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        if (::unlink(place(name).c_str()) == 0 || errno == ENOENT || errno == ENOTDIR || errno == EISDIR)
            return {};
        return failure("cannot remove", name);
    }

    Result<std::string> begin_upload(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        std::string id = random_name();
        const Status status = write_file(upload_folder(id) + "/name", std::as_bytes(std::span(name)));
        return status.ok() ? Result<std::string>(std::move(id)) : Result<std::string>(status);
    }
    Result<UploadedPart> put_part(const std::string& name, const std::string& upload, int number,
                                  std::span<const std::byte> bytes) override {
        if (name_of(upload) != name) return status_of_errno(ENOENT, "cannot send a part of", place(name));
        const std::string draft = upload_folder(upload) + "/" + random_name();
        if (Status status = write_file(draft, bytes); !status.ok()) return status;
        if (::rename(draft.c_str(), part_file(upload, number).c_str()) != 0)
            return failure("cannot send a part of", name);
        return UploadedPart{number, std::to_string(number), std::ssize(bytes)};
    }
    Result<std::vector<UploadedPart>> parts(const std::string& name, const std::string& upload) override {
        if (name_of(upload) != name) return status_of_errno(ENOENT, "cannot list the parts of", place(name));
        std::vector<UploadedPart> all;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(upload_folder(upload), error)) {
            const std::string file = entry.path().filename();
            int number = 0;
            if (!file.starts_with("part.")) continue;
            std::from_chars(file.data() + 5, file.data() + file.size(), number);
            all.push_back(
                {number, std::to_string(number), static_cast<std::int64_t>(entry.file_size(error))});
        }
        if (error) return status_of_errno(error.value(), "cannot list the parts of", place(name));
        std::ranges::sort(all, {}, &UploadedPart::number);
        return all;
    }
    Status complete_upload(const std::string& name, const std::string& upload,
                           std::span<const UploadedPart> parts, const PutMode& mode) override {
        if (name_of(upload) != name) return status_of_errno(ENOENT, "cannot complete", place(name));
        const std::string draft = upload_folder(upload) + "/whole";
        const Descriptor whole(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
        if (whole.get() < 0) return failure("cannot complete", name);
        for (const UploadedPart& each : parts) {
            const Descriptor part(::open(part_file(upload, each.number).c_str(), O_RDONLY | O_CLOEXEC));
            if (part.get() < 0)
                return {ErrorCode::invalid_argument,
                        place(name) + ": no part " + std::to_string(each.number)};
            for (ssize_t moved = 1; moved > 0;) {
                moved = ::copy_file_range(part.get(), nullptr, whole.get(), nullptr, std::size_t{1} << 30, 0);
                if (moved < 0) return failure("cannot complete", name);
            }
        }
        if (::fsync(whole.get()) != 0) return failure("cannot complete", name);
        Status status = publish(draft, name, mode);
        return status.ok() ? abort_upload(name, upload) : status;
    }
    Status abort_upload(const std::string& name, const std::string& upload) override {
        if (name_of(upload) != name) return {};
        std::error_code error;
        fs::remove_all(upload_folder(upload), error);
        return error ? status_of_errno(error.value(), "cannot give up an upload of", place(name)) : Status();
    }
    Result<std::vector<OpenUpload>> uploads(const std::string& prefix) override {
        std::vector<OpenUpload> open;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(root_ + "/.hakobi-uploads", error)) {
            const std::string id = entry.path().filename();
            const std::string name = name_of(id);
            if (!name.empty() && name.starts_with(prefix)) open.push_back({name, id});
        }
        if (error && error.value() != ENOENT)
            return status_of_errno(error.value(), "cannot list uploads in", root_);
        return open;
    }

    [[nodiscard]] const ObjectAbilities& abilities() const noexcept override { return folder_abilities; }
    [[nodiscard]] const std::string& root() const noexcept override { return root_; }

  private:
    [[nodiscard]] std::string place(const std::string& name) const { return root_ + "/" + name; }
    [[nodiscard]] std::string upload_folder(const std::string& id) const {
        return root_ + "/.hakobi-uploads/" + id;
    }
    [[nodiscard]] std::string part_file(const std::string& id, int number) const {
        return upload_folder(id) + "/part." + std::to_string(number);
    }
    /// The last call's error.
    [[nodiscard]] Status failure(std::string_view what, const std::string& name) const {
        if (errno == ENAMETOOLONG)
            return {ErrorCode::invalid_argument,
                    std::string(what) + " " + place(name) + ": the file system takes no name so long"};
        return status_of_errno(errno == ENOTDIR ? ENOENT : errno, what, place(name));
    }

    static Status write_file(const std::string& path, std::span<const std::byte> bytes) {
        std::error_code error;
        fs::create_directories(fs::path(path).parent_path(), error);
        if (error) return status_of_errno(error.value(), "cannot make the folder of", path);
        Result<FilePtr> opened =
            open_posix(path, {.read = false, .write = true, .create = true, .truncate = true});
        if (!opened.ok()) return opened.status();
        Status status = opened.value()->write_at(bytes, 0);
        if (status.ok()) status = opened.value()->sync();
        status.keep_first(opened.value()->close());
        return status;
    }
    /// Gives a file the object's name.
    Status publish(const std::string& draft, const std::string& name, const PutMode& mode) {
        const std::string path = place(name);
        std::error_code error;
        fs::create_directories(fs::path(path).parent_path(), error);
        if (error) return status_of_errno(error.value(), "cannot make the folder of", path);
        if (mode.only_if_absent) {
            const Status status = commit_posix(draft, path, {.replaces = false, .is_durable = true});
            return status.code() == ErrorCode::exists ? status_of_errno(EEXIST, "cannot create", path)
                                                      : status;
        }
        return commit_posix(draft, path, {.replaces = true, .is_durable = true});
    }
    std::string name_of(const std::string& upload) const {
        const Descriptor file(::open((upload_folder(upload) + "/name").c_str(), O_RDONLY | O_CLOEXEC));
        std::array<char, 1024> text{};
        const ssize_t length = file.get() < 0 ? 0 : ::read(file.get(), text.data(), text.size());
        return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(0, length))};
    }
    /// Names below `folder` ("" or "a/b/") that may begin with the prefix.
    Status walk(const std::string& folder, const std::string& prefix,
                std::vector<std::pair<std::string, ObjectFacts>>& found) {
        std::error_code error;
        for (fs::directory_iterator entry(root_ + "/" + folder, error), end; !error && entry != end;
             entry.increment(error)) {
            const std::string name = folder + entry->path().filename().string();
            if (entry->path().filename().string().starts_with(".hakobi-")) continue;
            struct stat info {};
            if (::stat(entry->path().c_str(), &info) != 0) continue;  // removed meanwhile
            if (S_ISREG(info.st_mode) && name.starts_with(prefix)) found.emplace_back(name, facts_of(info));
            const std::string below = name + "/";
            const std::size_t common = std::min(below.size(), prefix.size());
            if (S_ISDIR(info.st_mode) && below.compare(0, common, prefix, 0, common) == 0) {
                if (Status status = walk(below, prefix, found); !status.ok()) return status;
            }
        }
        const bool is_missing = error.value() == ENOENT || error.value() == ENOTDIR;
        return error && !is_missing
                   ? status_of_errno(error.value(), "cannot list folder", root_ + "/" + folder)
                   : Status();
    }

    std::string root_;
};

}  // namespace

Result<ObjectsPtr> open_folder_objects(const std::string& root) {
    if (root.empty()) return Status(ErrorCode::invalid_argument, "the folder of an object store has no name");
    return ObjectsPtr(std::make_shared<FolderObjects>(root));
}

}  // namespace hakobi::storage
