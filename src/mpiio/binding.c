// The drop-in's calls of MPI, where one build serves an ABI that libraries of many names have: MPICH's
// (libmpich.so.12 in Debian, libmpi.so.12 elsewhere and of Intel's, libmpi_gnu_123.so.12 of Cray's) and the
// standard's. Such a build names no library that the loader would have to find. Each function is a jump
// through a pointer, and these lead to the library that the program uses, even where another one is in the
// process too. (Open MPI's handles are addresses of its variables, which a program has to be linked with; all
// of its libraries have one name.)
//
// On processors other than these two the drop-in is linked with the library.
#define _GNU_SOURCE
#include "mpiio/binding.h"

#include <dlfcn.h>
#include <stddef.h>

#if defined(__x86_64__)
#define HAKOBI_JUMP_THROUGH(pointer) "endbr64\n jmpq *" pointer "(%rip)\n"
#elif defined(__aarch64__)
#define HAKOBI_JUMP_THROUGH(pointer) \
    "hint #34\n adrp x16, " pointer "\n ldr x16, [x16, :lo12:" pointer "]\n br x16\n"
#endif

#ifdef HAKOBI_JUMP_THROUGH

#define HAKOBI_MPI_FUNCTION(name)                                                                            \
    __attribute__((visibility("hidden"), used)) void* hakobi_bound_##name;                                   \
    __asm__(".text\n .p2align 4\n .globl " #name "\n .hidden " #name "\n .type " #name ", %function\n" #name \
            ":\n" HAKOBI_JUMP_THROUGH("hakobi_bound_" #name) " .size " #name ", . - " #name "\n");
#include "mpiio/library_functions.def"

static const struct {
    const char* name;
    void** address;
} functions[] = {
#define HAKOBI_MPI_FUNCTION(name) {#name, &hakobi_bound_##name},
#include "mpiio/library_functions.def"
};

static const void* object_of(const void* symbol) {
    Dl_info info;
    return symbol != NULL && dladdr(symbol, &info) != 0 ? info.dli_fbase : NULL;
}

// A profiling tool's MPI_X, null without one: it stands before the library's, in an object that is not an MPI
// library itself.
static void* tools(const char* name, const void* library_at) {
    void* const first = dlsym(RTLD_DEFAULT, name);
    const void* const at = object_of(first);
    Dl_info info;
    if (at == NULL || at == library_at || dladdr(first, &info) == 0) return NULL;
    void* const handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) return NULL;
    const int is_library = object_of(dlsym(handle, "PMPI_Get_library_version")) == at;
    dlclose(handle);
    return is_library ? NULL : first;
}

const char* hakobi_mpiio_bind(void* mpi_library) {
    const void* const library_at = object_of(dlsym(mpi_library, "PMPI_Get_library_version"));
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
        const char* const name = functions[i].name;
        void* target = name[0] == 'M' ? tools(name, library_at) : NULL;
        if (target == NULL) target = dlsym(mpi_library, name);
        if (target == NULL) return name;
        *functions[i].address = target;
    }
    return NULL;
}

#else

const char* hakobi_mpiio_bind(void* mpi_library) {
    (void)mpi_library;
    return NULL;
}

#endif
