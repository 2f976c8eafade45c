#pragma once

#include <hakobi/comm.hpp>
#include <memory>

#include "mpiio/open_file.hpp"
#include "mpiio/operation_queue.hpp"

namespace hakobi::mpiio {

// MPI's requests for operations of the queue (operation_queue.hpp). They are generalised requests, which
// somebody has to call complete, on a thread that may call MPI. Nobody of ours is there when a program waits
// in MPI_Wait; so the MPI library calls us:
//
//  - MPICH and what is built on it: MPIX_Grequest_start takes a function that the library calls while the
//    program tests a request, and one for MPI_Waitall;
//  - Open MPI: opal_progress_register takes a function that is called whenever the library progresses.
//
// Both are looked up at run time. A program that spins in MPI would keep the core from the threads that it
// waits for: where a node has no core to spare these functions sleep, ever longer, a fifth of the time that
// it has waited.

/// Whether this MPI library has one of the two. Local.
[[nodiscard]] bool can_make_requests();

/// A request for `operation`, queued or about to be, on `file`; `call` names the program's call. Local; any
/// thread that may call MPI. Returns an MPI error code.
int make_request(const OpenFile& file, std::shared_ptr<Operation> operation, const char* call,
                 MPI_Request* request);

/// Completes the requests whose operations are over: those that the program has freed nobody waits for.
/// Local; as above.
void complete_requests();

/// Returns the result of a completed operation, after calling the file's error handler if it failed. Local.
int result_of(const OpenFile& file, const char* call, const Operation& operation);

}  // namespace hakobi::mpiio
