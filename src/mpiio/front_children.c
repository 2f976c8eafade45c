// A child process that this one starts may read what it has just written: hidden output (docs/hidden.md)
// comes first. The drop-in fills `hakobi_mpiio_before_child` in while it may have some; until then these
// functions are the system's. A handler of pthread_atfork would not do: others run before it, and hold locks
// that threads of ours need to come to an end.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpiio/front_library.h"

#define HAKOBI_EXPORT __attribute__((visibility("default")))

typedef void (*settle)(void);
HAKOBI_EXPORT extern _Atomic(settle) hakobi_mpiio_before_child;
_Atomic(settle) hakobi_mpiio_before_child;

static void settle_first(void) {
    const settle act = atomic_load_explicit(&hakobi_mpiio_before_child, memory_order_acquire);
    if (act != NULL) act();
}

// The next function of a name in the order of search, looked up by the first call.
#define HAKOBI_NEXT(type, name)                                         \
    static _Atomic(function) known;                                     \
    union {                                                             \
        function code;                                                  \
        type typed;                                                     \
    } next = {atomic_load_explicit(&known, memory_order_acquire)};      \
    if (next.code == NULL) next.code = front_function(RTLD_NEXT, name); \
    atomic_store_explicit(&known, next.code, memory_order_release)

typedef pid_t (*fork_type)(void);
typedef int (*system_type)(const char*);
typedef FILE* (*popen_type)(const char*, const char*);
typedef int (*spawn_type)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                          char* const[], char* const[]);

HAKOBI_EXPORT pid_t fork(void) {
    HAKOBI_NEXT(fork_type, "fork");
    settle_first();
    return next.typed();
}

HAKOBI_EXPORT int system(const char* command) {
    HAKOBI_NEXT(system_type, "system");
    settle_first();
    return next.typed(command);
}

HAKOBI_EXPORT FILE* popen(const char* command, const char* mode) {
    HAKOBI_NEXT(popen_type, "popen");
    settle_first();
    return next.typed(command, mode);
}

#define HAKOBI_SPAWN(name)                                                                                \
    HAKOBI_EXPORT int name(pid_t* restrict pid, const char* restrict program,                             \
                           const posix_spawn_file_actions_t* actions,                                     \
                           const posix_spawnattr_t* restrict attributes, char* const arguments[restrict], \
                           char* const environment[restrict]) {                                           \
        HAKOBI_NEXT(spawn_type, #name);                                                                   \
        settle_first();                                                                                   \
        return next.typed(pid, program, actions, attributes, arguments, environment);                     \
    }
HAKOBI_SPAWN(posix_spawn)
HAKOBI_SPAWN(posix_spawnp)
