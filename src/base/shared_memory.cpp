#include "base/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

namespace hakobi {
namespace {

// Below this a page of 2 MiB of which little is used would cost more memory than it saves time.
constexpr std::int64_t huge_from_bytes = 2 * huge_page_bytes;

/// A process without free descriptors has as little as one without memory: nobody else can give it some
/// either.
Status failure(const char* action) {
    if (errno == EMFILE || errno == ENFILE) {
        return {ErrorCode::out_of_memory,
                std::string(action) + " memory that processes share: no file descriptor is left"};
    }
    return status_of_errno(errno, action, "memory that processes share");
}

}  // namespace

Status SharedMemory::create(std::int64_t bytes, SharedMemory& memory) {
    // The kernel would promise any size, and kill whoever touches too much of it.
    const std::int64_t machine_bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                       static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
    if (bytes > machine_bytes) return {ErrorCode::out_of_memory, "more shared memory than this machine has"};
    // The kernel takes the memory for a file, and would raise SIGXFSZ. MPI's own is one, too.
    struct rlimit most {};
    if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
        static_cast<std::uint64_t>(bytes) > most.rlim_cur) {
        return {ErrorCode::out_of_memory,
                "more shared memory than the process's files may have (RLIMIT_FSIZE)"};
    }
    SharedMemory made;
    made.descriptor_ = Descriptor(::memfd_create("hakobi", MFD_CLOEXEC));
    if (made.descriptor_.get() < 0) return failure("cannot create");
    if (::ftruncate(made.descriptor_.get(), static_cast<off_t>(bytes)) != 0) return failure("cannot size");
    if (Status status = made.map(bytes); !status.ok()) return status;
    memory = std::move(made);
    return {};
}

Status SharedMemory::attach(const Name& name, SharedMemory& memory) {
    const std::string path =
        "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
    SharedMemory made;
    made.descriptor_ = Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (made.descriptor_.get() < 0) return failure("cannot open");
    struct stat found {};
    if (::fstat(made.descriptor_.get(), &found) != 0) return failure("cannot stat");
    // In another process namespace the number may be somebody else's.
    if (static_cast<std::int64_t>(found.st_dev) != name.device ||
        static_cast<std::int64_t>(found.st_ino) != name.inode || found.st_size != name.bytes) {
        return {ErrorCode::not_found, "the process that made the shared memory is not seen from here"};
    }
    if (Status status = made.map(name.bytes); !status.ok()) return status;
    made.forget_name();
    memory = std::move(made);
    return {};
}

SharedMemory::Name SharedMemory::name() const {
    struct stat info {};
    if (descriptor_.get() < 0 || ::fstat(descriptor_.get(), &info) != 0) return {};
    return {.process = ::getpid(),
            .descriptor = descriptor_.get(),
            .device = static_cast<std::int64_t>(info.st_dev),
            .inode = static_cast<std::int64_t>(info.st_ino),
            .bytes = info.st_size};
}

Status SharedMemory::map(std::int64_t bytes) {
    const bool is_large = bytes >= huge_from_bytes;
    mapping_ = Mapping::of(bytes, is_large ? huge_page_bytes : 0, descriptor_.get());
    if (data() == nullptr) return failure("cannot map");
    if (is_large) (void)::madvise(data(), static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // a wish
    return {};
}

}  // namespace hakobi
