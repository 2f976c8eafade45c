#include "mpi/node_window.hpp"

#include <string>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {

Status NodeWindow::allocate(const Comm& comm, std::int64_t bytes, NodeWindow& window) {
    const CommState& state = comm.state();
    void* mine = nullptr;
    const MPI_Aint local_bytes = state.node_rank == 0 ? static_cast<MPI_Aint>(bytes) : 0;
    const int error = MPI_Win_allocate_shared(local_bytes, 1, MPI_INFO_NULL, state.node, &mine, &window.window_);
    int failed = error != MPI_SUCCESS ? 1 : 0;
    int any_failed = 0;
    check(MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, state.node), "MPI_Allreduce");
    if (any_failed != 0) {
        return {ErrorCode::out_of_memory, "no " + std::to_string(bytes) + " bytes of memory that a node's ranks share"};
    }
    MPI_Aint size = 0;
    int unit = 0;
    void* base = nullptr;
    check(MPI_Win_shared_query(window.window_, 0, &size, &unit, &base), "MPI_Win_shared_query");
    window.data_ = static_cast<std::byte*>(base);
    window.size_bytes_ = bytes;
    return {};
}

void NodeWindow::barrier(const Comm& comm) { check(MPI_Barrier(comm.state().node), "MPI_Barrier"); }

void NodeWindow::free() {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
    window_ = MPI_WIN_NULL;
    data_ = nullptr;
    size_bytes_ = 0;
}

}  // namespace hakobi::mpi
