#include "mpiio/file_facts.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace hakobi::mpiio {

std::string target_of(const std::string& link) {
    std::array<char, 4096> path;
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

std::string FileFacts::real_path() const {
    return target_of(opened_path());
}

std::int64_t FileFacts::size_bytes() const {
    struct stat found = {};
    return ::fstat(descriptor.get(), &found) == 0 ? found.st_size : -1;
}

}  // namespace hakobi::mpiio
