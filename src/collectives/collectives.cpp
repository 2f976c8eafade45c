#include <algorithm>
#include <array>
#include <bit>
#include <hakobi/collectives.hpp>
#include <hakobi/error.hpp>
#include <utility>

#include "base/checked.hpp"
#include "collectives/choice.hpp"
#include "collectives/plan_state.hpp"
#include "collectives/reduce.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"

namespace hakobi {
namespace {

using collectives::Operation;

constexpr std::string_view methods[] = {"auto", "model", "mpi"};
constexpr int tags_a_plan = 16;  // lanes: at most two for each of eight dimensions

/// Tells apart what ranks must give alike: a fingerprint (FNV-1a) of texts and numbers.
class Fingerprint {
  public:
    void add(std::string_view text) {
        for (const char byte : text) mix(static_cast<unsigned char>(byte));
        mix(0xff);
    }
    void add(std::int64_t number) {
        for (int shift = 0; shift < 64; shift += 8) mix(static_cast<std::uint64_t>(number) >> shift & 0xff);
    }
    void add(double number) { add(std::bit_cast<std::int64_t>(number)); }
    [[nodiscard]] std::int64_t value() const { return static_cast<std::int64_t>(value_ >> 1); }

  private:
    void mix(std::uint64_t byte) { value_ = (value_ ^ byte) * 1099511628211u; }
    std::uint64_t value_ = 14695981039346656037u;
};

struct Named {
    std::string_view name;
    std::int64_t value;
};

/// Collective: throws, alike on all ranks, where a rank has an error or the ranks' values differ.
void agree_on(const Comm& comm, Status local, std::string_view call, std::span<const Named> values) {
    mpi::agree_or_throw(comm, local);
    std::vector<std::int64_t> extremes;
    for (const Named& named : values) extremes.insert(extremes.end(), {named.value, -named.value});
    mpi::all_max(comm, extremes);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::int64_t highest = extremes[2 * i], lowest = -extremes[2 * i + 1];
        if (highest == lowest) continue;
        const std::string name(values[i].name);
        const bool is_number = name != "options" && name != "operation";
        throw Error(ErrorCode::invalid_argument,
                    std::string(call) + ": " + name + " differs between ranks" +
                        (is_number ? ": " + std::to_string(lowest) + " to " + std::to_string(highest) : ""));
    }
}

Status status_of_options(const CollectivesOptions& options, int num_ranks, std::int64_t num_declared) {
    const auto refuse = [](std::string text) {
        return Status(ErrorCode::invalid_argument, "Collectives::create: " + std::move(text));
    };
    if (std::find(std::begin(methods), std::end(methods), options.method) == std::end(methods))
        return refuse("method '" + options.method + "' is none of auto, model, mpi");
    if (options.is_reproducible && options.method == "mpi")
        return refuse("the MPI library's own sums are not reproducible: method is auto or model");
    const NetworkCosts& costs = options.costs;
    if (!(costs.latency_s >= 0) || !(costs.overhead_s >= 0) || !(costs.bandwidth_bytes_s > 0))
        return refuse("costs are seconds of 0 or more and a bandwidth above 0");
    for (const int extent : options.shape.extents) {
        if (extent < 1) return refuse("an extent of the shape is not positive");
    }
    if (options.shape.extents.size() > tags_a_plan / 2)
        return refuse("the shape has more than " + std::to_string(tags_a_plan / 2) + " dimensions");
    if (options.shape.wiring != NetworkShape::Wiring::nodes && num_declared != num_ranks)
        return refuse("topology " + options.shape.to_string() + " has " + std::to_string(num_declared) +
                      " nodes for " + std::to_string(num_ranks) + " ranks");
    return {};
}

/// One switch for all nodes: two dimensions, nodes and the ranks on them, where every node has as many and
/// they follow each other; else one.
NetworkShape shape_of_nodes(const Comm& comm) {
    NetworkShape shape{.wiring = NetworkShape::Wiring::nodes};
    const auto& nodes = comm.state().nodes.ranks;
    const int each = static_cast<int>(nodes.front().size());
    bool is_even = true;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        const int first = static_cast<int>(node) * each;
        is_even = is_even && std::ssize(nodes[node]) == each && nodes[node].front() == first &&
                  nodes[node].back() == first + each - 1;
    }
    if (is_even) {
        shape.extents = {static_cast<int>(nodes.size()), each};
    } else {
        shape.extents = {comm.size()};
    }
    return shape;
}

}  // namespace

struct HAKOBI_HIDDEN Collectives::State {
    Comm comm;
    CollectivesOptions options;
    mpi::MessageContext context;
    int num_plans = 0;
    std::shared_ptr<collectives::Turn::All> turns = std::make_shared<collectives::Turn::All>();
};

