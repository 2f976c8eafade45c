#include "format/vtkhdf/growing.hpp"

#include <hakobi/version.h>
#include <algorithm>
#include <bit>
#include <map>

#include "format/calendar.hpp"
#include "format/hdf5/builder.hpp"
#include "format/hdf5/growing.hpp"
#include "format/hdf5/reading.hpp"
#include "format/hdf5/stored_attributes.hpp"
#include "format/mesh_arrays.hpp"
#include "format/vtkhdf/grid_builder.hpp"
#include "format/vtkhdf/reader.hpp"

namespace hakobi::format {
namespace {

constexpr std::int64_t no_alignment = 1, no_block = 0;

/// The offsets of an array in the group Steps: step s begins with element s * stride.
struct Offsets {
    std::string group;  ///< within Steps; "": Steps itself
    std::string name;
    std::int64_t stride = 0;
    int num_dims = 1;  ///< 2: the second one is of length 1
};

class GrowingVtk final : public GrowingHdf5 {
  public:
    /// Takes over what the file has; `found` is what it says of itself. Throws Hdf5Failure where that is not
    /// what steps like `next` would have made.
    void resume(hid_t file, const FoundStep& found, const StepDescription& next) {
        GrowingHdf5::resume(file, next, num_steps_of(found));
        take_fields([&](const FieldDescription& field) {
            return open_dataset(file, Groups::path_of(field.place) + field.name);
        });
        make_scalars();
        const auto take = [&](Scalars& scalars, const std::string& name) {
            const Handle dataset = open_dataset(file, "/VTKHDF/Steps/" + name);
            scalars.offset_bytes = take_chunks(dataset, scalars.chunk, nullptr, scalars.tree);
        };
        take(scalars_[0], "Values");
        for (const Offsets& each : offsets_) {
            if (each.stride == 0) continue;
            Scalars& scalars = scalars_[of_sequence_.at({each.stride, each.num_dims})];
            if (scalars.offset_bytes == 0)
                take(scalars, (each.group.empty() ? "" : each.group + "/") + each.name);
        }
    }

  protected:
    [[nodiscard]] std::vector<hsize_t> chunk_of(const FieldDescription& field,
                                                std::vector<std::int64_t> shape) const override {
        if (field.global.empty()) return {1};
        return {shape.begin(), shape.end()};
    }
    [[nodiscard]] std::vector<std::uint64_t> start_of(const FieldDescription& field,
                                                      std::int64_t step_in_file,
                                                      std::vector<std::int64_t> start) const override {
        if (field.global.empty()) return {static_cast<std::uint64_t>(step_in_file)};
        start[0] += step_in_file * field.global[0];
        return {start.begin(), start.end()};
    }
    [[nodiscard]] std::vector<std::uint64_t> scalars_of(const StepDescription& step) override {
        if (scalars_.empty()) make_scalars();
        std::vector<std::uint64_t> values(scalars_.size());
        values[0] = std::bit_cast<std::uint64_t>(step.time);
        for (const auto& [sequence, number] : of_sequence_)
            values[number] = static_cast<std::uint64_t>(num_steps() * sequence.first);
        return values;
    }

    void build(SparseImage& image, Placement& placement) override {
        GridBuilder builder(image, no_alignment, no_block, &placement);
        const Groups groups = create_groups(builder, first_, {2, 0});
        put_int(builder.file(), steps_mark, 1);
        for (std::size_t f = 0; f < first_.fields.size(); ++f) create_field(builder, groups, f, placement);
        create_steps(builder, groups, placement);
        builder.close();
    }

  private:
    /// The rows of a step in an array of the mesh; 0 where it is stored once.
    [[nodiscard]] std::int64_t rows_of(std::string_view name) const {
        const auto at = std::ranges::find(first_.fields, name, &FieldDescription::name);
        return at == first_.fields.end() || at->is_static ? 0 : at->global[0];
    }

    /// 2.
    void make_scalars() {
        offsets_ = {{"", "PartOffsets", rows_of(number_of_points), 1},
                    {"", "PointOffsets", rows_of(points_array), 1},
                    {"", "CellOffsets", rows_of(types_array), 2},
                    {"", "ConnectivityIdOffsets", rows_of(connectivity_array), 2}};
        // VTK's reader takes no time from Values where there is one step.
        offsets_.push_back({"FieldDataOffsets", std::string(time_name), 1, 1});
        for (const FieldDescription& field : first_.fields) {
            if (field.place == Place::mesh) continue;
            const std::int64_t rows = field.global.empty() ? 1 : field.global[0];
            offsets_.push_back({field.place == Place::points  ? "PointDataOffsets"
                                : field.place == Place::cells ? "CellDataOffsets"
                                                              : "FieldDataOffsets",
                                field.name, field.is_static ? 0 : rows, 1});
        }
        scalars_.resize(1);
        for (const Offsets& each : offsets_) {
            if (each.stride == 0 || of_sequence_.contains({each.stride, each.num_dims})) continue;
            of_sequence_[{each.stride, each.num_dims}] = scalars_.size();
            Scalars& scalars = scalars_.emplace_back();
            if (each.num_dims == 1) continue;
            scalars.chunk.push_back(1);
            scalars.tree = ChunkTree({scalars_in_chunk, 1});
        }
    }

