#pragma once

namespace hakobi::mpi {

/// Has `act` called once, when MPI_Finalize begins, on the thread that calls it; later ones first. `act` may be called while
/// other ranks are elsewhere: it must not communicate. MPI is initialised and not finalised. Local.
void at_finalize(void (*act)());

}  // namespace hakobi::mpi
