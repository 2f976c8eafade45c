// Two-phase collective I/O whose phases overlap. One call, on every rank:
//
//  1. Describe. Each rank states its request in a summary. On one node the summaries lie in shared memory and the
//     node's leader adds them up; between nodes one all-gather does it. If somebody brings an error, everybody returns
//     it here. If all requests are small, on one node, the data lies in the mailboxes too: the leader makes the file
//     accesses itself, and the call is over after this one round.
//  2. Choose the road (plan.cpp): direct, or the shuffle. A direct rank moves its own pieces and goes to step 6.
//  3. Divide. The range asked for is cut into cycles of one collective buffer, the cycles into file domains. The ranks
//     add to each cycle's tally how many of them contribute to it and, writing, whether they fill it.
//  4. When all tallies are in, each aggregator's used cycles are its turns. Its pipeline begins the phase: reading, it
//     starts to fill buffers at once; writing, it opens them.
//  5. Run. Ranks deposit into (collect from) buffers whose turn has come; the last contributor passes the buffer on. The
//     dispatcher of the aggregator hands full buffers to the storage; a finished one opens for its next turn. No
//     rank waits for another here except through a buffer that it needs.
//  6. A phase covers max_cycles_of_phase cycles at most: what lies behind it begins again at 1. A phase in which nobody
//     has anything left ends the call: its summaries carry the errors of 5, so that all ranks return the same.
//
// What an asynchronous write leaves undone (its last file accesses) is waited for at the start of the next call, whose
// first summary carries the error.
#include "io/engine.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "base/clock.hpp"
#include "io/direct.hpp"
#include "io/report.hpp"
#include "io/shuffle.hpp"
#include "io/small.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"
#include "mpi/node_window.hpp"

namespace hakobi::io {
namespace {

constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t smallest_cycle_bytes = 256 << 10;
constexpr std::int64_t cached_cycle_bytes = 1 << 20;  // storage that serves from memory: what still lies in the processor's cache
constexpr int summary_words = static_cast<int>(sizeof(RequestSummary) / sizeof(std::int64_t));

int chosen(int asked, int otherwise) { return asked > 0 ? asked : otherwise; }

// Waiting ranks may look for their word a while where each has a core of its own.
int spins_for(int node_size) { return node_size <= static_cast<int>(std::thread::hardware_concurrency()) ? 2000 : 20; }

EngineOptions resolved(EngineOptions options, const Comm& comm) {
    if (options.access == "posix") options.depth = 1;  // the unpipelined original: one buffer, written in line
    options.depth = chosen(options.depth, 8);
    options.io_threads = chosen(options.io_threads, 4);
    if (options.cb_buffer_bytes == 0) options.cb_buffer_bytes = 4 << 20;
    int largest_node = 1;
    for (const auto& ranks : comm.state().ranks_of_node) largest_node = std::max(largest_node, static_cast<int>(ranks.size()));
    options.aggregators_per_node = std::min(chosen(options.aggregators_per_node, 1), largest_node);
    if (options.cb_nodes > 0) options.cb_nodes = std::min(options.cb_nodes, comm.size());
    return options;
}

// What this process has learnt of a file system, by its device: a file opened later need not learn it again.
class StorageMemory {
  public:
    static std::int64_t blocks(const storage::File& file) {
        const std::scoped_lock lock(mutex());
        const auto at = known().find(device_of(file));
        return at == known().end() ? -1 : at->second;
    }
    static void learn(const storage::File& file, std::int64_t blocks) {
        const dev_t device = device_of(file);
        const std::scoped_lock lock(mutex());
        if (device != 0) known()[device] = blocks;
    }

