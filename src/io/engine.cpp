// Two-phase collective I/O whose phases overlap. One call, on every rank:
//
//  1. Describe. Each rank states its request in a summary. On one node the summaries lie in shared memory and the
//     node's leader adds them up; between nodes one all-reduce does it. If somebody brings an error, everybody returns
//     it here. If all requests are small, on one node, the data lies in the mailboxes too: the leader makes the file
//     accesses itself, and the call is over after this one round.
//  2. Choose the path (plan.cpp): direct, or the shuffle. A direct rank moves its own pieces and goes to step 6. So does,
//     before it joins the others' shuffle with nothing, a rank whose request has no order.
//  3. Divide. The range asked for is cut into cycles of one collective buffer, the cycles into file domains. Between
//     nodes each rank describes its region to the aggregators in whose domains it has bytes (descriptions.hpp). The ranks
//     add to each cycle's tally how many of them contribute to it and, writing, whether they fill it.
//  4. When all tallies are in, each aggregator's used cycles are its turns, numbered on from the phase before, which may have
//     been another file's. Its pipeline begins the phase: reading, it waits for what it writes and starts to fill buffers.
//  5. Run. Ranks deposit into (collect from) buffers whose turn has come; the last contributor passes the buffer on. The
//     dispatcher of the aggregator hands full buffers to the storage; a finished one opens for its next turn. No
//     rank waits for another here except through a buffer that it needs.
//     Where the file's ranks have errors of their own, a direct call on one node ends here.
//  6. A phase covers max_cycles_of_phase cycles at most: what lies behind it begins again at 1. A phase in which nobody
//     has anything left ends the call: its summaries carry the errors of 5, so that all ranks return the same.
//
// Every wait in 1 to 6 is mpi::Wait's, which progresses MPI between sleeps: the program may have messages pending across
// the call that move only while this rank is in MPI, and the rank that it waits for may be waiting for one of those.
// Dispatchers and I/O threads wait by futexes alone and never call MPI.
//
// Where the ranks run ahead (ahead.hpp) there is no step but the access of a rank's own piece.
//
// What an asynchronous write leaves undone (its last file accesses) is waited for at the start of the file's next call, whose
// first summary carries the error. Calls on other files of the Comm go on meanwhile: buffers and threads are the crew's
// (crew.hpp).

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "io/engine_impl.hpp"
#include "io/policy.hpp"
#include "io/small.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"
#include "mpi/nonblocking.hpp"

