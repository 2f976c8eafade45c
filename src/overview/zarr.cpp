#include "overview/zarr.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/zarr/metadata.hpp"

namespace hakobi::overview {

namespace {

using Json = nlohmann::ordered_json;
using format::zarr::ArrayMetadata;
using format::zarr::bytes_codec;

/// Texts are the step's: what is no UTF-8 in them is replaced.
void add_json(Container& container, const std::string& folder, const Json& document) {
    container.add(folder + "zarr.json",
                  bytes_of(document.dump(-1, ' ', true, Json::error_handler_t::replace)));
}

void add_group(Container& container, const std::string& folder, const Json& attributes = Json::object()) {
    add_json(container, folder, format::zarr::group_document(attributes));
}

void add_array(Container& container, const std::string& path, ArrayMetadata array) {
    array.separator = "/";
    add_json(container, path + "/", format::zarr::array_document(array));
}

/// Without the first direction of a field in 2-D.
std::vector<std::int64_t> extents(const Surveyed& field, const Extents& all) {
    return {all.begin() + (field.is_flat ? 1 : 0), all.end()};
}

/// The same behind the number of times, where there are several.
std::vector<std::int64_t> with_time(const Surveyed& field, const Extents& all, std::size_t num_times) {
    std::vector<std::int64_t> result = extents(field, all);
    if (field.times.size() > 1) result.insert(result.begin(), static_cast<std::int64_t>(num_times));
    return result;
}

std::string chunk_part(const Surveyed& field, std::size_t time) {
    return (field.times.size() > 1 ? "/c/" + std::to_string(time) : "/c") +
           (field.is_flat ? "/0/0" : "/0/0/0");
}

/// One value for each two a direction.
std::vector<double> merged(const std::vector<double>& values, Extents& grid, bool is_low) {
    Extents coarse{};
    for (std::size_t d = 0; d < max_dims; ++d) coarse[d] = (grid[d] + 1) / 2;
    std::vector<double> result(static_cast<std::size_t>(coarse[0] * coarse[1] * coarse[2]), std::nan(""));
    std::size_t at = 0;
    for (std::int64_t z = 0; z < grid[0]; ++z) {
        for (std::int64_t y = 0; y < grid[1]; ++y) {
            for (std::int64_t x = 0; x < grid[2]; ++x) {
                auto& to =
                    result[static_cast<std::size_t>(((z / 2) * coarse[1] + y / 2) * coarse[2] + x / 2)];
                const double value = values[at++];
                to = is_low ? std::fmin(to, value) : std::fmax(to, value);
            }
        }
    }
    grid = coarse;
    return result;
}

template <class Float>
std::vector<std::byte> as_bytes(const std::vector<double>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(Float));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto value = static_cast<Float>(values[i]);
        std::memcpy(bytes.data() + i * sizeof(Float), &value, sizeof(Float));
    }
    return bytes;
}

}  // namespace

std::string array_name(const std::string& name, int level) {
    constexpr std::string_view hex = "0123456789ABCDEF", kept = " ()[]+,=@_.-~";
    std::string safe;
    for (const char c : name) {  // without what Zarr or file systems give a meaning
        const auto byte = static_cast<unsigned char>(c);
        const bool is_word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (is_word || kept.find(c) != std::string_view::npos) {
            safe += c;
        } else {
            (safe += '%') += {hex[byte >> 4U], hex[byte & 15U]};
        }
    }
    if (safe.starts_with('.')) return std::to_string(1 << level) + "/%2E" + safe.substr(1);
    if (const std::size_t at = safe.find("__"); at != std::string::npos) safe.replace(at, 2, "_%5F");
    return std::to_string(1 << level) + "/" + safe;
}

std::string shard_name(const Surveyed& field, int level, std::size_t time) {
    return array_name(field.field.name, level) + chunk_part(field, time);
}

std::vector<std::byte> shard_index(const Level& level) {
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(level.num_bricks())), lengths = offsets;
    for (std::size_t brick = 0; brick < offsets.size(); ++brick) {
        offsets[brick] = static_cast<std::int64_t>(brick) * level.brick_bytes();
        lengths[brick] = level.brick_bytes();
    }
    return format::zarr::shard_index(offsets, lengths);
}

void write_extremes(Container& container, const Surveyed& field, std::size_t time) {
    for (const bool is_low : {true, false}) {
        std::vector<double> values = is_low ? field.times[time].low : field.times[time].high;
        Extents grid = field.levels.front().grid;
        for (const Level& level : field.levels) {
            while (grid != level.grid) values = merged(values, grid, is_low);
            const std::string path =
                std::string(is_low ? "min/" : "max/") + shard_name(field, level.number, time);
            container.add(path, cell_type(field.field.type) == CellType::float64 ? as_bytes<double>(values)
                                                                                 : as_bytes<float>(values));
        }
    }
}

