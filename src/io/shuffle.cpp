#include "io/shuffle.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/clock.hpp"
#include "base/copy_bytes.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/wait.hpp"

namespace hakobi::io {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t to) {
    return (value + to - 1) / to * to;
}

/// Tallies the bytes from the cursor's to the stream's `end`, of an ordered region.
void want(Cursor& cursor, std::int64_t end, CycleTally& tally) {
    const std::int64_t begin_bytes = cursor.offset();
    cursor.seek(end - 1);
    tally.want(begin_bytes, cursor.offset() + 1);
}

/// Whether a node's ranks have bytes in a cycle; reading, tallies where.
bool contributes(std::span<const HeldRegions::OfRank> ranks, const PhasePlan& plan, std::int64_t cycle,
                 CycleTally& tally) {
    bool has_bytes = false;
    for (const HeldRegions::OfRank& held : ranks) {
        const std::int64_t begin = held.region.bytes_below(plan.domains.cycle_begin(cycle));
        const std::int64_t end = held.region.bytes_below(plan.domains.cycle_end(cycle));
        if (begin == end) continue;
        has_bytes = true;
        if (plan.is_write) break;
        Cursor cursor(held.region);
        cursor.seek(begin);
        want(cursor, end, tally);
    }
    return has_bytes;
}

}  // namespace

std::int64_t NodeBuffers::bytes_needed(int num_aggregators, bool has_staging, std::int64_t cb_bytes,
                                       int depth) {
    const std::int64_t one = cb_bytes + ByteMarks::num_words(cb_bytes) * 8;
    const std::int64_t state = rounded_up(sizeof(AggregatorState), page_bytes);
    std::int64_t bytes = num_aggregators * (state + rounded_up(one * depth, page_bytes) + page_bytes);
    if (has_staging) bytes += state + rounded_up(one * depth, page_bytes) + page_bytes;
    return bytes;
}

void NodeBuffers::place(std::byte* memory, int num_aggregators, bool has_staging) {
    // O_DIRECT and io_uring want buffers on pages; MPI gives the window on any boundary.
    std::byte* next = congruent_with(0, memory);
    const auto take = [&next](std::int64_t bytes) {
        std::byte* at = next;
        next += rounded_up(bytes, page_bytes);
        return at;
    };
    const auto take_state = [&take] {
        return reinterpret_cast<AggregatorState*>(take(sizeof(AggregatorState)));
    };
    for (int a = 0; a < num_aggregators; ++a) {
        aggregators.push_back(take_state());
        buffers.push_back(take(cb_bytes * depth));
        marks.push_back(reinterpret_cast<std::uint64_t*>(take(ByteMarks::num_words(cb_bytes) * 8 * depth)));
    }
    if (has_staging) {
        staging = take_state();
        staging_buffers = take(cb_bytes * depth);
        staging_marks = reinterpret_cast<std::uint64_t*>(take(ByteMarks::num_words(cb_bytes) * 8 * depth));
        staging_depth = depth;
    }
}

void PhasePlan::number_turns(std::span<const CycleTally> tallies, std::span<std::uint32_t> next_turns) {
    turns.assign(static_cast<std::size_t>(domains.num_cycles), no_turn);
    first_turns.assign(next_turns.begin(), next_turns.end());
    staging_cycles.clear();
    // In the order in which ranks work, so that the staging turns are taken in that order too.
    for (std::int64_t c = 0; c < domains.cycles_per_domain; ++c) {
        for (int d = 0; d < domains.num_domains; ++d) {
            const std::int64_t cycle = d * domains.cycles_per_domain + c;
            if (cycle >= domains.num_cycles) continue;
            const auto at = static_cast<std::size_t>(cycle);
            if (tallies[at].num_contributions() == 0) continue;
            if (const int local = local_index[static_cast<std::size_t>(d)]; local >= 0) {
                turns[at] = next_turns[static_cast<std::size_t>(local)]++;
            } else {
                turns[at] = static_cast<std::uint32_t>(staging_cycles.size());
                staging_cycles.push_back(static_cast<std::uint32_t>(cycle));
            }
        }
    }
}

bool PhasePlan::is_dense(std::int64_t cycle, std::span<const CycleTally> tallies) const {
    return tallies[static_cast<std::size_t>(cycle)].sum() ==
           whole_window(domains.cycle_begin(cycle), domains.cycle_end(cycle));
}

