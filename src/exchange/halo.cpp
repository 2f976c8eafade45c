// One exchange, for each rank:
//  1. start: post the receives; pack and send what goes by message; pack what is staged; then say "ready" to the ranks of
//     the node.
//  2. wait: copy within the rank, then look, again and again, for whatever can be done: a peer that is ready (copy from or
//     to its memory, and tell it), a message that has come (unpack), a peer that says it is done.
//  3. wait returns when all of that is done: node_channel.hpp says why nothing is then read or written by others.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <hakobi/halo.hpp>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "base/thread.hpp"
#include "exchange/field_layout.hpp"
#include "exchange/halo_plan.hpp"
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

/// How long to look before offering the core to others, about as long as a small exchange takes, and how often to offer it
/// before sleeping: a neighbour is late by microseconds or by a step of somebody else's. Nobody takes an offered core
/// where each rank has one; on a busy machine, or with more ranks than cores, the one that is waited for may need this one.
constexpr int spins_alone = 100, yields = 2000;

class Waiting {
  public:
    explicit Waiting(HaloPlan& plan)
        : plan_(plan),
          wait_(plan.comm,
                {.spins = plan.comm.node_size() > num_cores() ? 0 : spins_alone, .yields = yields}) {}

    /// After a look that found nothing. `bell` was read before it, and rings for this halo's neighbours alone.
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

struct HAKOBI_HIDDEN Halo::Impl final : mpi::UnderWay {
    std::unique_ptr<HaloPlan> plan;
    std::uint32_t number = 0;  // of the latest exchange
    bool is_started = false;   // and not yet waited for
    struct State {
        bool is_copied = true, is_released = true;
        int num_to_receive = 0, num_to_send = 0;  // messages
        [[nodiscard]] bool has_messages() const { return num_to_receive > 0 || num_to_send > 0; }
        [[nodiscard]] bool is_over() const { return is_copied && is_released && !has_messages(); }
    };
    std::vector<State> states;

    explicit Impl(std::unique_ptr<HaloPlan> made) : plan(std::move(made)), states(plan->peers.size()) {}
    ~Impl() {
        if (is_started) std::fprintf(stderr, "hakobi: a halo exchange in progress was not waited for\n");
        if (is_under_way()) use_fields(&exchange::remove_use);
        leave();
    }

    /// Collective: nanoseconds of an exchange on the slowest rank, among several one after the other: those after the
    /// first find the ranks as it has left them, no longer together, and messages in both directions may then have to
    /// wait for each other. The fastest of three tries, or of one where exchanges take long.
    std::int64_t measure() {
        constexpr std::int64_t long_ns = 25'000'000;
        std::int64_t fastest_ns = measure(2);
        for (int i = 0; i < 3 && fastest_ns < long_ns; ++i) fastest_ns = std::min(fastest_ns, measure(6));
        return fastest_ns;
    }
    std::int64_t measure(int num_exchanges) {
        const double began_s = now_s();
        for (int i = 0; i < num_exchanges; ++i) {
            start();
            wait();
        }
        auto time_ns = static_cast<std::int64_t>(1e9 * (now_s() - began_s));
        mpi::all_max(plan->comm, std::span(&time_ns, 1));
        return time_ns / num_exchanges;
    }

    void use_fields(void (*change)(std::int64_t)) const {
        for (const std::int64_t id : plan->shared_ids) change(id);
    }

    void start() {
        if (is_started) throw Error(ErrorCode::invalid_argument, "Halo::start: an exchange is in progress");
        is_started = true;
        use_fields(&exchange::add_use);
        ++number;
        for (const HaloPeer& peer : plan->peers) start_all(peer.receives);
        for (std::size_t i = 0; i < states.size(); ++i) {
            HaloPeer& peer = plan->peers[i];
            for (const Work& work : peer.pack) work();
            start_all(peer.sends);
            for (const Work& work : peer.stage) work();
            states[i] = {.is_copied = peer.copies.empty() && !peer.remote,
                         .is_released = !peer.waits_for_peer,
                         .num_to_receive = peer.receives.num,
                         .num_to_send = peer.sends.num};
        }
        enter();
        if (!plan->has_channel) return;
        plan->channel.set_ready(number);
        for (const HaloPeer& peer : plan->peers)
            if (peer.node_rank >= 0 && peer.rank != plan->comm.rank()) plan->channel.ring(peer.node_rank);
    }

    void start_all(const HaloPeer::Messages& messages) const {
        for (int i = 0; i < messages.num; ++i) plan->messages->start(messages.first + i);
    }

