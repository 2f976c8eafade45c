// One exchange, for each rank whose fields are on the host:
//  1. start: post the receives; pack and send what goes by message; pack what is staged; then say "ready" to
//     the ranks of the node.
//  2. wait: copy within the rank, then look, again and again, for whatever can be done: a peer that is ready
//     (copy from or to its memory, and tell it), a message that has come (unpack), a peer that says it is
//     done.
//  3. wait returns when all of that is done: node_channel.hpp says why nothing is then read or written by
//     others.
//
// Where the fields are on a device, its two queues copy, and the host never waits for them: a mark behind
// copies is asked in each look whether they are done.
//  1. start: both queues begin after the caller's stream. The out queue gets what is staged, a mark, and for
//     each peer the packing of its message and a mark; the in queue gets the copies within the rank.
//  2. Each look, in wait and in every other wait of ours: a message is sent when the mark behind its packing
//     is over; "ready" is said when the one behind what is staged is over, which is behind the caller's
//     stream too: the peers' devices may read this rank's fields from then on. From a peer that is ready the
//     in queue copies, and that mark tells it "done". What a message brought the in queue unpacks.
//  3. wait(stream) returns when all messages have come and gone, all "done" of others and ours are said, and
//     the in queue has all copies; the stream is held back until they are over. The host thus waits for the
//     peers' devices as far as it waits for their data, and until they no longer read this rank's fields,
//     which the stream may then overwrite. A peer that has returned has said "done" before: nobody waits for
//     a rank that computes or waits for somebody else.
//  4. Copies to the ghosts may then still read the buffers of messages: the next exchange posts its receives
//     when the in queue's mark is over. wait() without a stream asks for that mark instead of holding a
//     stream back.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <hakobi/halo.hpp>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/classic_locale.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "base/thread.hpp"
#include "exchange/halo_plan.hpp"
#include "exchange/saved_ghosts.hpp"
#include "exchange/shared_array.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"
#include "mpi/under_way.hpp"
#include "mpi/wait.hpp"

namespace hakobi {
namespace {

using exchange::HaloPeer;
using exchange::HaloPlan;
using exchange::Work;

/// How long to look before offering the core to others, about as long as a small exchange takes, and how
/// often to offer it before sleeping: a neighbour is late by microseconds or by a step of somebody else's.
/// Nobody takes an offered core where each rank has one; on a busy machine, or with more ranks than cores,
/// the one that is waited for may need this one.
constexpr int spins_alone = 100, yields = 2000;

/// The bytes that a rank goes through before each exchange that is measured: twice the largest cache that
/// processors of today give a core of its own (2 MiB).
constexpr std::size_t bytes_between_exchanges = std::size_t{4} << 20;

class Waiting {
  public:
    explicit Waiting(HaloPlan& plan)
        : plan_(plan),
          wait_(plan.comm,
                {.spins = plan.comm.node_size() > num_cores() ? 0 : spins_alone, .yields = yields}) {}

    /// After a look that found nothing. `bell` was read before it, and rings for this halo's neighbours
    /// alone.
    void pause(std::uint32_t bell, bool has_messages, bool is_alone) {
        if (has_messages) {
            wait_.yield();  // messages move only while somebody looks
        } else if (is_alone) {
            plan_.channel.pause(wait_, bell);
        } else {
            (void)mpi::progress(plan_.comm);
            wait_.yield();
        }
    }
    [[nodiscard]] bool is_too_long() {
        if (plan_.timeout_s <= 0) return false;
        if (began_s_ == 0) began_s_ = now_s();
        return now_s() - began_s_ >= plan_.timeout_s;
    }

