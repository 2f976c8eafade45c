// Beginning and end, communicators, their attributes, errors.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "serial_mpi/serial_mpi.hpp"

namespace hakobi::serial_mpi {
namespace {

struct Keyval {
    MPI_Comm_copy_attr_function* copy;
    MPI_Comm_delete_attr_function* remove;
    void* extra;
};

struct State {
    bool is_initialized = false, is_finalized = false;
    std::map<int, Keyval> keyvals;  // of freed ones too: their attributes may be there
    std::map<MPI_Comm, std::map<int, void*>> attributes;
    int next_comm = static_cast<int>(0x84000000U), next_keyval = static_cast<int>(0xa4000000U);
};

State& state() {
    static auto* const made = new State;
    return *made;
}

int add_comm(MPI_Comm* comm) {
    *comm = state().next_comm++;
    return MPI_SUCCESS;
}

/// Removes the attributes of a communicator that ends.
void remove_attributes(MPI_Comm comm) {
    const auto removed = std::exchange(state().attributes[comm], {});
    for (const auto& [key, value] : removed) {
        const Keyval& keyval = state().keyvals[key];
        if (keyval.remove != nullptr) keyval.remove(comm, key, value, keyval.extra);
    }
    state().attributes.erase(comm);
}

// A code is a class and, above it, errno.
constexpr int class_bits = 8, class_mask = (1 << class_bits) - 1;

int class_of_errno(int number) {
    switch (number) {
        case EACCES:
        case EPERM:
            return MPI_ERR_ACCESS;
        case EDQUOT:
            return MPI_ERR_QUOTA;
        case EEXIST:
            return MPI_ERR_FILE_EXISTS;
        case ENOENT:
            return MPI_ERR_NO_SUCH_FILE;
        case ENOMEM:
            return MPI_ERR_NO_MEM;
        case ENOSPC:
            return MPI_ERR_NO_SPACE;
        case EROFS:
            return MPI_ERR_READ_ONLY;
        default:
            return MPI_ERR_IO;
    }
}

}  // namespace

int error_of_errno(int number) {
    return class_of_errno(number) | number << class_bits;
}

void end_stuck(const char* call) {
    std::fprintf(stderr, "hakobi: %s waits for a message, and this process runs alone: nobody sends it\n",
                 call);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    std::abort();
}

}  // namespace hakobi::serial_mpi

using namespace hakobi::serial_mpi;  // MPI's functions, all of them about these

int MPI_Init_thread(int*, char***, int, int* provided) {
    state().is_initialized = true;
    *provided = MPI_THREAD_FUNNELED;
    return MPI_SUCCESS;
}

int MPI_Initialized(int* flag) {
    *flag = state().is_initialized ? 1 : 0;
    return MPI_SUCCESS;
}

int MPI_Finalize() {
    remove_attributes(MPI_COMM_SELF);  // before anything else, says the standard
    state().is_finalized = true;
    return MPI_SUCCESS;
}

int MPI_Finalized(int* flag) {
    *flag = state().is_finalized ? 1 : 0;
    return MPI_SUCCESS;
}

int MPI_Query_thread(int* provided) {
    *provided = MPI_THREAD_FUNNELED;
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm, int code) {
    std::fflush(nullptr);
    _exit(code != 0 ? code : EXIT_FAILURE);
}

int MPI_Comm_rank(MPI_Comm, int* rank) {
    *rank = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm, int* size) {
    *size = 1;
    return MPI_SUCCESS;
}

int MPI_Comm_test_inter(MPI_Comm, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    add_comm(made);
    for (const auto& [key, value] : state().attributes[comm]) {
        const Keyval keyval = state().keyvals[key];
        void* copied = nullptr;
        int is_kept = 0;
        if (keyval.copy != nullptr) keyval.copy(comm, key, keyval.extra, value, &copied, &is_kept);
        if (is_kept != 0) state().attributes[*made][key] = copied;
    }
    return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm, int color, int, MPI_Comm* made) {
    *made = MPI_COMM_NULL;
    return color == MPI_UNDEFINED ? MPI_SUCCESS : add_comm(made);
}