namespace hakobi::io {
namespace {

int chosen(int asked, int otherwise) {
    return asked > 0 ? asked : otherwise;
}

EngineOptions resolved(EngineOptions options, const Comm& comm) {
    if (options.access == "posix")
        options.depth = 1;  // the unpipelined original: one buffer, written in line
    options.depth = chosen(options.depth, 8);
    options.io_threads = chosen(options.io_threads, 4);
    if (options.cb_buffer_bytes == 0) options.cb_buffer_bytes = 4 << 20;
    int largest_node = 1;
    for (const auto& ranks : comm.state().ranks_of_node)
        largest_node = std::max(largest_node, static_cast<int>(ranks.size()));
    options.aggregators_per_node = std::min(chosen(options.aggregators_per_node, 1), largest_node);
    if (options.cb_nodes > 0) options.cb_nodes = std::min(options.cb_nodes, comm.size());
    return options;
}

Status request_error(const Region& file, const Region& memory, const Status& local) {
    if (!local.ok()) return local;
    if (!file.valid() || !memory.valid())
        return {ErrorCode::invalid_argument, "a request reaches beyond 2^63 bytes"};
    if (file.begin_bytes() < 0) return {ErrorCode::invalid_argument, "a request begins before the file does"};
    if (file.size_bytes() != memory.size_bytes()) {
        return {ErrorCode::invalid_argument, "a request names " + std::to_string(file.size_bytes()) +
                                                 " bytes of the file and " +
                                                 std::to_string(memory.size_bytes()) + " of memory"};
    }
    return {};
}

}  // namespace

Domains Engine::Impl::domains_of(const RequestTotals& totals) const {
    const auto num_aggregators = static_cast<int>(aggregators.ranks.size());
    const std::int64_t span = totals.end_bytes - totals.begin_bytes;
    // Enough cycles that the buffers in flight have something to do, also when there is little.
    std::int64_t wanted = std::max(policy::smallest_cycle, span / num_aggregators / options.depth);
    if (totals.service == Service::from_memory && is_cb_chosen)
        wanted = std::min(wanted, policy::cached_cycle);
    wanted = std::min(wanted, options.cb_buffer_bytes);
    const std::int64_t cycle =
        std::min(options.cb_buffer_bytes,
                 (wanted + policy::smallest_cycle - 1) / policy::smallest_cycle * policy::smallest_cycle);
    const std::int64_t max_cycles =
        std::min<std::int64_t>(max_cycles_of_phase, mpi::highest_tag(comm) / comm.num_nodes());
    return make_domains(totals.begin_bytes, totals.end_bytes, num_aggregators, cycle,
                        options.striping_unit_bytes, max_cycles);
}

// Steps 3 to 5.
void Engine::Impl::run_phase(Call& call, const RequestTotals& totals) {
    const Region nothing;
    const Region& file_region = call.has_moved ? nothing : call.file;
    PhasePlan plan;
    plan.is_write = call.is_write;
    plan.aggregators = aggregators.ranks;
    plan.local_index = aggregators.local_index;
    plan.domains = domains_of(totals);
    const int domain = aggregators.my_domain < plan.domains.num_domains ? aggregators.my_domain : -1;
    const bool is_last = call.is_asynchronous && plan.domains.end_bytes >= totals.end_bytes;

    if (comm.num_nodes() > 1) describe(call, file_region, plan);
    const double start_s = now_s();
    crew->keep_turns_in_range(comm, team);
    if (comm.num_nodes() > 1) team.round([&] { reset_phase(plan.domains.num_cycles); });
    const Shuffle::Others others{call.held, {places, comm.node_rank()}};
    const std::vector<CyclePart> parts = Shuffle::announce(comm, plan, file_region, others, domain, *control);
    team.barrier();
    plan.number_turns(control->tallies, crew->next_turns());
    if (domain >= 0) {
        const bool may_fill_holes =
            options.holes == "auto" && !totals.leaves_holes && file->abilities().locks_ranges;
        phase = std::make_shared<Phase>();
        phase->turns = plan.turns_of(domain, control->tallies);
        phase->first_turn =
            plan.first_turns[static_cast<std::size_t>(plan.local_index[static_cast<std::size_t>(domain)])];
        phase->is_write = call.is_write;
        phase->may_fill_holes = may_fill_holes;
        phase->file = file.get();
        phase->end_of_file = &control->end_of_file;
        phase->timeline = &timeline;
        if (call.when_stored != nullptr && is_last) {
            phase->when_stored = [told = *call.when_stored, stored = file.get(), domain,
                                  num = plan.domains.num_domains] { told(*stored, domain, num); };
        }
        crew->begin(comm, phase);
    }
    call.has_writers = is_last;
    const double end_s = now_s();
    counters.plan_s += end_s - start_s;
    timeline.add({"plan", 0, start_s, end_s});
    explainer.phase(plan.domains, crew->buffers(), options, domain >= 0 || comm.rank() == 0);

    Shuffle shuffle(comm, plan, crew->buffers(), *control, others, crew->pipeline(), domain, counters,
                    timeline, team.patience());
    shuffle.run({file_region, call.memory, call.origin}, parts);
    call.position = plan.domains.end_bytes;
    if (!call.is_asynchronous || call.position < totals.end_bytes) wait_for_storage(call);
    call.end_of_file = std::min(call.end_of_file, control->end_of_file.load());
}

mpi::Agreed Engine::Impl::run_call(Call& call) {
    ahead.stop();
    mpi::Agreed agreed;
    const Status status = guarded("a collective access", [&] { agreed = run_phases(call); });
    ++num_calls;
    places[static_cast<std::size_t>(comm.node_rank())].num_ended.store(num_calls, std::memory_order_release);
    if (!status.ok())
        mpi::end_program(name.shown + ": " + status.text() + "; the other ranks wait for this one");
    return agreed;
}

mpi::Agreed Engine::Impl::run_phases(Call& call) {
    // What the last call left untold comes before this call's own mistake: no other call would tell it.
    Status mistake = std::exchange(call.status, std::exchange(undone_status, {}));
    wait_for_storage(call);
    call.status.keep_first(std::move(mistake));
    call.is_ordered = !call.status.ok() || call.file.is_ordered();
    const std::int64_t large = large_piece_bytes(options.striping_unit_bytes, options.cb_buffer_bytes);
    for (int num_phases = 0;; ++num_phases) {
        const RequestSummary mine = summary_of(call);
        bool was_small = false;
        mpi::Agreed agreed;
        const bool may_be_small = num_phases == 0 && comm.num_nodes() == 1 && options.shuffle == "auto";
        const double start_s = now_s();
        const RequestTotals totals = exchange(call, mine, may_be_small, was_small, agreed);
        timeline.add({"agree on requests", 0, start_s, now_s()});
        if (was_small && !call.is_write) {
            call.bytes_direct =
                empty_mailbox(places[static_cast<std::size_t>(comm.node_rank())], call.memory, call.origin);
            call.is_counted = true;
        }
        if (!agreed.status.ok() || was_small || totals.size_bytes == 0) return agreed;
        service = std::max(service, totals.service);
        if (!call.is_ordered && !call.has_moved) {
            move_direct(call, 0, false);
            call.has_moved = true;
        }
        PathChoice choice = choose_path(totals, call.is_write, options.shuffle, large, comm.num_nodes() == 1);
        // The ranks run ahead from the next call on, and this one can go the same way.
        if (choice.path == Path::shuffle && totals.service == Service::waits &&
            control->word.ahead.is_granted)
            choice = {Path::direct, "few ranks wait for one piece each"};
        if (call.is_asynchronous && choice.path == Path::direct && options.shuffle != "never")
            choice = {Path::shuffle, "asynchronous"};
        if (call.is_write && writer_block_bytes > 1 && choice.path == Path::direct)
            choice = {Path::shuffle, "nodes may not write to one block of the file at once"};
        explainer.path(choice, totals, call.is_write);
        if (choice.path == Path::direct) {
            call.may_fill_holes =
                options.holes == "auto" && !totals.leaves_holes && totals.num_ranks_with_data == 1;
            if (!call.has_moved && call.bytes_done() < call.file.size_bytes())
                move_direct(call, call.bytes_done(), totals.service != Service::from_memory);
            call.position = no_end;
            if (name.has_own_errors && comm.num_nodes() == 1)
                return {std::move(call.status), comm.rank(), true};
            continue;
        }
        Status ready = set_up_buffers(call.is_asynchronous);  // alike on every rank
        is_usable = ready.ok();
        if (!is_usable) return {std::move(ready), 0};
        run_phase(call, totals);
        if (call.is_asynchronous && call.position >= totals.end_bytes) {
            undone_status = std::move(call.status);
            return {};
        }
    }
}

mpi::Agreed Engine::Impl::call(Call& call) {
    const double start_s = now_s();
    call.status = request_error(call.file, call.memory, call.status);
    if (call.status.ok() && call.is_write && !name.is_writable) {
        call.status = {ErrorCode::permission, name.shown + ": the file is open for reading only"};
    }
    const EngineCounters before = counters;
    ++counters.calls;
    if (call.status.ok()) {
        counters.user_bytes += call.file.size_bytes();
        counters.pieces += call.file.num_pieces();
    }
    mpi::Agreed agreed =
        is_one_access(call) ? access_alone(call)
        : !call.is_asynchronous && ahead.passes(num_calls, call.is_write, call.file, !call.status.ok())
            ? run_ahead(call)
            : run_call(call);
    const double end_s = now_s();
    counters.call_s += end_s - start_s;
    call_log.add(call.is_write, start_s, end_s, before, counters);
    timeline.add({call.is_write ? "write_all" : "read_all", 0, start_s, end_s});
    return agreed;
}

// The ranks' only meeting while a file opens on one node: what each brings in one all-reduce.
EngineOptions Engine::Impl::agree_on_options(Status& status) {
    enum { failed, profile, trace, text, minus_text, stripe, block, num_words };
    std::array<std::int64_t, num_words> words{};
    words[failed] = status.ok() ? 0 : 1;
    words[profile] = is_profile_wanted(options) ? 1 : 0;  // variables may be set for some ranks only
    words[trace] = Timeline::is_wanted() ? 1 : 0;
    words[text] = fingerprint(options);
    words[minus_text] = -words[text];
    if (comm.rank() == 0 && file)
        words[stripe] = std::clamp(file->abilities().stripe_bytes, policy::least_stripe, policy::most_stripe);
    if (file && comm.num_nodes() > 1) words[block] = file->abilities().writer_block_bytes;
    mpi::all_max(comm, words);
    has_failed = words[failed] != 0;
    writer_block_bytes = std::max<std::int64_t>(1, words[block]);
    EngineOptions agreed = options;
    if (words[text] != -words[minus_text]) {
        Result<EngineOptions> of_rank_0 = options_of_rank_0(comm, options);
        if (!of_rank_0.ok()) status.keep_first(of_rank_0.status());
        has_failed = has_failed || !of_rank_0.ok();  // all have the same text
        agreed = of_rank_0.ok() ? std::move(of_rank_0).value() : EngineOptions{};
    }
    wants = {words[profile] != 0, words[trace] != 0};
    if (agreed.striping_unit_bytes == 0) agreed.striping_unit_bytes = words[stripe];
    for (std::int64_t* bytes :
         {&agreed.striping_unit_bytes, &agreed.cb_buffer_bytes})  // domains and cycles: whole blocks
        *bytes = (*bytes + writer_block_bytes - 1) / writer_block_bytes * writer_block_bytes;
    return agreed;
}

mpi::Agreed Engine::open(const Comm& comm, const EngineFile& file, const EngineOptions& local_options,
                         std::unique_ptr<Engine>& engine) {
    auto impl = std::make_unique<Impl>();
    impl->comm = comm;
    impl->name = file;
    impl->options = local_options;
    Status status;
    if (comm.rank() == 0) status = impl->need_file();
    Status memory = impl->set_up_control();
    if (comm.num_nodes() == 1 && !memory.ok()) return {std::move(memory), 0};  // alike on the node
    status.keep_first(std::move(memory));
    if (status.ok() && comm.node_rank() == 0) status = impl->need_file();
    if (impl->control != nullptr && comm.node_rank() == 0)
        impl->control->service.store(impl->service, std::memory_order_relaxed);
    const EngineOptions options = impl->agree_on_options(status);
    impl->options = resolved(options, comm);
    impl->is_cb_chosen = options.cb_buffer_bytes == 0;
    impl->aggregators = Aggregators::choose(comm, options.cb_nodes, impl->options.aggregators_per_node);
    impl->crew = &Crew::of(comm);
    if (status.ok() && impl->aggregators.my_domain >= 0) status = impl->need_file();
    if (comm.num_nodes() > 1 && !impl->has_failed) status.keep_first(impl->agree_on_the_file());
    impl->call_log = CallLog(impl->wants.profile);
    impl->explainer = Explainer(comm.rank(), file.shown);
    if (impl->file) impl->explainer.storage(impl->file->abilities());
    // Where rank 0 alone accesses the file for others, all know already how that went.
    mpi::Agreed agreed;
    if (impl->has_failed || impl->aggregators.ranks.size() > 1 || comm.num_nodes() > 1)
        agreed = mpi::agree(comm, status);
    if (!agreed.status.ok()) {
        impl->control_window.free();
        return agreed;
    }
    impl->join_control();
    engine.reset(new Engine(std::move(impl)));
    return agreed;
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

mpi::Agreed Engine::write_all(const Region& file, const std::byte* origin, const Region& memory,
                              const Status& local) {
    Impl::Call call{.is_write = true,
                    .is_asynchronous = false,
                    .file = file,
                    .memory = memory,
                    .origin = const_cast<std::byte*>(origin),
                    .status = local};
    return impl_->call(call);
}

mpi::Agreed Engine::start_write_all(const Region& file, const std::byte* origin, const Region& memory,
                                    const Status& local, const WhenStored& when_stored) {
    Impl::Call call{.is_write = true,
                    .is_asynchronous = true,
                    .file = file,
                    .memory = memory,
                    .origin = const_cast<std::byte*>(origin),
                    .status = local,
                    .when_stored = when_stored ? &when_stored : nullptr};
    mpi::Agreed agreed = impl_->call(call);
    // Where nothing went through buffers, all is stored by now.
    if (agreed.status.ok() && when_stored && !call.has_writers && impl_->comm.rank() == 0)
        when_stored(*impl_->file, 0, 1);
    return agreed;
}

mpi::Agreed Engine::wait() {
    const Region nothing;
    Impl::Call call{
        .is_write = false, .is_asynchronous = false, .file = nothing, .memory = nothing, .origin = nullptr};
    return impl_->run_call(call);
}

mpi::Agreed Engine::read_all(const Region& file, std::byte* origin, const Region& memory,
                             std::int64_t& bytes_read, const Status& local) {
    Impl::Call call{.is_write = false,
                    .is_asynchronous = false,
                    .file = file,
                    .memory = memory,
                    .origin = origin,
                    .status = local};
    mpi::Agreed agreed = impl_->call(call);
    bytes_read = 0;
    if (!agreed.status.ok()) return agreed;
    bytes_read =
        call.is_counted ? call.bytes_direct : std::min(file.size_bytes(), file.bytes_below(call.end_of_file));
    return agreed;
}

bool Engine::is_stored() const {
    return !impl_->phase || impl_->phase->is_over();
}

double Engine::wait_for_own_storage() {
    if (impl_->phase) Pipeline::wait_until_over(impl_->comm, *impl_->phase);
    return counters().storage_end_s;
}

mpi::Agreed Engine::sync() {
    mpi::Agreed written = wait();
    Status status;
    if (impl_->file && impl_->name.is_writable) status = impl_->file->sync();
    mpi::Agreed synced = mpi::agree(impl_->comm, status);
    return written.status.ok() ? synced : written;
}

mpi::Agreed Engine::close() {
    if (!impl_) return {};
    const Region nothing;
    Impl::Call call{
        .is_write = false, .is_asynchronous = false, .file = nothing, .memory = nothing, .origin = nullptr};
    call.status = std::move(impl_->undone_status);
    impl_->wait_for_storage(call);
    impl_->counters = counters();
    report_at_close(impl_->comm, impl_->name.shown, impl_->wants, impl_->counters, impl_->call_log,
                    impl_->timeline);
    impl_->direct_access.reset();
    if (impl_->file) call.status.keep_first(impl_->file->close());
    mpi::Agreed agreed = mpi::agree(impl_->comm, call.status);
    impl_->file.reset();
    node::NodeWindow::keep(impl_->comm, impl_->control_window);
    impl_.reset();
    return agreed;
}

EngineCounters Engine::counters() const {
    EngineCounters counters = impl_->counters;
    if (impl_->phase) add_storage(*impl_->phase, counters);
    return counters;
}

bool Engine::is_usable() const {
    return impl_->is_usable;
}

void Engine::wait_for_left_calls() {
    impl_->ahead.close_gate();
    const std::int64_t num_ended =
        impl_->places[static_cast<std::size_t>(impl_->comm.node_rank())].num_ended.load();
    mpi::Wait wait(impl_->comm);
    for (const RankPlace& place : impl_->places)
        while (place.num_ended.load(std::memory_order_acquire) < num_ended) wait.pause();
}

void Engine::leave_holes() {
    impl_->leaves_holes.store(true, std::memory_order_relaxed);
}

const EngineOptions& Engine::options() const {
    return impl_->options;
}

}  // namespace hakobi::io
