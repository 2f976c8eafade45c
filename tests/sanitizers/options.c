// Part of every program in a build with sanitizers (presets asan and tsan), of none in another build. The
// sanitizers' run times ask a program for their options and for what to pass over; both stand here, so that
// the presets need no environment.
//
// 1. Leaks are looked for when MPI_Finalize begins, in programs that call it, and at exit in the others. Open
//    MPI loses memory of its plugins and unmaps them in MPI_Finalize: afterwards nobody can tell whose memory
//    it was. A leak of ours ends the process there, with a status that is not 0, and so the launcher ends the
//    job.
// 2. Passed over is what MPI_Init allocates (it opens plugins and closes those that it has no use for), and
//    what is allocated below the MPI library's own functions or those that it stands on. HDF5 loses buffers
//    when it meets a damaged file; identifiers that we leave open are reachable from its tables, and so no
//    leaks, with or without. GNU's Fortran loses components of temporaries, in tests that build axes in
//    place. Nobody of ours calls asprintf: names that it made are Open MPI's, whose frames cannot be walked.
// tests/sanitizers/CMakeLists.txt holds that faults of ours are found all the same.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#define HAKOBI_EXPORT __attribute__((visibility("default")))

#ifdef __has_feature  // clang's way to say what GCC defines
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>

// The drop-in's first half is preloaded and so stands before the run time; it replaces nothing that the run
// time does. Where GCC 12's watches __tls_get_addr, it takes for a header what stands before the thread's
// variables of a library that was loaded late, and the leak check dies of it.
HAKOBI_EXPORT const char* __asan_default_options(void) {
    return "verify_asan_link_order=0:detect_stack_use_after_return=1:intercept_tls_get_addr=0";
}

HAKOBI_EXPORT const char* __ubsan_default_options(void) {
    return "halt_on_error=1:print_stacktrace=1";
}

HAKOBI_EXPORT const char* __lsan_default_options(void) {
    return "print_suppressions=0";
}

HAKOBI_EXPORT const char* __lsan_default_suppressions(void) {
    return "leak:libmpi.so\n"
           "leak:libopen-pal.so\n"
           "leak:libopen-rte.so\n"
           "leak:libmca_common_\n"
           "leak:libpmix.so\n"
           "leak:libhwloc.so\n"
           "leak:libevent\n"
           "leak:libhdf5\n"
           "leak:_test.f90\n"
           "leak:__vasprintf_internal\n"
           "leak:/openmpi/\n"
           "leak:/pmix2/\n";
}

// Not in a forked child: it has none of the threads from which the rest of what it has can be reached.
static pid_t started;
__attribute__((constructor)) static void remember_start(void) {
    started = getpid();
}
HAKOBI_EXPORT int __lsan_is_turned_off(void) {
    return getpid() != started;
}

// Declares `next`: the function of this name that the program would have called without this file.
#define HAKOBI_FIND_NEXT(name)                       \
    __typeof__(&name) next;                          \
    do {                                             \
        void* const found = dlsym(RTLD_NEXT, #name); \
        memcpy(&next, &found, sizeof next);          \
    } while (0)

HAKOBI_EXPORT int MPI_Init(int* argc, char*** argv) {
    HAKOBI_FIND_NEXT(MPI_Init);
    __lsan_disable();
    const int error = next(argc, argv);
    __lsan_enable();
    return error;
}

HAKOBI_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    HAKOBI_FIND_NEXT(MPI_Init_thread);
    __lsan_disable();
    const int error = next(argc, argv, required, provided);
    __lsan_enable();
    return error;
}

HAKOBI_EXPORT int MPI_Finalize(void) {
    HAKOBI_FIND_NEXT(MPI_Finalize);
    __lsan_do_leak_check();  // works once: the check at exit is none any more
    return next();
}

// Open MPI's Fortran does not come by C's functions.
HAKOBI_EXPORT void mpi_init_(int* error) {
    HAKOBI_FIND_NEXT(mpi_init_);
    __lsan_disable();
    next(error);
    __lsan_enable();
}

HAKOBI_EXPORT void mpi_init_f08_(int* error) {
    HAKOBI_FIND_NEXT(mpi_init_f08_);
    __lsan_disable();
    next(error);
    __lsan_enable();
}

HAKOBI_EXPORT void mpi_finalize_(int* error) {
    HAKOBI_FIND_NEXT(mpi_finalize_);
    __lsan_do_leak_check();
    next(error);
}

HAKOBI_EXPORT void mpi_finalize_f08_(int* error) {
    HAKOBI_FIND_NEXT(mpi_finalize_f08_);
    __lsan_do_leak_check();
    next(error);
}
#endif

#ifdef __SANITIZE_THREAD__
// Programs below the drop-in fork, and their children go on.
HAKOBI_EXPORT const char* __tsan_default_options(void) {
    return "die_after_fork=0:second_deadlock_stack=1";
}

// The MPI library is not instrumented: its own atomics and locks are not seen, and calls that it makes for
// several threads look like races. GNU's Fortran takes a unit's lock and its list's in either order.
HAKOBI_EXPORT const char* __tsan_default_suppressions(void) {
    return "race:/openmpi/\n"
           "race:libmpi.so\n"
           "race:libmpich.so\n"
           "race:libopen-pal.so\n"
           "deadlock:/openmpi/\n"
           "deadlock:libgfortran.so\n"
           "deadlock:libmpi.so\n"
           "deadlock:libmpich.so\n"
           "deadlock:libopen-pal.so\n";
}
#endif
