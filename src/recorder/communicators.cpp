// Calls that make and free communicators: the recorder tells those of the same ranks from each other
// (trace.hpp).
#include "trace.hpp"

#include <hakobi/export.hpp>

namespace hakobi::recorder {
namespace {

/// `make` makes a communicator; MPI_COMM_NULL on ranks that are not in it.
template <class Function>
int made(MPI_Comm* comm, const Function& make) {
    const int result = make();
    if (Trace::instance().is_on() && result == MPI_SUCCESS && *comm != MPI_COMM_NULL)
        Trace::instance().groups().keep(*comm);
    return result;
}

}  // namespace
}  // namespace hakobi::recorder

using hakobi::recorder::made;
using hakobi::recorder::Trace;

extern "C" {

#define HAKOBI_MAKER(name, parameters, arguments)                   \
    HAKOBI_EXPORT int MPI_##name parameters {                       \
        return made(result, [&] { return PMPI_##name arguments; }); \
    }
HAKOBI_MAKER(Comm_dup, (MPI_Comm comm, MPI_Comm* result), (comm, result))
HAKOBI_MAKER(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* result), (comm, info, result))
HAKOBI_MAKER(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* result), (comm, group, result))
HAKOBI_MAKER(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* result),
             (comm, group, tag, result))
HAKOBI_MAKER(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* result), (comm, color, key, result))
HAKOBI_MAKER(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm* result),
             (comm, kind, key, info, result))
HAKOBI_MAKER(Intercomm_merge, (MPI_Comm comm, int is_high, MPI_Comm* result), (comm, is_high, result))
HAKOBI_MAKER(Cart_create,
             (MPI_Comm comm, int num_dimensions, const int dimensions[], const int periods[], int reorder,
              MPI_Comm* result),
             (comm, num_dimensions, dimensions, periods, reorder, result))
HAKOBI_MAKER(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm* result), (comm, remain, result))
HAKOBI_MAKER(Graph_create,
             (MPI_Comm comm, int num_nodes, const int index[], const int edges[], int reorder,
              MPI_Comm* result),
             (comm, num_nodes, index, edges, reorder, result))
HAKOBI_MAKER(Dist_graph_create,
             (MPI_Comm comm, int num_sources, const int sources[], const int degrees[],
              const int destinations[], const int weights[], MPI_Info info, int reorder, MPI_Comm* result),
             (comm, num_sources, sources, degrees, destinations, weights, info, reorder, result))
HAKOBI_MAKER(Dist_graph_create_adjacent,
             (MPI_Comm comm, int in_degree, const int sources[], const int source_weights[], int out_degree,
              const int destinations[], const int destination_weights[], MPI_Info info, int reorder,
              MPI_Comm* result),
             (comm, in_degree, sources, source_weights, out_degree, destinations, destination_weights, info,
              reorder, result))

HAKOBI_EXPORT int MPI_Comm_free(MPI_Comm* comm) {
    if (Trace::instance().is_on()) Trace::instance().groups().forget(*comm);
    return PMPI_Comm_free(comm);
}
HAKOBI_EXPORT int MPI_Comm_disconnect(MPI_Comm* comm) {
    if (Trace::instance().is_on()) Trace::instance().groups().forget(*comm);
    return PMPI_Comm_disconnect(comm);
}

}  // extern "C"
