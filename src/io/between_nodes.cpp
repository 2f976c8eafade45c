// For a cycle whose aggregator is on another node the ranks of a node use a staging buffer of their own node:
//  writing  1. each contributing rank packs its bytes behind those of the lower ranks of its node;
//           2. the last of them sends the buffer to the aggregator: one message a (node, aggregator, cycle);
//           3. the aggregator receives it when its collective buffer has come to that turn, and unpacks it: it holds
//              the ranks' regions in its file domain (descriptions.hpp), so that the message carries data only.
//  reading  1. when a turn's bytes are in, the aggregator packs what each node wants of it and sends one message a
//              node, with the end of the file as it knows it behind the data;
//           2. one rank of the node, its courier for that staging turn, receives it into the staging buffer;
//           3. the ranks copy their bytes out.
// Where a node's ranks overlap so much that packed bytes would not fit a buffer (all ranks read the same,
// say), the message is the cycle's whole window instead, writing with marks that say which of its bytes
// count.
// Only threads that called Hakobi make these calls; a rank that waits for a buffer polls meanwhile. Turns of
// a lane, and of a staging ring, are taken in one order everywhere (PhasePlan::number_turns), and no rank
// waits for one lane while another has a buffer for it, so that the earliest unfinished cycle always has its
// buffers: no circle of waiting can close.
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

BetweenNodes::BetweenNodes(const PhaseSite& site)
    : site_(site), next_reply_(site.plan.staging_cycles.size()) {
    if (site.my_domain < 0) return;
    lanes_.resize(static_cast<std::size_t>(site.plan.domains.num_lanes));
    site.plan.domains.for_each_of(site.my_domain, [&](std::int64_t cycle) {
        if (site.turn(cycle) != PhasePlan::no_turn)
            lanes_[static_cast<std::size_t>(site.plan.domains.lane_of(cycle))].cycles.push_back(cycle);
    });
}

std::int64_t BetweenNodes::window_bytes(std::int64_t cycle) const {
    return site_.plan.domains.cycle_end(cycle) - site_.plan.domains.cycle_begin(cycle);
}

