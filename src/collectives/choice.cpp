#include "collectives/choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hakobi::collectives {
namespace {

using Exchange = Stage::Exchange;

/// A dimension of the network being crossed, and how.
struct Line {
    NetworkShape::Wiring wiring = NetworkShape::Wiring::nodes;
    NetworkCosts costs;
    Dimension dimension;
    int num_lanes = 1;
};

/// Links that a message of a stage goes along, on average, and at most.
struct Hops {
    double average = 1, most = 1;
};

Hops hops_of(const Line& line, const Stage& stage) {
    if (line.wiring != NetworkShape::Wiring::torus || stage.exchange != Exchange::direct) return {};
    const int step = stage.stride / line.dimension.stride, extent = line.dimension.extent;
    double total = 0;
    int most = 1;
    for (int digit = 1; digit < stage.radix; ++digit) {
        const int distance = digit * step % extent;
        const int links = std::min(distance, extent - distance);
        total += links;
        most = std::max(most, links);
    }
    return {total / (stage.radix - 1), static_cast<double>(most)};
}

/// Seconds of one stage in which a rank sends `bytes` to each other one of its group.
double stage_s(const Line& line, const Stage& stage, double bytes) {
    const NetworkCosts& costs = line.costs;
    const double messages = stage.radix - 1;
    const double overhead_s = messages * line.num_lanes * 2 * costs.overhead_s;
    const double moving_s = messages * bytes / costs.bandwidth_bytes_s;
    if (stage.exchange != Exchange::direct) return messages * costs.latency_s + overhead_s + moving_s;
    const Hops hops = hops_of(line, stage);
    // On a torus traffic in both directions shares the hops; a crossbar has none to share.
    const double crowding =
        line.wiring == NetworkShape::Wiring::torus ? std::max(1.0, hops.average / 2) : 1.0;
    return costs.latency_s * hops.most + overhead_s + moving_s * crowding;
}

/// How much a rank sends to each of the group in a stage, and holds after it, for each way to use one.
struct Volume {
    double held_bytes = 0;
    enum class Kind { whole, parts, blocks, growing } kind = Kind::whole;

    [[nodiscard]] double sent_bytes(int radix) const {
        return kind == Kind::parts || kind == Kind::blocks ? held_bytes / radix : held_bytes;
    }
    void pass(int radix) {
        if (kind == Kind::parts) held_bytes /= radix;
        if (kind == Kind::growing) held_bytes *= radix;
    }
};

struct Stages {
    Route route;
    double seconds = std::numeric_limits<double>::infinity();
};

/// Every way to take what is left of an extent, its fastest in `best`.
void try_factors(const Line& line, int left, int stride, Volume volume, Stages so_far, Stages& best) {
    if (so_far.seconds >= best.seconds) return;
    if (left == 1) {
        best = std::move(so_far);
        return;
    }
    for (int radix = left; radix >= 2; --radix) {
        if (left % radix != 0) continue;
        const Stage stage{stride, radix, Exchange::direct};
        Stages next = so_far;
        next.seconds += stage_s(line, stage, volume.sent_bytes(radix));
        next.route.push_back(stage);
        Volume after = volume;
        after.pass(radix);
        try_factors(line, left / radix, stride * radix, after, std::move(next), best);
    }
}

Stages best_stages(const Line& line, Volume volume, Exchange ring) {
    Stages best;
    try_factors(line, line.dimension.extent, line.dimension.stride, volume, {{}, 0}, best);
    const bool can_ring = line.wiring == NetworkShape::Wiring::torus && volume.kind != Volume::Kind::whole &&
                          volume.kind != Volume::Kind::blocks && line.dimension.extent > 2;
    if (can_ring) {
        const Stage stage{line.dimension.stride, line.dimension.extent, ring};
        const double seconds = stage_s(line, stage, volume.sent_bytes(stage.radix));
        if (seconds < best.seconds) best = {{stage}, seconds};
    }
    return best;
}

/// One lane's route through the dimensions, the cheapest in each as it comes.
Stages make_route(const Line& network, const std::vector<Dimension>& order, Volume volume, Exchange ring) {
    Stages lane{{}, 0};
    Line line = network;
    for (const Dimension& dimension : order) {
        line.dimension = dimension;
        const Stages stages = best_stages(line, volume, ring);
        for (const Stage& stage : stages.route) {
            lane.route.push_back(stage);
            volume.pass(stage.radix);
        }
        lane.seconds += stages.seconds;
    }
    return lane;
}

Choice make_choice(Line network, const std::vector<Dimension>& dimensions, Work work, bool is_whole,
                   int num_lanes) {
    const bool is_block = work.operation == Operation::alltoall || work.operation == Operation::allgather;
    Choice choice{{.routes = {}, .is_whole = is_whole && !is_block}, 0};
    network.num_lanes = num_lanes;
    double num_ranks = 1;
    for (const Dimension& dimension : dimensions) num_ranks *= dimension.extent;
    const double lane_bytes = static_cast<double>(work.bytes) / num_lanes;
    for (int lane = 0; lane < num_lanes; ++lane) {
        std::vector<Dimension> order = dimensions;
        if (work.operation == Operation::allgather) std::reverse(order.begin(), order.end());
        if (!order.empty()) std::rotate(order.begin(), order.begin() + lane % std::ssize(order), order.end());
        Volume volume{lane_bytes, Volume::Kind::whole};
        if (work.operation == Operation::alltoall) volume = {lane_bytes * num_ranks, Volume::Kind::blocks};
        if (work.operation == Operation::allgather) volume.kind = Volume::Kind::growing;
        if (!is_block && !is_whole) volume.kind = Volume::Kind::parts;
        const bool is_up = lane < std::ssize(dimensions);
        Stages route = make_route(network, order, volume, is_up ? Exchange::ring_up : Exchange::ring_down);
        // Parts are scattered, then gathered the same way.
        const double ways = volume.kind == Volume::Kind::parts ? 2 : 1;
        choice.model_s = std::max(choice.model_s, ways * route.seconds);
        choice.form.routes.push_back(std::move(route.route));
    }
    return choice;
}

}  // namespace

std::vector<Dimension> dimensions_of(const NetworkShape& shape) {
    std::vector<Dimension> dimensions;
    int stride = 1;
    for (std::size_t i = shape.extents.size(); i-- > 0;) {
        if (shape.extents[i] > 1) dimensions.push_back({stride, shape.extents[i]});
        stride *= shape.extents[i];
    }
    std::reverse(dimensions.begin(), dimensions.end());
    return dimensions;
}

std::vector<Choice> choices(const NetworkShape& shape, const NetworkCosts& costs, Work work) {
    const std::vector<Dimension> dimensions = dimensions_of(shape);
    const Line network{shape.wiring, costs, {}, 1};
    const int directions = shape.wiring == NetworkShape::Wiring::torus ? 2 : 1;
    const int most_lanes = std::max(1, static_cast<int>(dimensions.size()) * directions);
    const bool has_whole = work.operation == Operation::allreduce || work.operation == Operation::broadcast;
    std::vector<Choice> found;
    for (const int num_lanes : {1, most_lanes}) {
        if (has_whole) found.push_back(make_choice(network, dimensions, work, true, num_lanes));
        found.push_back(make_choice(network, dimensions, work, false, num_lanes));
        if (most_lanes == 1) break;
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Choice& a, const Choice& b) { return a.model_s < b.model_s; });
    return found;
}

}  // namespace hakobi::collectives
