// Memory, threads, communicators and HDF5's files: the program's own functions, before those of libraries.
#include <dlfcn.h>
#include <hdf5.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <hakobi/comm.hpp>
#include <new>

#include "system_calls.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAKOBI_OWN_MALLOC 0  // it is the sanitizer's
#else
#define HAKOBI_OWN_MALLOC 1
extern "C" void* __libc_malloc(std::size_t bytes) noexcept;
extern "C" void* __libc_calloc(std::size_t num, std::size_t bytes) noexcept;
extern "C" void* __libc_realloc(void* memory, std::size_t bytes) noexcept;
#endif
extern "C" const char __executable_start, etext;

namespace hakobi::test {
namespace {

/// Whether an address is in the program itself, which has the library.
bool is_own(const void* caller) noexcept {
    return caller >= static_cast<const void*>(&__executable_start) &&
           caller < static_cast<const void*>(&etext);
}

bool is_of_library(const void* caller, std::string_view name) noexcept {
    Dl_info info{};
    return ::dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
           std::string_view(info.dli_fname).find(name) != std::string_view::npos;
}

/// The program's, or one's of libraries that make files' contents.
bool is_of_formats(const void* caller) noexcept {
    constexpr std::string_view names[] = {"libhdf5", "libzstd", "libdeflate", "libisal", "libcurl"};
    return is_own(caller) ||
           std::ranges::any_of(names, [&](std::string_view name) { return is_of_library(caller, name); });
}

bool is_refused_to_curl(SystemCall call, const void* caller) noexcept {
    return is_watched(call) && is_of_library(caller, "libcurl") && is_call_due(call);
}

bool is_memory_refused(std::size_t bytes) noexcept {
    if (OwnMemory::is_there()) return false;
    const bool is_large = bytes >= large_bytes && is_call_due(SystemCall::buffer);
    return is_call_due(SystemCall::memory) || is_large;
}

#if HAKOBI_OWN_MALLOC
bool is_buffer_refused(std::size_t bytes, const void* caller) noexcept {
    return bytes >= large_bytes && !OwnMemory::is_there() && is_of_formats(caller) &&
           is_call_due(SystemCall::buffer);
}
#endif

/// A library's function of the name, behind the program's.
template <class Function>
Function behind(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// The others' call needs this rank's; what it made is lost, as it is where one rank's memory ends.
int communicator_of(int made, MPI_Comm* communicator) {
    if (!is_call_due(SystemCall::communicator)) return made;
    *communicator = MPI_COMM_NULL;
    return MPI_ERR_INTERN;
}

}  // namespace
}  // namespace hakobi::test

#define HAKOBI_IN_FRONT extern "C" __attribute__((visibility("default")))

void* operator new(std::size_t bytes) {
    if (hakobi::test::is_memory_refused(bytes)) throw std::bad_alloc();
#if HAKOBI_OWN_MALLOC
    void* const memory = __libc_malloc(bytes > 0 ? bytes : 1);
#else
    void* const memory = std::malloc(bytes > 0 ? bytes : 1);
#endif
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
// As libstdc++'s; a sanitizer's would not go with the deletes below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    try {
        return ::operator new(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

#if HAKOBI_OWN_MALLOC
HAKOBI_IN_FRONT void* malloc(std::size_t bytes) noexcept {
    if (hakobi::test::is_buffer_refused(bytes, __builtin_return_address(0))) return errno = ENOMEM, nullptr;
    return __libc_malloc(bytes);
}
HAKOBI_IN_FRONT void* calloc(std::size_t num, std::size_t bytes) noexcept {
    if (hakobi::test::is_buffer_refused(num * bytes, __builtin_return_address(0)))
        return errno = ENOMEM, nullptr;
    return __libc_calloc(num, bytes);
}
HAKOBI_IN_FRONT void* realloc(void* memory, std::size_t bytes) noexcept {
    if (hakobi::test::is_buffer_refused(bytes, __builtin_return_address(0))) return errno = ENOMEM, nullptr;
    return __libc_realloc(memory, bytes);
}
#endif

HAKOBI_IN_FRONT void* mmap(void* address, std::size_t length, int protection, int flags, int descriptor,
                           off_t offset) noexcept {
    using namespace hakobi::test;
    if (is_own(__builtin_return_address(0)) && is_call_due(SystemCall::mmap))
        return errno = ENOMEM, MAP_FAILED;
    const long made = ::syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
    return reinterpret_cast<void*>(made);
}
HAKOBI_IN_FRONT __attribute__((alias("mmap"), nothrow)) void* mmap64(void*, std::size_t, int, int, int,
                                                                     off_t);
HAKOBI_IN_FRONT int memfd_create(const char* name, unsigned flags) noexcept {
    using namespace hakobi::test;
    if (is_own(__builtin_return_address(0)) && is_call_due(SystemCall::mmap)) return errno = EMFILE, -1;
    return static_cast<int>(::syscall(SYS_memfd_create, name, flags));
}

HAKOBI_IN_FRONT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                                   void* argument) noexcept {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = hakobi::test::behind<Create>("pthread_create");
    if (hakobi::test::is_call_due(hakobi::test::SystemCall::thread)) return EAGAIN;
    return create(thread, attributes, run, argument);
}

HAKOBI_IN_FRONT ssize_t process_vm_readv(pid_t process, const iovec* own, unsigned long num_own,
                                         const iovec* theirs, unsigned long num_theirs,
                                         unsigned long flags) noexcept {
    using namespace hakobi::test;
    if (is_own(__builtin_return_address(0)) && is_call_due(SystemCall::copy)) return errno = ENOMEM, -1;
    return ::syscall(SYS_process_vm_readv, process, own, num_own, theirs, num_theirs, flags);
}

HAKOBI_IN_FRONT int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    const int error = PMPI_Comm_dup(comm, made);
    return hakobi::test::communicator_of(error, made);
}
HAKOBI_IN_FRONT int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* made) {
    const int error = PMPI_Comm_split(comm, colour, key, made);
    return hakobi::test::communicator_of(error, made);
}
HAKOBI_IN_FRONT int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
    const int error = PMPI_Comm_split_type(comm, type, key, info, made);
    return hakobi::test::communicator_of(error, made);
}

