#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <span>
#include <vector>

namespace hakobi::mpi {

/// Messages of any length between ranks of a Comm, in the library's own context. Counts beyond what MPI's int
/// takes are sent in parts. A failed communication call ends the program (comm_state.hpp, check).

/// Collective: every rank gets the maximum over the ranks, element by element.
void all_max(const Comm& comm, std::span<std::int64_t> values);

/// Collective: every rank gets the maximum over the ranks of each of `maxima` and the sum of each of `sums`,
/// by one all-reduce.
void all_max_and_sum(const Comm& comm, std::span<std::int64_t> maxima, std::span<std::int64_t> sums);

/// Collective: every rank gets the sum over the ranks before it, element by element, and in `totals`, as
/// long, over all.
void sum_before(const Comm& comm, std::span<std::int64_t> values, std::span<std::int64_t> totals);

/// Collective over the node's ranks: every one gets the bits that any of them has set; as many bytes on each.
void node_bit_or(const Comm& comm, std::span<std::byte> bytes);

/// Collective over the node's ranks: the bytes of the first one, on every one; as many on each.
void node_broadcast(const Comm& comm, std::span<std::byte> bytes);

/// Collective over the node's ranks: the maximum, on every one.
[[nodiscard]] int node_max(const Comm& comm, int value);

/// Collective: `bytes` of rank `root` replaces that of all others, whatever its size.
void broadcast(const Comm& comm, std::vector<std::byte>& bytes, int root);

/// Collective: rank `root` gets everybody's bytes, one entry a rank; the others get nothing.
std::vector<std::vector<std::byte>> gather(const Comm& comm, std::span<const std::byte> bytes, int root);

/// Blocks until `bytes` may be reused. Matched by a `Receives::add` of the same length and tag.
void send(const Comm& comm, std::span<const std::byte> bytes, int to, int tag);

void send_value(const Comm& comm, std::int64_t value, int to, int tag);
[[nodiscard]] std::int64_t receive_value(const Comm& comm, int from, int tag);

/// Receives under way. The buffers belong to it until `wait` returns; the destructor waits.
class Receives {
  public:
    explicit Receives(const Comm& comm) : comm_(comm) {}
    ~Receives() { wait(); }
    Receives(const Receives&) = delete;
    Receives& operator=(const Receives&) = delete;

    void add(std::span<std::byte> bytes, int from, int tag);
    void wait();

  private:
    Comm comm_;
    std::vector<MPI_Request> requests_;
};

}  // namespace hakobi::mpi