std::vector<int> BetweenNodes::nodes_around(std::int64_t cycle) const {
    return site_.held.nodes_around(site_.plan.domains.cycle_begin(cycle),
                                   site_.plan.domains.cycle_end(cycle));
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

std::uint32_t BetweenNodes::staging_slot(std::int64_t cycle) const {
    return site_.buffers.staging_rings.slot_of(static_cast<int>(site_.plan.staging_ring_of(cycle)),
                                               site_.turn(cycle));
}

Slot& BetweenNodes::slot_of(std::int64_t cycle) const {
    return site_.buffers.staging->slots[staging_slot(cycle)];
}

std::byte* BetweenNodes::staging_of(std::int64_t cycle) const {
    return site_.buffers.staging_of(staging_slot(cycle));
}

void BetweenNodes::open_staging(std::int64_t cycle, std::uint32_t turn) const {
    slot_of(cycle).open(turn, site_.plan.domains.is_by_server() ? site_.buffers.changed : nullptr);
}

void BetweenNodes::open_for_next(std::int64_t cycle) const {
    slot_of(cycle).clear();
    open_staging(cycle,
                 site_.turn(cycle) + static_cast<std::uint32_t>(site_.buffers.staging_rings.num_slots));
}

bool BetweenNodes::has_duties() const {
    if (!sending_.empty() || !receiving_.empty()) return true;
    const auto is_open = [](const Lane& lane) { return lane.next < lane.cycles.size(); };
    if (std::ranges::any_of(lanes_, is_open)) return true;
    if (site_.plan.is_write) return false;
    for (std::size_t ring = 0; ring < next_reply_.size(); ++ring)
        if (next_reply_[ring] < site_.plan.staging_cycles[ring].size()) return true;
    return false;
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

// A message that leaves moves only while somebody asks. Those that come wait in all lanes at once: to look
// for them less often leaves the core to others, and holds up none while buffers of other lanes are full.
void BetweenNodes::wait_for_change(FutexWord& changed, std::uint32_t seen) {
    mpi::Wait wait(site_.comm), coming_wait(site_.comm, {}, 200e-6), leaving_wait(site_.comm, {}, 50e-6);
    while (changed.load(std::memory_order_acquire) == seen) {
        poll();
        (!sending_.empty() ? leaving_wait : has_duties() ? coming_wait : wait).pause(changed, seen);
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
        if (at->staging_cycle >= 0) {
            open_for_next(at->staging_cycle);
        } else {
            outgoing_bytes_ -= static_cast<std::int64_t>(at->bytes.size());
        }
        at = sending_.erase(at);
    }
}

FutexWord& BetweenNodes::awaited(const CyclePart& part) const {
    return slot_of(part.cycle).turn;
}

std::int64_t BetweenNodes::write_part(const PhaseData& data, const CyclePart& part, Cursor& file,
                                      Cursor& memory) {
    std::byte* const buffer = staging_of(part.cycle);
    const std::int64_t length = part.stream_end - part.stream_begin;
    if (data.device != nullptr) site_.buffers.lock_staging(*data.device->device(), staging_slot(part.cycle));
    if (travels_packed(site_.comm.node(), part.cycle)) {
        std::byte* const packed = buffer + site_.node.bytes_before(part.cycle);
        site_.buffers.mapped.window->map_pages(packed, length, 0, 1);
        pack(memory, data.origin, part.stream_end, packed, data.device);
        file.seek(part.stream_end);
    } else {
        ByteMarks marks = marks_of(part.cycle);
        copy_to_window(file, memory, data.origin, part.stream_end,
                       {buffer, site_.plan.domains.cycle_begin(part.cycle), &marks}, data.device);
    }
    return length;
}

void BetweenNodes::end_part(const CyclePart& part) {
    if (!is_last_of_node(part)) return;
    if (!site_.plan.is_write) return open_for_next(part.cycle);
    ByteMarks marks = marks_of(part.cycle);
    send_staging(part.cycle, travels_packed(site_.comm.node(), part.cycle) ? nullptr : &marks);
}

ByteMarks BetweenNodes::marks_of(std::int64_t cycle) const {
    return site_.buffers.staging_marks_of(staging_slot(cycle), window_bytes(cycle));
}

bool BetweenNodes::is_last_of_node(const CyclePart& part) const {
    const std::uint32_t expected = site_.tally(part.cycle).num_local.load(std::memory_order_relaxed);
    return slot_of(part.cycle).arrive(expected);
}

// With `marks` the whole window and they; else what is packed.
void BetweenNodes::send_staging(std::int64_t cycle, ByteMarks* marks) {
    Sending sending;
    sending.staging_cycle = cycle;
    const auto size = static_cast<std::size_t>(message_bytes(site_.comm.node(), cycle));
    std::span<const std::byte> message(staging_of(cycle), size);
    if (marks != nullptr) {
        const auto window = static_cast<std::size_t>(window_bytes(cycle));
        sending.bytes.resize(size);
        copy_bytes(sending.bytes.data(), staging_of(cycle), window);
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

void BetweenNodes::receive(std::int64_t cycle, int node, int from, std::int64_t bytes) {
    Receiving receiving;
    receiving.bytes.resize(static_cast<std::size_t>(bytes));
    receiving.cycle = cycle;
    receiving.node = node;
    receiving.message = mpi::Pending::receive(site_.comm, receiving.bytes, from, tag_of(cycle, node));
    receiving_.push_back(std::move(receiving));
}

void BetweenNodes::poll_incoming_data() {
    for (Lane& lane : lanes_) poll_incoming(lane);
    take_received([this](const Receiving& received) { unpack_into_buffer(received); });
}

// Posts the receives of every turn whose collective buffer is free for it.
void BetweenNodes::poll_incoming(Lane& lane) {
    for (; lane.next < lane.cycles.size(); ++lane.next) {
        const std::int64_t cycle = lane.cycles[lane.next];
        if (site_.tally(cycle).num_remote.load(std::memory_order_relaxed) == 0) continue;
        const PhaseSite::BufferPlace at = site_.buffer_of(cycle);
        if (at.awaited().load(std::memory_order_acquire) != at.turn) return;
        for (const int node : nodes_around(cycle)) {
            if (bytes_of_node(node, cycle) > 0)
                receive(cycle, node, mpi::Pending::any_rank, message_bytes(node, cycle));
        }
    }
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
    // Bytes that other nodes bring are not in the tally's sum: such a cycle counts as dense only where this
    // node's ranks fill it alone, and needs marks otherwise.
    ByteMarks marks = site_.marks_of(at);
    const bool is_dense = site_.plan.is_dense(received.cycle, site_.tallies);
    const BufferWindow window{at.buffer, at.begin_bytes, is_dense ? nullptr : &marks};
    site_.counters.copied_bytes += travels_packed(received.node, received.cycle)
                                       ? unpack_packed(received, window)
                                       : unpack_marked(received, window);
    site_.counters.copy_s += now_s() - start_s;
    at.state.arrive(at.slot, site_.tally(received.cycle).num_contributions());
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
    for (Lane& lane : lanes_) poll_outgoing(lane);
}

void BetweenNodes::poll_outgoing(Lane& lane) {
    for (; lane.next < lane.cycles.size(); ++lane.next) {
        const std::int64_t cycle = lane.cycles[lane.next];
        if (site_.tally(cycle).num_remote.load(std::memory_order_relaxed) == 0) continue;
        const PhaseSite::BufferPlace at = site_.buffer_of(cycle);
        if (at.awaited().load(std::memory_order_acquire) != (Slot::filled | at.turn)) return;
        if (outgoing_bytes_ > site_.buffers.depth * site_.buffers.cb_bytes)
            return;  // memory is bounded: first let some leave
        const double start_s = now_s();
        for (const int node : nodes_around(cycle)) {
            if (bytes_of_node(node, cycle) == 0) continue;
            send_reply(cycle, node, {at.buffer, at.begin_bytes, nullptr});
            at.state.arrive(at.slot, site_.tally(cycle).num_contributions());
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
    for (std::size_t ring = 0; ring < next_reply_.size(); ++ring) poll_replies(ring);
    take_received([this](const Receiving& received) {
        const std::size_t data_bytes = received.bytes.size() - sizeof(std::int64_t);
        copy_bytes(staging_of(received.cycle), received.bytes.data(), data_bytes);
        std::int64_t end_of_file = 0;
        std::memcpy(&end_of_file, received.bytes.data() + data_bytes, sizeof end_of_file);
        lower(site_.control.end_of_file, end_of_file);
        open_staging(received.cycle, Slot::filled | site_.turn(received.cycle));
    });
}

void BetweenNodes::poll_replies(std::size_t ring) {
    const int node = site_.comm.node();
    const std::vector<std::uint32_t>& cycles = site_.plan.staging_cycles[ring];
    for (std::size_t& next = next_reply_[ring]; next < cycles.size(); ++next) {
        const std::int64_t cycle = cycles[next];
        if (courier_of(node, cycle) != site_.comm.rank()) continue;
        if (slot_of(cycle).turn.load(std::memory_order_acquire) != site_.turn(cycle)) return;
        receive(cycle, node, aggregator_of(cycle),
                message_bytes(node, cycle) + static_cast<std::int64_t>(sizeof(std::int64_t)));
    }
}

std::int64_t BetweenNodes::read_part(const PhaseData& data, const CyclePart& part, Cursor& file,
                                     Cursor& memory) {
    std::byte* const buffer = staging_of(part.cycle);
    const std::int64_t end_of_file = site_.control.end_of_file.load(std::memory_order_acquire);
    const std::int64_t stream_end =
        std::clamp(data.file.bytes_below(end_of_file), part.stream_begin, part.stream_end);
    if (data.device != nullptr) site_.buffers.lock_staging(*data.device->device(), staging_slot(part.cycle));
    if (travels_packed(site_.comm.node(), part.cycle)) {
        unpack(memory, data.origin, stream_end, buffer + site_.node.bytes_before(part.cycle), data.device);
        file.seek(stream_end);
    } else {
        copy_from_window(file, memory, data.origin, stream_end,
                         {buffer, site_.plan.domains.cycle_begin(part.cycle), nullptr}, data.device);
    }
    return stream_end - part.stream_begin;
}

}  // namespace hakobi::io
