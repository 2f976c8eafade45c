// The part of the shuffle between nodes.
//
// For a cycle whose aggregator is on another node the ranks of a node use a staging buffer of their own node:
//  writing  1. each contributing rank packs its bytes behind those of the lower ranks of its node;
//           2. the last of them sends the buffer to the aggregator: one message a (node, aggregator, cycle);
//           3. the aggregator receives it when its collective buffer has come to that turn, and unpacks it: it holds
//              the ranks' regions in its file domain (descriptions.hpp), so that the message carries data only.
//  reading  1. when a turn's bytes are in, the aggregator packs what each node wants of it and sends one message a
//              node, with the end of the file as it knows it behind the data;
//           2. one rank of the node, its courier for that staging turn, receives it into the staging buffer;
//           3. the ranks copy their bytes out.
// Where a node's ranks overlap so much that packed bytes would not fit a buffer (all ranks read the same, say), the
// message is the cycle's whole window instead, writing with marks that say which of its bytes count.
// Only threads that called Hakobi make these calls; a rank that waits for a buffer polls meanwhile. Turns are taken in
// one order everywhere (PhasePlan::number_turns), so that the earliest unfinished turn always has its buffers: no
// circle of waiting can close.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/clock.hpp"
#include "base/copy_bytes.hpp"
#include "io/shuffle.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::io {

std::int64_t Shuffle::bytes_of_node(int node, std::int64_t cycle) const {
    if (node == comm_.node())
        return control_.tallies[static_cast<std::size_t>(cycle)].bytes.load(std::memory_order_relaxed);
    std::int64_t bytes = 0;
    for (const HeldRegions::OfRank& held : held_.of_node(node))
        bytes += bytes_in_cycle(held.region, plan_.domains, cycle);
    return bytes;
}

std::int64_t Shuffle::offset_in_node(std::int64_t cycle) const {
    return node_parts_.bytes_before(cycle);
}

bool Shuffle::travels_packed(int node, std::int64_t cycle) const {
    return bytes_of_node(node, cycle) <= plan_.domains.cycle_end(cycle) - plan_.domains.cycle_begin(cycle);
}

std::int64_t Shuffle::message_bytes(int node, std::int64_t cycle) const {
    const std::int64_t packed = bytes_of_node(node, cycle);
    const std::int64_t window = plan_.domains.cycle_end(cycle) - plan_.domains.cycle_begin(cycle);
    if (packed <= window) return packed;
    return plan_.is_write ? window + ByteMarks::num_words(window) * 8 : window;
}

int Shuffle::courier_of(int node, std::int64_t cycle) const {
    const auto& ranks = comm_.state().ranks_of_node[static_cast<std::size_t>(node)];
    return ranks[static_cast<std::size_t>(cycle) % ranks.size()];
}

int Shuffle::tag_of(std::int64_t cycle, int node) const {
    const std::int64_t in_domain = cycle % plan_.domains.cycles_per_domain;
    return static_cast<int>(in_domain * comm_.num_nodes() + node);
}

bool Shuffle::has_duties() const {
    if (!has_other_nodes_) return false;
    if (!sending_.empty() || !receiving_.empty()) return true;
    if (my_domain_ >= 0 && plan_.is_write && next_incoming_ < my_cycles_.size()) return true;
    if (my_domain_ >= 0 && !plan_.is_write && next_outgoing_ < my_cycles_.size()) return true;
    return !plan_.is_write && next_reply_ < plan_.staging_cycles.size();
}

void Shuffle::poll() {
    if (!has_other_nodes_) return;
    for (auto at = sending_.begin(); at != sending_.end();) {
        if (!at->message.test()) {
            ++at;
            continue;
        }
        if (at->staging_turn >= 0) {
            Slot& slot =
                buffers_.staging->slots[static_cast<std::size_t>(at->staging_turn % buffers_.staging_depth)];
            slot.num_arrived.store(0, std::memory_order_relaxed);
            slot.turn.store(static_cast<std::uint32_t>(at->staging_turn + buffers_.staging_depth),
                            std::memory_order_release);
            futex_wake_all(slot.turn);
        } else {
            outgoing_bytes_ -= static_cast<std::int64_t>(at->bytes.size());
        }
        at = sending_.erase(at);
    }
    if (plan_.is_write) {
        if (my_domain_ >= 0) poll_incoming_data();
    } else {
        if (my_domain_ >= 0) poll_outgoing_data();
        poll_staging_replies();
    }
}

