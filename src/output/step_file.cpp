#include "output/step_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "storage/file.hpp"

namespace hakobi::output {

std::string step_path(std::string_view prefix, std::int64_t step) {
    std::string digits = std::to_string(step);
    if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
    return std::string(prefix) + "_" + digits + ".nc";
}

std::string part_path(const std::string& path) {
    return path + ".part";
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

Status prepare_folder(std::string_view prefix) {
    const std::string path(prefix);
    const std::string folder = folder_of(path);
    struct stat info {};
    if (::stat(folder.c_str(), &info) != 0) {
        if (errno != ENOENT) return status_of_errno(errno, "cannot write to folder", folder);
        if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
            return status_of_errno(errno, "cannot make folder", folder);
        }
    } else if (!S_ISDIR(info.st_mode)) {
        return {ErrorCode::exists, "cannot write to folder " + folder + ": it is not a folder"};
    }
    const std::string first = step_path(path, 0);
    if (Status status = check_free(first); !status.ok()) return status;
    // Permission bits do not tell (root, read-only mounts, quotas): a file that is made and removed does.
    Result<storage::FilePtr> probe =
        storage::open_file(part_path(first), {.read = false, .write = true, .create = true});
    if (!probe.ok()) return probe.status();
    Status closed = probe.value()->close();
    discard_file(part_path(first));
    return closed;
}

Status check_free(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode) || S_ISLNK(info.st_mode)) return {};
    return {ErrorCode::exists, "cannot write " + path + ": a " +
                                   (S_ISDIR(info.st_mode) ? "folder" : "special file") +
                                   " of that name is in the way"};
}

Status create_file(const std::string& path, const format::Layout& layout) {
    Result<storage::FilePtr> opened =
        storage::open_file(path, {.read = false, .write = true, .create = true, .truncate = true});
    if (!opened.ok()) return opened.status();
    storage::File& file = *opened.value();
    Status status;
    for (const auto& extent : layout.metadata) {
        if (status.ok()) status = file.write_at(extent.bytes, extent.offset_bytes);
    }
    if (status.ok()) status = file.set_size(layout.file_bytes);
    status.keep_first(file.close());
    return status;
}

Status finish_file(const std::string& part, const std::string& path, bool sync) {
    if (Status status = check_free(path); !status.ok()) return status;
    if (sync) {
        Result<storage::FilePtr> file = storage::open_file(part, {.read = true, .write = true});
        if (!file.ok()) return file.status();
        Status status = file.value()->sync();
        status.keep_first(file.value()->close());
        if (!status.ok()) return status;
    }
    if (Status status = storage::rename_file(part, path); !status.ok()) return status;
    return sync ? sync_folder(folder_of(path)) : Status();
}

Status sync_folder(const std::string& folder) {
    const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor.get() < 0) return status_of_errno(errno, "cannot open folder", folder);
    // Some file systems have no fsync of folders and say so by EINVAL: their renames are durable by other
    // means.
    if (::fsync(descriptor.get()) == 0 || errno == EINVAL) return {};
    return status_of_errno(errno, "cannot sync folder", folder);
}

void discard_file(const std::string& path) noexcept {
    (void)::unlink(path.c_str());
}

}  // namespace hakobi::output
