#include "exchange/halo_geometry.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>

#include "base/checked.hpp"

namespace hakobi::exchange {
namespace {

Status invalid(const std::string& text) {
    return {ErrorCode::invalid_argument, "Halo::plan: " + text};
}

std::string list_of(std::span<const int> values) {
    std::string text;
    for (const int value : values) text += (text.empty() ? "" : " x ") + std::to_string(value);
    return text;
}

/// Whether the field's size and reach are less than 2^48 bytes, more than systems give a process: what passed
/// here may be multiplied and added up without a check.
bool fits_memory(const HaloGrid& grid, const HaloField& field) {
    constexpr std::int64_t most = std::int64_t{1} << 48;
    std::optional<std::int64_t> size = checked_multiply(field.element_bytes, field.num_components);
    std::optional<std::int64_t> reach = size;
    const auto add = [&](std::optional<std::int64_t> num, std::int64_t stride) {
        size = size && num ? checked_multiply(*size, *num) : std::nullopt;
        if (stride == std::numeric_limits<std::int64_t>::min()) stride += 1;
        const auto length = num ? checked_multiply(*num, std::abs(stride)) : std::nullopt;
        reach = reach && length ? checked_add(*reach, *length) : std::nullopt;
    };
    add(field.num_components, field.component_stride_bytes);
    for (std::size_t d = 0; d < grid.extents.size(); ++d) {
        const auto own = checked_add(std::max<std::int64_t>(grid.extents[d], 1), grid.ghosts[d].low);
        add(own ? checked_add(*own, grid.ghosts[d].high) : std::nullopt, field.strides_bytes[d]);
    }
    return size && reach && *size < most && *reach < most;
}

}  // namespace

std::int64_t Box::num_elements(std::size_t num_dims) const {
    std::int64_t num = 1;
    for (std::size_t d = 0; d < num_dims; ++d) num *= count[d];
    return num;
}

std::vector<HaloGeometry::Direction> HaloGeometry::directions() const {
    std::vector<Direction> all{Direction{}};
    for (std::size_t d = 0; d < num_dims(); ++d) {
        std::vector<Direction> next;
        for (const Direction& direction : all) {
            for (int step = -1; step <= 1; ++step) {
                if (step < 0 && ghosts[d].low == 0) continue;
                if (step > 0 && ghosts[d].high == 0) continue;
                next.push_back(direction);
                next.back()[d] = step;
            }
        }
        all = std::move(next);
    }
    std::erase_if(all, [&](const Direction& direction) {
        const auto num_steps =
            std::count_if(direction.begin(), direction.end(), [](int s) { return s != 0; });
        return num_steps == 0 || (!corners && num_steps > 1);
    });
    // Faces first: where the bytes are.
    std::stable_sort(all.begin(), all.end(), [](const Direction& a, const Direction& b) {
        return std::count(a.begin(), a.end(), 0) > std::count(b.begin(), b.end(), 0);
    });
    return all;
}

HaloGeometry::Direction HaloGeometry::position_of(int rank) const {
    Direction position{};
    for (std::size_t d = num_dims(); d-- > 0;) {
        position[d] = rank % ranks[d];
        rank /= ranks[d];
    }
    return position;
}

int HaloGeometry::neighbour_of(int rank, const Direction& direction, int sign) const {
    const Direction position = position_of(rank);
    int neighbour = 0;
    for (std::size_t d = 0; d < num_dims(); ++d) {
        int at = position[d] + sign * direction[d];
        if (at < 0 || at >= ranks[d]) {
            if (!is_periodic[d]) return -1;
            at = (at + ranks[d]) % ranks[d];
        }
        neighbour = neighbour * ranks[d] + at;
    }
    return neighbour;
}

Transfer HaloGeometry::transfer(int sender, int receiver, const Direction& direction) const {
    const auto& theirs = extents[static_cast<std::size_t>(sender)];
    const auto& mine = extents[static_cast<std::size_t>(receiver)];
    Transfer result;
    for (std::size_t d = 0; d < num_dims(); ++d) {
        if (direction[d] < 0) {
            result.own.start[d] = theirs[d] - ghosts[d].low;
            result.ghost.start[d] = -ghosts[d].low;
            result.own.count[d] = ghosts[d].low;
        } else if (direction[d] > 0) {
            result.own.start[d] = 0;
            result.ghost.start[d] = mine[d];
            result.own.count[d] = ghosts[d].high;
        } else {
            result.own.count[d] = mine[d];
        }
        result.ghost.count[d] = result.own.count[d];
    }
    return result;
}

std::vector<Transfer> HaloGeometry::received_by(int rank) const {
    std::vector<Transfer> result;
    for (const Direction& direction : directions()) {
        const int sender = neighbour_of(rank, direction, 1);
        if (sender < 0) continue;
        result.push_back(transfer(sender, rank, direction));
        result.back().peer = sender;
    }
    return result;
}

std::vector<Transfer> HaloGeometry::sent_by(int rank) const {
    std::vector<Transfer> result;
    for (const Direction& direction : directions()) {
        const int receiver = neighbour_of(rank, direction, -1);
        if (receiver < 0) continue;
        result.push_back(transfer(rank, receiver, direction));
        result.back().peer = receiver;
    }
    return result;
}

Status HaloGeometry::check() const {
    for (std::size_t r = 0; r < extents.size(); ++r) {
        const Direction position = position_of(static_cast<int>(r));
        for (std::size_t d = 0; d < num_dims(); ++d) {
            const auto named = [&] {
                return "rank " + std::to_string(r) + " has " + std::to_string(extents[r][d]) +
                       " elements in dimension " + std::to_string(d);
            };
            // The first rank with this place in the dimension.
            std::size_t first = static_cast<std::size_t>(position[d]);
            for (std::size_t e = d + 1; e < num_dims(); ++e) first *= static_cast<std::size_t>(ranks[e]);
            if (extents[r][d] != extents[first][d]) {
                return invalid(named() + ", rank " + std::to_string(first) + " beside it " +
                               std::to_string(extents[first][d]));
            }
            const std::int64_t most = std::max(ghosts[d].low, ghosts[d].high);
            if (extents[r][d] < std::max<std::int64_t>(most, 1)) {
                return invalid(named() + ", fewer than the " +
                               std::to_string(std::max<std::int64_t>(most, 1)) + " that its neighbours need");
            }
        }
    }
    return {};
}

Status check_arguments(const HaloGrid& grid, std::span<const HaloField> fields, int num_ranks) {
    const std::size_t num_dims = grid.extents.size();
    if (num_dims < 1 || num_dims > most_halo_dims) {
        return invalid("the grid has " + std::to_string(num_dims) + " dimensions, not 1 to 5");
    }
    if (grid.ghosts.size() != num_dims || grid.ranks.size() != num_dims ||
        (!grid.is_periodic.empty() && grid.is_periodic.size() != num_dims)) {
        return invalid("ghosts, ranks and is_periodic need one entry for each of " +
                       std::to_string(num_dims) + " dimensions");
    }
    std::int64_t num_places = 1;
    for (std::size_t d = 0; d < num_dims; ++d) {
        if (grid.extents[d] < 0 || grid.ghosts[d].low < 0 || grid.ghosts[d].high < 0) {
            return invalid("extents and ghosts are not negative (dimension " + std::to_string(d) + ")");
        }
        if (grid.ranks[d] < 1) return invalid("a grid of " + list_of(grid.ranks) + " ranks");
        num_places *= grid.ranks[d];
        if (num_places > std::numeric_limits<int>::max()) break;
    }
    if (num_places != num_ranks) {
        return invalid("a grid of " + list_of(grid.ranks) + " ranks on a communicator of " +
                       std::to_string(num_ranks));
    }
    if (fields.empty()) return invalid("no field");
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const HaloField& field = fields[f];
        const std::string named = "field " + std::to_string(f);
        if (field.data == nullptr) return invalid(named + " has no data");
        if (field.element_bytes < 1 || field.num_components < 1) {
            return invalid(named + " needs at least one byte an element and one component");
        }
        if (field.strides_bytes.size() != num_dims) {
            return invalid(named + " needs one stride for each of " + std::to_string(num_dims) +
                           " dimensions");
        }
        if (!fits_memory(grid, field))
            return invalid(named + " with its ghosts is larger than any memory, or its strides are");
    }
    return {};
}

}  // namespace hakobi::exchange
