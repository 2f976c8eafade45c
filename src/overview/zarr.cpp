#include "overview/zarr.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/crc32c.hpp"

namespace hakobi::overview {

namespace {

constexpr std::string_view little = R"({"name":"bytes","configuration":{"endian":"little"}})";
constexpr std::string_view checksum = R"({"name":"crc32c"})";
constexpr std::string_view group = R"({"zarr_format":3,"node_type":"group","attributes":{}})";

void add_text(Container& container, std::string name, std::string_view text) {
    container.add(std::move(name), bytes_of(text));
}

std::string strings(const std::vector<std::string>& names) {
    std::string text = "[";
    for (const std::string& name : names) text += (text.size() > 1 ? "," : "") + json(name);
    return text + "]";
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

std::string array(const std::string& shape, const std::string& chunk, const std::string& type,
                  const std::string& codecs, const std::string& names, const std::string& attributes) {
    return R"({"zarr_format":3,"node_type":"array","shape":)" + shape + R"(,"data_type":")" + type +
           R"(","chunk_grid":{"name":"regular","configuration":{"chunk_shape":)" + chunk +
           R"(}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},)" +
           R"("fill_value":"NaN","codecs":)" + codecs + R"(,"dimension_names":)" + names +
           R"(,"attributes":)" + attributes + "}";
}

std::string list(std::initializer_list<std::string_view> entries) {
    std::string text = "[";
    for (const std::string_view entry : entries) text += (text.size() > 1 ? "," : "") + std::string(entry);
    return text + "]";
}

std::string value_type(const Surveyed& field) {
    return cell_type(field.field.type) == CellType::float64 ? "float64" : "float32";
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
    std::vector<std::byte> index(static_cast<std::size_t>(16 * level.num_bricks() + checksum_bytes));
    for (std::int64_t brick = 0; brick < level.num_bricks(); ++brick) {
        const std::array<std::int64_t, 2> place{brick * level.brick_bytes(), level.brick_bytes()};
        std::memcpy(index.data() + 16 * brick, place.data(), 16);
    }
    const std::uint32_t sum = crc32c(std::span(index).first(index.size() - checksum_bytes));
    std::memcpy(index.data() + index.size() - checksum_bytes, &sum, checksum_bytes);
    return index;
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
    std::vector<std::string> names, bricks;
    if (field.times.size() > 1) names.emplace_back("time");
    for (const Axis& axis : field.field.axes) {
        names.push_back(axis.values.empty() ? axis.name + "_" + std::to_string(axis.length) : axis.name);
    }
    for (const Level& level : field.levels) {
        Extents whole{};
        for (std::size_t d = 0; d < max_dims; ++d) whole[d] = level.grid[d] * level.brick[d];
        const std::string codec = R"({"name":"sharding_indexed","configuration":{"chunk_shape":)" +
                                  json_list(with_time(field, level.brick, 1)) + R"(,"codecs":)" +
                                  list({little, checksum}) + R"(,"index_codecs":)" +
                                  list({little, checksum}) + R"(,"index_location":"end"}})";
        const std::string attributes = R"({"scale_factor":)" + json(field.scaling.scale) +
                                       R"(,"add_offset":)" + json(field.scaling.offset) + R"(,"units":)" +
                                       json(field.field.units) + R"(,"long_name":)" +
                                       json(field.field.long_name) + "}";
        const std::string path = array_name(field.field.name, level.number);
        add_text(container, path + "/zarr.json",
                 array(json_list(with_time(field, level.shape, field.times.size())),
                       json_list(with_time(field, whole, 1)), "float16", list({codec}), strings(names),
                       attributes));
        const std::vector<std::int64_t> brick = extents(field, level.brick);
        bricks = names;
        for (std::size_t d = 0; d < brick.size(); ++d) {
            bricks[names.size() - brick.size() + d] += "_brick" + std::to_string(brick[d]);
        }
        for (const std::string_view kind : {"min/", "max/"}) {
            add_text(container, std::string(kind) + path + "/zarr.json",
                     array(json_list(with_time(field, level.grid, field.times.size())),
                           json_list(with_time(field, level.grid, 1)), value_type(field), list({little}),
                           strings(bricks), R"({"units":)" + json(field.field.units) + "}"));
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
    for (const std::string_view name : {"min", "max"}) {
        add_text(container, std::string(name) + "/zarr.json", group);
    }
    for (int number = 1; number <= most; ++number) {
        for (const std::string_view prefix : {"", "min/", "max/"}) {
            add_text(container, std::string(prefix) + std::to_string(1 << number) + "/zarr.json", group);
        }
        for (const Axis& axis : axes) {
            const std::size_t width = std::size_t{1} << static_cast<unsigned>(number);
            std::vector<double> means;
            for (std::size_t start = 0; start < axis.values.size(); start += width) {
                const std::size_t stop = std::min(start + width, axis.values.size());
                double sum = 0;
                for (std::size_t i = start; i < stop; ++i) sum += axis.values[i];
                means.push_back(sum / static_cast<double>(stop - start));
            }
            const std::string shape = "[" + std::to_string(means.size()) + "]";
            const std::string path = array_name(axis.name, number);
            add_text(container, path + "/zarr.json",
                     array(shape, shape, "float64", list({little}), strings({axis.name}),
                           R"({"units":)" + json(axis.units) + "}"));
            container.add(path + "/c/0", std::as_bytes(std::span(means)));
        }
    }
}

void write_root(Container& container, const std::string& source, const std::vector<Surveyed>& fields) {
    std::string told;
    for (const Surveyed& field : fields) {
        std::string times;
        for (const Surveyed::Time& time : field.times) {
            std::string places;
            for (std::size_t k = 0; k < field.levels.size(); ++k) {
                places += (k > 0 ? ",\"" : "\"") + std::to_string(field.levels[k].number) +
                          "\":" + std::to_string(time.shards[k].offset_bytes);
            }
            times += (times.empty() ? R"({"levels":{)" : R"(,{"levels":{)") + places + R"(},"statistics":)" +
                     time.statistics + "}";
        }
        told += (told.empty() ? "" : ",") + json(field.field.name) + R"(:{"shape":)" +
                json_list(extents(field, field.shape)) + R"(,"offset":)" + json(field.scaling.offset) +
                R"(,"scale":)" + json(field.scaling.scale) + R"(,"times":[)" + times + "]}";
    }
    const std::string title =
        "Means over 2, 4, 8, 16 cells a direction of a step's fields, and extremes a brick; see attribute "
        "hakobi.";
    add_text(container, "zarr.json",
             R"({"zarr_format":3,"node_type":"group","attributes":{"title":)" + json(title) +
                 R"(,"hakobi":{"format":1,"source":)" + source + R"(,"fields":{)" + told + "}}}}");
}

}  // namespace hakobi::overview
