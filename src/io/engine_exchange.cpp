#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "io/engine_impl.hpp"
#include "io/policy.hpp"
#include "io/small.hpp"
#include "mpi/agree.hpp"
#include "mpi/nonblocking.hpp"
#include "storage/concurrency.hpp"

namespace hakobi::io {
namespace {

constexpr int summary_words = static_cast<int>(sizeof(RequestSummary) / sizeof(std::int64_t));

/// MPI's counts are ints, and every rank would hold as much.
mpi::Agreed too_irregular(std::int64_t num_words) {
    return {{ErrorCode::unsupported, "the ranks' requests take " + std::to_string(num_words) +
                                         " numbers to describe to other nodes, more than 2^31"},
            0};
}

/// The file regions of all ranks. Every rank has the same words, so that all find the same one unreadable.
mpi::Agreed regions_of(std::span<const RequestSummary> requests, std::span<const std::int64_t> words,
                       std::vector<Region>& regions) {
    for (const RequestSummary& request : requests) {
        const auto length = static_cast<std::size_t>(request.num_words);
        regions.push_back(length == 0 ? Region() : Region::from_words(words.first(length)));
        words = words.subspan(length);
        if (!regions.back().valid()) {
            return {{ErrorCode::internal, "a request came to the other ranks unreadable"},
                    static_cast<int>(regions.size()) - 1};
        }
    }
    return {};
}

}  // namespace

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

RequestTotals Engine::Impl::exchange(Call& call, RequestSummary mine, bool may_be_small, bool& was_small,
                                     mpi::Agreed& agreed) {
    RequestTotals totals;
    if (comm.num_nodes() == 1) {
        totals = exchange_on_node(call, mine, may_be_small, was_small, agreed);
    } else {
        std::vector<std::int64_t> words;
        if (call.regions.empty() && mine.size_bytes > 0 && call.is_ordered) call.file.to_words(words);
        mine.num_words = static_cast<std::int64_t>(words.size());
        const double start_s = now_s();
        const std::span<const std::int64_t> mine_words(reinterpret_cast<const std::int64_t*>(&mine),
                                                       summary_words);
        const std::vector<std::int64_t> all = mpi::all_gather(comm, mine_words);
        const std::span<const RequestSummary> requests(reinterpret_cast<const RequestSummary*>(all.data()),
                                                       static_cast<std::size_t>(comm.size()));
        totals = total_of(requests);
        if (totals.error_code != 0) {
            agreed = mpi::agree(comm, call.status);
        } else if (call.regions.empty() && totals.size_bytes > 0) {
            std::vector<std::int64_t> lengths;
            std::int64_t num_words = 0;
            for (const RequestSummary& request : requests) {
                lengths.push_back(request.num_words);
                num_words += request.num_words;
            }
            agreed = num_words > std::numeric_limits<int>::max()
                         ? too_irregular(num_words)
                         : regions_of(requests, mpi::all_gather(comm, words, lengths), call.regions);
        }
        counters.wait_peer_s += now_s() - start_s;
    }
    call.end_of_file = std::min(call.end_of_file, totals.end_of_file);
    return totals;
}

}  // namespace hakobi::io
