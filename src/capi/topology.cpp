#include <algorithm>
#include <hakobi/topology.hpp>
#include <span>
#include <string>
#include <vector>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/sized.hpp"
#include "mpi/agree.hpp"

using hakobi::Error;
using hakobi::ErrorCode;
using hakobi::capi::guarded;

struct hakobi_topology {
    hakobi::Topology topology;
};

namespace {

void require_topology(bool is_there, const char* text) {
    if (!is_there) throw Error(ErrorCode::invalid_argument, text);
}

template <class T>
std::span<const T> list_of(const T* first, int num) {
    return first == nullptr ? std::span<const T>() : std::span(first, static_cast<std::size_t>(num));
}

}  // namespace

int hakobi_topology_discover(hakobi_comm* comm, hakobi_topology** topology) {
    return guarded([&] {
        if (topology != nullptr) *topology = nullptr;
        require_topology(comm != nullptr, "hakobi_topology_discover: comm is NULL");
        hakobi::Status local;
        if (topology == nullptr)
            local = {ErrorCode::invalid_argument, "hakobi_topology_discover: topology is NULL"};
        hakobi::mpi::agree_or_throw(comm->comm, local);
        *topology = new hakobi_topology{hakobi::Topology::discover(comm->comm)};
    });
}

int hakobi_topology_declare(int num_ranks, const int* node_of_rank, const int* socket_of_rank,
                            hakobi_topology** topology) {
    return guarded([&] {
        if (topology != nullptr) *topology = nullptr;
        require_topology(
            topology != nullptr && node_of_rank != nullptr && num_ranks > 0,
            "hakobi_topology_declare: topology or node_of_rank is NULL, or num_ranks is not positive");
        *topology = new hakobi_topology{
            hakobi::Topology::declare(list_of(node_of_rank, num_ranks), list_of(socket_of_rank, num_ranks))};
    });
}

int hakobi_topology_num_ranks(const hakobi_topology* topology) {
    return topology != nullptr ? topology->topology.num_ranks() : 0;
}

int hakobi_topology_num_nodes(const hakobi_topology* topology) {
    return topology != nullptr ? topology->topology.num_nodes() : 0;
}

int hakobi_topology_node_of(const hakobi_topology* topology, int rank) {
    const bool is_one = rank >= 0 && rank < hakobi_topology_num_ranks(topology);
    return is_one ? topology->topology.node_of(rank) : -1;
}

int hakobi_topology_socket_of(const hakobi_topology* topology, int rank) {
    const bool is_one = rank >= 0 && rank < hakobi_topology_num_ranks(topology);
    return is_one ? topology->topology.socket_of(rank) : -1;
}

int hakobi_topology_reorder(const hakobi_topology* topology, int num_dims, const int* ranks,
                            const int64_t* weights, const int* is_periodic, int* rank_at,
                            hakobi_traffic* traffic) {
    return guarded([&] {
        require_topology(
            topology != nullptr && ranks != nullptr && rank_at != nullptr && num_dims > 0,
            "hakobi_topology_reorder: topology, ranks or rank_at is NULL, or num_dims is not positive");
        const auto periodic = list_of(is_periodic, num_dims);
        const hakobi::Reordering made =
            topology->topology.reorder(list_of(ranks, num_dims), list_of(weights, num_dims),
                                       std::vector<bool>(periodic.begin(), periodic.end()));
        std::copy(made.rank_at.begin(), made.rank_at.end(), rank_at);
        if (traffic != nullptr) {
            const hakobi_traffic found = {.struct_size = sizeof(hakobi_traffic),
                                          .between_nodes_before = made.between_nodes_before,
                                          .between_nodes_after = made.between_nodes_after,
                                          .total = made.total};
            hakobi::capi::give(found, *traffic, "hakobi_traffic");
        }
    });
}

void hakobi_topology_free(hakobi_topology* topology) {
    delete topology;
}

int hakobi_comm_reordered(hakobi_comm* comm, int num_ranks, const int* rank_at, hakobi_comm** reordered) {
    return guarded([&] {
        if (reordered != nullptr) *reordered = nullptr;
        require_topology(comm != nullptr, "hakobi_comm_reordered: comm is NULL");
        hakobi::Status local;
        if (reordered == nullptr || rank_at == nullptr || num_ranks < 0)
            local = {ErrorCode::invalid_argument, "hakobi_comm_reordered: reordered or rank_at is NULL"};
        hakobi::mpi::agree_or_throw(comm->comm, local);
        hakobi::Reordering order;
        order.rank_at.assign(rank_at, rank_at + num_ranks);
        *reordered = new hakobi_comm{hakobi::reordered(comm->comm, order)};
    });
}
