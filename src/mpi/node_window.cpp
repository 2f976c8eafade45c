#include "mpi/node_window.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {

Status NodeWindow::allocate(const Comm& comm, std::int64_t bytes, NodeWindow& window) {
    const CommState& state = comm.state();
    void* mine = nullptr;
    const MPI_Aint local_bytes = state.node_rank == 0 ? static_cast<MPI_Aint>(bytes) : 0;
    const int error =
        MPI_Win_allocate_shared(local_bytes, 1, MPI_INFO_NULL, state.node, &mine, &window.window_);
    int failed = error != MPI_SUCCESS ? 1 : 0;
    int any_failed = 0;
    check(MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, state.node), "MPI_Allreduce");
    if (any_failed != 0) {
        return {ErrorCode::out_of_memory,
                "no " + std::to_string(bytes) + " bytes of memory that a node's ranks share"};
    }
    MPI_Aint size = 0;
    int unit = 0;
    void* base = nullptr;
    check(MPI_Win_shared_query(window.window_, 0, &size, &unit, &base), "MPI_Win_shared_query");
    window.data_ = static_cast<std::byte*>(base);
    window.size_bytes_ = bytes;
    return {};
}

Status NodeWindow::take(const Comm& comm, std::int64_t bytes, NodeWindow& window) {
    // The list is the same on all ranks of the node: windows come and go in collective calls.
    std::vector<NodeWindow>& kept = comm.state().kept_windows;
    const auto fits = [bytes](const NodeWindow& w) {
        return w.size_bytes() >= bytes && w.size_bytes() / 4 <= bytes;
    };
    const auto at = std::find_if(kept.begin(), kept.end(), fits);
    if (at == kept.end()) return allocate(comm, bytes, window);
    window = *at;
    kept.erase(at);
    return {};
}

void NodeWindow::keep(const Comm& comm, NodeWindow& window) {
    constexpr std::size_t most = 4;
    std::vector<NodeWindow>& kept = comm.state().kept_windows;
    if (window.data_ == nullptr) return;
    if (kept.size() == most) {
        kept.front().free();
        kept.erase(kept.begin());
    }
    kept.push_back(window);
    window = {};
}

void NodeWindow::barrier(const Comm& comm) {
    check(MPI_Barrier(comm.state().node), "MPI_Barrier");
}

void NodeWindow::free() {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
    window_ = MPI_WIN_NULL;
    data_ = nullptr;
    size_bytes_ = 0;
}

}  // namespace hakobi::mpi
