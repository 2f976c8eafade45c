#include "format/zarr/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "storage/file.hpp"

namespace hakobi::format::zarr {

Status make_folder(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(storage::system_path(folder), error);
    return error ? status_of_errno(error.value(), "cannot make folder", folder) : Status();
}

Status put(const std::string& path, std::span<const std::byte> bytes, bool sync) {
    const std::string part = path + ".part";
    storage::discard_file(part);  // of a killed run: one process writes the group
    Result<storage::FilePtr> file = storage::open_file(
        part, {.read = false, .write = true, .create = true, .exclusive = true, .regular_only = true});
    if (!file.ok()) return file.status();
    Status status = file.value()->write_at(bytes, 0);
    if (status.ok() && sync) status = file.value()->sync();
    status.keep_first(file.value()->close());
    if (status.ok()) status = storage::commit_file(part, path, {.replaces = true, .is_durable = sync});
    if (!status.ok()) storage::discard_file(part);
    return status;
}

Result<std::optional<std::vector<std::byte>>> get(const std::string& path) {
    using Found = std::optional<std::vector<std::byte>>;
    Result<std::vector<std::byte>> read = storage::read_whole(path, {.regular_only = true});
    if (read.status().code() == ErrorCode::not_found) return Found();
    if (!read.ok()) return read.status();
    return Found(std::move(read).value());
}

Status place(const std::string& from, const std::string& to, bool sync) {
    Status status = storage::commit_file(from, to, {.replaces = true, .is_durable = sync});
    if (status.code() == ErrorCode::not_found && !is_there(from) && is_there(to)) return {};
    return status;
}

bool is_there(const std::string& path) {
    struct stat info {};
    return ::stat(storage::system_path(path).c_str(), &info) == 0;
}

Status remove_folder(const std::string& folder) {
    if (::rmdir(storage::system_path(folder).c_str()) == 0 || errno == ENOTEMPTY || errno == EEXIST ||
        errno == ENOENT)
        return {};
    return status_of_errno(errno, "cannot remove folder", folder);
}

}  // namespace hakobi::format::zarr
