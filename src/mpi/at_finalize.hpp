#pragma once

namespace hakobi::mpi {

/// The stage of an action. Other ranks may be anywhere when `local` actions run. Actions `with_others` run
/// before them; they may wait for the other ranks to reach MPI_Finalize, and then communicate.
enum class FinalizeStage { with_others, local };

/// Has `act` called once, when MPI_Finalize begins, on the thread that calls it, in the process that has
/// asked for it and in no child of it; later ones of a stage first. MPI is initialised and not finalised.
/// Local.
void at_finalize(FinalizeStage stage, void (*act)());

}  // namespace hakobi::mpi
