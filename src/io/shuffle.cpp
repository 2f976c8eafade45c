#include "io/shuffle.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "io/policy.hpp"
#include "mpi/wait.hpp"
#include "region/copy.hpp"

namespace hakobi::io {
namespace {

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

Shuffle::Shuffle(const PhaseSite& site, const Patience& patience)
    : site_(site), spins_(patience.spins), takes_turns_(patience.yields > 0) {
    if (site.comm.num_nodes() > 1) between_nodes_.emplace(site);
}

std::vector<CyclePart> Shuffle::announce(const PhaseSite& site, const Region& file) {
    const Domains& domains = site.plan.domains;
    std::vector<CyclePart> parts = parts_of(file, domains);
    const bool has_other_nodes = site.comm.num_nodes() > 1;
    if (has_other_nodes) site.node.set(parts, domains.num_cycles);
    Cursor cursor(file);
    for (const CyclePart& part : parts) {
        CycleTally& tally = site.tally(part.cycle);
        cursor.seek(part.stream_begin);
        // A reading cycle is never written back: only how much it takes matters, for messages between nodes.
        Coverage sum;
        if (site.plan.is_write) {
            sum = coverage(cursor, part.stream_end);
        } else {
            if (has_other_nodes) sum.bytes = part.stream_end - part.stream_begin;
            want(cursor, part.stream_end, tally);
        }
        tally.add(sum);
    }
    if (site.my_domain < 0 || !has_other_nodes) return parts;
    domains.for_each_of(site.my_domain, [&](std::int64_t c) {
        const std::vector<int> nodes = site.held.nodes_around(domains.cycle_begin(c), domains.cycle_end(c));
        const auto num_remote = std::ranges::count_if(nodes, [&](int node) {
            return contributes(site.held.of_node(node), site.plan, c, site.tally(c));
        });
        site.tally(c).num_remote.store(static_cast<std::uint32_t>(num_remote), std::memory_order_relaxed);
    });
    return parts;
}

Status Shuffle::run(const PhaseData& data, std::span<const CyclePart> parts) {
    Cursor file(data.file);
    Cursor memory(data.memory);
    if (site_.plan.domains.is_by_server()) {
        run_by_lanes(data, parts, file, memory);
    } else {
        for (const CyclePart& part : parts) {
            if (!copying_.empty() && !is_open(part)) complete_copies(0);
            wait_for(awaited(part), awaited_value(part));
            move(data, part, file, memory);
        }
    }
    complete_copies(0);
    if (between_nodes_) between_nodes_->finish();
    return std::move(status_);
}

// A part of whichever lane has a buffer open for it: a server that does not answer holds up nobody's part for
// another. A lane's parts are in order, and each sweep goes through the lanes once.
void Shuffle::run_by_lanes(const PhaseData& data, std::span<const CyclePart> parts, Cursor& file,
                           Cursor& memory) {
    const Domains& domains = site_.plan.domains;
    std::vector<std::vector<const CyclePart*>> lanes(
        static_cast<std::size_t>(domains.num_domains * domains.num_lanes));
    for (const CyclePart& part : parts)
        lanes[static_cast<std::size_t>(domains.lane_number(part.cycle))].push_back(&part);
    std::erase_if(lanes, [](const auto& lane) { return lane.empty(); });
    std::vector<std::size_t> next(lanes.size());
    std::size_t num_left = parts.size();
    FutexWord& changed = *site_.buffers.changed;
    while (num_left > 0) {
        const std::uint32_t seen = changed.load(std::memory_order_acquire);
        const std::size_t num_before = num_left;
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            if (next[lane] == lanes[lane].size()) continue;
            const CyclePart& part = *lanes[lane][next[lane]];
            if (!is_open(part)) continue;
            move(data, part, file, memory);
            ++next[lane];
            --num_left;
        }
        if (num_left < num_before) continue;
        complete_copies(0);
        wait_for_change(changed, seen);
    }
}

FutexWord& Shuffle::awaited(const CyclePart& part) const {
    return is_here(part) ? site_.buffer_of(part.cycle).awaited() : between_nodes_->awaited(part);
}

std::uint32_t Shuffle::awaited_value(const CyclePart& part) const {
    return site_.turn(part.cycle) | (site_.plan.is_write ? 0 : Slot::filled);
}

void Shuffle::move(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory) {
    if (file.stream() != part.stream_begin) {
        file.seek(part.stream_begin);
        memory.seek(part.stream_begin);
    }
    Copying copying{&part, now_s()};
    const bool is_write = site_.plan.is_write;
    if (is_here(part)) {
        copying.bytes = is_write ? write_part(data, part, file, memory) : read_part(data, part, file, memory);
    } else {
        copying.bytes = is_write ? between_nodes_->write_part(data, part, file, memory)
                                 : between_nodes_->read_part(data, part, file, memory);
    }
    ++site_.counters.cycles;
    if (data.device == nullptr) return end_part(copying);
    if (Result<std::unique_ptr<device::Mark>> mark = data.device->mark(); mark.ok()) {
        copying.mark = std::move(mark).value();
    } else {
        status_.keep_first(mark.status());
    }
    copying_.push_back(std::move(copying));
    complete_copies(device_policy::most_copied_parts);
}

void Shuffle::complete_copies(std::size_t most_left) {
    for (; copying_.size() > most_left; copying_.pop_front()) {
        const Copying& first = copying_.front();
        if (first.mark) status_.keep_first(DeviceMemory::wait(site_.comm, *first.mark));
        end_part(first);
    }
}

// Until something has changed.
void Shuffle::wait_for_change(FutexWord& changed, std::uint32_t seen) {
    const double start_s = now_s();
    if (between_nodes_) {
        between_nodes_->wait_for_change(changed, seen);
    } else {
        mpi::wait_until(site_.comm, changed, {.spins = spins_, .yields = 0},
                        [seen](std::uint32_t v) { return v != seen; });
    }
    const double end_s = now_s();
    site_.counters.wait_buffer_s += end_s - start_s;
    site_.timeline.add({"wait for a buffer", 0, start_s, end_s});
}

void Shuffle::wait_for(FutexWord& word, std::uint32_t value) {
    if (word.load(std::memory_order_acquire) == value) return;
    const double start_s = now_s();
    if (between_nodes_) {
        between_nodes_->wait_for(word, value);
    } else {
        mpi::wait_until(site_.comm, word, {.spins = spins_, .yields = 0},
                        [value](std::uint32_t v) { return v == value; });
    }
    const double end_s = now_s();
    site_.counters.wait_buffer_s += end_s - start_s;
    site_.timeline.add({"wait for a buffer", 0, start_s, end_s});
}

std::int64_t Shuffle::write_part(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory) {
    const PhaseSite::BufferPlace at = site_.buffer_of(part.cycle);
    const bool is_dense = site_.plan.is_dense(part.cycle, site_.tallies);
    ByteMarks marks = site_.marks_of(at);
    const BufferWindow window{at.buffer, at.begin_bytes, is_dense ? nullptr : &marks};
    const std::int64_t length = part.stream_end - part.stream_begin;
    const std::int64_t end_bytes =
        file.remaining() >= length ? file.offset() + length : site_.plan.domains.cycle_end(part.cycle);
    site_.buffers.mapped.window->map_pages(window.buffer + (file.offset() - window.file_begin_bytes),
                                           end_bytes - file.offset(), site_.comm.node_rank(),
                                           site_.comm.node_size());
    if (data.device != nullptr) site_.buffers.lock_buffer(*data.device->device(), at.local, at.slot);
    copy_to_window(file, memory, data.origin, part.stream_end, window, data.device);
    return length;
}

std::int64_t Shuffle::read_part(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory) {
    const PhaseSite::BufferPlace at = site_.buffer_of(part.cycle);
    const std::int64_t end_of_file = site_.control.end_of_file.load(std::memory_order_acquire);
    std::int64_t stream_end = part.stream_end;
    if (end_of_file < site_.plan.domains.cycle_end(part.cycle)) {
        stream_end = std::clamp(data.file.bytes_below(end_of_file), part.stream_begin, part.stream_end);
    }
    if (data.device != nullptr) site_.buffers.lock_buffer(*data.device->device(), at.local, at.slot);
    copy_from_window(file, memory, data.origin, stream_end, {at.buffer, at.begin_bytes, nullptr},
                     data.device);
    return stream_end - part.stream_begin;
}

void Shuffle::end_part(const Copying& copied) {
    const CyclePart& part = *copied.part;
    // A device copies them one after the other.
    const double start_s = std::max(copied.start_s, copied_until_s_), end_s = now_s();
    copied_until_s_ = end_s;
    site_.counters.copy_s += end_s - start_s;
    site_.counters.copied_bytes += copied.bytes;
    if (!is_here(part)) return between_nodes_->end_part(part);
    const PhaseSite::BufferPlace at = site_.buffer_of(part.cycle);
    at.state.arrive(at.slot, site_.tally(part.cycle).num_contributions());
    const bool is_write = site_.plan.is_write;
    site_.timeline.add({is_write ? "deposit" : "collect", 0, start_s, end_s, part.cycle});
    // All buffers may be open at first. Where ranks exceed cores one rank would fill its part of each of them
    // before the next rank gets the core, and the storage would wait until the last one has come: take turns
    // while that is so.
    const std::uint32_t first_turn = site_.plan.first_turns[site_.plan.lane_index(part.cycle)];
    if (is_write && takes_turns_ &&
        at.turn - first_turn < static_cast<std::uint32_t>(site_.buffers.rings.num_slots))
        takes_turns_ = give_way();
}

}  // namespace hakobi::io
