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
#include "io/between_nodes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/copy_bytes.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/wait.hpp"
#include "region/copy.hpp"

namespace hakobi::io {

BetweenNodes::BetweenNodes(const PhaseSite& site) : site_(site) {
    if (site.my_domain < 0) return;
    const Domains& domains = site.plan.domains;
    for (std::int64_t c = domains.first_cycle(site.my_domain); c < domains.end_cycle(site.my_domain); ++c)
        if (site.turn(c) != PhasePlan::no_turn) my_cycles_.push_back(c);
}

std::int64_t BetweenNodes::window_bytes(std::int64_t cycle) const {
    return site_.plan.domains.cycle_end(cycle) - site_.plan.domains.cycle_begin(cycle);
}

std::int64_t BetweenNodes::bytes_of_node(int node, std::int64_t cycle) const {
    if (node == site_.comm.node()) return site_.tally(cycle).bytes.load(std::memory_order_relaxed);
    std::int64_t bytes = 0;
    for (const HeldRegions::OfRank& held : site_.held.of_node(node))
        bytes += bytes_in_cycle(held.region, site_.plan.domains, cycle);
    return bytes;
}

bool BetweenNodes::travels_packed(int node, std::int64_t cycle) const {
    return bytes_of_node(node, cycle) <= window_bytes(cycle);
}

std::int64_t BetweenNodes::message_bytes(int node, std::int64_t cycle) const {
    const std::int64_t packed = bytes_of_node(node, cycle);
    const std::int64_t window = window_bytes(cycle);
    if (packed <= window) return packed;
    return site_.plan.is_write ? window + ByteMarks::num_words(window) * 8 : window;
}

int BetweenNodes::courier_of(int node, std::int64_t cycle) const {
    const auto& ranks = site_.comm.state().nodes.ranks[static_cast<std::size_t>(node)];
    return ranks[static_cast<std::size_t>(cycle) % ranks.size()];
}

int BetweenNodes::aggregator_of(std::int64_t cycle) const {
    return site_.plan.aggregators[static_cast<std::size_t>(site_.plan.domains.domain_of(cycle))];
}

int BetweenNodes::tag_of(std::int64_t cycle, int node) const {
    return static_cast<int>(site_.plan.domains.tag_of(cycle, node, site_.comm.num_nodes()));
}

std::uint32_t BetweenNodes::staging_slot(std::int64_t turn) const {
    return static_cast<std::uint32_t>(turn % site_.buffers.staging_depth);
}

Slot& BetweenNodes::slot_of(std::int64_t turn) const {
    return site_.buffers.staging->slots[staging_slot(turn)];
}

std::byte* BetweenNodes::staging_of(std::int64_t turn) const {
    return site_.buffers.staging_buffers + staging_slot(turn) * site_.buffers.cb_bytes;
}

void BetweenNodes::open_for_next(std::int64_t turn) const {
    Slot& slot = slot_of(turn);
    slot.num_arrived.store(0, std::memory_order_relaxed);
    slot.turn.store(static_cast<std::uint32_t>(turn + site_.buffers.staging_depth),
                    std::memory_order_release);
    futex_wake_all(slot.turn);
}

bool BetweenNodes::has_duties() const {
    if (!sending_.empty() || !receiving_.empty()) return true;
    const bool is_write = site_.plan.is_write;
    if (site_.my_domain >= 0 && (is_write ? next_incoming_ : next_outgoing_) < my_cycles_.size()) return true;
    return !is_write && next_reply_ < site_.plan.staging_cycles.size();
}

void BetweenNodes::wait_for(FutexWord& word, std::uint32_t value) {
    // Short sleeps while there are messages.
    mpi::Wait wait(site_.comm), busy_wait(site_.comm, {}, 50e-6);
    for (std::uint32_t seen = word.load(std::memory_order_acquire); seen != value;
         seen = word.load(std::memory_order_acquire)) {
        poll();
        (has_duties() ? busy_wait : wait).pause(word, seen);
    }
}

void BetweenNodes::finish() {
    const double start_s = now_s();
    mpi::Wait wait(site_.comm, {}, 20e-6);
    while (has_duties()) {
        poll();
        if (has_duties()) wait.pause();
    }
    site_.counters.wait_peer_s += now_s() - start_s;
}

void BetweenNodes::poll() {
    poll_sent();
    if (site_.plan.is_write) {
        if (site_.my_domain >= 0) poll_incoming_data();
    } else {
        if (site_.my_domain >= 0) poll_outgoing_data();
        poll_staging_replies();
    }
}

void BetweenNodes::poll_sent() {
    for (auto at = sending_.begin(); at != sending_.end();) {
        if (!at->message.test()) {
            ++at;
            continue;
        }
        if (at->staging_turn >= 0) {
            open_for_next(at->staging_turn);
        } else {
            outgoing_bytes_ -= static_cast<std::int64_t>(at->bytes.size());
        }
        at = sending_.erase(at);
    }
}

FutexWord& BetweenNodes::awaited(const CyclePart& part) const {
    return slot_of(site_.turn(part.cycle)).turn;
}

void BetweenNodes::write_part(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory) {
    const std::uint32_t turn = site_.turn(part.cycle);
    const double start_s = now_s();
    std::byte* const buffer = staging_of(turn);
    const std::int64_t length = part.stream_end - part.stream_begin;
    ByteMarks marks(
        site_.buffers.staging_marks + staging_slot(turn) * ByteMarks::num_words(site_.buffers.cb_bytes),
        window_bytes(part.cycle));
    const bool is_packed = travels_packed(site_.comm.node(), part.cycle);
    if (is_packed) {
        std::byte* const packed = buffer + site_.node.bytes_before(part.cycle);
        site_.buffers.window->map_pages(packed, length, 0, 1);
        pack(memory, data.origin, part.stream_end, packed);
        file.seek(part.stream_end);
    } else {
        copy_to_window(file, memory, data.origin, part.stream_end,
                       {buffer, site_.plan.domains.cycle_begin(part.cycle), &marks});
    }
    site_.counters.copied_bytes += length;
    site_.counters.copy_s += now_s() - start_s;
    if (is_last_of_node(part)) send_staging(part.cycle, turn, is_packed ? nullptr : &marks);
}

bool BetweenNodes::is_last_of_node(const CyclePart& part) const {
    const std::uint32_t expected = site_.tally(part.cycle).num_local.load(std::memory_order_relaxed);
    return slot_of(site_.turn(part.cycle)).num_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
           expected;
}

// With `marks` the whole window and they; else what is packed.
void BetweenNodes::send_staging(std::int64_t cycle, std::uint32_t turn, ByteMarks* marks) {
    Sending sending;
    sending.staging_turn = turn;
    const auto size = static_cast<std::size_t>(message_bytes(site_.comm.node(), cycle));
    std::span<const std::byte> message(staging_of(turn), size);
    if (marks != nullptr) {
        const auto window = static_cast<std::size_t>(window_bytes(cycle));
        sending.bytes.resize(size);
        copy_bytes(sending.bytes.data(), staging_of(turn), window);
        std::memcpy(sending.bytes.data() + window, marks->words(), size - window);
        marks->clear();
        message = sending.bytes;
    }
    sending.message =
        mpi::Pending::send(site_.comm, message, aggregator_of(cycle), tag_of(cycle, site_.comm.node()));
    sending_.push_back(std::move(sending));
    ++site_.counters.messages;
    site_.counters.message_bytes += static_cast<std::int64_t>(size);
}

template <class Take>
void BetweenNodes::take_received(Take take) {
    for (auto at = receiving_.begin(); at != receiving_.end();) {
        if (!at->message.test()) {
            ++at;
            continue;
        }
        take(*at);
        at = receiving_.erase(at);
    }
}

void BetweenNodes::receive(std::int64_t cycle, std::uint32_t turn, int node, int from, std::int64_t bytes) {
    Receiving receiving;
    receiving.bytes.resize(static_cast<std::size_t>(bytes));
    receiving.turn = turn;
    receiving.cycle = cycle;
    receiving.node = node;
    receiving.message = mpi::Pending::receive(site_.comm, receiving.bytes, from, tag_of(cycle, node));
    receiving_.push_back(std::move(receiving));
}

// Posts the receives of every turn whose collective buffer is free for it.
void BetweenNodes::poll_incoming_data() {
    for (; next_incoming_ < my_cycles_.size(); ++next_incoming_) {
        const std::int64_t cycle = my_cycles_[next_incoming_];
        if (site_.tally(cycle).num_remote.load(std::memory_order_relaxed) == 0) continue;
        const PhaseSite::BufferPlace at = site_.buffer_of(cycle);
        if (at.awaited().load(std::memory_order_acquire) != at.turn) break;
        for (const int node : site_.held.nodes()) {
            if (bytes_of_node(node, cycle) > 0)
                receive(cycle, at.turn, node, mpi::Pending::any_rank, message_bytes(node, cycle));
        }
    }
    take_received([this](const Receiving& received) { unpack_into_buffer(received); });
}

std::int64_t BetweenNodes::unpack_marked(const Receiving& received, const BufferWindow& window) const {
    const std::int64_t length = window_bytes(received.cycle);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(ByteMarks::num_words(length)));
    std::memcpy(words.data(), received.bytes.data() + length, words.size() * 8);
    const ByteMarks sent(words.data(), length);
    std::int64_t bytes = 0;
    for (ByteMarks::Run run = sent.next_run(0); run.length > 0; run = sent.next_run(run.from + run.length)) {
        copy_bytes(window.buffer + run.from, received.bytes.data() + run.from,
                   static_cast<std::size_t>(run.length));
        if (window.marks != nullptr) window.marks->mark(run.from, run.length);
        bytes += run.length;
    }
    return bytes;
}