std::vector<Turn> PhasePlan::turns_of(int domain, std::span<const CycleTally> tallies) const {
    std::vector<Turn> result;
    const std::int64_t first = domain * domains.cycles_per_domain;
    for (std::int64_t cycle = first; cycle < std::min(first + domains.cycles_per_domain, domains.num_cycles);
         ++cycle) {
        if (turns[static_cast<std::size_t>(cycle)] == no_turn) continue;
        const std::int64_t begin = domains.cycle_begin(cycle), end = domains.cycle_end(cycle);
        if (is_write) {
            result.push_back({begin, end, is_dense(cycle, tallies)});
            continue;
        }
        // What lies before and behind all pieces is not read, in whole blocks.
        const CycleTally& tally = tallies[static_cast<std::size_t>(cycle)];
        const std::int64_t from = std::max(begin, tally.wanted_begin.load() / page_bytes * page_bytes);
        const std::int64_t wanted_end = tally.wanted_end.load();
        const std::int64_t to = wanted_end + std::min(end - wanted_end, -wanted_end & (page_bytes - 1));
        result.push_back({from, to, false, from - begin});
    }
    return result;
}

Shuffle::Shuffle(const Comm& comm, const PhasePlan& plan, const NodeBuffers& buffers, ControlBlock& control,
                 const Others& others, Pipeline* pipeline, int my_domain, EngineCounters& counters,
                 Timeline& timeline, const Patience& patience)
    : comm_(comm),
      plan_(plan),
      buffers_(buffers),
      control_(control),
      held_(others.held),
      node_parts_(others.node),
      has_other_nodes_(comm.num_nodes() > 1),
      pipeline_(pipeline),
      my_domain_(my_domain),
      counters_(counters),
      timeline_(timeline),
      spins_(patience.spins),
      takes_turns_(patience.yields > 0) {
    if (!has_other_nodes_ || my_domain < 0) return;
    const Domains& domains = plan.domains;
    for (std::int64_t c = domains.first_cycle(my_domain); c < domains.end_cycle(my_domain); ++c) {
        if (plan.turns[static_cast<std::size_t>(c)] != PhasePlan::no_turn) my_cycles_.push_back(c);
    }
}

std::vector<CyclePart> Shuffle::announce(const Comm& comm, const PhasePlan& plan, const Region& file,
                                         const Others& others, int my_domain, ControlBlock& control) {
    std::vector<CyclePart> parts = parts_of(file, plan.domains);
    const bool has_other_nodes = comm.num_nodes() > 1;
    if (has_other_nodes) others.node.set(parts, plan.domains.num_cycles);
    Cursor cursor(file);
    for (const CyclePart& part : parts) {
        CycleTally& tally = control.tallies[static_cast<std::size_t>(part.cycle)];
        cursor.seek(part.stream_begin);
        // A reading cycle is never written back: only how much it takes matters, for messages between nodes.
        Coverage sum;
        if (plan.is_write) {
            sum = coverage(cursor, part.stream_end);
        } else {
            if (has_other_nodes) sum.bytes = part.stream_end - part.stream_begin;
            want(cursor, part.stream_end, tally);
        }
        tally.add(sum);
    }
    if (my_domain < 0 || !has_other_nodes) return parts;
    for (std::int64_t c = plan.domains.first_cycle(my_domain); c < plan.domains.end_cycle(my_domain); ++c) {
        CycleTally& tally = control.tallies[static_cast<std::size_t>(c)];
        const auto num_remote = std::ranges::count_if(others.held.nodes(), [&](int node) {
            return contributes(others.held.of_node(node), plan, c, tally);
        });
        tally.num_remote.store(static_cast<std::uint32_t>(num_remote), std::memory_order_relaxed);
    }
    return parts;
}

void Shuffle::run(const Request& request, std::span<const CyclePart> parts) {
    Cursor file(request.file);
    Cursor memory(request.memory);
    for (const CyclePart& part : parts) {
        if (file.stream() != part.stream_begin) {
            file.seek(part.stream_begin);
            memory.seek(part.stream_begin);
        }
        const bool is_local =
            plan_.local_index[static_cast<std::size_t>(plan_.domains.domain_of(part.cycle))] >= 0;
        if (plan_.is_write) {
            is_local ? write_part(request, part, file, memory) : write_remote(request, part, file, memory);
        } else {
            is_local ? read_part(request, part, file, memory) : read_remote(request, part, file, memory);
        }
        ++counters_.cycles;
    }
    const double start_s = now_s();
    mpi::Wait wait(comm_, {}, 20e-6);
    while (has_duties()) {
        poll();
        if (has_duties()) wait.pause();
    }
    counters_.wait_peer_s += now_s() - start_s;
}

