#include "mpi/reordered.hpp"

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {

Comm reordered(const Comm& comm, int place) {
    const MPI_Comm internal = comm.state().internal;
    MPI_Comm made = made_by([&](MPI_Comm* into) { return MPI_Comm_split(internal, 0, place, into); },
                            "MPI_Comm_split", internal);
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    const std::unique_ptr<MPI_Comm, int (*)(MPI_Comm*)> freed(&made, MPI_Comm_free);
    return Comm::duplicate(made);
}

}  // namespace hakobi::mpi