  private:
    static dev_t device_of(const storage::File& file) {
        struct stat status {};
        return file.descriptor() >= 0 && fstat(file.descriptor(), &status) == 0 ? status.st_dev : 0;
    }
    static std::mutex& mutex() {
        static std::mutex mutex;
        return mutex;
    }
    static std::map<dev_t, std::int64_t>& known() {
        static std::map<dev_t, std::int64_t> known;
        return known;
    }
};

Status request_error(const Region& file, const Region& memory, const Status& local) {
    if (!local.ok()) return local;
    if (!file.valid() || !memory.valid()) return {ErrorCode::invalid_argument, "a request reaches beyond 2^63 bytes"};
    if (file.begin_bytes() < 0) return {ErrorCode::invalid_argument, "a request begins before the file does"};
    if (file.size_bytes() != memory.size_bytes()) {
        return {ErrorCode::invalid_argument, "a request names " + std::to_string(file.size_bytes()) + " bytes of the file and " +
                                                 std::to_string(memory.size_bytes()) + " of memory"};
    }
    return {};
}

}  // namespace

struct Engine::Impl {
    Comm comm;
    std::string path;
    bool is_writable = false;
    EngineOptions options;
    std::vector<int> aggregators;   // all, by domain
    std::vector<int> local_index;   // of each: on this node, or -1
    int num_local_aggregators = 0;
    int my_domain = -1;

    storage::FilePtr file;                           // aggregators open it; the others when they go direct
    std::unique_ptr<storage::Access> direct_access;
    mpi::NodeWindow control_window, buffer_window;
    ControlBlock* control = nullptr;
    std::span<RankPlace> places;
    Team team;
    NodeBuffers buffers;
    std::unique_ptr<Pipeline> pipeline;
    Timeline timeline;
    EngineCounters counters;
    Explainer explainer;
    bool has_undone_write = false;
    std::int64_t storage_blocks = -1;  // RequestSummary's

    struct Call {
        bool is_write, is_asynchronous;
        const Region& file;
        const Region& memory;
        std::byte* origin;
        std::int64_t position = 0;             // in the file: everything before it is done
        std::int64_t end_of_file = no_end;     // lowest that this rank has seen
        std::int64_t bytes_direct = 0;         // unordered and direct reads count for themselves
        bool is_counted = false;
        Status status = {};
        std::vector<Region> regions = {};      // of all ranks, when there is more than one node

        [[nodiscard]] std::int64_t bytes_done() const { return file.bytes_below(position); }
    };