    /// What can be done for one peer now; whether it was anything.
    bool look_at(std::size_t i) {
        HaloPeer& peer = plan->peers[i];
        State& state = states[i];
        bool did = false;
        const bool is_self = peer.rank == plan->comm.rank();
        if (!state.is_copied && (is_self || plan->channel.is_ready(peer.node_rank, number))) {
            for (const Work& work : peer.copies) work();
            if (peer.remote && !run_remote(*peer.remote)) {
                mpi::end_program("halo exchange: the kernel no longer copies from rank " +
                                 std::to_string(peer.rank) + "'s memory");
            }
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
                if (--states[i].num_to_receive == 0)
                    for (const Work& work : peer.unpack) work();
            }
        }
        return !completed.empty();
    }

    [[nodiscard]] bool has_messages() const {
        return std::any_of(states.begin(), states.end(),
                           [](const State& state) { return state.has_messages(); });
    }

    Look look() override {
        bool did = has_messages() && look_at_messages(), is_over = true;
        for (std::size_t i = 0; i < states.size(); ++i) {
            if (states[i].is_over()) continue;
            did = look_at(i) || did;
            is_over = is_over && states[i].is_over();
        }
        if (is_over) use_fields(&exchange::remove_use);
        return is_over ? Look::over : did ? Look::moved : Look::nothing;
    }

    void wait() {
        if (!is_started) throw Error(ErrorCode::invalid_argument, "Halo::wait: no exchange is in progress");
        Waiting waiting(*plan);
        for (;;) {
            const std::uint32_t bell = plan->has_channel ? plan->channel.bell() : 0;
            const bool did = look_at_all();
            if (!is_under_way()) break;
            if (did) continue;
            waiting.pause(bell, has_messages(), is_alone());
            if (waiting.is_too_long()) name_who_is_late();
        }
        is_started = false;
    }