  private:
    HaloPlan& plan_;
    mpi::Wait wait_;
    double began_s_ = 0;
};

}  // namespace

using Way = exchange::HaloDevice::Way;

struct HAKOBI_HIDDEN Halo::Impl final : mpi::UnderWay {
    class Trials;
    std::unique_ptr<HaloPlan> plan;
    std::uint32_t number = 0;  // of the latest exchange
    bool is_started = false;   // and not yet waited for
    struct State {
        bool is_copied = true, is_released = true;
        int num_to_receive = 0, num_to_send = 0;  // messages
        // On a device: has given the copies; has started the sends.
        bool is_given = false, is_sent = false;
        mpi::DeviceMark packed = {}, copied = {};
        [[nodiscard]] bool has_messages() const { return num_to_receive > 0 || num_to_send > 0; }
        [[nodiscard]] bool is_over() const { return is_copied && is_released && !has_messages(); }
    };
    std::vector<State> states;
    std::string measured;  // for explain
    // On a device: has posted the receives; has said that it is ready.
    bool is_expecting = false, is_ready = false;
    mpi::DeviceMark staged, unpacked;  // what `ready` waits for; the exchange before

    explicit Impl(std::unique_ptr<HaloPlan> made) : plan(std::move(made)), states(plan->peers.size()) {}
    ~Impl() {
        if (is_started) std::fprintf(stderr, "hakobi: a halo exchange in progress was not waited for\n");
        if (is_under_way()) use_fields(&exchange::remove_use);
        leave();
    }

    /// Collective: nanoseconds of an exchange on the slowest rank, of `num` of them. Before each one the
    /// ranks go through `between`, as a program that computes goes through its memory: bytes that the last
    /// exchange has left in the caches are copied fastest by ways that are slower in a program (decision 67).
    /// On one node all begin together; between nodes they begin as the exchange before has left them, and
    /// messages in both directions may then have to wait for each other.
    std::int64_t measure(std::span<std::byte> between, int num) {
        double spent_s = 0;
        for (int i = 0; i < num; ++i) {
            std::ranges::fill(between, std::byte(i));
            if (plan->comm.num_nodes() == 1) node::NodeWindow::barrier(plan->comm);
            const double began_s = now_s();
            start(nullptr);
            wait();
            spent_s += now_s() - began_s;
        }
        auto time_ns = static_cast<std::int64_t>(1e9 * spent_s);
        mpi::all_max(plan->comm, std::span(&time_ns, 1));
        return time_ns / num;
    }

    void use_fields(void (*change)(std::int64_t)) const {
        for (const std::int64_t id : plan->shared_ids) change(id);
    }

    void start(DeviceStream stream) {
        if (is_started) throw Error(ErrorCode::invalid_argument, "Halo::start: an exchange is in progress");
        if (plan->device) plan->device->begin_after(stream).throw_if_error();
        is_started = true;
        use_fields(&exchange::add_use);
        ++number;
        for (std::size_t i = 0; i < states.size(); ++i) {
            const HaloPeer& peer = plan->peers[i];
            states[i] = {.is_copied = peer.copies.empty() && !peer.remote,
                         .is_released = !peer.waits_for_peer,
                         .num_to_receive = peer.receives.num,
                         .num_to_send = peer.sends.num};
        }
        plan->device ? begin_on_device(*plan->device) : begin_on_host();
        enter();
    }

    void begin_on_host() {
        for (const HaloPeer& peer : plan->peers) start_all(peer.receives);
        for (const HaloPeer& peer : plan->peers) {
            run(peer.pack);
            start_all(peer.sends);
            run(peer.stage);
        }
        tell_ready();
    }

    void begin_on_device(exchange::HaloDevice& device) {
        is_expecting = false;
        is_ready = !plan->has_channel;  // nobody waits for it
        for (const HaloPeer& peer : plan->peers) device.give(Way::out, *peer.prepared.stage);
        staged = device.mark(Way::out);
        for (std::size_t i = 0; i < states.size(); ++i) {
            const HaloPeer& peer = plan->peers[i];
            if (peer.sends.num > 0) {
                device.give(Way::out, *peer.prepared.pack);
                states[i].packed = device.mark(Way::out);
            }
            if (peer.rank != plan->comm.rank()) continue;
            device.give(Way::in, *peer.prepared.copies);
            states[i].is_copied = true;
        }
    }