    Status set_up_control();
    Status set_up_buffers(bool for_asynchronous);
    Status need_file();
    mpi::Agreed call(Call& call);
    mpi::Agreed run_call(Call& call);
    RequestSummary summary_of(const Call& call);
    /// Steps 1 and 6.
    RequestTotals exchange(Call& call, RequestSummary mine, bool may_be_small, bool& was_small, mpi::Agreed& agreed);
    RequestTotals exchange_on_node(Call& call, const RequestSummary& mine, bool may_be_small, bool& was_small, mpi::Agreed& agreed);
    void reset_phase(std::int64_t num_cycles);
    void move_direct(Call& call, std::int64_t stream_begin, bool in_flight);
    void try_storage(Call& call);
    void run_phase(Call& call, const RequestTotals& totals);
    void wait_for_storage(Call& call);
    [[nodiscard]] std::int64_t alignment() const;
};

Status Engine::Impl::set_up_control() {
    const std::int64_t bytes = static_cast<std::int64_t>(sizeof(ControlBlock) + sizeof(RankPlace) * static_cast<std::size_t>(comm.node_size()) + 64);
    Status status = mpi::NodeWindow::allocate(comm, bytes, control_window);
    if (!status.ok()) return status;
    std::byte* memory = control_window.data();
    memory += (64 - reinterpret_cast<std::intptr_t>(memory) % 64) % 64;
    if (comm.node_rank() == 0) {
        new (memory) ControlBlock{};
        for (int r = 0; r < comm.node_size(); ++r) {
            // The mail itself stays untouched: pages that nobody uses are never taken.
            auto* place = reinterpret_cast<RankPlace*>(memory + sizeof(ControlBlock)) + r;
            place->request = {};
            place->is_small = place->num_mail_pieces = place->bytes_read = 0;
        }
    }
    control = reinterpret_cast<ControlBlock*>(memory);
    places = {reinterpret_cast<RankPlace*>(memory + sizeof(ControlBlock)), static_cast<std::size_t>(comm.node_size())};
    mpi::NodeWindow::barrier(comm);
    team = Team(&control->team, comm.node_rank(), comm.node_size(), spins_for(comm.node_size()));
    return {};
}

// Collective over all ranks: the memory is taken by whole nodes, and a node without it must not begin.
Status Engine::Impl::set_up_buffers(bool for_asynchronous) {
    if (buffer_window.data() != nullptr) return {};
    buffers.cb_bytes = options.cb_buffer_bytes;
    buffers.depth = options.depth;
    if (for_asynchronous) {
        const std::int64_t budgeted = options.async_budget_bytes / options.cb_buffer_bytes / std::max(1, num_local_aggregators);
        buffers.depth = static_cast<int>(std::clamp<std::int64_t>(budgeted, options.depth, max_depth));
    }
    const bool has_staging = comm.num_nodes() > 1;
    const std::int64_t bytes = NodeBuffers::bytes_needed(num_local_aggregators, has_staging, buffers.cb_bytes, buffers.depth);
    Status status = mpi::NodeWindow::allocate(comm, bytes + 4096, buffer_window);
    if (comm.num_nodes() > 1) status = mpi::agree(comm, status).status;
    if (!status.ok()) {
        buffer_window.free();
        return status;
    }
    buffers.place(buffer_window.data(), num_local_aggregators, has_staging);
    Status failed;
    if (my_domain >= 0) {
        const auto local = static_cast<std::size_t>(local_index[static_cast<std::size_t>(my_domain)]);
        auto* state = new (buffers.aggregators[local]) AggregatorState{};
        for (Slot& slot : state->slots) slot.turn.store(Slot::closed);
        // The first phase's reset came before this memory was there: nobody deposits before the aggregator begins.
        for (Slot& slot : buffers.aggregators[local]->slots) slot.turn.store(Slot::closed);
        storage::AccessOptions access_options;
        access_options.name = options.access;
        access_options.num_threads = options.io_threads;
        access_options.queue_depth = buffers.depth;
        if (options.access == "uring") {
            for (int b = 0; b < buffers.depth; ++b) {
                access_options.buffers.emplace_back(buffers.buffers[local] + b * buffers.cb_bytes,
                                                    static_cast<std::size_t>(buffers.cb_bytes));
            }
        }
        auto access = storage::make_access(*file, access_options);
        if (access.ok()) {
            const Pipeline::Memory memory{buffers.aggregators[local], buffers.buffers[local], buffers.marks[local],
                                          &control->end_of_file,      buffers.cb_bytes,       buffers.depth};
            pipeline = std::make_unique<Pipeline>(std::move(access).value(), memory, timeline);
        } else {
            failed = access.status();
        }
    }
    if (has_staging && comm.node_rank() == 0) {
        new (buffers.staging) AggregatorState{};
        for (int b = 0; b < buffers.depth; ++b) buffers.staging->slots[static_cast<std::size_t>(b)].turn.store(static_cast<std::uint32_t>(b));
        std::memset(buffers.staging_marks, 0, static_cast<std::size_t>(buffers.depth * ByteMarks::num_words(buffers.cb_bytes)) * 8);
    }
    failed = mpi::agree(comm, failed).status;
    if (!failed.ok()) {
        pipeline.reset();
        buffers = {};
        buffer_window.free();
    }
    return failed;
}

Status Engine::Impl::need_file() {
    if (file) return {};
    storage::OpenMode mode;
    mode.write = is_writable;
    mode.direct = options.direct_io;
    auto opened = storage::open_file(path, mode);
    if (!opened.ok()) return opened.status();
    file = std::move(opened).value();
    storage_blocks = StorageMemory::blocks(*file);
    return {};
}

std::int64_t Engine::Impl::alignment() const {
    return options.striping_unit_bytes;  // resolved at open
}

RequestSummary Engine::Impl::summary_of(const Call& call) {
    RequestSummary mine;
    mine.storage_blocks = storage_blocks;
    mine.end_of_file = call.end_of_file;
    mine.error_code = static_cast<int>(call.status.code());
    const std::int64_t done = call.status.ok() ? call.bytes_done() : call.file.size_bytes();
    if (done >= call.file.size_bytes() || !call.file.is_ordered()) return mine;
    Cursor cursor(call.file);
    cursor.seek(done);
    mine.begin_bytes = cursor.offset();
    mine.end_bytes = call.file.end_bytes();
    mine.size_bytes = call.file.size_bytes() - done;
    mine.num_pieces = call.file.num_pieces();
    return mine;
}

RequestTotals Engine::Impl::exchange_on_node(Call& call, const RequestSummary& mine, bool may_be_small, bool& was_small,
                                             mpi::Agreed& agreed) {
    RankPlace& place = places[static_cast<std::size_t>(comm.node_rank())];
    place.request = mine;
    place.is_small = may_be_small && mine.error_code == 0 && call.file.is_ordered() && is_small(call.file);
    if (mine.error_code != 0) place.error_text.set(call.status.text());
    if (place.is_small != 0) fill_mailbox(place, call.file, call.memory, call.origin, call.is_write);
    const double start_s = now_s();
    team.round([&] {
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
        if (word.error_rank >= 0) word.error_text = places[static_cast<std::size_t>(word.error_rank)].error_text;
        word.is_done = word.error_code != 0;
        if (!word.is_done && all_small && word.totals.size_bytes > 0) {
            const Status status = serve_mailboxes(*file, places, call.is_write);
            word.is_done = 2;
            word.error_code = static_cast<int>(status.code());
            word.error_rank = status.ok() ? -1 : 0;
            if (!status.ok()) word.error_text.set(status.text());
        }
        if (word.is_done == 0 && word.totals.size_bytes > 0) {
            const std::int64_t shortest = std::min(smallest_cycle_bytes, options.cb_buffer_bytes);
            const std::int64_t span = word.totals.end_bytes - word.totals.begin_bytes;
            reset_phase(std::min(max_cycles_of_phase, span / shortest + 2));
        }
    });
    const double waited_s = now_s() - start_s;
    counters.wait_peer_s += waited_s;
    const LeaderWord& word = control->word;
    was_small = word.is_done == 2;
    if (word.error_code != 0) {
        agreed.status = Status(static_cast<ErrorCode>(word.error_code), std::string(word.error_text.get()));
        agreed.rank = static_cast<int>(word.error_rank);
    }
    return word.totals;
}

RequestTotals Engine::Impl::exchange(Call& call, RequestSummary mine, bool may_be_small, bool& was_small, mpi::Agreed& agreed) {
    RequestTotals totals;
    if (comm.num_nodes() == 1) {
        totals = exchange_on_node(call, mine, may_be_small, was_small, agreed);
    } else {
        std::vector<std::int64_t> words;
        if (call.regions.empty() && mine.size_bytes > 0) call.file.to_words(words);
        mine.num_words = static_cast<std::int64_t>(words.size());
        const double start_s = now_s();
        const std::span<const std::int64_t> mine_words(reinterpret_cast<const std::int64_t*>(&mine), summary_words);
        const std::vector<std::int64_t> all = mpi::all_gather(comm, mine_words);
        const std::span<const RequestSummary> requests(reinterpret_cast<const RequestSummary*>(all.data()),
                                                       static_cast<std::size_t>(comm.size()));
        totals = total_of(requests);
        if (totals.error_code != 0) {
            agreed = mpi::agree(comm, call.status);
        } else if (call.regions.empty() && totals.size_bytes > 0) {
            std::vector<std::int64_t> lengths;
            for (const RequestSummary& request : requests) lengths.push_back(request.num_words);
            const std::vector<std::int64_t> regions = mpi::all_gather(comm, words, lengths);
            std::int64_t at = 0;
            for (const std::int64_t length : lengths) {
                const std::span<const std::int64_t> one(regions.data() + at, static_cast<std::size_t>(length));
                call.regions.push_back(length == 0 ? Region() : Region::from_words(one));
                at += length;
            }
        }
        counters.wait_peer_s += now_s() - start_s;
    }
    call.end_of_file = std::min(call.end_of_file, totals.end_of_file);
    return totals;
}

void Engine::Impl::reset_phase(std::int64_t num_cycles) {
    for (std::int64_t c = 0; c < num_cycles; ++c) control->tallies[static_cast<std::size_t>(c)].reset();
    control->end_of_file.store(no_end);
    for (AggregatorState* state : buffers.aggregators) {
        for (int b = 0; b < buffers.depth; ++b) state->slots[static_cast<std::size_t>(b)].turn.store(Slot::closed);
    }
    for (int b = 0; b < buffers.staging_depth; ++b) {
        Slot& slot = buffers.staging->slots[static_cast<std::size_t>(b)];
        slot.num_arrived.store(0);
        slot.turn.store(static_cast<std::uint32_t>(b));
    }
}

// The leader carries out its first piece before anybody decides: what it took tells a page cache from a disk.
void Engine::Impl::try_storage(Call& call) {
    constexpr std::int64_t coarse_bytes = 4 << 10;
    if (storage_blocks >= 0 || comm.node_rank() != 0 || !call.status.ok() || call.file.empty() || !call.file.is_ordered()) return;
    if (options.shuffle != "auto" || call.is_asynchronous) return;
    if (call.file.size_bytes() / call.file.num_pieces() < coarse_bytes) return;
    call.status = need_file();
    if (!call.status.ok()) return;
    const Cursor first(call.file);
    const std::int64_t length = std::min<std::int64_t>(first.remaining(), 1 << 20);
    const DirectResult tried = move_directly(*file, nullptr, 1, {call.file, call.memory, call.origin, 0, length, call.is_write, length});
    storage_blocks = tried.has_waited ? 1 : 0;
    StorageMemory::learn(*file, storage_blocks);
    call.status = tried.status;
    // It is written again with the rest, or read again: the position stays, so that file and memory are whole either way.
}

void Engine::Impl::move_direct(Call& call, std::int64_t stream_begin, bool in_flight) {
    call.status = need_file();
    if (!call.status.ok()) return;
    if (in_flight && !direct_access && options.access != "posix") {
        storage::AccessOptions access_options;
        access_options.name = options.access;
        access_options.num_threads = std::max(1, options.io_threads * 2 / comm.node_size());
        auto access = storage::make_access(*file, access_options);
        if (access.ok()) direct_access = std::move(access).value();
        // Without one the calls are made in line: slower, not wrong.
    }
    const double start_s = now_s();
    const DirectRequest request{call.file,     call.memory,   call.origin, stream_begin, call.file.size_bytes(),
                                call.is_write, options.cb_buffer_bytes};
    const DirectResult moved = move_directly(*file, in_flight ? direct_access.get() : nullptr, options.depth, request);
    const double end_s = now_s();
    call.status = moved.status;
    call.bytes_direct = moved.bytes;
    call.is_counted = true;
    if (moved.has_waited) {
        storage_blocks = 1;
        StorageMemory::learn(*file, 1);
    }
    counters.storage_s += end_s - start_s;
    counters.storage_bytes += moved.bytes;
    ++counters.direct_calls;
    timeline.add({call.is_write ? "write directly" : "read directly", 0, start_s, end_s});
}

void Engine::Impl::wait_for_storage(Call& call) {
    if (!pipeline) return;
    const double start_s = now_s();
    Status status = pipeline->wait_phase();
    counters.wait_buffer_s += now_s() - start_s;
    call.status.keep_first(std::move(status));
    storage_blocks = pipeline->storage_blocks() ? 1 : 0;
    StorageMemory::learn(*file, storage_blocks);
}

// Steps 3 to 5.
void Engine::Impl::run_phase(Call& call, const RequestTotals& totals) {
    const Region nothing;
    const Region& file_region = call.file.is_ordered() ? call.file : nothing;  // an unordered one has been moved already
    PhasePlan plan;
    plan.is_write = call.is_write;
    plan.aggregators = aggregators;
    plan.local_index = local_index;
    const auto num_aggregators = static_cast<int>(aggregators.size());
    const std::int64_t span = totals.end_bytes - totals.begin_bytes;
    // Enough cycles that the buffers in flight have something to do, also when there is little.
    std::int64_t wanted = std::max(smallest_cycle_bytes, span / num_aggregators / options.depth);
    if (totals.storage_blocks == 0) wanted = std::min(wanted, cached_cycle_bytes);
    const std::int64_t cycle = std::min(buffers.cb_bytes, (wanted + smallest_cycle_bytes - 1) / smallest_cycle_bytes * smallest_cycle_bytes);
    const std::int64_t max_cycles = std::min<std::int64_t>(max_cycles_of_phase, mpi::highest_tag(comm) / comm.num_nodes());
    plan.domains = make_domains(totals.begin_bytes, totals.end_bytes, num_aggregators, cycle, alignment(), max_cycles);
    const int domain = my_domain < plan.domains.num_domains ? my_domain : -1;

    const double start_s = now_s();
    if (comm.num_nodes() > 1) team.round([&] { reset_phase(plan.domains.num_cycles); });
    const std::vector<CyclePart> parts = Shuffle::announce(comm, plan, file_region, call.regions, domain, *control);
    team.barrier();
    plan.number_turns(control->tallies);
    if (domain >= 0) pipeline->begin_phase(plan.turns_of(domain, control->tallies), call.is_write);
    counters.plan_s += now_s() - start_s;
    explainer.phase(plan.domains, buffers, options, domain >= 0 || comm.rank() == 0);

    Shuffle shuffle(comm, plan, buffers, *control, call.regions, pipeline.get(), domain, counters, timeline, team.spins());
    shuffle.run({file_region, call.memory, call.origin}, parts, options.skew_s);
    call.position = plan.domains.end_bytes;
    if (!(call.is_asynchronous && call.position >= totals.end_bytes)) {
        wait_for_storage(call);
    } else if (pipeline) {
        has_undone_write = true;
    }
    call.end_of_file = std::min(call.end_of_file, control->end_of_file.load());
}

mpi::Agreed Engine::Impl::run_call(Call& call) {
    if (has_undone_write) {
        wait_for_storage(call);
        has_undone_write = false;
    }
    if (call.status.ok() && !call.file.is_ordered()) {
        // Such a request has no order that cycles could follow: this rank moves its pieces itself.
        move_direct(call, 0, false);
    }
    try_storage(call);
    for (int phase = 0;; ++phase) {
        bool was_small = false;
        mpi::Agreed agreed;
        const bool may_be_small = phase == 0 && comm.num_nodes() == 1 && options.shuffle == "auto";
        const RequestTotals totals = exchange(call, summary_of(call), may_be_small, was_small, agreed);
        if (was_small && !call.is_write) {
            call.bytes_direct = empty_mailbox(places[static_cast<std::size_t>(comm.node_rank())], call.memory, call.origin);
            call.is_counted = call.is_counted || call.file.is_ordered();
        }
        if (!agreed.status.ok() || was_small || totals.size_bytes == 0) return agreed;
        storage_blocks = std::max(storage_blocks, totals.storage_blocks);
        RoadChoice choice = choose_road(totals, call.is_write, options.shuffle, options.cb_buffer_bytes);
        if (call.is_asynchronous && choice.road == Road::direct && options.shuffle != "never") choice = {Road::shuffle, "asynchronous"};
        explainer.road(choice, totals, call.is_write);
        if (choice.road == Road::direct) {
            if (call.file.is_ordered() && !call.file.empty()) move_direct(call, call.bytes_done(), totals.storage_blocks != 0);
            call.position = no_end;
            continue;
        }
        Status ready = set_up_buffers(call.is_asynchronous);  // alike on every rank
        if (!ready.ok()) return {std::move(ready), 0};
        run_phase(call, totals);
        if (call.is_asynchronous && call.position >= totals.end_bytes) return {};
    }
}

mpi::Agreed Engine::Impl::call(Call& call) {
    const double start_s = now_s();
    call.status = request_error(call.file, call.memory, call.status);
    if (call.status.ok() && call.is_write && !is_writable) {
        call.status = {ErrorCode::permission, path + ": the file is open for reading only"};
    }
    ++counters.calls;
    if (call.status.ok()) {
        counters.user_bytes += call.file.size_bytes();
        counters.pieces += call.file.num_pieces();
    }
    mpi::Agreed agreed = run_call(call);
    const double end_s = now_s();
    counters.call_s += end_s - start_s;
    timeline.add({call.is_write ? "write_all" : "read_all", 0, start_s, end_s});
    return agreed;
}

mpi::Agreed Engine::open(const Comm& comm, const std::string& path, bool write, const EngineOptions& options,
                         std::unique_ptr<Engine>& engine) {
    auto impl = std::make_unique<Impl>();
    impl->comm = comm;
    impl->path = path;
    impl->is_writable = write;
    impl->options = resolved(options, comm);
    impl->aggregators = choose_aggregators(comm.state().ranks_of_node, options.cb_nodes, impl->options.aggregators_per_node);
    for (std::size_t d = 0; d < impl->aggregators.size(); ++d) {
        const int rank = impl->aggregators[d];
        const bool is_here = comm.state().node_of_rank[static_cast<std::size_t>(rank)] == comm.node();
        impl->local_index.push_back(is_here ? impl->num_local_aggregators++ : -1);
        if (rank == comm.rank()) impl->my_domain = static_cast<int>(d);
    }
    Status status = impl->set_up_control();
    if (comm.num_nodes() == 1 && !status.ok()) return {std::move(status), 0};  // alike on the node
    if (status.ok() && (impl->my_domain >= 0 || comm.node_rank() == 0)) status = impl->need_file();
    // The alignment must be equal everywhere: rank 0 has the file open and says it.
    std::vector<std::int64_t> stripe{4096};
    if (status.ok() && comm.rank() == 0) stripe[0] = std::max(stripe[0], impl->file->stripe_bytes());
    mpi::all_max(comm, stripe);
    if (impl->options.striping_unit_bytes == 0) impl->options.striping_unit_bytes = stripe[0];
    impl->explainer = Explainer(comm.rank(), path);
    mpi::Agreed agreed = mpi::agree(comm, status);
    if (!agreed.status.ok()) {
        impl->control_window.free();
        return agreed;
    }
    engine.reset(new Engine(std::move(impl)));
    return agreed;
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

mpi::Agreed Engine::write_all(const Region& file, const std::byte* origin, const Region& memory, const Status& local) {
    Impl::Call call{.is_write = true, .is_asynchronous = false, .file = file, .memory = memory,
                    .origin = const_cast<std::byte*>(origin), .status = local};
    return impl_->call(call);
}

mpi::Agreed Engine::start_write_all(const Region& file, const std::byte* origin, const Region& memory, const Status& local) {
    Impl::Call call{.is_write = true, .is_asynchronous = true, .file = file, .memory = memory,
                    .origin = const_cast<std::byte*>(origin), .status = local};
    return impl_->call(call);
}

mpi::Agreed Engine::wait() {
    const Region nothing;
    Impl::Call call{.is_write = false, .is_asynchronous = false, .file = nothing, .memory = nothing, .origin = nullptr};
    return impl_->run_call(call);
}

mpi::Agreed Engine::read_all(const Region& file, std::byte* origin, const Region& memory, std::int64_t& bytes_read,
                             const Status& local) {
    Impl::Call call{.is_write = false, .is_asynchronous = false, .file = file, .memory = memory, .origin = origin, .status = local};
    mpi::Agreed agreed = impl_->call(call);
    bytes_read = 0;
    if (!agreed.status.ok()) return agreed;
    bytes_read = call.is_counted ? call.bytes_direct : std::min(file.size_bytes(), file.bytes_below(call.end_of_file));
    return agreed;
}

mpi::Agreed Engine::sync() {
    mpi::Agreed written = wait();
    Status status;
    if (impl_->file && impl_->is_writable) status = impl_->file->sync();
    mpi::Agreed synced = mpi::agree(impl_->comm, status);
    return written.status.ok() ? synced : written;
}

mpi::Agreed Engine::close() {
    if (!impl_) return {};
    mpi::Agreed agreed = wait();
    impl_->counters = counters();
    report_at_close(impl_->comm, impl_->path, impl_->options, impl_->counters, impl_->timeline);
    impl_->pipeline.reset();
    impl_->direct_access.reset();
    Status status;
    if (impl_->file) status = impl_->file->close();
    mpi::Agreed closed = mpi::agree(impl_->comm, status);
    impl_->file.reset();
    impl_->buffer_window.free();
    impl_->control_window.free();
    impl_.reset();
    return agreed.status.ok() ? closed : agreed;
}

EngineCounters Engine::counters() const {
    EngineCounters counters = impl_->counters;
    if (impl_->pipeline) {
        counters.storage_bytes += impl_->pipeline->storage_bytes();
        counters.storage_s += impl_->pipeline->storage_s();
    }
    return counters;
}

const EngineOptions& Engine::options() const { return impl_->options; }

}  // namespace hakobi::io
