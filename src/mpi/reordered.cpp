#include "mpi/reordered.hpp"

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {

Comm reordered(const Comm& comm, int place) {
    MPI_Comm made = MPI_COMM_NULL;
    check(MPI_Comm_split(comm.state().internal, 0, place, &made), "MPI_Comm_split");
    Comm result = Comm::duplicate(made);
    MPI_Comm_free(&made);
    return result;
}

}  // namespace hakobi::mpi