int MPI_Comm_split_type(MPI_Comm, int type, int, MPI_Info, MPI_Comm* made) {
    *made = MPI_COMM_NULL;
    return type == MPI_UNDEFINED ? MPI_SUCCESS : add_comm(made);
}

int MPI_Comm_free(MPI_Comm* comm) {
    remove_attributes(*comm);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler) {
    return MPI_SUCCESS;  // errors are always returned
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove, int* key,
                           void* extra) {
    *key = state().next_keyval++;
    state().keyvals[*key] = {copy, remove, extra};
    return MPI_SUCCESS;
}

int MPI_Comm_free_keyval(int* key) {
    *key = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

int MPI_Comm_set_attr(MPI_Comm comm, int key, void* value) {
    state().attributes[comm][key] = value;
    return MPI_SUCCESS;
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* is_there) {
    static int highest_tag = 32767;
    const auto& attributes = state().attributes[comm];
    const auto found = attributes.find(key);
    void* const known = key == MPI_TAG_UB           ? &highest_tag
                        : found != attributes.end() ? found->second
                                                    : nullptr;
    *is_there = key == MPI_TAG_UB || found != attributes.end() ? 1 : 0;
    if (*is_there != 0) *static_cast<void**>(value) = known;
    return MPI_SUCCESS;
}

int MPI_Error_class(int code, int* error_class) {
    *error_class = code & class_mask;
    return MPI_SUCCESS;
}

int MPI_Error_string(int code, char* text, int* length) {
    const int number = code >> class_bits;
    *length = number != 0 ? std::snprintf(text, MPI_MAX_ERROR_STRING, "%s", std::strerror(number))
                          : std::snprintf(text, MPI_MAX_ERROR_STRING, "MPI error %d", code);
    return MPI_SUCCESS;
}

int MPI_Info_create(MPI_Info* info) {
    *info = static_cast<MPI_Info>(0x9c000000U);  // its hints are for an MPI library's files
    return MPI_SUCCESS;
}

int MPI_Info_set(MPI_Info, const char*, const char*) {
    return MPI_SUCCESS;
}

int MPI_Info_free(MPI_Info* info) {
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

HAKOBI_ALSO_AS_PMPI(Init_thread)
HAKOBI_ALSO_AS_PMPI(Initialized)
HAKOBI_ALSO_AS_PMPI(Finalize)
HAKOBI_ALSO_AS_PMPI(Finalized)
HAKOBI_ALSO_AS_PMPI(Query_thread)
HAKOBI_ALSO_AS_PMPI(Abort)
HAKOBI_ALSO_AS_PMPI(Comm_rank)
HAKOBI_ALSO_AS_PMPI(Comm_size)
HAKOBI_ALSO_AS_PMPI(Comm_test_inter)
HAKOBI_ALSO_AS_PMPI(Comm_dup)
HAKOBI_ALSO_AS_PMPI(Comm_split)
HAKOBI_ALSO_AS_PMPI(Comm_split_type)
HAKOBI_ALSO_AS_PMPI(Comm_free)
HAKOBI_ALSO_AS_PMPI(Comm_set_errhandler)
HAKOBI_ALSO_AS_PMPI(Comm_create_keyval)
HAKOBI_ALSO_AS_PMPI(Comm_free_keyval)
HAKOBI_ALSO_AS_PMPI(Comm_set_attr)
HAKOBI_ALSO_AS_PMPI(Comm_get_attr)
HAKOBI_ALSO_AS_PMPI(Error_class)
HAKOBI_ALSO_AS_PMPI(Error_string)
HAKOBI_ALSO_AS_PMPI(Info_create)
HAKOBI_ALSO_AS_PMPI(Info_set)
HAKOBI_ALSO_AS_PMPI(Info_free)
