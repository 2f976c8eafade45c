#include "series/step_overview.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <variant>

#include "base/descriptor.hpp"
#include "base/guard.hpp"
#include "format/dimensions.hpp"
#include "overview/overview.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"

namespace hakobi::series {

namespace {

/// The bytes reduced at once; a few times as much is held.
constexpr std::int64_t most_bytes = 32 << 20;
/// Longer axes have no coordinates in an overview, as for who looks at the step.
constexpr std::int64_t most_coordinates = 1 << 20;

/// By CF: what lies in the file is not what is meant, or not all of it.
bool means_others(const format::FieldDescription& field) {
    return std::ranges::any_of(std::array{"scale_factor", "add_offset", "missing_value"},
                               [&](const char* name) { return field.attributes.contains(name); });
}

std::vector<overview::Field> fields_of(const Step& step, const format::Dimensions& dimensions) {
    std::vector<overview::Field> fields;
    for (std::size_t f = 0; f < step.description.fields.size(); ++f) {
        const format::FieldDescription& field = step.description.fields[f];
        const auto& chunks = step.layout.chunk_offsets_bytes;
        if (f < chunks.size() && !chunks[f].empty()) continue;
        if (means_others(field)) continue;
        if (field.global.size() < 2 || field.global.size() > 3 || field.num_elements() == 0) continue;
        fields.push_back({.name = field.name,
                          .units = field.units,
                          .long_name = field.long_name,
                          .type = field.type,
                          .axes = {},
                          .offset_bytes = step.layout.offsets_bytes[f]});
        if (field.fill_value) {
            fields.back().fill =
                std::visit([](auto value) { return static_cast<double>(value); }, *field.fill_value);
        }
        for (const int number : dimensions.of_field[f]) {
            const format::Dimension& dimension = dimensions.all[static_cast<std::size_t>(number)];
            overview::Axis axis{
                .name = dimension.name, .units = {}, .length = dimension.length, .values = {}};
            if (dimension.axis >= 0 && dimension.length <= most_coordinates) {
                const Axis& given = step.description.axes[static_cast<std::size_t>(dimension.axis)];
                axis.units = given.units;
                if (std::ranges::all_of(given.values, [](double x) { return std::isfinite(x); })) {
                    axis.values = given.values;
                }
            }
            fields.back().axes.push_back(std::move(axis));
        }
    }
    return fields;
}

}  // namespace

Status write_overview(const Step& step, const std::string& source_path, bool sync) {
    Result<format::Dimensions> dimensions = format::dimensions_of(step.description);
    if (!dimensions.ok()) return dimensions.status();
    std::vector<overview::Field> fields = fields_of(step, dimensions.value());
    if (fields.empty()) return {};
    const std::string source = step.place->system_name(source_path);
    const std::string final = step.place->system_name(step.path) + std::string(overview::suffix);
    const std::string path = part_path(final, token(step.run, step.number));
    const Descriptor from(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
    if (from.get() < 0) return status_of_errno(errno, "cannot read", source);
    Descriptor to(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (to.get() < 0) return status_of_errno(errno, "cannot make", path);
    Discarding discarding(path);
    const std::string name = file_name(step.path);
    Status status = overview::make_overview(from.get(), name, std::move(fields), to.get(), most_bytes);
    if (!status.ok()) return {status.code(), path + ": " + status.text()};
    if (sync && ::fsync(to.get()) != 0) return status_of_errno(errno, "cannot sync", path);
    if (const int error = to.close(); error != 0) return status_of_errno(error, "cannot close", path);
    if (std::rename(path.c_str(), final.c_str()) != 0) return status_of_errno(errno, "cannot rename", path);
    discarding.keep();
    return {};
}

}  // namespace hakobi::series