std::int64_t BetweenNodes::unpack_packed(const Receiving& received, const BufferWindow& window) const {
    const Domains& domains = site_.plan.domains;
    std::int64_t at = 0;
    for (const HeldRegions::OfRank& held : site_.held.of_node(received.node)) {
        const std::int64_t bytes = bytes_in_cycle(held.region, domains, received.cycle);
        if (bytes == 0) continue;
        const std::int64_t from = held.region.bytes_below(domains.cycle_begin(received.cycle));
        Cursor file(held.region);
        file.seek(from);
        // The packed bytes are contiguous memory whose stream begins at `from`.
        const Region packed = Region::contiguous(-from, from + bytes);
        Cursor memory(packed);
        memory.seek(from);
        copy_to_window(file, memory, received.bytes.data() + at, from + bytes, window);
        at += bytes;
    }
    return at;
}

void BetweenNodes::unpack_into_buffer(const Receiving& received) {
    const double start_s = now_s();
    const PhaseSite::BufferPlace at = site_.buffer_of(received.cycle);
    // Bytes that other nodes bring are not in the tally's sum: such a cycle counts as dense only where this node's
    // ranks fill it alone, and needs marks otherwise.
    ByteMarks marks = site_.marks_of(at);
    const bool is_dense = site_.plan.is_dense(received.cycle, site_.control.tallies);
    const BufferWindow window{at.buffer, at.begin_bytes, is_dense ? nullptr : &marks};
    site_.counters.copied_bytes += travels_packed(received.node, received.cycle)
                                       ? unpack_packed(received, window)
                                       : unpack_marked(received, window);
    site_.counters.copy_s += now_s() - start_s;
    PhaseSite::arrive(at.state, at.slot, site_.tally(received.cycle).num_contributions());
}

