// Preloaded by cluster.sh, and in containers, into programs of MPICH before 4.2 over UCX. There MPI_Finalize
// disconnects from every rank, each of which must still answer, and then waits at the process manager's
// barrier, where it answers no more: one run in four never ends (github.com/pmodels/mpich/pull/6596). Without
// the disconnecting nobody waits for an answer; the connections are closed behind the barrier, with UCX's
// worker.
#include <stddef.h>

void* ucp_disconnect_nb(void* endpoint);

void* ucp_disconnect_nb(void* endpoint) {
    (void)endpoint;
    return NULL;  // UCS_OK: done, there is no request to wait for
}
