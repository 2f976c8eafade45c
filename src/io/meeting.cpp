#include "io/meeting.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "io/hidden_writes.hpp"
#include "io/paths/mailbox.hpp"
#include "io/pieces.hpp"
#include "io/policy.hpp"
#include "mpi/messages.hpp"
#include "region/cursor.hpp"
#include "region/gaps.hpp"

namespace hakobi::io {

RequestSummary Meeting::summary_of(const Request& request, const Progress& progress,
                                   const Coming& coming) const {
    RequestSummary mine;
    mine.service = file_.service();
    mine.end_of_file = progress.end_of_file;
    mine.has_given_up = coming.has_given_up ? 1 : 0;
    mine.leaves_holes = leaves_holes_.load(std::memory_order_relaxed) ? 1 : 0;
    mine.error_code = static_cast<int>(progress.status.code());
    if (!progress.status.ok()) return mine;
    if (request.elective != nullptr) mine.deferred = request.elective->deferred_range();
    const Region& file = request.file;
    const std::int64_t done = progress.bytes_done(request);
    if (done >= file.size_bytes()) return mine;
    mine.has_device_memory = request.device != nullptr ? 1 : 0;
    mine.begin_bytes = file.begin_bytes();
    mine.end_bytes = file.end_bytes();
    mine.size_bytes = file.size_bytes() - done;
    mine.num_pieces = file.num_pieces();
    if (setting_.reads_by_request && !request.is_write)
        mine.joined_bytes = bytes_with_gaps(file, policy().requested_gap);
    if (done == 0) return mine;
    Cursor cursor(file);
    cursor.seek(done);
    mine.begin_bytes = cursor.offset();
    // As many pieces are left as of the bytes.
    const double left = static_cast<double>(mine.size_bytes) / static_cast<double>(file.size_bytes());
    mine.num_pieces = std::max<std::int64_t>(1, std::llround(left * static_cast<double>(mine.num_pieces)));
    return mine;
}

Met Meeting::hold(const Request& request, Progress& progress, const Coming& coming) {
    const double start_s = now_s();
    Met met = comm_.num_nodes() == 1 ? on_node(request, progress, coming)
                                     : between_nodes(request, progress, coming);
    const double end_s = now_s();
    account_.counters.wait_peer_s += end_s - start_s;
    account_.timeline.add({"agree on requests", 0, start_s, end_s});
    progress.end_of_file = std::min(progress.end_of_file, met.totals.end_of_file);
    file_.hear(met.totals.service);
    return met;
}

Met Meeting::between_nodes(const Request& request, const Progress& progress, const Coming& coming) {
    ReducedSummary sums = reduced(summary_of(request, progress, coming), comm_.rank());
    mpi::all_max_and_sum(comm_, sums.maxima, sums.sums);
    Facts facts{.is_write = request.is_write, .is_hidden = request.is_hidden, .totals = total_of(sums)};
    add_hidden(request, facts);
    Met met{facts.totals, choose(setting_, facts), {}};
    if (facts.totals.error_code != 0) met.agreed = mpi::agree(comm_, progress.status);
    return met;
}

Met Meeting::on_node(const Request& request, Progress& progress, const Coming& coming) {
    RankPlace& place = control_.own_place();
    place.request = summary_of(request, progress, coming);
    if (!progress.status.ok()) place.error_text.set(progress.status.text());
    control_.team().round([&] { lead(request, progress, coming.is_first); });
    const LeaderWord& word = control_.block().word;
    ahead_.met(word.ahead, request.is_write);
    Met met{word.totals, word.choice, {}};
    if (word.error_code != 0) {
        met.agreed.status =
            Status(static_cast<ErrorCode>(word.error_code), std::string(word.error_text.get()));
        met.agreed.rank = static_cast<int>(word.error_rank);
    }
    return met;
}

void Meeting::lead(const Request& request, Progress& progress, bool is_first) {
    RankPlace& own = control_.own_place();
    try_storage(request, progress);
    own.request.service = file_.service();
    if (!progress.status.ok() && own.request.error_code == 0) {
        own.request.error_code = static_cast<int>(progress.status.code());
        own.error_text.set(progress.status.text());
    }
    Facts facts = facts_of(request);
    const bool is_asked = is_first && facts.totals.error_code == 0;
    facts.is_ahead_granted = is_asked && ahead_.would_grant(terms_after(setting_, facts));
    LeaderWord& word = control_.block().word;
    word.totals = facts.totals;
    word.choice = choose(setting_, facts);
    word.error_code = facts.totals.error_code;
    word.error_rank = facts.totals.error_rank;
    if (word.error_rank >= 0)
        word.error_text = control_.places()[static_cast<std::size_t>(word.error_rank)].error_text;
    const LeadersPart part = lead_(word.choice, facts);
    if (!part.status.ok()) {
        word.error_code = static_cast<int>(part.status.code());
        word.error_rank = 0;
        word.error_text.set(part.status.text());
    }
    facts.has_waited = part.has_waited;
    // The call's later rounds leave it so, unless the storage was found to make requests wait.
    if (is_first || word.error_code != 0 || facts.totals.service == Service::waits)
        word.ahead = ahead_.grant(is_asked && part.status.ok() ? terms_after(setting_, facts) : AheadTerms());
}

// The leader carries out its first piece when all ranks have come and nobody has decided: what it took tells
// a page cache from a disk. It is moved again with the rest: the position stays, so that file and memory are
// whole either way.
void Meeting::try_storage(const Request& request, Progress& progress) {
    const OwnRequest own{.is_write = request.is_write,
                         .is_ordered = progress.is_ordered,
                         .size_bytes = request.file.size_bytes(),
                         .num_pieces = request.file.num_pieces(),
                         .service = file_.service()};
    if (!progress.status.ok() || request.device != nullptr ||
        !is_trial_wanted(setting_, own, request.is_hidden))
        return;
    progress.status = file_.need();
    if (!progress.status.ok()) return;
    const std::int64_t length =
        std::min<std::int64_t>(Cursor(request.file).remaining(), policy_limits::most_tried);
    const PiecesResult tried =
        move_pieces(comm_, *file_, nullptr, 1,
                    {request.file, request.memory, request.origin, 0, length, request.is_write, length});
    file_.learn(tried.has_waited ? Service::waits : Service::from_memory);
    progress.status = tried.status;
}

void Meeting::add_hidden(const Request& request, Facts& facts) {
    if (request.elective == nullptr) return;
    facts.is_elective = true;
    facts.follows_hidden = request.elective->is_any();
    const ByteRange asked{facts.totals.begin_bytes, facts.totals.end_bytes};
    facts.meets_hidden = request.elective->meets(asked.begin_bytes, asked.end_bytes) ||
                         asked.overlaps(facts.totals.any.deferred);
}

Facts Meeting::facts_of(const Request& request) const {
    const std::span<RankPlace> places = control_.places();
    std::vector<RequestSummary> requests;
    for (const RankPlace& each : places) requests.push_back(each.request);
    Facts facts{.is_write = request.is_write, .is_hidden = request.is_hidden, .totals = total_of(requests)};
    add_hidden(request, facts);
    facts.are_all_in_mailboxes =
        std::ranges::all_of(places, [](const RankPlace& each) { return each.is_small != 0; });
    facts.has_one_piece_a_rank =
        std::ranges::all_of(requests, [](const RequestSummary& each) { return each.num_pieces <= 1; });
    if (facts.are_all_in_mailboxes && facts.is_write && facts.totals.service != Service::from_memory)
        facts.num_written_runs = num_written_runs(places);
    return facts;
}

}  // namespace hakobi::io
