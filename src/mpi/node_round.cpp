#include "mpi/node_round.hpp"

#include <cassert>
#include <utility>

#include "base/copy_bytes.hpp"

namespace hakobi::mpi {

std::int64_t NodeRound::bytes_needed(int num_ranks) {
    return static_cast<std::int64_t>(sizeof(Shared) + row_bytes * static_cast<std::size_t>(num_ranks));
}

NodeRound::NodeRound(SharedMemory memory, int rank, int num_ranks)
    : memory_(std::move(memory)),
      shared_(reinterpret_cast<Shared*>(memory_.data())),
      rank_(rank),
      num_ranks_(num_ranks) {}

std::span<std::byte> NodeRound::row(int rank) const {
    std::byte* const rows = memory_.data() + sizeof(Shared);
    return {rows + row_bytes * static_cast<std::size_t>(rank), row_bytes};
}

void NodeRound::copy(std::span<const std::byte> from, std::span<std::byte> to) {
    assert(from.size() <= to.size());
    copy_bytes(to.data(), from.data(), from.size());
}

void NodeRound::broadcast(const Comm& comm, std::span<std::byte> bytes, int root) {
    if (rank_ == root) copy(bytes, result());
    const std::span<const std::byte> made = meet(comm, [](std::span<std::byte>) {});
    copy(made.first(bytes.size()), bytes);
}

}  // namespace hakobi::mpi
