// libhakobi_mpiio.so: what LD_PRELOAD names. It holds no MPI and links none, so that it can be loaded into every
// process of a job (shells, launchers, Python before it imports mpi4py) and into programs of any MPI library.
//
// 1. It exports MPI_File_* and PMPI_File_*, each a jump through a pointer that the first call fills in. These
//    functions have at most six arguments, all integers or pointers, which pass in registers whatever the MPI
//    library's handle types are: the jump needs no <mpi.h>.
// 2. At the first call the MPI library is in the process. It is found by scope, or else among all loaded objects,
//    which is where Python's dlopen puts it. The drop-in that was built for a library of its name is loaded from
//    this library's own folder: libhakobi_mpiio-<soname>.so. Without one, a line says so, and every call goes
//    straight on.
// 3. PMPI_X reaches the drop-in's X. MPI_X does too, unless another library in the process also defines MPI_X (a
//    PMPI tool): then MPI_X goes to the tool, whose PMPI_X comes back here. So a tool sees each of the program's
//    calls once, wherever it stands in the link order, and the Fortran layers that call PMPI_X (Open MPI) are
//    reached as well as those that call MPI_X (MPICH).
// 4. Large-count functions (MPI_X_c) are exported whatever the MPI library has; programs that run with many MPI
//    libraries find out by their presence (mpi4py's wheel binds them weakly). Where the library has none, they
//    are MPI_X, and a count that does not fit it is MPI_ERR_COUNT.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HAKOBI_EXPORT __attribute__((visibility("default")))

typedef long word;  // an integer register, on every LP64 system
typedef word (*function)(word, word, word, word, word, word);
_Static_assert(sizeof(word) == sizeof(void*), "arguments pass in registers of pointer size");

enum {
#define HAKOBI_FILE_FUNCTION(name) index_##name,
#define HAKOBI_FILE_FUNCTION_C(name) index_##name, index_##name##_c,
#include "functions.def"
    num_functions
};

enum { err_count = 2 };  // MPI_ERR_COUNT in Open MPI, MPICH and the MPI 5 ABI alike

static const char* const names[num_functions] = {
#define HAKOBI_FILE_FUNCTION(name) #name,
#define HAKOBI_FILE_FUNCTION_C(name) #name, #name "_c",
#include "functions.def"
};

// Step 4: what stands in for a missing large-count function; null for the others.
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
static void* library;           // the MPI library's handle
static const void* library_at;  // its load address
static void* drop_in;           // the drop-in's handle, or null: every call goes straight on

// dlsym for functions: ISO C has no cast from the object pointer that it returns.
static function function_of(void* handle, const char* name) {
    union {
        void* object;
        function code;
    } symbol = {dlsym(handle, name)};
    return symbol.code;
}

static const void* address_of_object(const void* symbol) {
    Dl_info info;
    return symbol != NULL && dladdr(symbol, &info) != 0 ? info.dli_fbase : NULL;
}

static int is_initialized(void* mpi_library) {
    const function initialized = function_of(mpi_library, "PMPI_Initialized");
    int flag = 0;
    return initialized != NULL && (int)initialized((word)&flag, 0, 0, 0, 0, 0) == 0 && flag != 0;
}

// Takes the object that defines `open` (a PMPI_File_open) as the MPI library, unless it is this one; returns
// whether MPI is initialised in it, which settles the search.
static int consider(void* open) {
    Dl_info info;
    if (open == NULL || dladdr(open, &info) == 0 || info.dli_fbase == address_of_object(&library)) return 0;
    void* handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) handle = dlopen(NULL, RTLD_LAZY);  // linked into the program itself
    if (handle == NULL) return 0;
    const int initialized = is_initialized(handle);
    if (library == NULL || initialized) {
        library = handle;
        library_at = info.dli_fbase;
    }
    return initialized;
}

struct paths {
    char** items;
    size_t count;
};

static int collect(struct dl_phdr_info* info, size_t size, void* context) {
    (void)size;
    struct paths* paths = context;
    const char* slash = strrchr(info->dlpi_name, '/');
    if (strncmp(slash != NULL ? slash + 1 : info->dlpi_name, "libmpi", 6) != 0) return 0;
    char** grown = realloc(paths->items, (paths->count + 1) * sizeof(char*));
    if (grown == NULL) return 1;
    paths->items = grown;
    paths->items[paths->count] = strdup(info->dlpi_name);
    if (paths->items[paths->count] != NULL) ++paths->count;
    return 0;
}

static void find_library(void) {
    if (consider(dlsym(RTLD_NEXT, "PMPI_File_open"))) return;
    struct paths paths = {NULL, 0};
    dl_iterate_phdr(collect, &paths);
    int settled = 0;
    for (size_t i = 0; i < paths.count; ++i) {
        void* handle = settled ? NULL : dlopen(paths.items[i], RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL) {
            settled = consider(dlsym(handle, "PMPI_File_open"));
            dlclose(handle);  // consider holds its own
        }
        free(paths.items[i]);
    }
    free(paths.items);
}

