// 1. An MPI library is an object that has PMPI_File_open and PMPI_Get_library_version itself, whatever its
//    file is called. A tool has at most the first. If there are several, the one in which MPI is initialised
//    is the program's.
// 2. Its drop-in is called after its ABI: MPICH's (of Intel's, Cray's, MVAPICH's libraries, too), known by
//    MPIR_Dup_fn, which is in that ABI's header; that of the MPI standard, known by what MPI_Abi_get_version
//    answers; else after the library's soname (libmpi.so.40: Open MPI). It lies beside the front:
//    libhakobi_mpiio-<ABI>.so.
// 3. If a process has two fronts, the first one works, and the second passes calls on.
#define _GNU_SOURCE
#include "mpiio/front_library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { abi_major = 1, version_size = 8192, text_size = 512 };

static const char prefix[] = "libhakobi_mpiio-";

__attribute__((visibility("default"))) extern const char hakobi_mpiio_front[];
const char hakobi_mpiio_front[] = "the front of Hakobi's drop-in";

// dlsym for functions: ISO C has no cast from the object pointer that it returns.
function front_function(void* handle, const char* name) {
    union {
        void* object;
        function code;
    } symbol = {dlsym(handle, name)};
    return symbol.code;
}

const void* front_object(const void* symbol) {
    Dl_info info;
    return symbol != NULL && dladdr(symbol, &info) != 0 ? info.dli_fbase : NULL;
}

// The object's own symbol: dlsym also finds those of the libraries that it needs.
static void* own_symbol(void* handle, const void* at, const char* name) {
    void* const symbol = dlsym(handle, name);
    return at != NULL && front_object(symbol) == at ? symbol : NULL;
}

void* front_own_symbol(const void* symbol, const char* name) {
    Dl_info info;
    if (symbol == NULL || dladdr(symbol, &info) == 0) return NULL;
    void* const handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) return NULL;
    void* const found = own_symbol(handle, info.dli_fbase, name);
    dlclose(handle);
    return found;
}

int front_is_front(const void* symbol) {
    return front_own_symbol(symbol, "hakobi_mpiio_front") != NULL;
}

static int is_initialized(void* mpi_library) {
    const function initialized = front_function(mpi_library, "PMPI_Initialized");
    int flag = 0;
    return initialized != NULL && (int)initialized((word)&flag, 0, 0, 0, 0, 0) == 0 && flag != 0;
}

struct paths {
    char** items;
    size_t count;
};

static int collect(struct dl_phdr_info* info, size_t size, void* context) {
    (void)size;
    struct paths* paths = context;
    char** grown = realloc(paths->items, (paths->count + 1) * sizeof(char*));
    if (grown == NULL) return 1;
    paths->items = grown;
    paths->items[paths->count] = strdup(info->dlpi_name);
    if (paths->items[paths->count] != NULL) ++paths->count;
    return 0;
}

// Step 1, of the library that the object of this handle is or needs. Returns whether MPI is initialised in
// it, which settles the search.
static int consider(void* object, struct front_library* found) {
    Dl_info info;
    void* const version = dlsym(object, "PMPI_Get_library_version");
    if (version == NULL || dladdr(version, &info) == 0 || info.dli_fbase == found->at) return 0;
    void* handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) handle = dlopen(NULL, RTLD_LAZY);  // linked into the program itself
    if (handle == NULL || own_symbol(handle, info.dli_fbase, "PMPI_File_open") == NULL) return 0;
    const int is_settled = is_initialized(handle);
    if (found->handle == NULL || is_settled) *found = (struct front_library){handle, info.dli_fbase, NULL};
    return is_settled;
}

