// Calls without a meeting of the ranks: ahead.hpp has the rules.

#include <algorithm>

#include "base/guard.hpp"
#include "io/engine_impl.hpp"
#include "io/policy.hpp"

namespace hakobi::io {

bool Engine::Impl::may_run_ahead(const Call& call) const {
    return name.has_own_errors && comm.size() > 1 && !call.is_asynchronous &&
           std::ranges::all_of(places, [](const RankPlace& each) { return each.request.num_pieces <= 1; });
}

AheadTerms Engine::Impl::ahead_terms(const Call& call, const LeaderWord& word, bool has_waited) const {
    const RequestTotals& totals = word.totals;
    if (!may_run_ahead(call) || word.error_code != 0 || totals.size_bytes == 0) return {};
    if (totals.service == Service::from_memory) return {.is_granted = true};
    const std::int64_t large = large_piece_bytes(options.striping_unit_bytes, options.cb_buffer_bytes);
    const bool is_waiting = totals.service == Service::waits;
    if (totals.smallest_mean_piece_bytes >= large)
        return {.is_granted = true, .is_costly_alone = is_waiting, .least_bytes = large};
    // So few have no more accesses in flight than an aggregator has, if each makes one. Sectors that two ranks share need
    // the aggregator, and what several read is read once by it.
    const bool is_apart = totals.size_bytes <= totals.end_bytes - totals.begin_bytes;
    if ((is_waiting || has_waited) && is_apart && !options.direct_io &&
        comm.size() <= policy::most_waiting_ranks && totals.largest_size_bytes <= options.cb_buffer_bytes)
        return {.is_granted = true,
                .is_costly_alone = true,
                .most_bytes = is_waiting ? options.cb_buffer_bytes : policy::tried_piece - 1};
    // Nobody has tried the storage with more, and it did not make these wait.
    if (word.verdict == Verdict::served && totals.service == Service::unknown && !has_waited)
        return {.is_granted = true, .most_bytes = policy::tried_piece - 1};
    return {};
}

mpi::Agreed Engine::Impl::run_ahead(Call& call) {
    const Service before = service;
    Status status = guarded("an access without a meeting", [&] {
        call.is_counted = true;
        if (!call.status.ok() || call.file.empty()) return;
        call.status = need_file();
        if (!call.status.ok()) return;
        if (is_short_and_contiguous(call)) {
            access_in_line(call);
        } else {
            move_direct(call, 0, service != Service::from_memory);
        }
    });
    call.status.keep_first(std::move(status));
    if (service != before) ahead.close_gate();
    end_ahead_call();
    return {std::move(call.status), comm.rank(), true};
}

void Engine::Impl::end_ahead_call() {
    places[static_cast<std::size_t>(comm.node_rank())].num_ended.store(++num_calls,
                                                                       std::memory_order_release);
}

std::optional<Status> Engine::move_ahead(bool is_write, std::int64_t offset, std::span<std::byte> bytes,
                                         std::int64_t& bytes_moved) {
    Impl& impl = *impl_;
    const auto length = static_cast<std::int64_t>(bytes.size());
    const bool is_plain = impl.file && !impl.wants.profile && !impl.wants.trace && !impl.options.direct_io &&
                          length > 0 && length <= most_bytes_ahead;
    if (!is_plain || !impl.ahead.passes_piece(impl.num_calls, is_write, length)) return {};
    Status status;
    bytes_moved = length;
    if (is_write) {
        status = impl.file->write_at(bytes, offset);
    } else {
        const Result<std::int64_t> read = impl.file->read_at(bytes, offset);
        bytes_moved = read.ok() ? read.value() : 0;
        if (!read.ok()) status = read.status();
    }
    EngineCounters& counters = impl.counters;
    ++counters.calls;
    ++counters.direct_calls;
    ++counters.pieces;
    counters.user_bytes += length;
    counters.storage_bytes += bytes_moved;
    impl.end_ahead_call();
    return status;
}

}  // namespace hakobi::io