void Shuffle::write_remote(const Request& request, const CyclePart& part, Cursor& file, Cursor& memory) {
    const std::uint32_t turn = plan_.turns[static_cast<std::size_t>(part.cycle)];
    const std::uint32_t b = turn % static_cast<std::uint32_t>(buffers_.staging_depth);
    Slot& slot = buffers_.staging->slots[b];
    wait_for(slot.turn, turn);
    const double start_s = now_s();
    std::byte* buffer = buffers_.staging_buffers + b * buffers_.cb_bytes;
    const bool is_packed = travels_packed(comm_.node(), part.cycle);
    const std::int64_t window_bytes =
        plan_.domains.cycle_end(part.cycle) - plan_.domains.cycle_begin(part.cycle);
    ByteMarks marks(buffers_.staging_marks + b * ByteMarks::num_words(buffers_.cb_bytes), window_bytes);
    if (is_packed) {
        std::byte* const packed = buffer + offset_in_node(part.cycle);
        buffers_.window->map_pages(packed, part.stream_end - part.stream_begin, 0, 1);
        pack(memory, request.origin, part.stream_end, packed);
        file.seek(part.stream_end);
    } else {
        copy_to_window(file, memory, request.origin, part.stream_end,
                       {buffer, plan_.domains.cycle_begin(part.cycle), &marks});
    }
    counters_.copied_bytes += part.stream_end - part.stream_begin;
    counters_.copy_s += now_s() - start_s;
    const std::uint32_t expected =
        control_.tallies[static_cast<std::size_t>(part.cycle)].num_local.load(std::memory_order_relaxed);
    if (slot.num_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < expected) return;

    const int to = plan_.aggregators[static_cast<std::size_t>(plan_.domains.domain_of(part.cycle))];
    Sending sending;
    sending.staging_turn = turn;
    const auto message_size = static_cast<std::size_t>(message_bytes(comm_.node(), part.cycle));
    std::span<const std::byte> message(buffer, message_size);
    if (!is_packed) {
        sending.bytes.resize(message_size);
        copy_bytes(sending.bytes.data(), buffer, static_cast<std::size_t>(window_bytes));
        std::memcpy(sending.bytes.data() + window_bytes, marks.words(),
                    message_size - static_cast<std::size_t>(window_bytes));
        marks.clear();
        message = sending.bytes;
    }
    sending.message = mpi::Pending::send(comm_, message, to, tag_of(part.cycle, comm_.node()));
    sending_.push_back(std::move(sending));
    ++counters_.messages;
    counters_.message_bytes += static_cast<std::int64_t>(message_size);
}

void Shuffle::poll_incoming_data() {
    // Post the receives of every turn whose collective buffer is free for it.
    while (next_incoming_ < my_cycles_.size()) {
        const std::int64_t cycle = my_cycles_[next_incoming_];
        const std::uint32_t turn = plan_.turns[static_cast<std::size_t>(cycle)];
        const Slot& slot = buffers_
                               .aggregators[static_cast<std::size_t>(
                                   plan_.local_index[static_cast<std::size_t>(my_domain_)])]
                               ->slots[turn % static_cast<std::uint32_t>(buffers_.depth)];
        const bool has_remote =
            control_.tallies[static_cast<std::size_t>(cycle)].num_remote.load(std::memory_order_relaxed) > 0;
        if (has_remote && slot.turn.load(std::memory_order_acquire) != turn) break;
        for (const int node : held_.nodes()) {
            if (!has_remote) break;
            if (bytes_of_node(node, cycle) == 0) continue;
            Receiving receiving;
            receiving.bytes.resize(static_cast<std::size_t>(message_bytes(node, cycle)));
            receiving.turn = turn;
            receiving.cycle = cycle;
            receiving.node = node;
            receiving.message =
                mpi::Pending::receive(comm_, receiving.bytes, mpi::Pending::any_rank, tag_of(cycle, node));
            receiving_.push_back(std::move(receiving));
        }
        ++next_incoming_;
    }
    for (auto at = receiving_.begin(); at != receiving_.end();) {
        if (!at->message.test()) {
            ++at;
            continue;
        }
        unpack_into_buffer(*at);
        at = receiving_.erase(at);
    }
}