    static void run(const std::vector<Work>& works) {
        for (const Work& work : works) work();
    }
    /// Copies to ghosts: now, or on the device's queue.
    void fill_ghosts(const std::vector<Work>& works,
                     const std::unique_ptr<device::CopyList>& prepared) const {
        if (plan->device) {
            plan->device->give(Way::in, *prepared);
        } else {
            run(works);
        }
    }

    void start_all(const HaloPeer::Messages& messages) const {
        for (int i = 0; i < messages.num; ++i) plan->messages->start(messages.first + i);
    }

    void tell_ready() {
        if (!plan->has_channel) return;
        plan->channel.set_ready(number);
        for (const HaloPeer& peer : plan->peers)
            if (peer.node_rank >= 0 && peer.rank != plan->comm.rank()) plan->channel.ring(peer.node_rank);
    }

    /// Starts what a device's marks allow; returns whether there was anything.
    bool look_at_marks() {
        bool did = false;
        if (!is_expecting && unpacked.is_over()) {
            for (const HaloPeer& peer : plan->peers) start_all(peer.receives);
            is_expecting = did = true;
        }
        if (!is_ready && staged.is_over()) {
            tell_ready();
            is_ready = did = true;
        }
        for (std::size_t i = 0; i < states.size(); ++i) {
            State& state = states[i];
            if (state.is_sent || !state.packed.is_over()) continue;
            start_all(plan->peers[i].sends);
            state.is_sent = did = true;
        }
        return did;
    }

    /// Does what is possible for one peer now; returns whether there was anything.
    bool look_at(std::size_t i) {
        const HaloPeer& peer = plan->peers[i];
        State& state = states[i];
        bool did = false;
        const bool is_self = peer.rank == plan->comm.rank();
        if (!state.is_copied && !state.is_given &&
            (is_self || plan->channel.is_ready(peer.node_rank, number))) {
            fill_ghosts(peer.copies, peer.prepared.copies);
            if (peer.remote && !run_remote(*peer.remote)) {
                mpi::end_program("halo exchange: the kernel no longer copies from rank " +
                                 std::to_string(peer.rank) + "'s memory");
            }
            if (plan->device) state.copied = plan->device->mark(Way::in);
            state.is_given = did = true;
        }
        if (!state.is_copied && state.is_given && state.copied.is_over()) {
            if (!is_self) {
                plan->channel.set_done(peer.node_rank, number);
                plan->channel.ring(peer.node_rank);
            }
            state.is_copied = did = true;
        }
        if (!state.is_released && plan->channel.is_done(peer.node_rank, number))
            state.is_released = did = true;
        return did;
    }

    bool look_at_messages() {
        const auto completed = plan->messages->test();
        for (const int message : completed) {
            for (std::size_t i = 0; i < states.size(); ++i) {
                const HaloPeer& peer = plan->peers[i];
                if (peer.sends.contains(message)) --states[i].num_to_send;
                if (!peer.receives.contains(message)) continue;
                if (--states[i].num_to_receive == 0) fill_ghosts(peer.unpack, peer.prepared.unpack);
            }
        }
        return !completed.empty();
    }

    [[nodiscard]] bool has_messages() const {
        return std::any_of(states.begin(), states.end(),
                           [](const State& state) { return state.has_messages(); });
    }

    Look look() override {
        bool did = plan->device && look_at_marks(), is_over = !plan->device || is_ready;
        did = (has_messages() && look_at_messages()) || did;
        for (std::size_t i = 0; i < states.size(); ++i) {
            if (states[i].is_over()) continue;
            did = look_at(i) || did;
            is_over = is_over && states[i].is_over();
        }
        if (is_over) use_fields(&exchange::remove_use);
        return is_over ? Look::over : did ? Look::moved : Look::nothing;
    }