void Shuffle::wait_for(FutexWord& word, std::uint32_t value) {
    if (word.load(std::memory_order_acquire) == value) return;
    const double start_s = now_s();
    if (!has_other_nodes_) {
        mpi::wait_until(comm_, word, {.spins = spins_, .yields = 0},
                        [value](std::uint32_t v) { return v == value; });
    } else {
        // Messages between nodes progress only while somebody asks: short sleeps while there are some.
        mpi::Wait wait(comm_), busy_wait(comm_, {}, 50e-6);
        for (std::uint32_t seen = word.load(std::memory_order_acquire); seen != value;
             seen = word.load(std::memory_order_acquire)) {
            poll();
            (has_duties() ? busy_wait : wait).pause(word, seen);
        }
    }
    const double end_s = now_s();
    counters_.wait_buffer_s += end_s - start_s;
    timeline_.add({"wait for a buffer", 0, start_s, end_s});
}

void Shuffle::arrive(AggregatorState& state, std::uint32_t slot, std::uint32_t expected) {
    if (state.slots[slot].num_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == expected)
        state.ready.push(slot);
}

void Shuffle::write_part(const Request& request, const CyclePart& part, Cursor& file, Cursor& memory) {
    const int local = plan_.local_index[static_cast<std::size_t>(plan_.domains.domain_of(part.cycle))];
    const std::uint32_t turn = plan_.turns[static_cast<std::size_t>(part.cycle)];
    const std::uint32_t b = turn % static_cast<std::uint32_t>(buffers_.depth);
    AggregatorState& state = *buffers_.aggregators[static_cast<std::size_t>(local)];
    wait_for(state.slots[b].turn, turn);

    const double start_s = now_s();
    const bool is_dense = plan_.is_dense(part.cycle, control_.tallies);
    ByteMarks marks(buffers_.marks_of(local, b), buffers_.cb_bytes);
    const BufferWindow window{buffers_.buffers[static_cast<std::size_t>(local)] + b * buffers_.cb_bytes,
                              plan_.domains.cycle_begin(part.cycle), is_dense ? nullptr : &marks};
    const bool is_one_piece = file.remaining() >= part.stream_end - part.stream_begin;
    const std::int64_t end_bytes = is_one_piece ? file.offset() + part.stream_end - part.stream_begin
                                                : plan_.domains.cycle_end(part.cycle);
    buffers_.window->map_pages(window.buffer + (file.offset() - window.file_begin_bytes),
                               end_bytes - file.offset(), comm_.node_rank(), comm_.node_size());
    copy_to_window(file, memory, request.origin, part.stream_end, window);
    arrive(state, b, control_.tallies[static_cast<std::size_t>(part.cycle)].num_contributions());
    const double end_s = now_s();
    counters_.copy_s += end_s - start_s;
    counters_.copied_bytes += part.stream_end - part.stream_begin;
    timeline_.add({"deposit", 0, start_s, end_s, part.cycle});
    // All buffers may be open at first. Where ranks exceed cores one rank would fill its part of each of them before the next
    // rank gets the core, and the storage would wait until the last one has come: take turns while that is so.
    const std::uint32_t first_turn = plan_.first_turns[static_cast<std::size_t>(local)];
    if (takes_turns_ && turn - first_turn < static_cast<std::uint32_t>(buffers_.depth))
        takes_turns_ = give_way();
}

void Shuffle::read_part(const Request& request, const CyclePart& part, Cursor& file, Cursor& memory) {
    const int local = plan_.local_index[static_cast<std::size_t>(plan_.domains.domain_of(part.cycle))];
    const std::uint32_t turn = plan_.turns[static_cast<std::size_t>(part.cycle)];
    const std::uint32_t b = turn % static_cast<std::uint32_t>(buffers_.depth);
    AggregatorState& state = *buffers_.aggregators[static_cast<std::size_t>(local)];
    wait_for(state.slots[b].turn, Slot::filled | turn);

    const double start_s = now_s();
    const BufferWindow window{buffers_.buffers[static_cast<std::size_t>(local)] + b * buffers_.cb_bytes,
                              plan_.domains.cycle_begin(part.cycle), nullptr};
    const std::int64_t end_of_file = control_.end_of_file.load(std::memory_order_acquire);
    std::int64_t stream_end = part.stream_end;
    if (end_of_file < plan_.domains.cycle_end(part.cycle)) {
        stream_end = std::clamp(request.file.bytes_below(end_of_file), part.stream_begin, part.stream_end);
    }
    copy_from_window(file, memory, request.origin, stream_end, window);
    arrive(state, b, control_.tallies[static_cast<std::size_t>(part.cycle)].num_contributions());
    const double end_s = now_s();
    counters_.copy_s += end_s - start_s;
    counters_.copied_bytes += stream_end - part.stream_begin;
    timeline_.add({"collect", 0, start_s, end_s, part.cycle});
}

}  // namespace hakobi::io