    [[noreturn]] void name_who_is_late() const {
        int rank = -1;
        for (std::size_t i = 0; i < states.size(); ++i)
            if (!states[i].is_over()) rank = plan->peers[i].rank;
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

namespace {

/// This rank's ghosts, put aside for as long as trial exchanges fill them.
class SavedGhosts {
  public:
    explicit SavedGhosts(const HaloPlan& plan) {
        for (const HaloField& field : plan.fields) layouts_.push_back(exchange::layout_of(field));
        for (const auto& transfer : plan.geometry.received_by(plan.comm.rank()))
            ghosts_.push_back(transfer.ghost);
        for (std::size_t f = 0; f < layouts_.size(); ++f)
            data_.push_back(static_cast<std::byte*>(plan.fields[f].data));
        num_dims_ = plan.geometry.num_dims();
        std::int64_t bytes = 0;
        each([&](std::size_t f, const exchange::Box& box, std::int64_t) {
            bytes += exchange::bytes_of(layouts_[f], box, num_dims_);
        });
        bytes_.resize(static_cast<std::size_t>(bytes));
        each([&](std::size_t f, const exchange::Box& box, std::int64_t at) {
            run(exchange::copy_to_packed(layouts_[f], box, num_dims_, order_of(layouts_[f], num_dims_), at),
                data_[f], bytes_.data());
        });
    }
    void restore() {
        each([&](std::size_t f, const exchange::Box& box, std::int64_t at) {
            run(exchange::copy_from_packed(layouts_[f], box, num_dims_, order_of(layouts_[f], num_dims_), at),
                bytes_.data(), data_[f]);
        });
    }

  private:
    template <class Visit>
    void each(Visit visit) {
        std::int64_t at = 0;
        for (std::size_t f = 0; f < layouts_.size(); ++f) {
            for (const exchange::Box& box : ghosts_) {
                visit(f, box, at);
                at += exchange::bytes_of(layouts_[f], box, num_dims_);
            }
        }
    }
    std::vector<exchange::FieldLayout> layouts_;
    std::vector<exchange::Box> ghosts_;
    std::vector<std::byte*> data_;
    std::vector<std::byte> bytes_;
    std::size_t num_dims_ = 0;
};

/// Collective: whether some rank reaches its neighbours otherwise than in each of the plans that were measured.
bool is_new(const Comm& comm, const std::vector<exchange::Path>& paths,
            const std::vector<std::vector<exchange::Path>>& measured) {
    std::vector<std::int64_t> differs;
    for (const auto& others : measured) differs.push_back(paths == others ? 0 : 1);
    mpi::all_max(comm, differs);
    return std::find(differs.begin(), differs.end(), 0) == differs.end();
}

}  // namespace

Halo Halo::plan(const Comm& comm, const HaloGrid& grid, std::span<const HaloField> fields,
                const HaloOptions& options) {
    auto best = std::make_unique<Impl>(HaloPlan::make(comm, grid, fields, options));
    std::int64_t num_choosers = best->plan->has_choice() ? 1 : 0;
    mpi::all_max(comm, std::span(&num_choosers, 1));
    if (num_choosers == 0) return Halo(std::move(best));
    using exchange::Path;
    std::vector<exchange::HaloChoice> others{
        {Path::cma, Path::parts}, {Path::packed, Path::packed}, {Path::datatype, Path::datatype}};
    if (comm.num_nodes() > 1) {
        others.push_back({Path::staged, Path::packed});
        others.push_back({Path::staged, Path::datatype});
    }
    std::optional<SavedGhosts> ghosts;
    mpi::agree_or_throw(comm, guarded("Halo::plan", [&] { ghosts.emplace(*best->plan); }));
    std::string measured = "measured:";
    const auto time_of = [&](Impl& impl, const exchange::HaloChoice& choice) {
        const std::int64_t time_ns = impl.measure();
        char text[96];
        std::snprintf(text, sizeof text, " %s/%s %.1f us", std::string(to_string(choice.on_node)).c_str(),
                      std::string(to_string(choice.by_message)).c_str(), static_cast<double>(time_ns) / 1e3);
        measured += text;
        return time_ns;
    };
    std::vector<std::vector<Path>> measured_paths{best->plan->paths()};
    std::int64_t best_ns = time_of(*best, {});
    for (const exchange::HaloChoice& choice : others) {
        auto other = std::make_unique<Impl>(HaloPlan::make(comm, grid, fields, options, choice));
        if (!is_new(comm, other->plan->paths(), measured_paths)) continue;
        measured_paths.push_back(other->plan->paths());
        const std::int64_t time_ns = time_of(*other, choice);
        // Between nodes whole messages wait for each other or not, as chance has it; parts never do.
        const bool is_chancy = comm.num_nodes() > 1 && choice.by_message != Path::parts;
        if (time_ns >= (is_chancy ? best_ns / 10 * 9 : best_ns)) continue;
        best_ns = time_ns;
        best = std::move(other);
    }
    ghosts->restore();
    best->plan->measured = measured + " (on the node/between nodes)\n";
    return Halo(std::move(best));
}

void Halo::start() {
    impl_->start();
}
void Halo::wait() {
    impl_->wait();
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
    return text + plan.measured;
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

namespace {

// What does not exist stays larger than any memory: Halo::plan refuses it, on all ranks alike.
constexpr std::int64_t no_memory_bytes = std::numeric_limits<std::int64_t>::max();

std::int64_t product(std::int64_t a, std::int64_t b) {
    return checked_multiply(a, b).value_or(no_memory_bytes);
}

std::int64_t length_of(const HaloGrid& grid, std::size_t d) {
    if (d >= grid.ghosts.size()) return grid.extents[d];
    const auto own = checked_add(grid.extents[d], grid.ghosts[d].low);
    return own ? checked_add(*own, grid.ghosts[d].high).value_or(no_memory_bytes) : no_memory_bytes;
}

}  // namespace

HaloField HaloField::dense(void* array, const HaloGrid& grid, std::int64_t element_bytes,
                           std::int64_t num_components, Components components) {
    const std::size_t num_dims = grid.extents.size();
    HaloField field{.element_bytes = element_bytes,
                    .strides_bytes = std::vector<std::int64_t>(num_dims),
                    .num_components = num_components,
                    .component_stride_bytes = element_bytes};
    std::int64_t bytes =
        components == Components::last ? product(element_bytes, num_components) : element_bytes;
    std::int64_t offset = 0;
    for (std::size_t d = num_dims; d-- > 0;) {
        field.strides_bytes[d] = bytes;
        const std::int64_t low = d < grid.ghosts.size() ? grid.ghosts[d].low : 0;
        offset = checked_add(offset, product(low, bytes)).value_or(no_memory_bytes);
        bytes = product(bytes, length_of(grid, d));
    }
    if (components == Components::first) field.component_stride_bytes = bytes;
    const bool is_there = array != nullptr && offset >= 0 && offset < no_memory_bytes;
    field.data = is_there ? static_cast<std::byte*>(array) + offset : array;
    return field;
}

std::int64_t HaloField::dense_bytes(const HaloGrid& grid, std::int64_t element_bytes,
                                    std::int64_t num_components) {
    std::int64_t bytes = product(element_bytes, num_components);
    for (std::size_t d = 0; d < grid.extents.size(); ++d) bytes = product(bytes, length_of(grid, d));
    return bytes;
}

}  // namespace hakobi