void write_metadata(Container& container, const Surveyed& field) {
    const bool is_wide = cell_type(field.field.type) == CellType::float64;
    std::vector<std::string> names, bricks;
    if (field.times.size() > 1) names.emplace_back("time");
    for (const Axis& axis : field.field.axes) {
        names.push_back(axis.values.empty() ? axis.name + "_" + std::to_string(axis.length) : axis.name);
    }
    for (const Level& level : field.levels) {
        Extents whole{};
        for (std::size_t d = 0; d < max_dims; ++d) whole[d] = level.grid[d] * level.brick[d];
        const std::string path = array_name(field.field.name, level.number);
        const Json codecs = Json::array({bytes_codec(sizeof(std::uint16_t)), format::zarr::checksum_codec()});
        add_array(
            container, path,
            {.shape = with_time(field, level.shape, field.times.size()),
             .chunk = with_time(field, whole, 1),
             .type = "float16",
             .codecs = Json::array({format::zarr::sharding_codec(with_time(field, level.brick, 1), codecs)}),
             .dims = names,
             .attributes = {{"scale_factor", field.scaling.scale},
                            {"add_offset", field.scaling.offset},
                            {"units", field.field.units},
                            {"long_name", field.field.long_name}}});
        const std::vector<std::int64_t> brick = extents(field, level.brick);
        bricks = names;
        for (std::size_t d = 0; d < brick.size(); ++d) {
            bricks[names.size() - brick.size() + d] += "_brick" + std::to_string(brick[d]);
        }
        for (const std::string_view kind : {"min/", "max/"}) {
            add_array(container, std::string(kind) + path,
                      {.shape = with_time(field, level.grid, field.times.size()),
                       .chunk = with_time(field, level.grid, 1),
                       .type = is_wide ? "float64" : "float32",
                       .codecs = Json::array({bytes_codec(is_wide ? 8 : 4)}),
                       .dims = bricks,
                       .attributes = {{"units", field.field.units}}});
        }
    }
}

void write_groups(Container& container, const std::vector<Surveyed>& fields) {
    std::vector<Axis> axes;
    int most = 0;
    for (const Surveyed& field : fields) {
        most = std::max(most, field.levels.back().number);
        for (const Axis& axis : field.field.axes) {
            if (!axis.values.empty() && std::ranges::find(axes, axis.name, &Axis::name) == axes.end()) {
                axes.push_back(axis);
            }
        }
    }
    for (const char* folder : {"min/", "max/"}) add_group(container, folder);
    for (int number = 1; number <= most; ++number) {
        for (const std::string prefix : {"", "min/", "max/"})
            add_group(container, prefix + std::to_string(1 << number) + "/");
        for (const Axis& axis : axes) {
            const std::size_t width = std::size_t{1} << static_cast<unsigned>(number);
            std::vector<double> means;
            for (std::size_t start = 0; start < axis.values.size(); start += width) {
                const std::size_t stop = std::min(start + width, axis.values.size());
                double sum = 0;
                for (std::size_t i = start; i < stop; ++i) sum += axis.values[i];
                means.push_back(sum / static_cast<double>(stop - start));
            }
            const std::string path = array_name(axis.name, number);
            add_array(container, path,
                      {.shape = {std::ssize(means)},
                       .chunk = {std::ssize(means)},
                       .type = "float64",
                       .codecs = Json::array({bytes_codec(sizeof(double))}),
                       .dims = {axis.name},
                       .attributes = {{"units", axis.units}}});
            container.add(path + "/c/0", std::as_bytes(std::span(means)));
        }
    }
}

void write_root(Container& container, const StepFile& source, const std::vector<Surveyed>& fields) {
    Json told = Json::object();
    for (const Surveyed& field : fields) {
        Json times = Json::array();
        for (const Surveyed::Time& time : field.times) {
            Json levels = Json::object();
            for (std::size_t k = 0; k < field.levels.size(); ++k)
                levels[std::to_string(field.levels[k].number)] = time.shards[k].offset_bytes;
            times.push_back({{"levels", levels}, {"statistics", Json::parse(time.statistics)}});
        }
        told[field.field.name] = {{"shape", extents(field, field.shape)},
                                  {"offset", field.scaling.offset},
                                  {"scale", field.scaling.scale},
                                  {"times", times}};
    }
    const Json of = {{"name", source.name},
                     {"num_bytes", source.num_bytes},
                     {"mtime_ns", source.mtime_ns},
                     {"content", source.content}};
    add_group(container, "",
              {{"title",
                "Means over 2, 4, 8, 16 cells a direction of a step's fields, and extremes a brick; see "
                "attribute hakobi."},
               {"hakobi", {{"format", 1}, {"source", of}, {"fields", told}}}});
}

}  // namespace hakobi::overview
