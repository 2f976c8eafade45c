#include "links.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "mpi/comm_state.hpp"

namespace hakobi::bench {
namespace {

using mpi::check;
constexpr int tag_together = 3;
constexpr auto nap = std::chrono::microseconds(200);

int receive_value(int from) {
    int value = 0, has_come = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(&value, 1, MPI_INT, from, tag_together, MPI_COMM_WORLD, &request), "MPI_Irecv");
    for (;;) {
        check(MPI_Test(&request, &has_come, MPI_STATUS_IGNORE), "MPI_Test");
        if (has_come != 0) return value;
        std::this_thread::sleep_for(nap);
    }
}

void send_value(int value, int to) {
    check(MPI_Send(&value, 1, MPI_INT, to, tag_together, MPI_COMM_WORLD), "MPI_Send");
}

int world_rank() {
    int rank = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    return rank;
}

int world_size() {
    int size = 0;
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    return size;
}

/// Collective over ranks 0 and `partner`.
Comm pair_with(int partner) {
    MPI_Group world = MPI_GROUP_NULL, two = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    const int ranks[] = {0, partner};
    check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    check(MPI_Group_incl(world, 2, ranks, &two), "MPI_Group_incl");
    check(MPI_Comm_create_group(MPI_COMM_WORLD, two, partner, &made), "MPI_Comm_create_group");
    MPI_Group_free(&two);
    MPI_Group_free(&world);
    Comm pair = Comm::duplicate(made);
    MPI_Comm_free(&made);
    return pair;
}

}  // namespace

std::vector<Link> make_links() {
    std::vector<Link> links;
    const int rank = world_rank();
    for (int partner = 1; partner < world_size(); ++partner) {
        if (rank == 0 || rank == partner) links.push_back({rank == 0 ? partner : 0, pair_with(partner)});
    }
    return links;
}

void free_links(std::vector<Link>& links) {
    for (Link& link : links) link.pair.free();
    links.clear();
}

int all_min(int value) {
    const int num_ranks = world_size();
    if (world_rank() != 0) {
        send_value(value, 0);
        return receive_value(0);
    }
    for (int peer = 1; peer < num_ranks; ++peer) value = std::min(value, receive_value(peer));
    for (int peer = 1; peer < num_ranks; ++peer) send_value(value, peer);
    return value;
}

}  // namespace hakobi::bench
