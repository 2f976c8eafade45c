#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "io/engine_impl.hpp"
#include "io/policy.hpp"
#include "io/small.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/message_context.hpp"
#include "mpi/messages.hpp"
#include "mpi/sparse_exchange.hpp"
#include "storage/concurrency.hpp"

namespace hakobi::io {

RequestSummary Engine::Impl::summary_of(const Call& call) {
    RequestSummary mine;
    mine.service = service;
    mine.end_of_file = call.end_of_file;
    mine.leaves_holes = leaves_holes.load(std::memory_order_relaxed) ? 1 : 0;
    mine.error_code = static_cast<int>(call.status.code());
    if (!call.status.ok() || call.has_moved) return mine;
    const std::int64_t done = call.bytes_done();
    if (done >= call.file.size_bytes()) return mine;
    mine.begin_bytes = call.file.begin_bytes();
    mine.end_bytes = call.file.end_bytes();
    mine.size_bytes = call.file.size_bytes() - done;
    mine.num_pieces = call.file.num_pieces();
    if (done > 0) {
        Cursor cursor(call.file);
        cursor.seek(done);
        mine.begin_bytes = cursor.offset();
        // As many pieces are left as of the bytes.
        const double left =
            static_cast<double>(mine.size_bytes) / static_cast<double>(call.file.size_bytes());
        mine.num_pieces =
            std::max<std::int64_t>(1, std::llround(left * static_cast<double>(mine.num_pieces)));
    }
    return mine;
}

RequestTotals Engine::Impl::exchange_on_node(Call& call, const RequestSummary& mine, bool may_be_small,
                                             bool& was_small, mpi::Agreed& agreed) {
    RankPlace& place = places[static_cast<std::size_t>(comm.node_rank())];
    place.request = mine;
    place.is_small =
        may_be_small && mine.error_code == 0 && !call.has_moved && call.is_ordered && is_small(call.file);
    if (mine.error_code != 0) place.error_text.set(call.status.text());
    if (place.is_small != 0) fill_mailbox(place, call.file, call.memory, call.origin, call.is_write);
    const double start_s = now_s();
    team.round([&] {
        try_storage(call);
        place.request.service = service;  // the leader's
        if (!call.status.ok() && mine.error_code == 0) {
            place.request.error_code = static_cast<int>(call.status.code());
            place.error_text.set(call.status.text());
        }
        LeaderWord& word = control->word;
        std::vector<RequestSummary> requests;
        bool all_small = true;
        for (const RankPlace& each : places) {
            requests.push_back(each.request);
            all_small = all_small && each.is_small != 0;
        }
        word.totals = total_of(requests);
        word.error_code = word.totals.error_code;
        word.error_rank = word.totals.error_rank;
        if (word.error_rank >= 0)
            word.error_text = places[static_cast<std::size_t>(word.error_rank)].error_text;
        word.verdict = word.error_code != 0 ? Verdict::error : Verdict::goes_on;
        const bool has_many_holes = call.is_write && word.totals.service != Service::from_memory &&
                                    all_small && num_written_runs(places) > policy::most_waiting_runs;
        bool has_waited = false;
        if (word.verdict == Verdict::goes_on && all_small && !has_many_holes && word.totals.size_bytes > 0) {
            std::optional<storage::ServiceClock> clock;
            if (word.totals.service == Service::unknown && may_run_ahead(call)) clock.emplace();
            const Status status = serve_mailboxes(*file, places, call.is_write);
            storage::ServiceSample sample;
            if (clock) clock->stop(sample);
            has_waited = sample.asleep_s > policy::waited_s;
            word.verdict = Verdict::served;
            word.error_code = static_cast<int>(status.code());
            word.error_rank = status.ok() ? -1 : 0;
            if (!status.ok()) word.error_text.set(status.text());
        }
        if (word.verdict == Verdict::goes_on && word.totals.size_bytes > 0)
            reset_phase(domains_of(word.totals).num_cycles);
        // The call's later rounds leave it so, unless the storage was found to make requests wait.
        if (may_be_small || word.error_code != 0 || word.totals.service == Service::waits)
            word.ahead = ahead.grant(may_be_small ? ahead_terms(call, word, has_waited) : AheadTerms());
    });
    const double waited_s = now_s() - start_s;
    counters.wait_peer_s += waited_s;
    const LeaderWord& word = control->word;
    ahead.met(word.ahead, call.is_write);
    was_small = word.verdict == Verdict::served;
    if (word.error_code != 0) {
        agreed.status = Status(static_cast<ErrorCode>(word.error_code), std::string(word.error_text.get()));
        agreed.rank = static_cast<int>(word.error_rank);
    }
    return word.totals;
}

RequestTotals Engine::Impl::exchange(Call& call, const RequestSummary& mine, bool may_be_small,
                                     bool& was_small, mpi::Agreed& agreed) {
    RequestTotals totals;
    if (comm.num_nodes() == 1) {
        totals = exchange_on_node(call, mine, may_be_small, was_small, agreed);
    } else {
        const double start_s = now_s();
        ReducedSummary sums = reduced(mine, comm.rank());
        mpi::all_max_and_sum(comm, sums.maxima, sums.sums);
        totals = total_of(sums);
        if (totals.error_code != 0) agreed = mpi::agree(comm, call.status);
        counters.wait_peer_s += now_s() - start_s;
    }
    call.end_of_file = std::min(call.end_of_file, totals.end_of_file);
    return totals;
}

void Engine::Impl::describe(Call& call, const Region& file_region, const PhasePlan& plan) {
    const double start_s = now_s();
    if (!call.describer) call.describer.emplace(file_region);
    std::vector<mpi::WordsTo> messages;
    for (const Description& description : call.describer->due(plan.domains, plan.local_index))
        messages.push_back(
            {plan.aggregators[static_cast<std::size_t>(description.domain)], description.words});
    mpi::MessageContext context = mpi::MessageContext::of(comm, mpi::MessageContext::Kind::descriptions);
    call.held.begin_phase(plan.domains);
    std::vector<mpi::WordsFrom> received = mpi::sparse_exchange(comm, context, messages);
    for (mpi::WordsFrom& from : received) {
        const int node = comm.state().node_of_rank[static_cast<std::size_t>(from.rank)];
        if (!call.held.hold(node, from.rank, from.words))
            mpi::end_program("the request of rank " + std::to_string(from.rank) + " came unreadable");
        from.words = {};
    }
    call.held.arrange();
    const double end_s = now_s();
    counters.wait_peer_s += end_s - start_s;
    timeline.add({"describe requests", 0, start_s, end_s});
}

}  // namespace hakobi::io
