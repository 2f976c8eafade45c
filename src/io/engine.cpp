// Two-phase collective I/O whose phases overlap. One call, on every rank:
//
//  1. Meet (meeting.cpp). Each rank states its request in a summary. On one node the summaries lie in shared
//     memory and the node's leader adds them up; between nodes one all-reduce does it. If somebody brings an
//     error, everybody returns it here. If all requests are small, on one node, the data lies in the
//     mailboxes too: the leader makes the file accesses while the others wait (paths/mailbox.cpp), and the
//     call is over after this one round.
//  2. Choose the path (choice.cpp), of which this file knows no more than who carries it out (paths/). A rank
//     that moves its own pieces goes to step 6. So does, before it joins the others' shuffle with nothing, a
//     rank whose request has no order.
//  3. Divide (paths/two_phase.cpp, as 4 and 5). The range asked for is cut into cycles of one collective
//     buffer, the cycles into file domains. Between nodes each rank describes its region to the aggregators
//     in whose domains it has bytes (descriptions.hpp). The ranks add to each cycle's tally how many of them
//     contribute to it and, writing, whether they fill it.
//  4. When all tallies are in, each aggregator's used cycles are its turns, numbered on from the phase
//     before, which may have been another file's. Its pipeline begins the phase: reading, it waits for what
//     it writes and starts to fill buffers.
//  5. Run. Ranks deposit into (collect from) buffers whose turn has come; the last contributor passes the
//     buffer on. The dispatcher of the aggregator hands full buffers to the storage; a finished one opens for
//     its next turn. No rank waits for another here except through a buffer that it needs. In a file with
//     stripes each server has buffers of its own, and a rank takes whichever is open. Where the file's ranks
//     have errors of their own, a call of own pieces on one node ends here.
//  6. A phase covers max_cycles_of_phase cycles at most: what is left begins again at 1, of a blocking write
//     while this phase is stored. A phase in which nobody has anything left ends the call: its summaries
//     carry the errors of 5, so that all ranks return the same.
//
// Every wait in 1 to 6 is mpi::Wait's, which progresses MPI between sleeps: the program may have messages
// pending across the call that move only while this rank is in MPI, and the rank that it waits for may be
// waiting for one of those. Dispatchers and I/O threads wait by futexes alone and never call MPI.
//
// Where the ranks run ahead (ahead.hpp) there is no step but the access of a rank's own piece.
//
// Memory of a device is never touched by the processor: requests with some go through 3 to 5, where the
// device copies to and from collective buffers (device_memory.hpp).
//
// The file's next call waits at its start for the last file accesses of a hidden write, and its first summary
// carries their error; elective hidden writes (hidden_writes.hpp) wait only for those to the same bytes.
// Calls on other files of the Comm go on meanwhile: buffers and threads are the crew's (crew.hpp).

#include "io/engine.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "io/ahead.hpp"
#include "io/choice.hpp"
#include "io/hidden_writes.hpp"
#include "io/meeting.hpp"
#include "io/opening.hpp"
#include "io/paths/in_line.hpp"
#include "io/paths/mailbox.hpp"
#include "io/paths/own_pieces.hpp"
#include "io/paths/two_phase.hpp"
#include "io/report.hpp"
#include "io/shared_control.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"

namespace hakobi::io {
namespace {

const Region nothing;

Status request_error(const Request& request, const EngineFile& name) {
    const Region &file = request.file, &memory = request.memory;
    if (!file.valid() || !memory.valid())
        return {ErrorCode::invalid_argument, "a request reaches beyond 2^63 bytes"};
    if (file.begin_bytes() < 0) return {ErrorCode::invalid_argument, "a request begins before the file does"};
    if (file.size_bytes() != memory.size_bytes()) {
        return {ErrorCode::invalid_argument, "a request names " + std::to_string(file.size_bytes()) +
                                                 " bytes of the file and " +
                                                 std::to_string(memory.size_bytes()) + " of memory"};
    }
    // A rank without order, or one that runs ahead, moves its pieces by itself.
    if (request.device != nullptr && (!file.is_ordered() || name.has_own_errors))
        return {ErrorCode::unsupported,
                "memory of a device in a request that the ranks do not carry out together"};
    if (request.is_write && !name.is_writable)
        return {ErrorCode::permission, name.shown + ": the file is open for reading only"};
    return {};
}

}  // namespace

struct Engine::Impl {
    Impl(const Comm& on, const EngineFile& name, const EngineOptions& asked)
        : comm(on), options(asked), file(on, name, asked.direct_io) {}

