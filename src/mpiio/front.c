// libhakobi_mpiio.so: what LD_PRELOAD names. It holds no MPI and links none, so that it can be loaded into
// every process of a job (shells, launchers, Python before it imports mpi4py) and into programs of any MPI
// library.
//
// 1. It exports MPI_File_* and PMPI_File_*, each a jump through a pointer that the first call fills in. These
//    functions have at most six arguments, all integers or pointers, which pass in registers whatever the MPI
//    library's handle types are: the jump needs no <mpi.h>.
// 2. At the first call the MPI library is in the process. It is found among all loaded objects, and its
//    drop-in beside this library (front_library.c). Without one, a line says so, and every call goes straight
//    on.
// 3. PMPI_X reaches the drop-in's X. MPI_X does too, unless another library in the process also defines MPI_X
//    (a PMPI tool): then MPI_X goes to the tool, whose PMPI_X comes back here. So a tool sees each of the
//    program's calls once, wherever it stands in the link order, and the Fortran layers that call PMPI_X
//    (Open MPI) are reached as well as those that call MPI_X (MPICH).
// 4. Darshan also defines PMPI_X, and looks up what it calls behind itself (RTLD_NEXT), so that one that
//    stands behind this library would pass it by. It keeps what it has found in variables, __real_PMPI_X:
//    they get the drop-in's X, and then both MPI_X and PMPI_X go to the tool first. For another tool that
//    passes by, a line says where to put it.
// 5. Large-count functions (MPI_X_c) are exported whatever the MPI library has; programs that run with many
//    MPI libraries find out by their presence (mpi4py's wheel binds them weakly). Where the library or the
//    drop-in has none, they are MPI_X, and a count that does not fit it is MPI_ERR_COUNT.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpiio/front_library.h"
#include "mpiio/front_watch.h"

#define HAKOBI_EXPORT __attribute__((visibility("default")))

enum { err_count = 2 };  // MPI_ERR_COUNT in Open MPI, MPICH and the MPI 5 ABI alike

// Step 5: what stands in for a missing large-count function; null for the others.
#define HAKOBI_FILE_FUNCTION(name)
#define HAKOBI_FILE_FUNCTION_C(name) \
    static word name##_by_int(word a, word b, word c, word d, word e, word f);
#include "functions.def"
static const function by_int[num_functions] = {
#define HAKOBI_FILE_FUNCTION(name)
#define HAKOBI_FILE_FUNCTION_C(name) [index_##name##_c] = name##_by_int,
#include "functions.def"
};

static _Atomic(function) outer[num_functions];  // where MPI_X goes
static _Atomic(function) inner[num_functions];  // where PMPI_X goes

static pthread_once_t found_once = PTHREAD_ONCE_INIT;
static struct front_library library;

static void find(void) {
    library = front_find();
}

static __attribute__((noreturn)) void fail(const char* name) {
    fprintf(stderr, "hakobi: MPI_%s was called, and no MPI library in this process has it\n", name);
    abort();
}

// Whether the tool behind this one has come back here with an open: what else it does is of no use to know.
static _Atomic int opens_inside;
static _Atomic int is_bypass_told;
static function tools_open, own_open;

static word counted_open(word a, word b, word c, word d, word e, word f) {
    atomic_fetch_add(&opens_inside, 1);
    return own_open(a, b, c, d, e, f);
}

static function inner_of(int index) {
    char name[64];
    snprintf(name, sizeof name, "PMPI_%s", front_names[index]);
    const function in_library = library.handle != NULL ? front_function(library.handle, name) : NULL;
    function target = NULL;
    if (library.drop_in != NULL && in_library != NULL) {
        snprintf(name, sizeof name, "hakobi_%s", front_names[index]);
        target =
            front_function(library.drop_in, name);  // none for large counts, where it was built without them
    }
    if (target == NULL && (library.drop_in == NULL || by_int[index] == NULL)) target = in_library;
    if (target == NULL && library.handle != NULL) target = by_int[index];
    if (target == NULL) fail(front_names[index]);
    if (index != index_File_open) return target;
    own_open = target;
    return counted_open;
}

