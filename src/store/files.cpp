#include "store/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/descriptor.hpp"
#include "base/random.hpp"
#include "storage/file.hpp"
#include "store/place.hpp"

namespace hakobi::store {

std::string temporary_path(const std::string& path) {
    return path + "." + hexadecimal(random_bits()) + ".tmp";
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

std::int64_t file_size(const std::string& path) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    return error ? 0 : static_cast<std::int64_t>(bytes);
}

}  // namespace hakobi::store
