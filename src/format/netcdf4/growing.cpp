#include "format/netcdf4/growing.hpp"

#include <hdf5_hl.h>

#include <hakobi/version.h>
#include <algorithm>
#include <bit>
#include <cassert>

#include "format/calendar.hpp"
#include "format/dimensions.hpp"
#include "format/hdf5/builder.hpp"
#include "format/hdf5/growing.hpp"
#include "format/hdf5/reading.hpp"
#include "format/hdf5/stored_attributes.hpp"
#include "format/netcdf4/reader.hpp"

namespace hakobi::format {
namespace {

/// Says in words what keeps a file with the description `found` from going on with steps like `next`; ""
/// where nothing does. Series look at fields, their grids and units only: here every attribute counts, since
/// the next metadata say what `next` does.
std::string netcdf_difference(const StepDescription& next, const FoundStep& found) {
    Attributes global = next.attributes;
    global["title"] = next.title;
    global["Conventions"] = "CF-1.10";
    global.try_emplace("source", "hakobi " HAKOBI_VERSION);
    if (const std::string name = differing(global, found.attributes); !name.empty())
        return "its attribute " + name + " differs";
    const Dimensions dimensions = dimensions_of(next).value();
    for (const Dimension& dimension : dimensions.all) {
        const auto axis = std::ranges::find(found.axes, dimension.name, &Axis::name);
        if (axis == found.axes.end()) return "it has no dimension " + dimension.name;
        if (dimension.axis < 0) continue;
        const Axis& put = next.axes[static_cast<std::size_t>(dimension.axis)];
        if (axis->units != put.units || axis->standard_name != put.standard_name ||
            !std::ranges::equal(axis->values, put.values) ||
            !differing(put.attributes, axis->attributes).empty())
            return "its axis " + dimension.name + " differs";
    }
    if (found.fields.size() != next.fields.size())
        return "it has " + std::to_string(found.fields.size()) + " fields";
    if (found.time_units != next.time_units || found.calendar != calendar_of(next.time_units, next.calendar))
        return "its times have other units";
    if (!differing(next.time_attributes, found.time_attributes).empty())
        return "the attributes of its times differ";
    for (const FieldDescription& field : next.fields) {
        const auto at = std::ranges::find_if(
            found.fields, [&](const FoundField& one) { return one.shown.name == field.name; });
        if (at == found.fields.end()) return "it has no field " + field.name;
        if (at->type != field.type || at->shown.shape != field.global ||
            at->shown.is_static != field.is_static || !at->link.empty())
            return "its field " + field.name + " differs";
        if (const std::string name = differing(stored_attributes(field), at->shown.attributes); !name.empty())
            return "the attribute " + name + " of its field " + field.name + " differs";
    }
    return {};
}

class GrowingNetcdf final : public GrowingHdf5 {
  public:
    /// Takes over what the file has; `found` is what it says of itself. Throws Hdf5Failure where that is not
    /// what steps like `next` would have made.
    void resume(hid_t file, const FoundStep& found, const StepDescription& next) {
        GrowingHdf5::resume(file, next, num_steps_of(found));
        const Dimensions dimensions = dimensions_of(next).value();
        for (const Dimension& dimension : dimensions.all) {
            if (dimension.axis >= 0) once_.push_back(offset_of(open_dataset(file, dimension.name)));
        }
        scalars_.resize(1);
        const Handle times = open_dataset(file, "time");
        scalars_[0].offset_bytes = take_chunks(times, scalars_[0].chunk, nullptr, scalars_[0].tree);
        take_fields([&](const FieldDescription& field) { return open_dataset(file, field.name); });
    }

