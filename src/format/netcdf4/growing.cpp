#include "format/netcdf4/growing.hpp"

#include <hdf5_hl.h>

#include <bit>
#include <utility>

#include "format/dimensions.hpp"
#include "format/hdf5/builder.hpp"
#include "format/hdf5/growing.hpp"

namespace hakobi::format {
namespace {

class Growing final : public GrowingHdf5 {
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
            scales.push_back(builder.create_dimension(first_, dimension, static_cast<int>(scales.size()),
                                                      is_first()));
        }
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
            dataset = check(
                builder.create_in_chunks(builder.file(), field.name, type, lengths, most, array.chunk,
                                         array.is_filtered ? &field.filters : nullptr, fill),
                "H5Dcreate2");
        }
        describe_field(dataset, field);
        for (std::size_t d = 0; d < own.size(); ++d)
            check(H5DSattach_scale(dataset, own[d], static_cast<unsigned>(d)), "H5DSattach_scale");
        if (!array.chunk.empty()) give_chunks(dataset, array.tree, placement);
    }
};

}  // namespace

std::unique_ptr<GrowingFile> begin_file_netcdf4() {
    return std::make_unique<Growing>();
}

}  // namespace hakobi::format