void Shuffle::unpack_into_buffer(const Receiving& received) {
    const double start_s = now_s();
    const int local = plan_.local_index[static_cast<std::size_t>(my_domain_)];
    const std::uint32_t b = received.turn % static_cast<std::uint32_t>(buffers_.depth);
    // Bytes that other nodes bring are not in the tally's sum: such a cycle counts as dense only where this node's
    // ranks fill it alone, and needs marks otherwise.
    ByteMarks marks(buffers_.marks_of(local, b), buffers_.cb_bytes);
    const BufferWindow window{pipeline_->buffer(b), plan_.domains.cycle_begin(received.cycle),
                              plan_.is_dense(received.cycle, control_.tallies) ? nullptr : &marks};
    std::int64_t at = 0;
    const bool is_packed = travels_packed(received.node, received.cycle);
    if (!is_packed) {
        const std::int64_t window_bytes = plan_.domains.cycle_end(received.cycle) - window.file_begin_bytes;
        std::vector<std::uint64_t> words(static_cast<std::size_t>(ByteMarks::num_words(window_bytes)));
        std::memcpy(words.data(), received.bytes.data() + window_bytes, words.size() * 8);
        const ByteMarks sent(words.data(), window_bytes);
        for (ByteMarks::Run run = sent.next_run(0); run.length > 0;
             run = sent.next_run(run.from + run.length)) {
            copy_bytes(window.buffer + run.from, received.bytes.data() + run.from,
                       static_cast<std::size_t>(run.length));
            if (window.marks != nullptr) window.marks->mark(run.from, run.length);
            at += run.length;
        }
    }
    for (const HeldRegions::OfRank& held : held_.of_node(received.node)) {
        if (!is_packed) break;
        const Region& region = held.region;
        const std::int64_t bytes = bytes_in_cycle(region, plan_.domains, received.cycle);
        if (bytes == 0) continue;
        Cursor file(region);
        const std::int64_t from = region.bytes_below(plan_.domains.cycle_begin(received.cycle));
        file.seek(from);
        // The packed bytes are contiguous memory whose stream begins at `from`.
        const Region packed = Region::contiguous(-from, from + bytes);
        Cursor memory(packed);
        memory.seek(from);
        copy_to_window(file, memory, received.bytes.data() + at, from + bytes, window);
        at += bytes;
    }
    counters_.copied_bytes += at;
    counters_.copy_s += now_s() - start_s;
    arrive(*buffers_.aggregators[static_cast<std::size_t>(local)], b,
           control_.tallies[static_cast<std::size_t>(received.cycle)].num_contributions());
}

std::int64_t Shuffle::pack_from_buffer(const Region& region, std::int64_t cycle, const BufferWindow& window,
                                       std::byte* packed) const {
    const std::int64_t bytes = bytes_in_cycle(region, plan_.domains, cycle);
    if (bytes == 0) return 0;
    const std::int64_t from = region.bytes_below(plan_.domains.cycle_begin(cycle));
    Cursor file(region);
    file.seek(from);
    const Region memory_region = Region::contiguous(-from, from + bytes);
    Cursor memory(memory_region);
    memory.seek(from);
    copy_from_window(file, memory, packed, from + bytes, window);
    return bytes;
}

void Shuffle::poll_outgoing_data() {
    const int local = plan_.local_index[static_cast<std::size_t>(my_domain_)];
    AggregatorState& state = *buffers_.aggregators[static_cast<std::size_t>(local)];
    while (next_outgoing_ < my_cycles_.size()) {
        const std::int64_t cycle = my_cycles_[next_outgoing_];
        const std::uint32_t turn = plan_.turns[static_cast<std::size_t>(cycle)];
        const std::uint32_t b = turn % static_cast<std::uint32_t>(buffers_.depth);
        const CycleTally& tally = control_.tallies[static_cast<std::size_t>(cycle)];
        if (tally.num_remote.load(std::memory_order_relaxed) == 0) {
            ++next_outgoing_;
            continue;
        }
        if (state.slots[b].turn.load(std::memory_order_acquire) != (Slot::filled | turn)) return;
        if (outgoing_bytes_ > buffers_.depth * buffers_.cb_bytes)
            return;  // memory is bounded: first let some leave
        const double start_s = now_s();
        const BufferWindow window{pipeline_->buffer(b), plan_.domains.cycle_begin(cycle), nullptr};
        const std::int64_t end_of_file = control_.end_of_file.load(std::memory_order_acquire);
        for (const int node : held_.nodes()) {
            if (bytes_of_node(node, cycle) == 0) continue;
            const std::int64_t bytes = message_bytes(node, cycle);
            Sending sending;
            sending.bytes.resize(static_cast<std::size_t>(bytes) + sizeof end_of_file);
            std::byte* at = sending.bytes.data();
            if (travels_packed(node, cycle)) {
                for (const HeldRegions::OfRank& held : held_.of_node(node))
                    at += pack_from_buffer(held.region, cycle, window, at);
            } else {
                copy_bytes(at, window.buffer, static_cast<std::size_t>(bytes));
                at += bytes;
            }
            std::memcpy(at, &end_of_file, sizeof end_of_file);
            sending.message =
                mpi::Pending::send(comm_, sending.bytes, courier_of(node, cycle), tag_of(cycle, node));
            outgoing_bytes_ += static_cast<std::int64_t>(sending.bytes.size());
            counters_.messages += 1;
            counters_.message_bytes += bytes;
            counters_.copied_bytes += bytes;
            sending_.push_back(std::move(sending));
            arrive(state, b, tally.num_contributions());
        }
        counters_.copy_s += now_s() - start_s;
        ++next_outgoing_;
    }
}

