#include "mpi/nonblocking.hpp"

#include <cassert>
#include <limits>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

int checked_count(std::size_t count) {
    assert(count <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
    return static_cast<int>(count);
}

}  // namespace

Pending Pending::send(const Comm& comm, std::span<const std::byte> bytes, int to, int tag) {
    Pending pending;
    check(MPI_Isend(bytes.data(), checked_count(bytes.size()), MPI_BYTE, to, tag, comm.state().internal,
                    &pending.request_),
          "MPI_Isend");
    return pending;
}

Pending Pending::receive(const Comm& comm, std::span<std::byte> bytes, int from, int tag) {
    Pending pending;
    check(MPI_Irecv(bytes.data(), checked_count(bytes.size()), MPI_BYTE,
                    from == any_rank ? MPI_ANY_SOURCE : from, tag, comm.state().internal, &pending.request_),
          "MPI_Irecv");
    return pending;
}

bool Pending::test() {
    int done = 0;
    check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
}

int highest_tag(const Comm& comm) {
    return comm.state().highest_tag - 1;
}

std::vector<std::int64_t> all_gather(const Comm& comm, std::span<const std::int64_t> words) {
    std::vector<std::int64_t> all(words.size() * static_cast<std::size_t>(comm.size()));
    const int count = checked_count(words.size());
    check(MPI_Allgather(words.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T,
                        comm.state().internal),
          "MPI_Allgather");
    return all;
}

std::vector<std::int64_t> all_gather(const Comm& comm, std::span<const std::int64_t> words,
                                     std::span<const std::int64_t> lengths) {
    std::vector<int> counts, displacements;
    std::size_t total = 0;
    for (const std::int64_t length : lengths) {
        counts.push_back(checked_count(static_cast<std::size_t>(length)));
        displacements.push_back(checked_count(total));
        total += static_cast<std::size_t>(length);
    }
    std::vector<std::int64_t> all(total);
    check(MPI_Allgatherv(words.data(), checked_count(words.size()), MPI_INT64_T, all.data(), counts.data(),
                         displacements.data(), MPI_INT64_T, comm.state().internal),
          "MPI_Allgatherv");
    return all;
}

}  // namespace hakobi::mpi