// Step 4: what stands behind this one with that name and is no MPI library, no front: a tool's. Null without
// one.
static void* tool_behind(const char* name) {
    void* const next = dlsym(RTLD_NEXT, name);
    const void* const at = front_object(next);
    return at == NULL || at == library.at || front_is_front(next) ? NULL : next;
}

// Has the tool that defines `symbol` come back here from its X, and not pass by; returns whether it has such
// a variable.
static int turn_back(void* symbol, int index) {
    char name[64];
    snprintf(name, sizeof name, "__real_PMPI_%s", front_names[index]);
    void** const variable = front_own_symbol(symbol, name);
    if (variable == NULL) return 0;
    union {
        function code;
        void* object;
    } target = {inner_of(index)};
    *variable = target.object;
    return 1;
}

static word watched_open(word a, word b, word c, word d, word e, word f) {
    const int before = atomic_load(&opens_inside);
    const word error = tools_open(a, b, c, d, e, f);
    if ((int)error == 0 && atomic_load(&opens_inside) == before && atomic_exchange(&is_bypass_told, 1) == 0)
        front_say_bypassed(tool_behind("MPI_File_open"));
    return error;
}

static function outer_of(int index) {
    char name[64];
    snprintf(name, sizeof name, "MPI_%s", front_names[index]);
    void* const tool = tool_behind(name);
    if (tool == NULL) return inner_of(index);
    const function its = front_function(RTLD_NEXT, name);
    if (library.drop_in == NULL) return its;
    turn_back(tool, index);
    if (index != index_File_open) return its;
    tools_open = its;
    return watched_open;
}

// PMPI_X, which a tool may define too (step 4).
static function from_below(int index) {
    char name[64];
    snprintf(name, sizeof name, "PMPI_%s", front_names[index]);
    void* const tool = library.drop_in != NULL ? tool_behind(name) : NULL;
    if (tool != NULL && turn_back(tool, index)) return front_function(RTLD_NEXT, name);
    return inner_of(index);
}

static function resolve_inner(int index) {
    pthread_once(&found_once, find);
    const function target = from_below(index);
    atomic_store_explicit(&inner[index], target, memory_order_release);
    return target;
}

static function resolve_outer(int index) {
    pthread_once(&found_once, find);
    const function target = outer_of(index);
    atomic_store_explicit(&outer[index], target, memory_order_release);
    return target;
}

#define HAKOBI_JUMP(symbol, table, resolve, index)                                   \
    HAKOBI_EXPORT word symbol(word a, word b, word c, word d, word e, word f);       \
    HAKOBI_EXPORT word symbol(word a, word b, word c, word d, word e, word f) {      \
        function target = atomic_load_explicit(&table[index], memory_order_acquire); \
        if (__builtin_expect(target == NULL, 0)) target = resolve(index);            \
        if (__builtin_expect(front_is_watching, 0))                                  \
            return front_watched(&library, index, target, a, b, c, d, e, f);         \
        return target(a, b, c, d, e, f);                                             \
    }
#define HAKOBI_FILE_FUNCTION(name)                              \
    HAKOBI_JUMP(MPI_##name, outer, resolve_outer, index_##name) \
    HAKOBI_JUMP(PMPI_##name, inner, resolve_inner, index_##name)
#define HAKOBI_FILE_FUNCTION_C(name)                                                                         \
    HAKOBI_FILE_FUNCTION(name)                                                                               \
    HAKOBI_FILE_FUNCTION(name##_c)                                                                           \
    static word name##_by_int(word a, word b, word c, word d, word e, word f) {                              \
        const word count = strstr(#name, "_at") != NULL ? d : c; /* file, offset where it has one, buffer */ \
        return count == (int)count ? PMPI_##name(a, b, c, d, e, f) : err_count;                              \
    }
#include "functions.def"
