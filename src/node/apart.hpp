#pragma once

#include <hakobi/comm.hpp>

#include "base/status.hpp"

namespace hakobi::node {

/// A Comm of the ranks of this node, in their order, none of whose calls enters MPI: what is collective over
/// it goes through shared memory, and waits do not progress MPI. One thread of each rank may use it while
/// others are in MPI, whatever level of thread support the program asked for. It has no communicator for
/// messages. Collective over the node's ranks of `comm`, by MPI; returns an error alike on the node.
/// `Comm::free` releases it.
Status make_apart(const Comm& comm, Comm& apart);

}  // namespace hakobi::node
