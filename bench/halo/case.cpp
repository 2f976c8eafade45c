#include "case.hpp"

#include <algorithm>

namespace hakobi::bench {
namespace {

constexpr double untouched = -1;

std::vector<int> place_of(const HaloCase& made, int rank) {
    std::vector<int> place(made.num_dims());
    for (std::size_t d = made.num_dims(); d-- > 0;) {
        place[d] = rank % made.ranks[d];
        rank /= made.ranks[d];
    }
    return place;
}

/// The rank `step` away in each dimension, -1 beyond an edge.
int neighbour(const HaloCase& made, int rank, const std::vector<int>& step, int sign) {
    const std::vector<int> place = place_of(made, rank);
    int result = 0;
    for (std::size_t d = 0; d < made.num_dims(); ++d) {
        int at = place[d] + sign * step[d];
        if (at < 0 || at >= made.ranks[d]) {
            if (!made.is_periodic) return -1;
            at = (at + made.ranks[d]) % made.ranks[d];
        }
        result = result * made.ranks[d] + at;
    }
    return result;
}

GhostWidths ghosts(const HaloCase& made, std::size_t d) {
    if (static_cast<int>(d) >= made.num_directions) return {};
    return {made.ghost, made.is_both_ways ? made.ghost : 0};
}

Direction direction(const HaloCase& made, int rank, const std::vector<int>& step,
                    const std::vector<GhostWidths>& beside) {
    Direction result;
    result.from = neighbour(made, rank, step, 1);
    result.to = neighbour(made, rank, step, -1);
    const std::vector<int> whole = made.sizes();
    result.own = result.ghost = {std::vector<int>(whole.size(), 0), whole};
    for (std::size_t d = 0; d < made.num_dims(); ++d) {
        const std::size_t m = made.memory_dim(d);
        const auto low = static_cast<int>(ghosts(made, d).low), high = static_cast<int>(ghosts(made, d).high);
        const auto n = static_cast<int>(made.extent);
        auto& [own_starts, own_sizes] = result.own;
        auto& [ghost_starts, ghost_sizes] = result.ghost;
        if (step[d] < 0) {
            own_sizes[m] = ghost_sizes[m] = low;
            own_starts[m] = n;  // the last `low` of low + n
            ghost_starts[m] = 0;
        } else if (step[d] > 0) {
            own_sizes[m] = ghost_sizes[m] = high;
            own_starts[m] = low;
            ghost_starts[m] = low + n;
        } else {
            own_sizes[m] = ghost_sizes[m] = n + static_cast<int>(beside[d].low + beside[d].high);
            own_starts[m] = ghost_starts[m] = low - static_cast<int>(beside[d].low);
        }
    }
    return result;
}

/// Calls `visit(offset, place, component, number of dimensions in which the place is a ghost)` for each
/// value.
template <class Visit>
void each_value(const HaloCase& made, int rank, Visit visit) {
    const std::vector<int> place = place_of(made, rank);
    const std::vector<int> sizes = made.sizes();
    std::vector<std::int64_t> strides(sizes.size(), 1), at(made.num_dims());
    for (std::size_t m = sizes.size() - 1; m-- > 0;) strides[m] = strides[m + 1] * sizes[m + 1];
    const auto go = [&](const auto& self, std::size_t d, std::int64_t offset, int num_outside) -> void {
        if (d == at.size()) {
            for (std::int64_t c = 0; c < made.num_components; ++c)
                visit(offset + c * strides[made.component_dim()], at, c, num_outside);
            return;
        }
        const GhostWidths width = ghosts(made, d);
        for (std::int64_t i = 0; i < made.extent + width.low + width.high; ++i) {
            const bool is_outside = i < width.low || i >= width.low + made.extent;
            at[d] = place[d] * made.extent + i - width.low;
            self(self, d + 1, offset + i * strides[made.memory_dim(d)], num_outside + (is_outside ? 1 : 0));
        }
    };
    go(go, 0, 0, 0);
}

double value_at(const std::vector<std::int64_t>& at, std::int64_t component, int round) {
    std::int64_t value = component + 1;
    for (const std::int64_t a : at) value = value * 1021 + a;
    return static_cast<double>(value * 16 + round % 16);
}

}  // namespace

HaloGrid HaloCase::grid() const {
    HaloGrid made{.extents = std::vector<std::int64_t>(num_dims(), extent),
                  .ghosts = {},
                  .ranks = ranks,
                  .is_periodic = std::vector<bool>(num_dims(), is_periodic)};
    for (std::size_t d = 0; d < num_dims(); ++d) made.ghosts.push_back(ghosts(*this, d));
    return made;
}

std::vector<int> HaloCase::sizes() const {
    std::vector<int> result(num_dims() + 1);
    result[component_dim()] = static_cast<int>(num_components);
    for (std::size_t d = 0; d < num_dims(); ++d) {
        const GhostWidths width = ghosts(*this, d);
        result[memory_dim(d)] = static_cast<int>(extent + width.low + width.high);
    }
    return result;
}

std::int64_t HaloCase::num_values() const {
    std::int64_t num = 1;
    for (const int size : sizes()) num *= size;
    return num;
}

std::string HaloCase::text() const {
    std::string grid;
    for (const int num : ranks) {
        if (!grid.empty()) grid += 'x';
        grid += std::to_string(num);
    }
    return std::to_string(extent) + "^" + std::to_string(num_dims()) + " x " +
           std::to_string(num_components) + " doubles, components " + (components_first ? "first" : "last") +
           ", " + std::to_string(ghost) + " ghost" + (ghost == 1 ? "" : "s") + ", ranks " + grid +
           (is_periodic ? " periodic" : "") + ", " + std::to_string(num_directions) +
           (num_directions == 1 ? " direction " : " directions ") + (is_both_ways ? "both ways" : "one way") +
           (corners ? ", corners" : ", faces only");
}

std::int64_t Subarray::num_values() const {
    std::int64_t num = 1;
    for (const int size : sizes) num *= size;
    return num;
}

std::vector<Direction> directions_of(const HaloCase& made, int rank) {
    std::vector<Direction> result;
    std::vector<int> step(made.num_dims(), -1);
    for (bool is_last = false; !is_last;) {
        int num_steps = 0;
        bool is_wanted = true;
        for (std::size_t d = 0; d < step.size(); ++d) {
            num_steps += step[d] != 0;
            if (step[d] < 0 && ghosts(made, d).low == 0) is_wanted = false;
            if (step[d] > 0 && ghosts(made, d).high == 0) is_wanted = false;
        }
        if (is_wanted && num_steps > 0 && (made.corners || num_steps == 1))
            result.push_back(direction(made, rank, step, std::vector<GhostWidths>(step.size())));
        std::size_t d = step.size();
        while (d > 0 && step[d - 1] == 1) step[--d] = -1;
        is_last = d == 0;
        if (!is_last) ++step[d - 1];
    }
    return result;
}

std::vector<std::vector<Direction>> phases_of(const HaloCase& made, int rank) {
    std::vector<std::vector<Direction>> result;
    std::vector<GhostWidths> beside(made.num_dims());
    for (std::size_t d = 0; d < made.num_dims(); ++d) {
        result.emplace_back();
        for (const int sign : {-1, 1}) {
            if ((sign < 0 ? ghosts(made, d).low : ghosts(made, d).high) == 0) continue;
            std::vector<int> step(made.num_dims(), 0);
            step[d] = sign;
            result.back().push_back(direction(made, rank, step, beside));
        }
        if (made.corners) beside[d] = ghosts(made, d);
    }
    return result;
}

void fill(const HaloCase& made, int rank, int round, double* values) {
    std::fill_n(values, made.num_values(), untouched);
    each_value(made, rank, [&](std::int64_t offset, const auto& at, std::int64_t component, int num_outside) {
        if (num_outside == 0) values[offset] = value_at(at, component, round);
    });
}

std::int64_t count_wrong(const HaloCase& made, int rank, int round, const double* values) {
    std::int64_t num_wrong = 0;
    std::vector<std::int64_t> wrapped(made.num_dims());
    each_value(made, rank, [&](std::int64_t offset, const auto& at, std::int64_t component, int num_outside) {
        bool is_filled = num_outside <= 1 || made.corners;
        for (std::size_t d = 0; d < at.size(); ++d) {
            const std::int64_t global = made.extent * made.ranks[d];
            if ((at[d] < 0 || at[d] >= global) && !made.is_periodic) is_filled = false;
            wrapped[d] = (at[d] + global) % global;
        }
        num_wrong += values[offset] != (is_filled ? value_at(wrapped, component, round) : untouched);
    });
    return num_wrong;
}

}  // namespace hakobi::bench
