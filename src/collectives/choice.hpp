#pragma once

#include <cstdint>
#include <hakobi/collectives.hpp>
#include <hakobi/network_shape.hpp>
#include <vector>

#include "collectives/schedule.hpp"

namespace hakobi::collectives {

enum class Operation : std::uint8_t { allreduce, alltoall, allgather, broadcast };

/// The data that an operation moves: `bytes` is the vector of allreduce and broadcast, and one rank's block
/// of the others.
struct Work {
    Operation operation = Operation::allreduce;
    std::int64_t bytes = 0;
};

/// The dimensions of a shape that has its extents, as strides of rank and extents; those of extent 1 are left
/// out.
struct Dimension {
    int stride = 1, extent = 1;
};
[[nodiscard]] std::vector<Dimension> dimensions_of(const NetworkShape& shape);

/// A form and the seconds that the model below expects of it.
struct Choice {
    Form form;
    double model_s = 0;
};

/// The forms worth trying, cheapest by the model first; pure, so equal arguments give equal forms on every
/// rank.
///
/// The model: an exchange in which a rank sends `m` messages of `b` bytes along a line takes
///     latency + m * num_lanes * overhead + m * b * crowding / bandwidth
/// since the lanes use different links, but one processor. `crowding` is 1 in a crossbar; on a torus a
/// message that goes `h` links takes the room of `h`. A dimension is taken in the stages (factors of its
/// extent, or a ring on a torus) whose sum is least, given how much data a lane has there; lanes rotate the
/// dimensions.
[[nodiscard]] std::vector<Choice> choices(const NetworkShape& shape, const NetworkCosts& costs, Work work);

}  // namespace hakobi::collectives
