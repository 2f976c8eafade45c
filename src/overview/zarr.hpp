#pragma once

#include <string>
#include <vector>

#include "overview/container.hpp"
#include "overview/overview.hpp"
#include "overview/pyramid.hpp"
#include "overview/statistics.hpp"

namespace hakobi::overview {

// The words of Zarr 3 for what an overview holds.

/// A field with what was found of it.
struct Surveyed {
    Field field;
    bool is_flat = false;
    Extents shape{};
    std::vector<Level> levels;
    Scaling scaling;
    struct Time {
        std::vector<Entry> shards;  ///< one a level
        std::vector<std::uint32_t> crcs;
        std::vector<double> low, high;  ///< one a brick of level 1
        std::string statistics;         ///< JSON
    };
    std::vector<Time> times;
};

/// The file that an overview is of.
struct StepFile {
    std::string name;
    std::int64_t num_bytes = 0, mtime_ns = 0;
    std::string content;  ///< its fingerprint
};

/// The path of an array at a level.
[[nodiscard]] std::string array_name(const std::string& name, int level);
[[nodiscard]] std::string shard_name(const Surveyed& field, int level, std::size_t time);
/// Offsets and lengths of a shard's bricks, with checksum.
[[nodiscard]] std::vector<std::byte> shard_index(const Level& level);
void write_extremes(Container& container, const Surveyed& field, std::size_t time);
void write_metadata(Container& container, const Surveyed& field);
/// A group a level with the coordinates of its cells: means of those of the step.
void write_groups(Container& container, const std::vector<Surveyed>& fields);
/// The last entry: whose overview it is, and where each shard lies.
void write_root(Container& container, const StepFile& source, const std::vector<Surveyed>& fields);

}  // namespace hakobi::overview