std::int64_t BetweenNodes::pack_from_buffer(const Region& region, std::int64_t cycle,
                                            const BufferWindow& window, std::byte* packed) const {
    const std::int64_t bytes = bytes_in_cycle(region, site_.plan.domains, cycle);
    if (bytes == 0) return 0;
    const std::int64_t from = region.bytes_below(site_.plan.domains.cycle_begin(cycle));
    Cursor file(region);
    file.seek(from);
    const Region memory_region = Region::contiguous(-from, from + bytes);
    Cursor memory(memory_region);
    memory.seek(from);
    copy_from_window(file, memory, packed, from + bytes, window);
    return bytes;
}

void BetweenNodes::poll_outgoing_data() {
    for (; next_outgoing_ < my_cycles_.size(); ++next_outgoing_) {
        const std::int64_t cycle = my_cycles_[next_outgoing_];
        if (site_.tally(cycle).num_remote.load(std::memory_order_relaxed) == 0) continue;
        const PhaseSite::BufferPlace at = site_.buffer_of(cycle);
        if (at.awaited().load(std::memory_order_acquire) != (Slot::filled | at.turn)) return;
        if (outgoing_bytes_ > site_.buffers.depth * site_.buffers.cb_bytes)
            return;  // memory is bounded: first let some leave
        const double start_s = now_s();
        for (const int node : site_.held.nodes()) {
            if (bytes_of_node(node, cycle) == 0) continue;
            send_reply(cycle, node, {at.buffer, at.begin_bytes, nullptr});
            PhaseSite::arrive(at.state, at.slot, site_.tally(cycle).num_contributions());
        }
        site_.counters.copy_s += now_s() - start_s;
    }
}

