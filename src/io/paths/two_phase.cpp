#include "io/paths/two_phase.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "io/hidden_writes.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/message_context.hpp"
#include "mpi/messages.hpp"
#include "mpi/nonblocking.hpp"
#include "mpi/sparse_exchange.hpp"

namespace hakobi::io::paths {

TwoPhase::~TwoPhase() {
    for (const auto& phase : phases_) (void)Pipeline::wait({}, *phase);  // the Comm may be free
}

void TwoPhase::choose_aggregators(bool is_cycle_chosen, const FileStripes& stripes) {
    of_file_.is_cycle_chosen = is_cycle_chosen;
    of_file_.stripes = stripes;
    aggregators_ = Aggregators::choose(comm_, options_.cb_nodes, options_.aggregators_per_node);
    crew_ = &Crew::of(comm_);
}

Domains TwoPhase::domains_of(const RequestTotals& totals, bool is_elective, int num_lanes,
                             std::int64_t phase) const {
    return divide(totals.begin_bytes, totals.end_bytes,
                  {.num_aggregators = static_cast<int>(aggregators_.ranks.size()),
                   .num_nodes = comm_.num_nodes(),
                   .cb_bytes = options_.cb_buffer_bytes,
                   .depth = options_.depth,
                   .align_bytes = options_.striping_unit_bytes,
                   .highest_tag = mpi::highest_tag(comm_),
                   .most_cycle_bytes = of_file_.is_cycle_chosen ? most_cycle_bytes(totals) : 0,
                   .smallest_cycle_bytes =
                       is_elective ? policy_limits::smallest_elective_cycle : policy_limits::smallest_cycle,
                   .stripe_bytes = of_file_.stripes.stripe_bytes,
                   .num_objects = of_file_.stripes.num_objects,
                   .num_lanes = num_lanes,
                   .size_bytes = totals.size_bytes},
                  phase);
}

void TwoPhase::prepare(const RequestTotals& totals, bool is_elective) {
    reset(domains_of(totals, is_elective, 1, 0).num_cycles);
}

void TwoPhase::reset(std::int64_t num_cycles) {
    ControlBlock& control = control_.block();
    for (CycleTally& tally : control_.tallies().first(static_cast<std::size_t>(num_cycles))) tally.reset();
    control.end_of_file.store(no_end);
    crew_->reset_staging();
}

Status TwoPhase::set_up_buffers(bool is_hidden) {
    Crew::Wishes wishes{aggregators_.ranks, options_.cb_buffer_bytes, options_.depth, options_.access,
                        options_.io_threads};
    if (is_hidden) {
        const std::int64_t budgeted =
            options_.async_budget_bytes / options_.cb_buffer_bytes / aggregators_.most_of_a_node;
        wishes.depth = static_cast<int>(std::clamp<std::int64_t>(budgeted, options_.depth, max_depth));
    }
    const double start_s = now_s();
    Status status = crew_->set_up(comm_, wishes, aggregators_, control_.cores());
    if (status.ok() && comm_.num_nodes() > 1) {
        const auto kind = mpi::MessageContext::Kind::descriptions;
        mpi::MessageContext made;  // `describe` has it from the Comm
        status = mpi::MessageContext::get(comm_, kind, made).status;
    }
    account_.timeline.add({"set up buffers", 0, start_s, now_s()});
    health_.is_usable = status.ok();
    return status;
}

void TwoPhase::describe(const Region& file, const PhasePlan& plan, Descriptions& descriptions) {
    const double start_s = now_s();
    if (!descriptions.told) descriptions.told.emplace(file);
    std::vector<mpi::WordsTo> messages;
    for (const Description& description : descriptions.told->due(plan.domains, plan.local_index))
        messages.push_back(
            {plan.aggregators[static_cast<std::size_t>(description.domain)], description.words});
    mpi::MessageContext context = mpi::MessageContext::of(comm_, mpi::MessageContext::Kind::descriptions);
    HeldRegions& held = descriptions.held;
    held.begin_phase(plan.domains);
    std::vector<mpi::WordsFrom> received = mpi::sparse_exchange(comm_, context, messages);
    for (mpi::WordsFrom& from : received) {
        const int node = comm_.state().nodes.of_rank[static_cast<std::size_t>(from.rank)];
        if (!held.hold(node, from.rank, from.words))
            mpi::end_program("rank " + std::to_string(from.rank) + " sent a request that cannot be read");
        from.words = {};
    }
    held.arrange();
    const double end_s = now_s();
    account_.counters.wait_peer_s += end_s - start_s;
    account_.timeline.add({"describe requests", 0, start_s, end_s});
}

void TwoPhase::begin_accesses(const Request& request, const Choice& choice, const RequestTotals& totals,
                              const PhasePlan& plan, int domain, bool is_last) {
    PhaseTask task;
    task.lanes = plan.turns_of(domain, control_.tallies());
    task.servers = watch();
    task.timeout_s = options_.storage_timeout_s;
    task.tells_late = account_.explainer.tells_late();
    task.is_write = request.is_write;
    task.may_fill_holes = choice.may_fill_holes;
    task.file = file_.get();
    task.end_of_file = &control_.block().end_of_file;
    task.timeline = &account_.timeline;
    if (request.stored != nullptr && is_last) {
        task.when_stored = [told = *request.stored, file = file_.get(), domain,
                            num = plan.domains.num_domains] { return told(*file, domain, num); };
        if (totals.any.has_device_memory) task.when_stored = both(std::move(task.when_stored));
    } else if (request.stored != nullptr && request.stored->sync) {
        // Not every aggregator has a domain of the last phase, whose writers tell of all.
        task.when_stored = [file = file_.get()] { return file->sync(); };
    }
    if (request.elective != nullptr && is_last) task.when_over = request.elective->end();
    phases_.push_back(crew_->begin(comm_, std::move(task)));
}

// A device may fail to give what is being stored: told by the last of the storage and of `confirm`.
std::function<Status()> TwoPhase::both(std::function<Status()> tell) {
    const auto num_left = std::make_shared<std::atomic<int>>(2);
    hidden_.when_confirmed = [num_left, tell = std::move(tell)] {
        return num_left->fetch_sub(1) == 1 ? tell() : Status();
    };
    return hidden_.when_confirmed;
}

Status TwoPhase::confirm() {
    const auto confirmed = std::exchange(hidden_.when_confirmed, {});
    return confirmed ? confirmed() : Status();
}

std::shared_ptr<ServerWatch> TwoPhase::watch() {
    if (of_file_.stripes.num_objects == 0 && options_.storage_timeout_s == 0) return nullptr;
    if (account_.servers) return account_.servers;
    std::vector<int> servers;
    const storage::Layout& layout = file_->layout();
    for (int object = 0; object < of_file_.stripes.num_objects; ++object) {
        const std::int64_t at = object * of_file_.stripes.stripe_bytes;
        const int server = layout.is_striped() && layout.parts.size() == 1 ? layout.server_of(at) : -1;
        servers.push_back(server >= 0 ? server : object);
    }
    const int most = of_file_.stripes.num_objects > 0 ? options_.server_requests : max_depth;
    return account_.servers = std::make_shared<ServerWatch>(std::move(servers), most);
}

bool TwoPhase::has_any_given_up() const {
    std::vector<std::int64_t> word{health_.has_given_up ? 1 : 0};
    mpi::all_max(comm_, word);
    return word[0] != 0;
}

void TwoPhase::abandon_buffers() {
    crew_->abandon();
    if (std::exchange(health_.has_given_up, false)) file_.abandon();
}

Status TwoPhase::carry_out(const Request& request, const Choice& choice, const RequestTotals& latest,
                           Progress& progress) {
    const RequestTotals& totals = progress.of_range(latest);
    Status ready = set_up_buffers(request.is_hidden);
    if (!ready.ok()) return ready;
    const Region nothing;
    const Region& file = progress.has_moved_own ? nothing : request.file;
    PhasePlan plan;
    plan.is_write = request.is_write;
    plan.aggregators = aggregators_.ranks;
    plan.local_index = aggregators_.local_index;
    StripedBuffers striped;
    striped.rings = striped.staging_rings = crew_->buffers().divided(1, 0);
    if (of_file_.stripes.num_objects > 0)
        striped =
            striped_buffers(of_file_.stripes, crew_->buffers(), static_cast<int>(aggregators_.ranks.size()));
    plan.domains =
        domains_of(totals, request.elective != nullptr, striped.rings.num, progress.num_phases_of_range);
    const bool ends_range = plan.domains.phase.is_last();
    const bool ends_call = ends_range && plan.domains.end_bytes >= totals.end_bytes;
    const bool is_last = request.is_hidden && ends_call;
    const int domain = aggregators_.my_domain < plan.domains.num_domains ? aggregators_.my_domain : -1;
    ControlBlock& control = control_.block();
    // The barriers below follow: no rank returns before.
    if (request.elective != nullptr && is_last) {
        request.elective->note(totals.begin_bytes, totals.end_bytes);
        if (domain >= 0) progress.status.keep_first(request.elective->begin(domain));
    }

    if (comm_.num_nodes() > 1) describe(file, plan, progress.descriptions);
    const double start_s = now_s();
    node::Team& team = control_.team();
    crew_->prepare_turns(comm_, team, striped.rings, striped.staging_rings);
    if (comm_.num_nodes() > 1) team.round([&] { reset(plan.domains.num_cycles); });
    const PhaseSite site{.comm = comm_,
                         .plan = plan,
                         .buffers = crew_->buffers(),
                         .control = control,
                         .tallies = control_.tallies(),
                         .held = progress.descriptions.held,
                         .node = control_.node_parts(),
                         .my_domain = domain,
                         .counters = account_.counters,
                         .timeline = account_.timeline};
    const std::vector<CyclePart> parts = Shuffle::announce(site, file);
    team.barrier();
    plan.number_turns(control_.tallies(), crew_->next_turns(), crew_->buffers().staging_rings.num);
    if (domain >= 0) begin_accesses(request, choice, totals, plan, domain, is_last);
    progress.has_writers = is_last;
    const double end_s = now_s();
    account_.counters.plan_s += end_s - start_s;
    account_.timeline.add({"plan", 0, start_s, end_s});
    account_.explainer.phase(plan.domains, crew_->buffers(), options_, domain >= 0 || comm_.rank() == 0);

    progress.status.keep_first(
        Shuffle(site, team.patience()).run({file, request.memory, request.origin, request.device}, parts));
    ++progress.num_phases_of_range;
    if (ends_range) {
        progress.position = plan.domains.end_bytes;
        progress.num_phases_of_range = 0;
    }
    // The ranks describe the next phase while the buffers of this one are stored (Engine::run_rounds). A
    // hidden call tells of all its accesses by the last phase's, a late access has to end its phase, and
    // blocks are synchronised.
    progress.is_overlapping = request.is_write && !request.is_hidden && !ends_call && !setting_.has_limit &&
                              !setting_.shares_blocks;
    if (progress.is_overlapping && first_error() == ErrorCode::ok) {
        take_over(progress);
    } else if (!is_last) {
        wait(progress);
    }
    progress.end_of_file = std::min(progress.end_of_file, control.end_of_file.load());
    return {};
}

void TwoPhase::wait(Progress& progress) {
    if (!phases_.empty()) conclude(std::exchange(phases_, {}), progress);
}

void TwoPhase::take_over(Progress& progress) {
    const auto first_open =
        std::ranges::find_if(phases_, [](const auto& phase) { return !phase->is_over(); });
    if (first_open == phases_.begin()) return;
    const std::vector<std::shared_ptr<Phase>> over(phases_.begin(), first_open);
    phases_.erase(phases_.begin(), first_open);
    conclude(over, progress);
}

ErrorCode TwoPhase::first_error() const {
    if (!hidden_.undone.ok()) return hidden_.undone.code();
    const auto failed = std::ranges::find_if(phases_, [](const auto& phase) { return phase->has_failed(); });
    return failed != phases_.end() ? (*failed)->first_error.load() : ErrorCode::ok;
}

void TwoPhase::wait_until_over() {
    for (const auto& phase : phases_) Pipeline::wait_until_over(comm_, *phase);
}

void TwoPhase::conclude(const std::vector<std::shared_ptr<Phase>>& over, Progress& progress) {
    const double start_s = now_s();
    bool has_accessed = false;
    for (const std::shared_ptr<Phase>& phase : over) {
        progress.status.keep_first(Pipeline::wait(comm_, *phase));
        health_.has_given_up = health_.has_given_up || phase->has_given_up.load();
        has_accessed = has_accessed || phase->task.num_turns() > 0;
        add_storage(*phase, account_.counters);
    }
    account_.counters.wait_buffer_s += now_s() - start_s;
    // Before the ranks meet again, and another node writes beside what lies in this one's cache.
    if (setting_.shares_blocks && file_.name().is_writable) progress.status.keep_first(file_->sync());
    if (account_.servers) account_.explainer.servers(*account_.servers);
    if (has_accessed) file_.learn(crew_->service_of(*file_));
}

}  // namespace hakobi::io::paths
