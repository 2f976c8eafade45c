#include "mpiio/own_access.hpp"

#include <cstddef>

#include "mpiio/comm_pool.hpp"
#include "mpiio/file_table.hpp"

namespace hakobi::mpiio {
namespace {

/// Whether somebody may be in a collective write of the file while this rank writes it by this handle:
/// through another handle of it, or by another thread, or while the queue has some. A rank's one thread
/// cannot, where all ranks of the program are the handle's.
bool may_meet_fillers(const OpenFile& file, std::size_t num_handles) {
    if (!has_world() || (file.queue != nullptr && file.queue->is_busy())) return true;
    int world_size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    return num_handles > 1 || file.facts.num_ranks < world_size || is_called_by_threads();
}

}  // namespace

OwnAccess::OwnAccess(OpenFile& file, bool is_write, Ends ends) {
    if (!is_write) {
        file.engine_side.wait_for_left_calls();
        return;
    }
    // The table's mutex is not held meanwhile.
    const auto handles = handles_of(file);
    for (const auto& each : handles) each->engine_side.wait_for_left_calls();
    if (ends == Ends::later) {
        for (const auto& each : handles) each->engine_side.leave_holes();
    } else if (may_meet_fillers(file, handles.size())) {
        lock_.emplace(file.engine_side.lock_descriptor(file.facts));
    }
}

}  // namespace hakobi::mpiio
