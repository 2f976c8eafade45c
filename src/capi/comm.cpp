#include <hakobi/bindings.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <hakobi/block.hpp>
#include <memory>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"

using hakobi::Error;
using hakobi::ErrorCode;
using hakobi::capi::guarded;

namespace {

// By hakobi_mpi_init_if_needed: MPI is then this process's to finalise, and none of its children's.
std::atomic<pid_t> mpi_of_process{0};

// The standard's ABI has other functions for integer handles, equal in every language.
#ifdef MPI_H_ABI
MPI_Comm of_fortran(int handle) {
    return MPI_Comm_fromint(handle);
}
int to_fortran(MPI_Comm comm) {
    return MPI_Comm_toint(comm);
}
#else
MPI_Comm of_fortran(int handle) {
    return MPI_Comm_f2c(handle);
}
int to_fortran(MPI_Comm comm) {
    return static_cast<int>(MPI_Comm_c2f(comm));
}
#endif

bool mpi_is_initialized() {
    int yes = 0;
    MPI_Initialized(&yes);
    return yes != 0;
}

bool mpi_is_finalized() {
    int yes = 0;
    MPI_Finalized(&yes);
    return yes != 0;
}

void require_running_mpi(const char* call) {
    if (!mpi_is_initialized()) {
        throw Error(ErrorCode::invalid_argument, std::string(call) + ": MPI is not initialised");
    }
    if (mpi_is_finalized()) {
        throw Error(ErrorCode::invalid_argument, std::string(call) + ": MPI is already finalised");
    }
}

int duplicate(MPI_Comm mpi_comm, hakobi_comm** comm) {
    return guarded([&] {
        auto handle = std::make_unique<hakobi_comm>();
        handle->comm = hakobi::Comm::duplicate(mpi_comm);
        *comm = handle.release();
    });
}

}  // namespace

int hakobi_mpi_init_if_needed(void) {
    return guarded([] {
        if (mpi_is_finalized()) {
            throw Error(ErrorCode::invalid_argument, "hakobi_mpi_init_if_needed: MPI is already finalised");
        }
        if (mpi_is_initialized()) return;
        int provided = MPI_THREAD_SINGLE;
        hakobi::mpi::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
                           "MPI_Init_thread");
        mpi_of_process = ::getpid();
    });
}

int hakobi_mpi_finalize_if_ours(void) {
    return guarded([] {
        if (mpi_of_process.exchange(0) != ::getpid() || mpi_is_finalized()) return;
        hakobi::mpi::check(MPI_Finalize(), "MPI_Finalize");
    });
}

int hakobi_comm_duplicate_f(int fortran_comm, hakobi_comm** comm) {
    MPI_Comm mpi_comm = MPI_COMM_NULL;
    const int code = guarded([&] {
        if (comm == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_comm_duplicate_f: comm is NULL");
        *comm = nullptr;
        require_running_mpi("hakobi_comm_duplicate_f");
        mpi_comm = of_fortran(fortran_comm);
        // Open MPI answers an unknown handle with a null pointer, which is not its MPI_COMM_NULL.
        if (mpi_comm == MPI_COMM_NULL || mpi_comm == MPI_Comm{}) {
            throw Error(ErrorCode::invalid_argument,
                        "hakobi_comm_duplicate_f: not a communicator: Fortran handle " +
                            std::to_string(fortran_comm));
        }
    });
    return code != HAKOBI_OK ? code : duplicate(mpi_comm, comm);
}

int hakobi_comm_duplicate_world(hakobi_comm** comm) {
    const int code = guarded([&] {
        if (comm == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_comm_duplicate_world: comm is NULL");
        *comm = nullptr;
        require_running_mpi("hakobi_comm_duplicate_world");
    });
    return code != HAKOBI_OK ? code : duplicate(MPI_COMM_WORLD, comm);
}

int hakobi_comm_refuse(hakobi_comm* comm, const char* text) {
    return guarded([&] {
        if (comm == nullptr) throw Error(ErrorCode::invalid_argument, "hakobi_comm_refuse: comm is NULL");
        // The first agreement of every call that makes an object.
        hakobi::mpi::agree_or_throw(comm->comm,
                                    {ErrorCode::invalid_argument, hakobi::capi::text_or(text, "refused")});
    });
}

int hakobi_comm_free(hakobi_comm* comm) {
    return guarded([&] {
        const std::unique_ptr<hakobi_comm> handle(comm);
        // After MPI_Finalize the duplicate is gone with MPI: a garbage collector may well come that late.
        if (handle && !mpi_is_finalized()) handle->comm.free();
    });
}

int hakobi_comm_rank(const hakobi_comm* comm) {
    return comm != nullptr ? comm->comm.rank() : -1;
}
int hakobi_comm_size(const hakobi_comm* comm) {
    return comm != nullptr ? comm->comm.size() : -1;
}
int hakobi_comm_num_nodes(const hakobi_comm* comm) {
    return comm != nullptr ? comm->comm.num_nodes() : -1;
}
int hakobi_comm_node(const hakobi_comm* comm) {
    return comm != nullptr ? comm->comm.node() : -1;
}
int hakobi_comm_handle_f(const hakobi_comm* comm) {
    return to_fortran(comm != nullptr ? comm->comm.handle() : MPI_COMM_NULL);
}

int hakobi_split(int num_dims, const int64_t* global, int num_ranks, int rank, hakobi_block* block) {
    return guarded([&] {
        if (global == nullptr || block == nullptr) {
            throw Error(ErrorCode::invalid_argument, "hakobi_split: global or block is NULL");
        }
        if (num_dims < 1 || num_dims > HAKOBI_MAX_DIMS) {
            throw Error(ErrorCode::invalid_argument, "hakobi_split: num_dims is " + std::to_string(num_dims) +
                                                         ", not 1 to " + std::to_string(HAKOBI_MAX_DIMS));
        }
        const hakobi::Block mine = hakobi::split(
            std::span<const std::int64_t>(global, static_cast<std::size_t>(num_dims)), num_ranks, rank);
        *block = {};
        block->num_dims = num_dims;
        std::copy(mine.global.begin(), mine.global.end(), block->global);
        std::copy(mine.start.begin(), mine.start.end(), block->start);
        std::copy(mine.count.begin(), mine.count.end(), block->count);
    });
}

int hakobi_dims_of_ranks(int num_dims, const int64_t* global, int num_ranks, int* dims) {
    return guarded([&] {
        if (global == nullptr || dims == nullptr || num_dims < 1) {
            throw Error(ErrorCode::invalid_argument,
                        "hakobi_dims_of_ranks: global or dims is NULL, or num_dims is not positive");
        }
        const std::vector<int> made = hakobi::dims_of_ranks(
            std::span<const std::int64_t>(global, static_cast<std::size_t>(num_dims)), num_ranks);
        std::copy(made.begin(), made.end(), dims);
    });
}