// In the loader's order: the program ("") first, what Python has loaded last.
static void find_library(struct front_library* found) {
    struct paths paths = {NULL, 0};
    dl_iterate_phdr(collect, &paths);
    int is_settled = 0;
    for (size_t i = 0; i < paths.count; ++i) {
        const char* const path = paths.items[i];
        void* const object =
            is_settled ? NULL : dlopen(path[0] != '\0' ? path : NULL, RTLD_LAZY | RTLD_NOLOAD);
        if (object != NULL) {
            is_settled = consider(object, found);
            dlclose(object);  // consider holds its own
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

// The library's own name: the first line of MPI_Get_library_version, up to a comma.
static void version_of(void* handle, char* text, size_t size) {
    char whole[version_size] = "";
    int length = 0;
    const function version = front_function(handle, "PMPI_Get_library_version");
    if (version != NULL) version((word)whole, (word)&length, 0, 0, 0, 0);
    whole[strcspn(whole, ",\n")] = '\0';
    size_t used = 0;
    for (const char* c = whole; *c != '\0' && used + 1 < size; ++c) {
        const int is_blank = *c == ' ' || *c == '\t';
        if (!is_blank) text[used++] = *c;
        if (is_blank && used > 0 && text[used - 1] != ' ') text[used++] = ' ';
    }
    text[used] = '\0';
}

// Step 2.
static const char* abi_of(const struct front_library* library, const char* version) {
    if (own_symbol(library->handle, library->at, "MPIR_Dup_fn") != NULL) {
        int major = 0, minor = 0;  // before 3.1 MPICH had another status
        const int is_old =
            sscanf(version, "MPICH Version: %d.%d", &major, &minor) == 2 && major * 100 + minor < 301;
        if (!is_old) return "mpich";
    }
    const function abi_version = front_function(library->handle, "PMPI_Abi_get_version");
    int major = 0, minor = 0;
    if (abi_version != NULL && (int)abi_version((word)&major, (word)&minor, 0, 0, 0, 0) == 0 &&
        major == abi_major)
        return "mpi_abi";
    return soname_of(library->handle);
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

void front_say_bypassed(const void* tool) {
    Dl_info info;
    if (tool == NULL || dladdr(tool, &info) == 0 || !speaks()) return;
    fprintf(stderr,
            "hakobi: %s calls the MPI library past the drop-in, which then does nothing: name "
            "libhakobi_mpiio.so behind it in "
            "LD_PRELOAD\n",
            info.dli_fname);
}

// "libmpi.so.40, mpich": what `folder` has drop-ins for.
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

// Whether `list` ("a, b") has the word.
static int is_listed(const char* list, const char* word_text) {
    const size_t length = strlen(word_text);
    for (const char* at = strstr(list, word_text); at != NULL; at = strstr(at + 1, word_text)) {
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ',')) return 1;
    }
    return 0;
}

static void say_why_not(const char* folder, const char* abi, const struct front_library* library,
                        const char* version, const char* reason) {
    char known[text_size];
    list_drop_ins(folder, known, sizeof known);
    if (!speaks()) return;
    if (is_listed(known, abi)) {
        fprintf(stderr, "hakobi: the drop-in for %s cannot be loaded, the program runs without it: %s\n", abi,
                reason);
        return;
    }
    fprintf(stderr,
            "hakobi: this program's MPI library is %s (%s), the drop-in here is for %s: the program runs "
            "without it; "
            "build Hakobi with that library\n",
            soname_of(library->handle), version, known[0] != '\0' ? known : "none");
}

static void load_drop_in(struct front_library* library) {
    Dl_info self;
    if (dladdr(&prefix, &self) == 0) return;
    const char* slash = strrchr(self.dli_fname, '/');
    char folder[4096], path[4096 + 256], version[text_size];
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - self.dli_fname) : 1,
             slash != NULL ? self.dli_fname : ".");
    version_of(library->handle, version, sizeof version);
    const char* const abi = abi_of(library, version);
    const int length = snprintf(path, sizeof path, "%s/%s%s.so", folder, prefix, abi);
    if (length < 0 || length >= (int)sizeof path) return;
    void* const drop_in = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (drop_in == NULL) {
        const char* reason = dlerror();
        say_why_not(folder, abi, library, version, reason != NULL ? reason : path);
        return;
    }
    const function start = front_function(drop_in, "hakobi_mpiio_start");
    const char* const missing =
        start != NULL ? (const char*)start((word)library->handle, 0, 0, 0, 0, 0) : "a start";
    if (missing == NULL) {
        library->drop_in = drop_in;
    } else if (speaks()) {
        fprintf(stderr, "hakobi: %s (%s) has no %s, the program runs without the drop-in\n",
                soname_of(library->handle), version, missing);
    }
}

int front_mpi_is_initialized(void) {
    struct front_library found = {NULL, NULL, NULL};
    find_library(&found);
    return found.handle != NULL && is_initialized(found.handle);
}

struct front_library front_find(void) {
    struct front_library found = {NULL, NULL, NULL};
    find_library(&found);
    const char* wanted = getenv("HAKOBI_MPIIO");
    if (found.handle == NULL || (wanted != NULL && strcmp(wanted, "off") == 0)) return found;
    const void* const first = dlsym(RTLD_DEFAULT, "hakobi_mpiio_front");
    if (first != NULL && front_object(first) != front_object(hakobi_mpiio_front)) return found;  // step 3
    load_drop_in(&found);
    Dl_info self, other;
    const void* const next = dlsym(RTLD_NEXT, "hakobi_mpiio_front");
    if (next != NULL && dladdr(next, &other) != 0 && dladdr(hakobi_mpiio_front, &self) != 0 && speaks())
        fprintf(stderr, "hakobi: two drop-ins are preloaded, %s is used and %s is not\n", self.dli_fname,
                other.dli_fname);
    return found;
}