    Comm comm;
    EngineOptions options;  // in force
    FileSetting setting;
    OpenedFile file;
    SharedControl control;
    Account account;
    Ahead ahead;
    HiddenWrites hidden_writes{comm, file, control};
    paths::OwnPieces own_pieces{comm, setting, options, file, control, account};
    paths::TwoPhase two_phase{comm, setting, options, file, control, account};
    paths::Mailbox mailbox{setting, file, control};
    Meeting meeting{
        comm, setting, file, control, ahead, account, [this](const Choice& choice, const Facts& facts) {
            return lead(choice, facts);
        }};

    mpi::Agreed call(const Request& request, Progress& progress);
    [[nodiscard]] bool is_one_access(const Request& request, const Progress& progress) const;
    mpi::Agreed run_ahead(const Request& request, Progress& progress);
    mpi::Agreed run_together(const Request& request, Progress& progress);
    mpi::Agreed run_rounds(const Request& request, Progress& progress);
    LeadersPart lead(const Choice& choice, const Facts& facts);
    Status open();
};

// A call without data: it waits, and brings and hears errors.
mpi::Agreed Engine::wait() {
    Progress progress;
    return impl_->run_together({.file = nothing, .memory = nothing}, progress);
}

mpi::Agreed Engine::Impl::call(const Request& request, Progress& progress) {
    const double start_s = now_s();
    const EngineCounters before = account.counters;
    ++account.counters.calls;
    progress.status.keep_first(request_error(request, file.name()));
    // First what the program's streams do: a fault of theirs ends the call before anything is written, and a
    // driver that copies to memory that is not page-locked waits for them without progressing MPI.
    if (request.device != nullptr) progress.status.keep_first(request.device->finish(comm));
    if (progress.status.ok()) {
        account.counters.user_bytes += request.file.size_bytes();
        account.counters.pieces += request.file.num_pieces();
    }
    mpi::Agreed agreed;
    if (is_one_access(request, progress)) {
        account.explainer.alone(Why::only_rank, request.is_write, request.file.size_bytes());
        paths::move_in_line(request, *file, account, progress);
        agreed = {std::move(progress.status), 0};
    } else if ((!request.is_hidden || request.elective != nullptr) &&
               ahead.passes(request.is_write, request.file, !progress.status.ok())) {
        agreed = run_ahead(request, progress);
    } else {
        agreed = run_together(request, progress);
    }
    const double end_s = now_s();
    account.counters.call_s += end_s - start_s;
    if (request.is_write) {
        const EngineCounters& now = account.counters;
        const double other_s =
            now.copy_s + now.plan_s + now.wait_peer_s - before.copy_s - before.plan_s - before.wait_peer_s;
        account.counters.write_wait_s += std::max(0.0, end_s - start_s - other_s);
    }
    account.call_log.add(request.is_write, start_s, end_s, before, account.counters);
    account.timeline.add({request.is_write ? "write_all" : "read_all", 0, start_s, end_s});
    return agreed;
}

// Nobody to meet, nothing to gather, and nothing to wait for.
bool Engine::Impl::is_one_access(const Request& request, const Progress& progress) const {
    const bool is_hidden =
        request.is_hidden && !(request.elective != nullptr && file.service() == Service::from_memory);
    return setting.num_ranks == 1 && progress.status.ok() && !is_hidden && request.device == nullptr &&
           !two_phase.has_pending() && !hidden_writes.has_deferred() &&
           hidden_writes.deferred_error() == ErrorCode::ok && file.is_open() &&
           setting.shuffle == ShuffleHint::automatic && !setting.has_limit && !setting.is_direct_io &&
           paths::is_one_short_piece(request);
}

// Without a meeting (ahead.hpp): an error is this rank's own.
mpi::Agreed Engine::Impl::run_ahead(const Request& request, Progress& progress) {
    const Service before = file.service();
    account.explainer.alone(Why::runs_ahead, request.is_write, request.file.size_bytes());
    Status status = guarded("an access without a meeting", [&] {
        if (!progress.status.ok() || request.file.empty()) return;
        progress.status = file.need();
        if (!progress.status.ok()) return;
        progress.is_ordered = request.file.is_ordered();
        if (!setting.is_direct_io && paths::is_one_short_piece(request)) {
            paths::move_in_line(request, *file, account, progress);
        } else {
            own_pieces.carry_out(request, before != Service::from_memory, false, progress);
        }
    });
    progress.status.keep_first(std::move(status));
    if (file.service() != before) ahead.close_gate();
    ahead.end_call();
    return {std::move(progress.status), comm.rank(), true};
}

mpi::Agreed Engine::Impl::run_together(const Request& request, Progress& progress) {
    ahead.stop();
    mpi::Agreed agreed;
    const Status status = guarded("a collective access", [&] { agreed = run_rounds(request, progress); });
    ahead.end_call();
    // It cannot tell the other ranks (no memory for a message, say).
    if (!status.ok())
        mpi::end_program(file.name().shown + ": " + status.text() + "; the other ranks wait for this one");
    return agreed;
}

// The chosen path's work for the leader, while the node's other ranks wait in the meeting.
LeadersPart Engine::Impl::lead(const Choice& choice, const Facts& facts) {
    if (choice.path == Path::mailbox) return mailbox.serve(facts);
    if (choice.path == Path::two_phase) two_phase.prepare(facts.totals, facts.is_elective);
    return {};
}

mpi::Agreed Engine::Impl::run_rounds(const Request& request, Progress& progress) {
    // An error that the last call left untold comes before this call's own mistake: no other call would tell
    // it.
    Status mistake = std::exchange(progress.status, two_phase.take_undone());
    const auto settle = [&] {
        const double begin_s = hidden_writes.is_any() ? now_s() : 0;
        two_phase.wait(progress);
        progress.status.keep_first(hidden_writes.settle_deferred());
        if (begin_s > 0) account.counters.wait_hidden_s += now_s() - begin_s;
        hidden_writes.forget();
    };
    if (request.elective != nullptr) {
        two_phase.take_over(progress);
        progress.status.keep_first(hidden_writes.take_deferred_error());
    } else {
        settle();
    }
    progress.status.keep_first(std::move(mistake));
    progress.is_ordered = !progress.status.ok() || request.file.is_ordered();
    for (bool is_first = true;; is_first = false) {
        if (setting.is_one_node) mailbox.post(request, progress, is_first);
        Met met = meeting.hold(request, progress, {is_first, two_phase.has_given_up()});
        const Choice& choice = met.choice;
        account.explainer.path(choice, met.totals, request.is_write);
        if (choice.path == Path::mailbox) mailbox.collect(request, progress);
        // Whatever comes next but two-phase I/O is of a call of which nothing is under way any more, and the
        // errors of that are told first.
        const bool goes_on = met.agreed.status.ok() && choice.path == Path::two_phase;
        if (std::exchange(progress.is_overlapping, false) && !goes_on) {
            two_phase.wait(progress);
            continue;
        }
        if (met.totals.any.has_given_up) two_phase.abandon_buffers();
        if (met.agreed.status.ok() && choice.path == Path::settle) {
            settle();
            continue;
        }
        if (!met.agreed.status.ok() || choice.path == Path::mailbox || choice.path == Path::nothing)
            return met.agreed;
        if (choice.path == Path::own_pieces || !progress.is_ordered) {
            own_pieces.carry_out(request, choice.is_in_flight, choice.may_fill_holes, progress);
            progress.has_moved_own = true;
        }
        if (choice.path == Path::own_pieces) {
            if (setting.has_own_errors && setting.is_one_node)
                return {std::move(progress.status), comm.rank(), true};
            continue;
        }
        Status ready = two_phase.carry_out(request, choice, met.totals, progress);
        if (!ready.ok()) {
            two_phase.wait(progress);
            return {std::move(ready), 0};
        }
        if (progress.has_writers) {
            if (met.totals.any.has_device_memory) {
                mpi::Agreed copied = mpi::agree(comm, progress.status);
                if (!copied.status.ok()) return copied;
                progress.status.keep_first(two_phase.confirm());
            }
            two_phase.leave_undone(std::move(progress.status));
            return {};
        }
    }
}

mpi::Agreed Engine::open(const Comm& comm, const EngineFile& file, const EngineOptions& asked,
                         std::unique_ptr<Engine>& engine) {
    auto impl = std::make_unique<Impl>(comm, file, asked);
    Status status;
    if (comm.rank() == 0) status = impl->file.need();
    Status memory = impl->control.set_up(comm);
    if (comm.num_nodes() == 1 && !memory.ok()) return {std::move(memory), 0};  // alike on the node
    status.keep_first(std::move(memory));
    if (status.ok() && comm.node_rank() == 0) status = impl->file.need();
    if (impl->control.is_set_up() && comm.node_rank() == 0)
        impl->control.block().service.store(impl->file.service(), std::memory_order_relaxed);
    Opening opening = agree_on_opening(comm, asked, impl->file, status);
    impl->options = std::move(opening.options);
    impl->setting = opening.setting;
    impl->two_phase.choose_aggregators(opening.is_cycle_chosen, opening.stripes);
    const Aggregators& aggregators = impl->two_phase.aggregators();
    if (status.ok() && aggregators.my_domain >= 0) status = impl->file.need();
    if (comm.num_nodes() > 1 && !opening.has_failed) status.keep_first(impl->file.agree());
    bool may_hide = opening.may_hide;
    if (may_hide && comm.num_nodes() > 1) {
        std::array<std::int64_t, 1> cannot{impl->hidden_writes.prepare() ? 0 : 1};
        mpi::all_max(comm, cannot);
        may_hide = cannot[0] == 0;
    }
    impl->hidden_writes.allow(may_hide);
    impl->account.wants = opening.wants;
    impl->account.call_log = CallLog(opening.wants.profile);
    impl->account.explainer = Explainer(comm.rank(), file.shown);
    if (impl->file.is_open()) impl->account.explainer.storage(impl->file->abilities(), impl->file->layout());
    // Where rank 0 alone accesses the file for others, all know already how that went.
    mpi::Agreed agreed;
    if (opening.has_failed || aggregators.ranks.size() > 1 || comm.num_nodes() > 1)
        agreed = mpi::agree(comm, status);
    if (!agreed.status.ok()) {
        impl->control.free();
        return agreed;
    }
    impl->control.join();
    impl->file.hear(impl->control.block().service.load(std::memory_order_relaxed));
    impl->ahead.attach(comm, impl->control);
    engine.reset(new Engine(std::move(impl)));
    return agreed;
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

mpi::Agreed Engine::write_all(const Region& file, const std::byte* origin, const Region& memory,
                              const Status& local, DeviceMemory* device) {
    Progress progress{.status = local};
    return impl_->call({.is_write = true,
                        .file = file,
                        .memory = memory,
                        .origin = const_cast<std::byte*>(origin),
                        .device = device},
                       progress);
}

mpi::Agreed Engine::start_write_all(const Region& file, const std::byte* origin, const Region& memory,
                                    const Status& local, const WhenStored& when_stored,
                                    DeviceMemory* device) {
    Progress progress{.status = local};
    mpi::Agreed agreed = impl_->call({.is_write = true,
                                      .is_hidden = true,
                                      .file = file,
                                      .memory = memory,
                                      .origin = const_cast<std::byte*>(origin),
                                      .stored = when_stored.tell ? &when_stored : nullptr,
                                      .device = device},
                                     progress);
    if (!agreed.status.ok() || !when_stored.tell || progress.has_writers) return agreed;
    // Where nothing went through buffers, all is stored by now, and rank 0 speaks for the others.
    if (when_stored.sync) agreed = sync();
    if (agreed.status.ok() && impl_->comm.rank() == 0) when_stored.tell(*impl_->file, 0, 1);
    return agreed;
}

mpi::Agreed Engine::read_all(const Region& file, std::byte* origin, const Region& memory,
                             std::int64_t& bytes_read, const Status& local, DeviceMemory* device) {
    Progress progress{.status = local};
    const Request request{.file = file, .memory = memory, .origin = origin, .device = device};
    mpi::Agreed agreed = impl_->call(request, progress);
    bytes_read = agreed.status.ok() ? progress.bytes_read(request) : 0;
    return agreed;
}

mpi::Agreed Engine::write_all_electively(const Region& file, const std::byte* origin, const Region& memory,
                                         const Status& local) {
    if (!may_hide()) return write_all(file, origin, memory, local);
    Progress progress{.status = local};
    return impl_->call({.is_write = true,
                        .is_hidden = true,
                        .elective = &impl_->hidden_writes,
                        .file = file,
                        .memory = memory,
                        .origin = const_cast<std::byte*>(origin)},
                       progress);
}

bool Engine::may_hide() const {
    return impl_->hidden_writes.are_allowed();
}

HiddenWrites& Engine::hidden_writes() {
    return impl_->hidden_writes;
}

ErrorCode Engine::hidden_error() const {
    const ErrorCode of_calls = impl_->two_phase.first_error();
    return of_calls != ErrorCode::ok ? of_calls : impl_->hidden_writes.deferred_error();
}

Status Engine::take_hidden_error() {
    Progress progress{.status = impl_->two_phase.take_undone()};
    impl_->two_phase.wait(progress);
    progress.status.keep_first(impl_->hidden_writes.settle_deferred());
    return std::move(progress.status);
}

bool Engine::leave_behind(std::function<void(bool is_stored)> at_end) {
    const int domain = impl_->two_phase.aggregators().my_domain;
    if (is_stored()) return false;
    if (impl_->hidden_writes.hold(domain, std::move(at_end))) {
        impl_->hidden_writes.tell_left(hidden_error());
        return true;
    }
    (void)wait_for_own_storage();
    return false;
}

std::optional<Status> Engine::move_ahead(bool is_write, std::int64_t offset, std::span<std::byte> bytes,
                                         std::int64_t& bytes_moved) {
    Impl& impl = *impl_;
    EngineCounters& counters = impl.account.counters;
    const auto length = static_cast<std::int64_t>(bytes.size());
    const ReportWishes& wants = impl.account.wants;
    const bool is_plain = impl.file.is_open() && !impl.setting.has_limit && !wants.profile && !wants.trace &&
                          !impl.setting.is_direct_io && length > 0 && length <= most_bytes_ahead;
    if (!is_plain || !impl.ahead.passes_piece(is_write, length)) return {};
    Status status;
    bytes_moved = length;
    if (is_write) {
        status = impl.file->write_at(bytes, offset);
    } else {
        const Result<std::int64_t> read = impl.file->read_at(bytes, offset);
        bytes_moved = read.ok() ? read.value() : 0;
        if (!read.ok()) status = read.status();
    }
    ++counters.calls;
    ++counters.direct_calls;
    ++counters.pieces;
    counters.user_bytes += length;
    counters.storage_bytes += bytes_moved;
    impl.ahead.end_call();
    return status;
}

bool Engine::is_stored() const {
    return !impl_->hidden_writes.has_deferred() &&
           std::ranges::all_of(impl_->two_phase.phases(), [](const auto& phase) { return phase->is_over(); });
}

ErrorCode Engine::left_error() const {
    return impl_->hidden_writes.left_error();
}

bool Engine::is_aggregator() const {
    return impl_->two_phase.aggregators().my_domain >= 0;
}

double Engine::wait_for_own_storage() {
    impl_->two_phase.wait_until_over();
    impl_->hidden_writes.wait_for_deferred();
    return counters().storage_end_s;
}

mpi::Agreed Engine::sync() {
    mpi::Agreed written = wait();
    Status status;
    if (impl_->file.is_open() && impl_->file.name().is_writable) status = impl_->file->sync();
    mpi::Agreed synced = mpi::agree(impl_->comm, status);
    return written.status.ok() ? synced : written;
}

mpi::Agreed Engine::close() {
    if (!impl_) return {};
    Impl& impl = *impl_;
    Progress progress{.status = impl.two_phase.take_undone()};
    impl.two_phase.wait(progress);
    progress.status.keep_first(impl.hidden_writes.settle_deferred());
    impl.account.report(impl.comm, impl.file.name().shown);
    if (impl.setting.has_limit && impl.two_phase.has_any_given_up()) impl.two_phase.abandon_buffers();
    impl.own_pieces.close();
    progress.status.keep_first(impl.file.close());
    mpi::Agreed agreed = mpi::agree(impl.comm, progress.status);
    impl.control.keep();
    impl_.reset();
    return agreed;
}

EngineCounters Engine::counters() const {
    EngineCounters counters = impl_->account.counters;
    counters.wait_hidden_s += impl_->hidden_writes.waited_s();
    for (const auto& phase : impl_->two_phase.phases()) add_storage(*phase, counters);
    return counters;
}

bool Engine::is_usable() const {
    return impl_->two_phase.is_usable();
}

void Engine::wait_for_left_calls() {
    impl_->ahead.wait_for_left_calls();
}

void Engine::leave_holes() {
    impl_->meeting.leave_holes();
}

const EngineOptions& Engine::options() const {
    return impl_->options;
}

}  // namespace hakobi::io