HAKOBI_IN_FRONT hid_t H5Fopen(const char* path, unsigned flags, hid_t access) {
    static const auto open = hakobi::test::behind<hid_t (*)(const char*, unsigned, hid_t)>("H5Fopen");
    if (hakobi::test::is_call_due(hakobi::test::SystemCall::hdf5)) return H5I_INVALID_HID;
    return open(path, flags, access);
}
HAKOBI_IN_FRONT int socket(int domain, int type, int protocol) noexcept {
    using namespace hakobi::test;
    if (is_refused_to_curl(SystemCall::socket, __builtin_return_address(0))) return errno = EMFILE, -1;
    return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}
HAKOBI_IN_FRONT int connect(int socket, const sockaddr* address, socklen_t length) {
    using namespace hakobi::test;
    if (is_refused_to_curl(SystemCall::connect, __builtin_return_address(0))) return errno = ECONNREFUSED, -1;
    return static_cast<int>(::syscall(SYS_connect, socket, address, length));
}
HAKOBI_IN_FRONT ssize_t send(int socket, const void* bytes, std::size_t length, int flags) {
    using namespace hakobi::test;
    if (is_refused_to_curl(SystemCall::send, __builtin_return_address(0))) return errno = EPIPE, -1;
    return ::syscall(SYS_sendto, socket, bytes, length, flags, nullptr, 0);
}
HAKOBI_IN_FRONT ssize_t recv(int socket, void* bytes, std::size_t length, int flags) {
    using namespace hakobi::test;
    if (is_refused_to_curl(SystemCall::receive, __builtin_return_address(0))) return errno = ECONNRESET, -1;
    return ::syscall(SYS_recvfrom, socket, bytes, length, flags, nullptr, nullptr);
}