void BetweenNodes::send_reply(std::int64_t cycle, int node, const BufferWindow& window) {
    const std::int64_t end_of_file = site_.control.end_of_file.load(std::memory_order_acquire);
    const std::int64_t bytes = message_bytes(node, cycle);
    Sending sending;
    sending.bytes.resize(static_cast<std::size_t>(bytes) + sizeof end_of_file);
    std::byte* at = sending.bytes.data();
    if (travels_packed(node, cycle)) {
        for (const HeldRegions::OfRank& held : site_.held.of_node(node))
            at += pack_from_buffer(held.region, cycle, window, at);
    } else {
        copy_bytes(at, window.buffer, static_cast<std::size_t>(bytes));
        at += bytes;
    }
    std::memcpy(at, &end_of_file, sizeof end_of_file);
    sending.message =
        mpi::Pending::send(site_.comm, sending.bytes, courier_of(node, cycle), tag_of(cycle, node));
    outgoing_bytes_ += static_cast<std::int64_t>(sending.bytes.size());
    site_.counters.messages += 1;
    site_.counters.message_bytes += bytes;
    site_.counters.copied_bytes += bytes;
    sending_.push_back(std::move(sending));
}

void BetweenNodes::poll_staging_replies() {
    const int node = site_.comm.node();
    for (; next_reply_ < site_.plan.staging_cycles.size(); ++next_reply_) {
        const std::int64_t cycle = site_.plan.staging_cycles[next_reply_];
        if (courier_of(node, cycle) != site_.comm.rank()) continue;
        const auto turn = static_cast<std::uint32_t>(next_reply_);
        if (slot_of(turn).turn.load(std::memory_order_acquire) != turn) break;
        receive(cycle, turn, node, aggregator_of(cycle),
                message_bytes(node, cycle) + static_cast<std::int64_t>(sizeof(std::int64_t)));
    }
    take_received([this](const Receiving& received) {
        const std::size_t data_bytes = received.bytes.size() - sizeof(std::int64_t);
        copy_bytes(staging_of(received.turn), received.bytes.data(), data_bytes);
        std::int64_t end_of_file = 0;
        std::memcpy(&end_of_file, received.bytes.data() + data_bytes, sizeof end_of_file);
        lower(site_.control.end_of_file, end_of_file);
        Slot& slot = slot_of(received.turn);
        slot.turn.store(Slot::filled | received.turn, std::memory_order_release);
        futex_wake_all(slot.turn);
    });
}

void BetweenNodes::read_part(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory) {
    const std::uint32_t turn = site_.turn(part.cycle);
    const double start_s = now_s();
    std::byte* const buffer = staging_of(turn);
    const std::int64_t end_of_file = site_.control.end_of_file.load(std::memory_order_acquire);
    const std::int64_t stream_end =
        std::clamp(data.file.bytes_below(end_of_file), part.stream_begin, part.stream_end);
    if (travels_packed(site_.comm.node(), part.cycle)) {
        unpack(memory, data.origin, stream_end, buffer + site_.node.bytes_before(part.cycle));
        file.seek(stream_end);
    } else {
        copy_from_window(file, memory, data.origin, stream_end,
                         {buffer, site_.plan.domains.cycle_begin(part.cycle), nullptr});
    }
    site_.counters.copied_bytes += stream_end - part.stream_begin;
    site_.counters.copy_s += now_s() - start_s;
    if (is_last_of_node(part)) open_for_next(turn);
}

}  // namespace hakobi::io