// The name a library was linked by: DT_SONAME, else its file's name.
static const char* soname_of(void* handle) {
    struct link_map* map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == NULL) return "";
    const char* strings = NULL;
    ElfW(Sxword) soname = -1;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_STRTAB) {
            const ElfW(Addr) at = entry->d_un.d_ptr;  // relocated by the loader on most systems, not on all
            strings = (const char*)(at < map->l_addr ? at + map->l_addr : at);
        }
        if (entry->d_tag == DT_SONAME) soname = (ElfW(Sxword))entry->d_un.d_val;
    }
    if (strings != NULL && soname >= 0) return strings + soname;
    const char* slash = strrchr(map->l_name, '/');
    return slash != NULL ? slash + 1 : map->l_name;
}

// One process of a job speaks: rank 0 by what launchers set, or a program without a launcher.
static int speaks(void) {
    static const char* const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; ++i) {
        const char* value = getenv(variables[i]);
        if (value != NULL) return strcmp(value, "0") == 0;
    }
    return 1;
}

static const char prefix[] = "libhakobi_mpiio-";

// "libmpi.so.40, libmpich.so.12": the libraries that `folder` has drop-ins for.
static void list_drop_ins(const char* folder, char* text, size_t size) {
    text[0] = '\0';
    DIR* directory = opendir(folder);
    if (directory == NULL) return;
    for (struct dirent* entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        const size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0 || length < sizeof prefix + 3) continue;
        if (strcmp(entry->d_name + length - 3, ".so") != 0) continue;
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%.*s", used > 0 ? ", " : "",
                 (int)(length - sizeof prefix + 1 - 3), entry->d_name + sizeof prefix - 1);
    }
    closedir(directory);
}

static void load_drop_in(void) {
    const char* wanted = getenv("HAKOBI_MPIIO");
    if (wanted != NULL && strcmp(wanted, "off") == 0) return;
    Dl_info self;
    if (dladdr(&library, &self) == 0) return;
    const char* slash = strrchr(self.dli_fname, '/');
    const int folder_length = slash != NULL ? (int)(slash - self.dli_fname) : 1;
    const char* folder_text = slash != NULL ? self.dli_fname : ".";
    const char* soname = soname_of(library);
    char path[4096];
    const int length =
        snprintf(path, sizeof path, "%.*s/%s%s.so", folder_length, folder_text, prefix, soname);
    if (length < 0 || length >= (int)sizeof path) return;
    drop_in = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (drop_in == NULL) {
        const char* reason = dlerror();
        char folder[4096], known[512];
        snprintf(folder, sizeof folder, "%.*s", folder_length, folder_text);
        list_drop_ins(folder, known, sizeof known);
        if (!speaks()) return;
        if (strstr(known, soname) == NULL) {
            fprintf(stderr,
                    "hakobi: this program's MPI library is %s, the drop-in here is for %s: the program runs "
                    "without it\n",
                    soname, known[0] != '\0' ? known : "none");
        } else {
            fprintf(stderr, "hakobi: the drop-in cannot be loaded, the program runs without it: %s\n",
                    reason != NULL ? reason : path);
        }
        return;
    }
    const function start = function_of(drop_in, "hakobi_mpiio_start");
    if (start != NULL) start((word)library, 0, 0, 0, 0, 0);
}

static void find(void) {
    find_library();
    if (library != NULL) load_drop_in();
}

static __attribute__((noreturn)) void fail(const char* name) {
    fprintf(stderr, "hakobi: MPI_%s was called, and no MPI library in this process has it\n", name);
    abort();
}

static function inner_of(int index) {
    char name[64];
    function target = NULL;
    if (drop_in != NULL) {
        snprintf(name, sizeof name, "hakobi_%s", names[index]);
        target = function_of(drop_in, name);
    }
    if (target == NULL && library != NULL) {
        snprintf(name, sizeof name, "PMPI_%s", names[index]);
        target = function_of(library, name);
    }
    if (target == NULL && library != NULL) target = by_int[index];
    if (target == NULL) fail(names[index]);
    return target;
}

static function outer_of(int index) {
    char name[64];
    snprintf(name, sizeof name, "MPI_%s", names[index]);
    const void* next_at = address_of_object(dlsym(RTLD_NEXT, name));
    if (next_at != NULL && next_at != library_at && next_at != address_of_object(&library)) {
        return function_of(RTLD_NEXT, name);  // a tool's
    }
    return inner_of(index);
}

static function resolve_inner(int index) {
    pthread_once(&found_once, find);
    const function target = inner_of(index);
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
