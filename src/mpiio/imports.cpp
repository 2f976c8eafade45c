#include "mpiio/imports.hpp"

#include <elf.h>
#include <link.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace hakobi::mpiio {
namespace {

/// The dynamic symbols of a loaded object. glibc has relocated the addresses in its dynamic section; where a
/// system leaves them as they are in the file (some do, for some architectures), they lie below the object's
/// own.
struct Symbols {
    const ElfW(Sym) * table = nullptr;
    const char* strings = nullptr;
    std::size_t num = 0;
    std::size_t first_defined =
        0;  ///< before it there are only undefined ones; `num` where that is not known
};

/// How many symbols a GNU hash table knows: its chains end with the highest index in them.
std::size_t num_in_gnu_hash(const std::uint32_t* hash) {
    const std::uint32_t num_buckets = hash[0], first_hashed = hash[1], num_words = hash[2];
    const auto* buckets =
        reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const ElfW(Addr)*>(hash + 4) + num_words);
    const std::uint32_t* chains = buckets + num_buckets;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < num_buckets; ++i) last = buckets[i] > last ? buckets[i] : last;
    if (last < first_hashed) return first_hashed;
    while ((chains[last - first_hashed] & 1U) == 0) ++last;
    return last + 1;
}

Symbols symbols_of(const dl_phdr_info& object) {
    const ElfW(Dyn)* entry = nullptr;
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    }
    Symbols symbols;
    const std::uint32_t *hash = nullptr, *gnu_hash = nullptr;
    const auto at = [&object](ElfW(Addr) address) {
        return address < object.dlpi_addr ? address + object.dlpi_addr : address;
    };
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
        const ElfW(Addr) address = entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB) symbols.table = reinterpret_cast<const ElfW(Sym)*>(at(address));
        if (entry->d_tag == DT_STRTAB) symbols.strings = reinterpret_cast<const char*>(at(address));
        if (entry->d_tag == DT_HASH) hash = reinterpret_cast<const std::uint32_t*>(at(address));
        if (entry->d_tag == DT_GNU_HASH) gnu_hash = reinterpret_cast<const std::uint32_t*>(at(address));
    }
    if (symbols.table == nullptr || symbols.strings == nullptr) return {};
    symbols.num = gnu_hash != nullptr ? num_in_gnu_hash(gnu_hash) : hash != nullptr ? hash[1] : 0;
    // The GNU table has what others can find here, at the end of the symbols.
    symbols.first_defined =
        gnu_hash != nullptr ? std::min<std::size_t>(gnu_hash[1], symbols.num) : symbols.num;
    return symbols;
}

/// In C, in Fortran's spellings, with and without the P of the profiling interface.
bool is_of_shared_pointer(const char* name) {
    if (*name == 'P' || *name == 'p') ++name;
    if (::strncasecmp(name, "mpi_file_", 9) != 0) return false;
    return ::strcasestr(name + 9, "_shared") != nullptr || ::strcasestr(name + 9, "_ordered") != nullptr;
}

/// The nonblocking collectives, and the first halves of split ones.
bool is_of_queue(const char* name) {
    if (*name == 'P' || *name == 'p') ++name;
    if (::strncasecmp(name, "mpi_file_", 9) != 0) return false;
    const bool is_nonblocking =
        (name[9] == 'i' || name[9] == 'I') && ::strcasestr(name + 9, "_all") != nullptr;
    return is_nonblocking || ::strcasestr(name + 9, "_all_begin") != nullptr;
}

enum Kind { shared_pointer, queue, num_kinds };
constexpr std::array<bool (*)(const char*), num_kinds> is_of_kind = {is_of_shared_pointer, is_of_queue};

struct Search {
    std::array<bool, num_kinds> found{};
    unsigned long long num_loaded = 0;  ///< objects loaded so far in this process
};

int search_object(dl_phdr_info* object, std::size_t size, void* context) {
    auto& search = *static_cast<Search*>(context);
    if (size >= offsetof(dl_phdr_info, dlpi_adds) + sizeof object->dlpi_adds)
        search.num_loaded = object->dlpi_adds;
    // The kernel's own object has symbols at addresses of its own kind, and no MPI.
    if (std::strncmp(object->dlpi_name, "linux-vdso", 10) == 0) return 0;
    const Symbols symbols = symbols_of(*object);
    const bool is_program = object->dlpi_name[0] == '\0';  // with the MPI library inside, if it defines them
    std::array<bool, num_kinds> imports{}, defines{};
    const auto look = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t kind = 0; kind < num_kinds; ++kind) {
                if (!is_of_kind[kind](symbols.strings + symbols.table[i].st_name)) continue;
                (symbols.table[i].st_shndx == SHN_UNDEF ? imports : defines)[kind] = true;
            }
        }
    };
    // An MPI library defines thousands, whose names are on as many pages: they are looked at where they
    // matter.
    look(1, symbols.first_defined);
    if (imports[shared_pointer] || imports[queue] || is_program)
        look(std::max<std::size_t>(1, symbols.first_defined), symbols.num);
    for (std::size_t kind = 0; kind < num_kinds; ++kind) {
        if (is_program ? imports[kind] || defines[kind] : imports[kind] && !defines[kind])
            search.found[kind] = true;
    }
    return 0;
}

bool has_found(Kind kind) {
    static std::mutex mutex;
    static Search last;
    const std::lock_guard lock(mutex);
    if (last.found[kind]) return true;
    Search count;
    ::dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t size, void* context) {
            if (size >= offsetof(dl_phdr_info, dlpi_adds) + sizeof object->dlpi_adds)
                static_cast<Search*>(context)->num_loaded = object->dlpi_adds;
            return 1;
        },
        &count);
    if (last.num_loaded != 0 && count.num_loaded == last.num_loaded) return false;
    ::dl_iterate_phdr(search_object, &last);
    return last.found[kind];
}

}  // namespace

bool may_use_shared_pointers() {
    return has_found(shared_pointer);
}

bool may_use_queue() {
    return has_found(queue);
}

}  // namespace hakobi::mpiio
