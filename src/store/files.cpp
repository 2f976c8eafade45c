#include "store/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/descriptor.hpp"
#include "storage/file.hpp"
#include "store/place.hpp"

namespace hakobi::store {

std::string temporary_path(const std::string& path) {
    return path + "." + hexadecimal(random_id()) + ".tmp";
}

Status remove_if_there(const std::string& path) {
    Status status = storage::remove_file(path);
    return status.code() == ErrorCode::not_found ? Status() : status;
}

void sync_folder(const std::string& path) {
    const Descriptor folder(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0) status_of_errno(errno, "cannot open the folder", path).throw_if_error();
    if (::fsync(folder.get()) != 0 && errno != EINVAL) {
        status_of_errno(errno, "cannot sync the folder", path).throw_if_error();
    }
}

Result<std::vector<std::byte>> read_whole(const std::string& path) {
    Result<storage::FilePtr> file = storage::open_file(path, {});
    if (!file.ok()) return file.status();
    const Result<std::int64_t> size = file.value()->size_bytes();
    if (!size.ok()) return size.status();
    std::vector<std::byte> bytes(static_cast<std::size_t>(size.value()));
    const Result<std::int64_t> read = file.value()->read_at(bytes, 0);
    if (!read.ok()) return read.status();
    bytes.resize(static_cast<std::size_t>(read.value()));
    return bytes;
}

std::int64_t file_size(const std::string& path) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    return error ? 0 : static_cast<std::int64_t>(bytes);
}

}  // namespace hakobi::store