    void create_field(GridBuilder& builder, const Groups& groups, std::size_t f, Placement& placement) {
        const FieldDescription& field = first_.fields[f];
        const Array& array = arrays_[f];
        const hid_t group = groups.of(field.place);
        if (!field.file.empty()) return link_array(groups, field);
        std::vector<std::int64_t> extents =
            field.global.empty() ? std::vector<std::int64_t>{1} : field.global;
        if (!field.is_static) extents[0] *= num_steps();
        if (array.chunk.empty()) {
            if (field.size_bytes() > 0) placement.expect(field.size_bytes(), array.offset_bytes);
            return describe_array(builder.create_array(group, field.name, field.type, extents), field);
        }
        const hid_t dataset = builder.create_in_chunks(group, field.name, field.type, extents, array.chunk);
        describe_array(dataset, field);
        give_chunks(dataset, array.tree, placement);
    }

    void create_steps(GridBuilder& builder, const Groups& groups, Placement& placement) {
        const hid_t steps = builder.create_group(groups.grid, "Steps");
        put_int(steps, "NSteps", static_cast<int>(num_steps()));
        const hid_t times =
            builder.create_in_chunks(steps, "Values", ValueType::float64, {num_steps()}, scalars_[0].chunk);
        describe_times(times, first_);
        give_chunks(times, scalars_[0].tree, placement);
        give_name(times, groups.field_data, std::string(time_name));
        (void)builder.create_constant(steps, "NumberOfParts", {num_steps()}, num_parts());
        std::map<std::string, hid_t> in = {{"", steps}};
        for (const char* name : {"PointDataOffsets", "CellDataOffsets", "FieldDataOffsets", "FieldDataSizes"})
            in[name] = builder.create_group(steps, name);
        std::map<std::pair<std::int64_t, int>, hid_t> made;  // 3
        hid_t sizes = -1;
        for (const Offsets& each : offsets_) {
            const auto at = made.find({each.stride, each.num_dims});
            if (at != made.end()) {
                give_name(at->second, in.at(each.group), each.name);
            } else {
                made[{each.stride, each.num_dims}] =
                    create_offsets(builder, in.at(each.group), each, placement);
            }
            if (each.group != "FieldDataOffsets") continue;
            if (sizes >= 0) {
                give_name(sizes, in.at("FieldDataSizes"), each.name);
            } else {
                sizes = builder.create_constant(in.at("FieldDataSizes"), each.name, {num_steps(), 2}, 1);
            }
        }
    }

    [[nodiscard]] hid_t create_offsets(GridBuilder& builder, hid_t where, const Offsets& offsets,
                                       Placement& placement) {
        std::vector<std::int64_t> extents = {num_steps()};
        if (offsets.num_dims == 2) extents.push_back(1);
        if (offsets.stride == 0) return builder.create_constant(where, offsets.name, extents, 0);
        const Scalars& scalars = scalars_[of_sequence_.at({offsets.stride, offsets.num_dims})];
        const hid_t dataset =
            builder.create_in_chunks(where, offsets.name, ValueType::int64, extents, scalars.chunk);
        give_chunks(dataset, scalars.tree, placement);
        return dataset;
    }

    static void give_name(hid_t dataset, hid_t where, const std::string& name) {
        check(H5Olink(dataset, where, name.c_str(), H5P_DEFAULT, H5P_DEFAULT), "H5Olink");
    }

    [[nodiscard]] std::int64_t num_parts() const {
        const auto at = std::ranges::find(first_.fields, number_of_points, &FieldDescription::name);
        return at == first_.fields.end() ? 0 : at->global[0];
    }

    std::vector<Offsets> offsets_;
    std::map<std::pair<std::int64_t, int>, std::size_t>
        of_sequence_;  // by stride and dimensions: of scalars_
};

/// Says in words what keeps a file with the description `found` from going on with steps like `next`; ""
/// where nothing does.
std::string vtk_difference(const StepDescription& next, const FoundStep& found) {
    Attributes global = next.attributes;
    global["title"] = next.title;
    global.try_emplace("source", "hakobi " HAKOBI_VERSION);
    if (const std::string name = differing(global, found.attributes); !name.empty())
        return "its attribute " + name + " differs";
    if (found.fields.size() != next.fields.size())
        return "it has " + std::to_string(found.fields.size()) + " arrays";
    if (found.time_units != next.time_units || found.calendar != calendar_of(next.time_units, next.calendar))
        return "its times have other units";
    for (const FieldDescription& field : next.fields) {
        const auto at = std::ranges::find_if(found.fields, [&](const FoundField& one) {
            const Place place = one.is_of_mesh ? Place::mesh : static_cast<Place>(one.shown.on);
            return one.shown.name == field.name && place == field.place;
        });
        if (at == found.fields.end()) return "it has no array " + field.name;
        if (at->type != field.type || at->shown.shape != field.global ||
            at->shown.is_static != field.is_static || at->file != field.file)
            return "its array " + field.name + " differs";
        Attributes stored = stored_attributes(field);
        stored.erase("_FillValue");  // netCDF's, and not in these files
        if (const std::string name = differing(stored, at->shown.attributes); !name.empty())
            return "the attribute " + name + " of its array " + field.name + " differs";
    }
    return {};
}

class GrowingVtkFormat final : public GrowingFormat {
  public:
    [[nodiscard]] std::unique_ptr<GrowingFile> begin_file() const override {
        return std::make_unique<GrowingVtk>();
    }
    [[nodiscard]] Result<std::unique_ptr<GrowingFile>> resume_file(
        const std::string& path, const StepDescription& next) const override {
        return resume_growing<GrowingVtk>(path, "VTKHDF", read_vtkhdf(path, Links::followed), next,
                                          vtk_difference);
    }
};

}  // namespace

const GrowingFormat& growing_vtkhdf() {
    static const GrowingVtkFormat growing;
    return growing;
}

}  // namespace hakobi::format