Collectives Collectives::create(const Comm& comm, const CollectivesOptions& options) {
    const Status local = status_of_options(options, comm.size(), options.shape.num_nodes());
    Fingerprint print;
    print.add(options.shape.to_string());
    print.add(options.method);
    print.add(std::int64_t{options.is_reproducible});
    for (const double cost :
         {options.costs.latency_s, options.costs.overhead_s, options.costs.bandwidth_bytes_s})
        print.add(cost);
    const std::array<Named, 1> values{{{"options", print.value()}}};
    agree_on(comm, local, "Collectives::create", values);
    Collectives result;
    result.state_ = std::make_shared<State>();
    State& state = *result.state_;
    state.comm = comm;
    state.options = options;
    if (options.shape.wiring == NetworkShape::Wiring::nodes) state.options.shape = shape_of_nodes(comm);
    state.context = mpi::MessageContext::duplicate(comm);
    return result;
}

namespace {

/// Whether every sum and product of sizes in a plan stays below 2^63: a schedule holds a few times what the
/// caller lends, once for each rank at most.
bool can_be_planned(const collectives::Request& request, int num_ranks) {
    const bool is_elements = request.operation == Operation::allreduce;
    const auto bytes = checked_multiply(request.count, is_elements ? size_of(request.type) : 1);
    const auto of_all = bytes ? checked_multiply(*bytes, num_ranks) : std::nullopt;
    const auto held = of_all ? checked_multiply(*of_all, 16) : std::nullopt;
    return held && checked_multiply(*held, num_ranks);
}

CollectivePlan plan(Comm comm, const CollectivesOptions& options, mpi::MessageContext context,
                    const std::shared_ptr<collectives::Turn::All>& turns, int plan_number,
                    const collectives::Request& request, std::string_view call) {
    const auto refuse = [&](std::string text) {
        return Status(ErrorCode::invalid_argument, std::string(call) + ": " + std::move(text));
    };
    Status local;
    if (request.count < 0) local = refuse("a size is negative: " + std::to_string(request.count));
    if (!collectives::is_defined(request.type, request.reduction))
        local.keep_first(refuse("no such type of elements, or no such reduction of them"));
    if (request.root < 0 || request.root >= comm.size())
        local.keep_first(refuse("root " + std::to_string(request.root) + " is no rank of the communicator"));
    if (local.ok() && !can_be_planned(request, comm.size()))
        local = Status(ErrorCode::out_of_memory,
                       std::string(call) + ": no memory holds a size of " + std::to_string(request.count));
    const std::array<Named, 6> values{{{"operation", static_cast<std::int64_t>(request.operation)},
                                       {"type", static_cast<std::int64_t>(request.type)},
                                       {"reduction", static_cast<std::int64_t>(request.reduction)},
                                       {"size", request.count},
                                       {"root", request.root},
                                       {"number of plans before", plan_number}}};
    agree_on(comm, local, call, values);
    auto state = std::make_shared<CollectivePlan::State>();
    state->comm = comm;
    state->context = context;
    state->request = request;
    state->turn = collectives::Turn(turns);
    state->tag = plan_number % (context.highest_tag() / tags_a_plan) * tags_a_plan;
    collectives::choose(*state, options);
    return CollectivePlan(std::move(state));
}

}  // namespace

CollectivePlan Collectives::allreduce(ElementType type, Reduction reduction, std::int64_t count) {
    State& state = *state_;
    return plan(state.comm, state.options, state.context, state.turns, state.num_plans++,
                {Operation::allreduce, type, reduction, count, 0}, "Collectives::allreduce");
}

CollectivePlan Collectives::alltoall(std::int64_t block_bytes) {
    State& state = *state_;
    return plan(state.comm, state.options, state.context, state.turns, state.num_plans++,
                {Operation::alltoall, {}, {}, block_bytes, 0}, "Collectives::alltoall");
}

CollectivePlan Collectives::allgather(std::int64_t block_bytes) {
    State& state = *state_;
    return plan(state.comm, state.options, state.context, state.turns, state.num_plans++,
                {Operation::allgather, {}, {}, block_bytes, 0}, "Collectives::allgather");
}

CollectivePlan Collectives::broadcast(std::int64_t bytes, int root) {
    State& state = *state_;
    return plan(state.comm, state.options, state.context, state.turns, state.num_plans++,
                {Operation::broadcast, {}, {}, bytes, root}, "Collectives::broadcast");
}

void Collectives::free() {
    if (!state_) return;
    state_->context.free();
    state_.reset();
}

const NetworkShape& Collectives::shape() const noexcept {
    return state_->options.shape;
}

}  // namespace hakobi