void Shuffle::poll_staging_replies() {
    for (; next_reply_ < plan_.staging_cycles.size(); ++next_reply_) {
        const std::int64_t cycle = plan_.staging_cycles[next_reply_];
        if (courier_of(comm_.node(), cycle) != comm_.rank()) continue;
        const auto turn = static_cast<std::uint32_t>(next_reply_);
        const std::uint32_t b = turn % static_cast<std::uint32_t>(buffers_.staging_depth);
        if (buffers_.staging->slots[b].turn.load(std::memory_order_acquire) != turn) break;
        Receiving receiving;
        receiving.bytes.resize(static_cast<std::size_t>(message_bytes(comm_.node(), cycle)) +
                               sizeof(std::int64_t));
        receiving.turn = turn;
        receiving.cycle = cycle;
        const int from = plan_.aggregators[static_cast<std::size_t>(plan_.domains.domain_of(cycle))];
        receiving.message = mpi::Pending::receive(comm_, receiving.bytes, from, tag_of(cycle, comm_.node()));
        receiving_.push_back(std::move(receiving));
    }
    for (auto at = receiving_.begin(); at != receiving_.end();) {
        if (!at->message.test()) {
            ++at;
            continue;
        }
        const std::size_t data_bytes = at->bytes.size() - sizeof(std::int64_t);
        const std::uint32_t b = at->turn % static_cast<std::uint32_t>(buffers_.staging_depth);
        copy_bytes(buffers_.staging_buffers + b * buffers_.cb_bytes, at->bytes.data(), data_bytes);
        std::int64_t end_of_file = 0;
        std::memcpy(&end_of_file, at->bytes.data() + data_bytes, sizeof end_of_file);
        lower(control_.end_of_file, end_of_file);
        Slot& slot = buffers_.staging->slots[b];
        slot.turn.store(Slot::filled | at->turn, std::memory_order_release);
        futex_wake_all(slot.turn);
        at = receiving_.erase(at);
    }
}

void Shuffle::read_remote(const Request& request, const CyclePart& part, Cursor& file, Cursor& memory) {
    const std::uint32_t turn = plan_.turns[static_cast<std::size_t>(part.cycle)];
    const std::uint32_t b = turn % static_cast<std::uint32_t>(buffers_.staging_depth);
    Slot& slot = buffers_.staging->slots[b];
    wait_for(slot.turn, Slot::filled | turn);
    const double start_s = now_s();
    std::byte* buffer = buffers_.staging_buffers + b * buffers_.cb_bytes;
    const std::int64_t end_of_file = control_.end_of_file.load(std::memory_order_acquire);
    const std::int64_t stream_end =
        std::clamp(request.file.bytes_below(end_of_file), part.stream_begin, part.stream_end);
    if (travels_packed(comm_.node(), part.cycle)) {
        unpack(memory, request.origin, stream_end, buffer + offset_in_node(part.cycle));
        file.seek(stream_end);
    } else {
        copy_from_window(file, memory, request.origin, stream_end,
                         {buffer, plan_.domains.cycle_begin(part.cycle), nullptr});
    }
    counters_.copied_bytes += stream_end - part.stream_begin;
    counters_.copy_s += now_s() - start_s;
    const std::uint32_t expected =
        control_.tallies[static_cast<std::size_t>(part.cycle)].num_local.load(std::memory_order_relaxed);
    if (slot.num_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < expected) return;
    slot.num_arrived.store(0, std::memory_order_relaxed);
    slot.turn.store(turn + static_cast<std::uint32_t>(buffers_.staging_depth), std::memory_order_release);
    futex_wake_all(slot.turn);
}

}  // namespace hakobi::io
