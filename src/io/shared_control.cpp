#include "io/shared_control.hpp"

#include <new>

#include "mpi/comm_state.hpp"

namespace hakobi::io {
namespace {

// Waiting ranks may look for their word a while where each has a core of its own: waking one of an idle core
// takes as long as writing some 200 KB. They give way to the I/O threads meanwhile.
Patience patience_for(int node_size) {
    return node_size <= num_cores() ? Patience{.spins = 2000, .yields = 500}
                                    : Patience{.spins = 20, .yields = 16};
}

void clear(RankPlace& place) {
    // The mail itself stays untouched: pages that nobody uses are never taken.
    place.request = {};
    place.num_ended.store(0, std::memory_order_relaxed);
    place.num_begun.store(0, std::memory_order_relaxed);
    place.num_alone.store(0, std::memory_order_relaxed);
    place.is_small = place.num_mail_pieces = place.bytes_read = 0;
}

}  // namespace

std::int64_t SharedControl::bytes_needed(int node_size) {
    constexpr auto cycles = static_cast<std::size_t>(max_cycles_of_phase);
    const std::size_t of_rank = sizeof(RankPlace) + cycles * sizeof(NodeParts::Bytes);
    const auto num_ranks = static_cast<std::size_t>(node_size);
    return static_cast<std::int64_t>(sizeof(ControlBlock) + cycles * sizeof(CycleTally) +
                                     of_rank * num_ranks + 64);
}

Status SharedControl::set_up(const Comm& comm) {
    comm_ = comm;
    const auto num_ranks = static_cast<std::size_t>(comm.node_size());
    Status status = node::NodeWindow::take(comm, bytes_needed(comm.node_size()), window_);
    if (!status.ok()) return status;
    std::byte* memory = window_.data();
    memory += (64 - reinterpret_cast<std::intptr_t>(memory) % 64) % 64;
    places_ = {reinterpret_cast<RankPlace*>(memory + sizeof(ControlBlock)), num_ranks};
    if (comm.node_rank() == 0) {
        new (memory) ControlBlock{};
        for (RankPlace& place : places_) clear(place);
    }
    block_ = reinterpret_cast<ControlBlock*>(memory);
    std::byte* const behind = reinterpret_cast<std::byte*>(places_.data() + num_ranks);
    tallies_ = {reinterpret_cast<CycleTally*>(behind), static_cast<std::size_t>(max_cycles_of_phase)};
    words_of_parts_ = {reinterpret_cast<NodeParts::Bytes*>(behind + tallies_.size_bytes()),
                       num_ranks * static_cast<std::size_t>(max_cycles_of_phase)};
    own_place().cores = own_cores();
    return {};
}

void SharedControl::join() {
    for (const RankPlace& place : places_) cores_ = united(cores_, place.cores);
    // Threads beside a program that computes leave it the cores.
    const bool is_apart = comm_.state().apart != nullptr;
    team_ = node::Team(comm_, &block_->team, is_apart ? Patience{} : patience_for(comm_.node_size()));
}

}  // namespace hakobi::io