  protected:
    [[nodiscard]] std::vector<hsize_t> chunk_of(const FieldDescription& field,
                                                std::vector<std::int64_t> shape) const override {
        std::vector<hsize_t> chunk(shape.begin(), shape.end());
        if (!field.is_static) chunk.insert(chunk.begin(), 1);
        return chunk;
    }
    [[nodiscard]] std::vector<std::uint64_t> start_of(const FieldDescription& field,
                                                      std::int64_t step_in_file,
                                                      std::vector<std::int64_t> start) const override {
        std::vector<std::uint64_t> all(start.begin(), start.end());
        if (!field.is_static) all.insert(all.begin(), static_cast<std::uint64_t>(step_in_file));
        return all;
    }
    [[nodiscard]] std::vector<std::uint64_t> scalars_of(const StepDescription& step) override {
        if (scalars_.empty()) scalars_.resize(1);
        return {std::bit_cast<std::uint64_t>(step.time)};
    }
    [[nodiscard]] std::vector<std::int64_t> sizes_once() const override {
        std::vector<std::int64_t> sizes;
        const Dimensions dimensions = dimensions_of(first_).value();
        for (const Dimension& dimension : dimensions.all)
            if (dimension.axis >= 0) sizes.push_back(8 * dimension.length);
        return sizes;
    }

    void build(SparseImage& image, Placement& placement) override {
        const Dimensions dimensions = dimensions_of(first_).value();
        const auto num = static_cast<hsize_t>(num_steps());
        Builder builder(image, 1, H5F_LIBVER_V18, &placement);
        put_global_attributes(builder.file(), first_);
        put_int(builder.file(), steps_mark, 1);
        const Scalars& times = scalars_[0];
        std::vector<hid_t> scales = {
            check(builder.create_in_chunks(builder.file(), "time", H5T_NATIVE_DOUBLE, {num}, {H5S_UNLIMITED},
                                           times.chunk, nullptr, nullptr),
                  "H5Dcreate2")};
        describe_time(scales[0], first_);
        give_chunks(scales[0], times.tree, placement);
        std::size_t once = 0;
        for (const Dimension& dimension : dimensions.all) {
            if (dimension.axis >= 0) placement.expect(8 * dimension.length, once_[once++]);
            scales.push_back(
                builder.create_dimension(first_, dimension, static_cast<int>(scales.size()), is_first()));
        }
        assert(once == once_.size());
        for (std::size_t f = 0; f < first_.fields.size(); ++f)
            create_field(builder, f, dimensions.of_field[f], scales, placement);
        builder.close();
    }

  private:
    void create_field(Builder& builder, std::size_t f, const std::vector<int>& of_field,
                      const std::vector<hid_t>& scales, Placement& placement) {
        const FieldDescription& field = first_.fields[f];
        const Array& array = arrays_[f];
        const void* const fill = address_of(field.fill_value);
        const hid_t type = native_type(field.type);
        std::vector<hid_t> own;
        if (!field.is_static) own.push_back(scales[0]);
        for (const int d : of_field) own.push_back(scales[static_cast<std::size_t>(d) + 1]);
        hid_t dataset = 0;
        if (array.chunk.empty()) {
            placement.expect(field.size_bytes(), array.offset_bytes);
            dataset = check(builder.create(field.name, type, field.global, fill), "H5Dcreate2");
        } else {
            std::vector<hsize_t> lengths(field.global.begin(), field.global.end());
            std::vector<hsize_t> most = lengths;
            if (!field.is_static) {
                lengths.insert(lengths.begin(), static_cast<hsize_t>(num_steps()));
                most.insert(most.begin(), H5S_UNLIMITED);
            }
            dataset =
                check(builder.create_in_chunks(builder.file(), field.name, type, lengths, most, array.chunk,
                                               array.is_filtered ? &field.filters : nullptr, fill),
                      "H5Dcreate2");
        }
        describe_field(dataset, field);
        for (std::size_t d = 0; d < own.size(); ++d)
            check(H5DSattach_scale(dataset, own[d], static_cast<unsigned>(d)), "H5DSattach_scale");
        if (!array.chunk.empty()) give_chunks(dataset, array.tree, placement);
    }
};

class GrowingNetcdfFormat final : public GrowingFormat {
  public:
    [[nodiscard]] std::unique_ptr<GrowingFile> begin_file() const override {
        return std::make_unique<GrowingNetcdf>();
    }
    [[nodiscard]] Result<std::unique_ptr<GrowingFile>> resume_file(
        const std::string& path, const StepDescription& next) const override {
        return resume_growing<GrowingNetcdf>(path, netcdf4_kind, read_netcdf4(path), next, netcdf_difference);
    }
};

}  // namespace

const GrowingFormat& growing_netcdf4() {
    static const GrowingNetcdfFormat growing;
    return growing;
}

}  // namespace hakobi::format