    /// Until nothing is left to be done but what a device was given.
    void wait_until_given() {
        if (!is_started) throw Error(ErrorCode::invalid_argument, "Halo::wait: no exchange is in progress");
        Waiting waiting(*plan);
        for (;;) {
            const std::uint32_t bell = plan->has_channel ? plan->channel.bell() : 0;
            const bool did = look_at_all();
            if (!is_under_way()) break;
            if (did) continue;
            const bool is_device =
                plan->device != nullptr;  // its looks may call nothing of MPI, and nobody rings
            waiting.pause(bell, !is_device && has_messages(), !is_device && is_alone());
            if (waiting.is_too_long()) name_who_is_late();
        }
    }

    void wait() {
        wait_until_given();
        if (plan->device) {
            unpacked = plan->device->mark(Way::in);
            unpacked.wait(plan->comm, {.spins = spins_alone});
        }
        is_started = false;
    }

    void wait(DeviceStream stream) {
        wait_until_given();
        if (plan->device) {
            plan->device->hold_back(stream).throw_if_error();
            unpacked = plan->device->mark(Way::in);
        }
        is_started = false;
    }

    [[noreturn]] void name_who_is_late() const {
        int rank = -1;
        for (std::size_t i = 0; i < states.size(); ++i)
            if (!states[i].is_over()) rank = plan->peers[i].rank;
        const ClassicLocale classic;
        char text[128];
        std::snprintf(text, sizeof text, "halo exchange: rank %d has not come within %g s", rank,
                      plan->timeout_s);
        mpi::end_program(text);
    }
};

Halo::Halo(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Halo::Halo(Halo&&) noexcept = default;
Halo& Halo::operator=(Halo&&) noexcept = default;
Halo::~Halo() = default;

/// The ways that a plan may choose. The functions are collective but for `fastest`.
class Halo::Impl::Trials {
  public:
    explicit Trials(std::unique_ptr<Impl> first) : comm_(first->plan->comm) {
        candidates_.push_back({std::move(first), {}});
    }

    /// Unless all ranks reach their neighbours as in one that is there.
    void add(std::unique_ptr<Impl> other, const exchange::HaloChoice& choice) {
        std::vector<std::int64_t> differs;
        for (const Candidate& each : candidates_)
            differs.push_back(other->plan->paths() == each.impl->plan->paths() ? 0 : 1);
        mpi::all_max(comm_, differs);
        if (std::ranges::count(differs, 0) == 0) candidates_.push_back({std::move(other), choice});
    }

    /// The fastest round of each, in turns: what disturbs the machine for some milliseconds disturbs all
    /// alike. The first round is short, since buffers are touched in it; where exchanges take long it is the
    /// only one.
    void measure(std::span<std::byte> between) {
        constexpr std::int64_t long_ns = 25'000'000;
        for (const int num : {2, 4, 4, 4, 4, 4}) {
            for (Candidate& each : candidates_)
                if (each.time_ns == unknown_ns || each.time_ns < long_ns)
                    each.time_ns = std::min(each.time_ns, each.impl->measure(between, num));
        }
    }

    [[nodiscard]] std::unique_ptr<Impl> fastest() {
        Candidate* best = candidates_.data();
        std::string measured = "measured:";
        for (Candidate& each : candidates_) {
            measured += each.text();
            // Between nodes whole messages wait for each other or not, as chance has it; parts never do.
            const bool is_chancy = comm_.num_nodes() > 1 && each.choice.by_message != exchange::Path::parts;
            if (each.time_ns < (is_chancy ? best->time_ns / 10 * 9 : best->time_ns)) best = &each;
        }
        best->impl->measured = measured + " (on the node/between nodes)\n";
        return std::move(best->impl);
    }

  private:
    static constexpr std::int64_t unknown_ns = std::numeric_limits<std::int64_t>::max();
    struct Candidate {
        std::unique_ptr<Impl> impl;
        exchange::HaloChoice choice;
        std::int64_t time_ns = unknown_ns;

        [[nodiscard]] std::string text() const {
            const std::vector<exchange::Path> paths = impl->plan->paths();
            const bool is_aware = std::ranges::count(paths, exchange::Path::aware) > 0;
            const auto by_message = is_aware ? exchange::Path::aware : choice.by_message;
            const ClassicLocale classic;
            char text[96];
            std::snprintf(text, sizeof text, " %s/%s %.1f us", std::string(to_string(choice.on_node)).c_str(),
                          std::string(to_string(by_message)).c_str(), static_cast<double>(time_ns) / 1e3);
            return text;
        }
    };

    Comm comm_;
    std::vector<Candidate> candidates_;
};

Halo Halo::plan(const Comm& comm, const HaloGrid& grid, std::span<const HaloField> fields,
                const HaloOptions& options) {
    auto first = std::make_unique<Impl>(HaloPlan::make(comm, grid, fields, options));
    std::int64_t num_choosers = first->plan->has_choice() ? 1 : 0;
    mpi::all_max(comm, std::span(&num_choosers, 1));
    if (num_choosers == 0) return Halo(std::move(first));
    using exchange::Path;
    std::vector<exchange::HaloChoice> others{{Path::cma, Path::parts, false},
                                             {Path::packed, Path::packed, false},
                                             {Path::datatype, Path::datatype, false}};
    if (comm.num_nodes() > 1) {
        others.push_back({Path::staged, Path::packed, false});
        others.push_back({Path::staged, Path::datatype, false});
    }
    std::optional<exchange::SavedGhosts> ghosts;
    std::vector<std::byte> between;
    mpi::agree_or_throw(comm, guarded("Halo::plan", [&] {
                            ghosts.emplace(*first->plan);
                            if (!first->plan->device) between.resize(bytes_between_exchanges);
                        }));
    Impl::Trials trials(std::move(first));
    for (const exchange::HaloChoice& choice : others)
        trials.add(std::make_unique<Impl>(HaloPlan::make(comm, grid, fields, options, choice)), choice);
    trials.measure(between);
    ghosts->restore();
    return Halo(trials.fastest());
}

void Halo::start() {
    impl_->start(nullptr);
}
void Halo::wait() {
    impl_->wait();
}
void Halo::start(DeviceStream stream) {
    impl_->start(stream);
}
void Halo::wait(DeviceStream stream) {
    impl_->wait(stream);
}

std::string Halo::explain() const {
    const HaloPlan& plan = *impl_->plan;
    std::string text;
    for (const HaloPeer& peer : plan.peers) {
        char line[256];
        std::snprintf(line, sizeof line, "rank %d %s rank %d: %s in, %s out; %lld bytes in %lld pieces\n",
                      plan.comm.rank(), peer.rank == plan.comm.rank() ? "and itself," : "from", peer.rank,
                      std::string(to_string(peer.in)).c_str(), std::string(to_string(peer.out)).c_str(),
                      static_cast<long long>(peer.bytes_in), static_cast<long long>(peer.pieces_in));
        text += line;
    }
    return text + impl_->measured;
}

std::int64_t Halo::bytes() const noexcept {
    std::int64_t bytes = 0;
    for (const HaloPeer& peer : impl_->plan->peers) bytes += peer.bytes_in;
    return bytes;
}

std::int64_t Halo::bytes_from_others() const noexcept {
    std::int64_t bytes = 0;
    for (const HaloPeer& peer : impl_->plan->peers)
        if (peer.rank != impl_->plan->comm.rank()) bytes += peer.bytes_in;
    return bytes;
}

std::span<const std::string_view> v0::halo_paths() {
    return exchange::path_names();
}

}  // namespace hakobi
