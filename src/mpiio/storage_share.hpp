#pragma once

#include "io/counters.hpp"

namespace hakobi::mpiio {

// How much of the run so far storage has taken, by the engines that this rank has closed: what hidden output
// (hidden.hpp) saves, or would. Local; any thread.

/// A file was opened: the run is counted from the first one on.
void begin_storage_share();
/// An engine is about to be closed, or was.
void add_to_storage_share(const io::EngineCounters& counters, bool is_hidden);
/// For hakobi_hidden=auto: whether writes are worth hiding. Yes at first; from then on where storage has
/// taken more than a hundredth of the time.
[[nodiscard]] bool is_hiding_worthwhile();
/// MPI_Finalize has waited so long for hidden writes: into the file that HAKOBI_HIDDEN_LEFT names, for who
/// times the program (`hakobi study`).
void note_last_wait(double seconds);
/// With HAKOBI_PROFILE, at the end: a line on stderr on what hidden output would have saved at most.
void tell_storage_share();

}  // namespace hakobi::mpiio
