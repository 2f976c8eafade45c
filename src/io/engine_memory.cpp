#include <algorithm>
#include <new>

#include "base/clock.hpp"
#include "io/engine_impl.hpp"

namespace hakobi::io {
namespace {

// Waiting ranks may look for their word a while where each has a core of its own: waking one of an idle core takes as long
// as writing some 200 KB. They give way to the I/O threads meanwhile.
Patience patience_for(int node_size) {
    return node_size <= num_cores() ? Patience{.spins = 2000, .yields = 500}
                                    : Patience{.spins = 20, .yields = 16};
}

}  // namespace

Status Engine::Impl::set_up_control() {
    const std::int64_t bytes = static_cast<std::int64_t>(
        sizeof(ControlBlock) + sizeof(RankPlace) * static_cast<std::size_t>(comm.node_size()) + 64);
    Status status = node::NodeWindow::take(comm, bytes, control_window);
    if (!status.ok()) return status;
    std::byte* memory = control_window.data();
    memory += (64 - reinterpret_cast<std::intptr_t>(memory) % 64) % 64;
    if (comm.node_rank() == 0) {
        new (memory) ControlBlock{};
        for (int r = 0; r < comm.node_size(); ++r) {
            // The mail itself stays untouched: pages that nobody uses are never taken.
            auto* place = reinterpret_cast<RankPlace*>(memory + sizeof(ControlBlock)) + r;
            place->request = {};
            place->num_ended.store(0, std::memory_order_relaxed);
            place->num_begun.store(0, std::memory_order_relaxed);
            place->num_alone.store(0, std::memory_order_relaxed);
            place->is_small = place->num_mail_pieces = place->bytes_read = 0;
        }
    }
    control = reinterpret_cast<ControlBlock*>(memory);
    places = {reinterpret_cast<RankPlace*>(memory + sizeof(ControlBlock)),
              static_cast<std::size_t>(comm.node_size())};
    places[static_cast<std::size_t>(comm.node_rank())].cores = own_cores();
    return {};
}

void Engine::Impl::join_control() {
    service = control->service.load(std::memory_order_relaxed);
    for (const RankPlace& place : places) node_cores = united(node_cores, place.cores);
    team = node::Team(comm, &control->team, patience_for(comm.node_size()));
    ahead.attach(comm, control, places);
}

// Collective over all ranks.
Status Engine::Impl::set_up_buffers(bool for_asynchronous) {
    Crew::Wishes wishes{aggregators.ranks, options.cb_buffer_bytes, options.depth, options.access,
                        options.io_threads};
    if (for_asynchronous) {
        const std::int64_t budgeted =
            options.async_budget_bytes / options.cb_buffer_bytes / aggregators.most_of_a_node;
        wishes.depth = static_cast<int>(std::clamp<std::int64_t>(budgeted, options.depth, max_depth));
    }
    const double start_s = now_s();
    Status status = crew->set_up(comm, wishes, aggregators, file.get(), node_cores);
    timeline.add({"set up buffers", 0, start_s, now_s()});
    return status;
}

void Engine::Impl::reset_phase(std::int64_t num_cycles) {
    for (std::int64_t c = 0; c < num_cycles; ++c) control->tallies[static_cast<std::size_t>(c)].reset();
    control->end_of_file.store(no_end);
    crew->reset_staging();
}

}  // namespace hakobi::io
