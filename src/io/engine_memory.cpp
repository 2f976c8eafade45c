#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <thread>

#include "base/clock.hpp"
#include "io/engine_impl.hpp"
#include "mpi/agree.hpp"

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

// Collective over all ranks: the memory is taken by whole nodes, and a node without it must not begin.
Status Engine::Impl::set_up_buffers(bool for_asynchronous) {
    if (buffer_window.data() != nullptr) return {};
    buffers.cb_bytes = options.cb_buffer_bytes;
    buffers.depth = options.depth;
    if (for_asynchronous) {
        const std::int64_t budgeted =
            options.async_budget_bytes / options.cb_buffer_bytes / std::max(1, num_local_aggregators);
        buffers.depth = static_cast<int>(std::clamp<std::int64_t>(budgeted, options.depth, max_depth));
    }
    const bool has_staging = comm.num_nodes() > 1;
    const std::int64_t bytes =
        NodeBuffers::bytes_needed(num_local_aggregators, has_staging, buffers.cb_bytes, buffers.depth);
    Status status = node::NodeWindow::take(comm, bytes + 4096, buffer_window);
    if (comm.num_nodes() > 1) status = mpi::agree(comm, status).status;
    if (!status.ok()) {
        buffer_window.free();
        return status;
    }
    const double start_s = now_s();
    buffers.window = &buffer_window;
    buffers.place(buffer_window.data(), num_local_aggregators, has_staging);
    Status failed;
    if (my_domain >= 0) {
        const auto local = static_cast<std::size_t>(local_index[static_cast<std::size_t>(my_domain)]);
        new (buffers.aggregators[local]) AggregatorState{};
        // The first phase's reset came before this memory was there: nobody deposits before the aggregator begins.
        for (Slot& slot : buffers.aggregators[local]->slots) slot.turn.store(Slot::closed);
        storage::AccessOptions access_options;
        access_options.name = options.access;
        access_options.num_threads = options.io_threads;
        access_options.queue_depth = buffers.depth;
        access_options.cores = node_cores;
        access_options.learnt = learnt_threads(options.io_threads);
        if (options.access == "uring") {
            for (int b = 0; b < buffers.depth; ++b) {
                access_options.buffers.emplace_back(buffers.buffers[local] + b * buffers.cb_bytes,
                                                    static_cast<std::size_t>(buffers.cb_bytes));
            }
        }
        auto access = storage::make_access(*file, access_options);
        if (access.ok()) {
            const Pipeline::Memory memory{buffers.aggregators[local], buffers.buffers[local],
                                          buffers.marks[local],       &control->end_of_file,
                                          buffers.cb_bytes,           buffers.depth};
            try {
                pipeline =
                    std::make_unique<Pipeline>(comm, std::move(access).value(), memory, node_cores, timeline);
            } catch (const std::exception& error) {  // no thread, or no memory, to be had
                failed = Status(ErrorCode::out_of_memory,
                                std::string("starting the file access: ") + error.what());
            }
        } else {
            failed = access.status();
        }
    }
    if (has_staging && comm.node_rank() == 0) {
        new (buffers.staging) AggregatorState{};
        for (int b = 0; b < buffers.depth; ++b)
            buffers.staging->slots[static_cast<std::size_t>(b)].turn.store(static_cast<std::uint32_t>(b));
        std::memset(buffers.staging_marks, 0,
                    static_cast<std::size_t>(buffers.depth * ByteMarks::num_words(buffers.cb_bytes)) * 8);
    }
    failed = mpi::agree(comm, failed).status;
    timeline.add({"set up buffers", 0, start_s, now_s()});
    if (!failed.ok()) {
        pipeline.reset();
        buffers = {};
        buffer_window.free();
    }
    return failed;
}

void Engine::Impl::reset_phase(std::int64_t num_cycles) {
    for (std::int64_t c = 0; c < num_cycles; ++c) control->tallies[static_cast<std::size_t>(c)].reset();
    control->end_of_file.store(no_end);
    for (AggregatorState* state : buffers.aggregators) {
        for (int b = 0; b < buffers.depth; ++b)
            state->slots[static_cast<std::size_t>(b)].turn.store(Slot::closed);
    }
    for (int b = 0; b < buffers.staging_depth; ++b) {
        Slot& slot = buffers.staging->slots[static_cast<std::size_t>(b)];
        slot.num_arrived.store(0);
        slot.turn.store(static_cast<std::uint32_t>(b));
    }
}

}  // namespace hakobi::io
