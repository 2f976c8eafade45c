// A NetCDF-4 file that shows a series as one data set: "HDF5 Virtual Dataset" (The HDF Group, 2015), readable
// since HDF5 1.10.
//
//  1. Dimensions, attributes and names are those of a step's file (netcdf4.cpp); time has all records. Its
//     values, those of
//  the axes, the numbers of the steps and static scalars are in the file itself.
//  2. A field that a source has is a virtual data set: each record, or each source's records, is mapped to
//     the data set of the same name in the
//  source, which HDF5 looks for in this file's folder. Records that no source has are the fill value. HDF5
//  also shows it, without an error, where the reader may open no more files: who describes the series keeps
//  sources few.
//  3. A static field is mapped as a whole to the last source that has it.
//  4. A field that the series has copies of is an array of all records.
//  5. The root group's attribute hakobi_series tells such files from what somebody else may have called
//     alike; it is made first, so that
//  what a crash leaves of the file's beginning has it. Its value is 2 since parts of a series have copies.
//  hakobi_not_shown names what is left out.
#include "format/netcdf4/series.hpp"

#include <hdf5_hl.h>

#include <hakobi/version.h>
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <string_view>

#include "format/dimensions.hpp"
#include "format/hdf5/builder.hpp"
#include "format/hdf5/chunk_reader.hpp"
#include "format/hdf5/reading.hpp"
#include "format/netcdf4/reader.hpp"
#include "storage/file.hpp"

namespace hakobi::format {
namespace {

constexpr const char* mark = "hakobi_series";
constexpr int version = 2;
constexpr const char* left_out_names = "hakobi_not_shown";
constexpr const char* left_out_reason = "hakobi_not_shown_since";
constexpr const char* left_out_text =
    "the steps' files have the values, and they are more than a program may have open: read them with "
    "hakobi.Input or xarray.open_mfdataset; steps_per_file puts several steps into a file";
constexpr std::string_view between_names = " / ";  // no name of HDF5's has a slash
/// Where the mark begins at the most.
constexpr std::int64_t most_beginning = 4096;

using Lengths = std::vector<hsize_t>;

Lengths lengths_of(const FieldDescription& field, std::int64_t num_records) {
    Lengths lengths(field.global.begin(), field.global.end());
    if (!field.is_static) lengths.insert(lengths.begin(), static_cast<hsize_t>(num_records));
    return lengths;
}

Handle space_of(const Lengths& lengths, const Lengths& most) {
    return {H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), most.data()), H5Sclose,
            "H5Screate_simple"};
}

/// HDF5 takes names of sources for patterns: "%b" is a block's number and "%%" a percent sign.
std::string name_in_file(const std::string& source) {
    std::string name;
    for (const char c : source) name.append(c == '%' ? 2 : 1, c);
    return name;
}

std::string source_named(const std::string& name) {
    std::string source;
    for (std::size_t i = 0; i < name.size(); ++i) {
        source += name[i];
        if (name.substr(i, 2) == "%%") ++i;
    }
    return source;
}

/// 2 and 3.
hid_t create_virtual(hid_t file, const SeriesDescription& series, std::size_t f, hid_t creation) {
    const FieldDescription& field = series.shown.fields[f];
    const hid_t type = native_type(field.type);
    const auto num_records = static_cast<std::int64_t>(series.times.size());
    const Lengths lengths = lengths_of(field, num_records);
    Lengths most = lengths;
    if (!field.is_static) most[0] = H5S_UNLIMITED;
    const Handle space = space_of(lengths, most);
    const Handle own(H5Pcopy(creation), H5Pclose, "H5Pcopy");
    if (const void* fill = address_of(field.fill_value); fill != nullptr)
        check(H5Pset_fill_value(own, type, fill), "H5Pset_fill_value");
    const std::vector<bool>& has = series.has[f];
    assert(has.size() == series.sources.size());
    if (field.is_static) {
        for (std::size_t s = has.size(); s-- > 0;) {
            if (!has[s]) continue;
            check(H5Pset_virtual(own, space, name_in_file(series.sources[s].file).c_str(), field.name.c_str(),
                                 space),
                  "H5Pset_virtual");
            break;
        }
    } else {
        Lengths start(lengths.size(), 0), count = lengths;
        for (std::size_t s = 0; s < has.size(); ++s) {
            count[0] = static_cast<hsize_t>(series.sources[s].num_records);
            if (has[s]) {
                const Handle to = space_of(lengths, most);
                check(H5Sselect_hyperslab(to, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
                      "H5Sselect_hyperslab");
                // Named record by record: the source may have more by the time at which somebody reads it.
                const Handle from = space_of(count, count);
                const Lengths all_from(count.size(), 0);
                check(H5Sselect_hyperslab(from, H5S_SELECT_SET, all_from.data(), nullptr, count.data(),
                                          nullptr),
                      "H5Sselect_hyperslab");
                check(H5Pset_virtual(own, to, name_in_file(series.sources[s].file).c_str(),
                                     field.name.c_str(), from),
                      "H5Pset_virtual");
            }
            start[0] += count[0];
        }
    }
    return check(H5Dcreate2(file, field.name.c_str(), type, space, H5P_DEFAULT, own, H5P_DEFAULT),
                 "H5Dcreate2");
}

/// 4.
hid_t create_copy(Builder& builder, const SeriesDescription& series, std::size_t f) {
    const FieldDescription& field = series.shown.fields[f];
    const hid_t type = native_type(field.type);
    assert(std::ssize(series.copies[f]) ==
           std::ssize(series.times) * field.num_elements() * bytes_of(field.type));
    std::vector<std::int64_t> extents = field.global;
    extents.insert(extents.begin(), std::ssize(series.times));
    const hid_t dataset =
        check(builder.create(field.name, type, extents, address_of(field.fill_value)), "H5Dcreate2");
    check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, series.copies[f].data()), "H5Dwrite");
    return dataset;
}

/// A static scalar: no virtual data set is without dimensions.
hid_t create_scalar(Builder& builder, const SeriesDescription& series, std::size_t f,
                    const std::string& folder) {
    const FieldDescription& field = series.shown.fields[f];
    const hid_t type = native_type(field.type);
    const hid_t dataset =
        check(builder.create(field.name, type, {}, address_of(field.fill_value)), "H5Dcreate2");
    std::vector<std::byte> value(static_cast<std::size_t>(bytes_of(field.type)));
    for (std::size_t s = series.sources.size(); s-- > 0;) {
        if (!series.has[f][s]) continue;
        FoundField found;
        found.shown.name = field.name;
        found.type = field.type;
        const std::string path = folder + "/" + series.sources[s].file;
        // A file that is gone is like other records that are not there.
        (void)read_values_netcdf4(path, found, Block{}, value);
        break;
    }
    check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()), "H5Dwrite");
    return dataset;
}

hid_t create_field_of_series(Builder& builder, const SeriesDescription& series, std::size_t f,
                             const Handle& creation, const std::string& folder) {
    const FieldDescription& field = series.shown.fields[f];
    if (f < series.copies.size() && !series.copies[f].empty()) return create_copy(builder, series, f);
    if (field.is_static && field.global.empty()) return create_scalar(builder, series, f, folder);
    return create_virtual(builder.file(), series, f, creation);
}

bool has_name(const SeriesDescription& series, const Dimensions& dimensions, std::string_view name) {
    return std::ranges::any_of(series.shown.fields,
                               [&](const FieldDescription& field) { return field.name == name; }) ||
           std::ranges::any_of(dimensions.all, [&](const Dimension& one) { return one.name == name; });
}

Layout build(const SeriesDescription& series, const Dimensions& dimensions, const std::string& folder) {
    assert(series.has.size() == series.shown.fields.size() && series.numbers.size() == series.times.size());
    SparseImage image;
    {
        Builder builder(image, 1, H5F_LIBVER_V110);
        put_int(builder.file(), mark, version);
        put_text(builder.file(), "Conventions", "CF-1.10");
        put_text(builder.file(), "title", series.shown.title);
        std::string left_out;
        for (const std::string& name : series.left_out)
            left_out.append(left_out.empty() ? "" : between_names).append(name);
        put_text(builder.file(), left_out_names, left_out);
        if (!left_out.empty()) put_text(builder.file(), left_out_reason, left_out_text);
        if (!series.shown.attributes.contains("source"))
            put_text(builder.file(), "source", "hakobi " HAKOBI_VERSION);
        put_attributes(builder.file(), series.shown.attributes, std::nullopt);
        const auto num_records = static_cast<hsize_t>(series.times.size());
        std::vector<hid_t> scales = {
            check(builder.create_record("time", H5T_NATIVE_DOUBLE, num_records), "H5Dcreate2")};
        describe_time(scales[0], series.shown);
        check(H5Dwrite(scales[0], H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, series.times.data()),
              "H5Dwrite");
        for (const Dimension& dimension : dimensions.all)
            scales.push_back(
                builder.create_dimension(series.shown, dimension, static_cast<int>(scales.size())));
        if (!has_name(series, dimensions, step_number_name)) {
            const hid_t numbers =
                check(builder.create_record(step_number_name, H5T_NATIVE_INT64, num_records), "H5Dcreate2");
            put_text(numbers, "long_name", "number of the step, as in the name of its file");
            check(H5Dwrite(numbers, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, series.numbers.data()),
                  "H5Dwrite");
            check(H5DSattach_scale(numbers, scales[0], 0), "H5DSattach_scale");
        }
        const Handle creation = builder.copy_of_creation();
        for (std::size_t f = 0; f < series.shown.fields.size(); ++f) {
            const FieldDescription& field = series.shown.fields[f];
            if (std::ranges::find(series.has[f], true) == series.has[f].end()) continue;
            if (std::ranges::find(series.left_out, field.name) != series.left_out.end()) continue;
            const hid_t dataset = create_field_of_series(builder, series, f, creation, folder);
            describe_field(dataset, field);
            unsigned dimension = 0;
            if (!field.is_static)
                check(H5DSattach_scale(dataset, scales[0], dimension++), "H5DSattach_scale");
            for (const int d : dimensions.of_field[f])
                check(H5DSattach_scale(dataset, scales[static_cast<std::size_t>(d) + 1], dimension++),
                      "H5DSattach_scale");
        }
        builder.close();
    }
    return {.metadata = image.extents(),
            .offsets_bytes = {},
            .chunk_offsets_bytes = {},
            .file_bytes = image.size_bytes()};
}

/// The sources that a field's records are mapped to, by their first record.
std::map<std::int64_t, SeriesSource> sources_of(hid_t file, const std::string& name) {
    std::map<std::int64_t, SeriesSource> found;
    const Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
    if (H5Pget_layout(creation) != H5D_VIRTUAL) return found;
    std::size_t num = 0;
    check(H5Pget_virtual_count(creation, &num), "H5Pget_virtual_count");
    for (std::size_t i = 0; i < num; ++i) {
        const ssize_t length =
            check(H5Pget_virtual_filename(creation, i, nullptr, 0), "H5Pget_virtual_filename");
        std::string source(static_cast<std::size_t>(length), '\0');
        H5Pget_virtual_filename(creation, i, source.data(), source.size() + 1);
        const Handle space(H5Pget_virtual_vspace(creation, i), H5Sclose, "H5Pget_virtual_vspace");
        const int num_dims = check(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims");
        Lengths first(static_cast<std::size_t>(num_dims)), last(first);
        check(H5Sget_select_bounds(space, first.data(), last.data()), "H5Sget_select_bounds");
        if (first.empty()) continue;
        if (last[0] >= static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max()))
            throw Hdf5Failure("sources are beyond its records");
        found[static_cast<std::int64_t>(first[0])] = {source_named(source),
                                                      static_cast<std::int64_t>(last[0] - first[0]) + 1};
    }
    return found;
}

std::vector<std::string> names_between(std::string_view text) {
    std::vector<std::string> names;
    while (!text.empty()) {
        const std::size_t end = text.find(between_names);
        names.emplace_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + between_names.size());
    }
    return names;
}

/// Whether it is the beginning of an HDF5 file, and how long that was, by its superblock (of version 2 or 3),
/// is more than is there.
bool is_torn(std::span<const std::byte> start, std::int64_t size_bytes) {
    constexpr std::array<unsigned char, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    constexpr std::size_t superblock_bytes = 48, end_at = 28;
    const std::size_t known = std::min(start.size(), signature.size());
    if (std::memcmp(start.data(), signature.data(), known) != 0) return false;
    if (start.size() < superblock_bytes) return true;
    std::uint64_t end = 0;
    std::memcpy(&end, start.data() + end_at, sizeof end);
    return end > static_cast<std::uint64_t>(size_bytes);
}

std::string take_text(Attributes& attributes, const char* name) {
    const auto at = attributes.find(name);
    if (at == attributes.end() || !std::holds_alternative<std::string>(at->second)) return {};
    std::string text = std::get<std::string>(std::move(at->second));
    attributes.erase(at);
    return text;
}

class SeriesNetcdf4 final : public SeriesFormat {
  public:
    [[nodiscard]] StepDescription description_of(const FoundStep& found) const override;
    [[nodiscard]] Result<Layout> lay_out_series(const SeriesDescription& series,
                                                const std::string& folder) const override;
    [[nodiscard]] Result<SeriesDescription> read_series(const std::string& path) const override;
    [[nodiscard]] Result<std::vector<std::vector<std::byte>>> read_records(
        const std::string& path, std::span<const FieldDescription> fields,
        std::int64_t num_records) const override;
    [[nodiscard]] bool is_series_or_rest(const std::string& path) const override;
};

StepDescription SeriesNetcdf4::description_of(const FoundStep& found) const {
    StepDescription step{.title = found.title,
                         .time_units = found.time_units,
                         .time = found.time,
                         .axes = found.axes,
                         .fields = {},
                         .attributes = found.attributes,
                         .calendar = found.calendar,
                         .time_attributes = found.time_attributes};
    for (const char* ours : {"title", "Conventions", mark, left_out_names, left_out_reason})
        step.attributes.erase(ours);
    for (const FoundField& from : found.fields) {
        if (!from.type || !from.link.empty()) continue;
        FieldDescription field{.name = from.shown.name,
                               .units = {},
                               .long_name = {},
                               .standard_name = {},
                               .type = *from.type,
                               .global = from.shown.shape,
                               .dims = from.shown.dims,
                               .attributes = from.shown.attributes,
                               .is_static = from.shown.is_static};
        field.units = take_text(field.attributes, "units");
        field.long_name = take_text(field.attributes, "long_name");
        field.standard_name = take_text(field.attributes, "standard_name");
        if (const auto fill = field.attributes.find("_FillValue"); fill != field.attributes.end()) {
            field.fill_value = fill_value_of(*from.type, fill->second);
            field.attributes.erase(fill);
        }
        step.fields.push_back(std::move(field));
    }
    return step;
}

Result<Layout> SeriesNetcdf4::lay_out_series(const SeriesDescription& series,
                                             const std::string& folder) const {
    Result<Dimensions> dimensions = dimensions_of(series.shown);
    if (!dimensions.ok()) return dimensions.status();
    const QuietErrors quiet;
    try {
        return build(series, dimensions.value(), folder);
    } catch (const Hdf5Failure& failure) {
        return Status(ErrorCode::internal, "laying out the series: " + failure.text);
    } catch (const std::bad_alloc&) {
        return Status(ErrorCode::out_of_memory, "laying out the series: no memory");
    }
}

Result<SeriesDescription> SeriesNetcdf4::read_series(const std::string& path) const {
    const Status none(ErrorCode::format, path + " is no file that shows a series");
    Result<FoundStep> found = read_netcdf4(path, Records::all);
    if (!found.ok()) return found.status();
    const auto marked = found.value().attributes.find(mark);
    if (marked == found.value().attributes.end()) return none;
    if (marked->second != Attribute(std::vector<std::int64_t>{version}))
        return Status(ErrorCode::unsupported, path + " shows a series in another version's way");
    SeriesDescription series;
    series.left_out = names_between(text_attribute(found.value().attributes, left_out_names));
    series.shown = description_of(found.value());
    const auto numbers = std::ranges::find(series.shown.fields, step_number_name, &FieldDescription::name);
    if (numbers == series.shown.fields.end()) return none;
    series.shown.fields.erase(numbers);
    Status status = with_file(path, netcdf4_kind, [&](hid_t file) {
        const auto read_records = [&](const char* name, hid_t type, auto& values) {
            const Handle dataset(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, "H5Dopen2");
            const Handle space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
            values.resize(static_cast<std::size_t>(
                check(H5Sget_simple_extent_npoints(space), "H5Sget_simple_extent_npoints")));
            check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "H5Dread");
        };
        read_records("time", H5T_NATIVE_DOUBLE, series.times);
        read_records(step_number_name, H5T_NATIVE_INT64, series.numbers);
        std::vector<std::map<std::int64_t, SeriesSource>> of_field;
        std::map<std::int64_t, SeriesSource> all;
        for (const FieldDescription& field : series.shown.fields) {
            of_field.push_back(sources_of(file, field.name));
            if (!field.is_static) all.insert(of_field.back().begin(), of_field.back().end());
        }
        std::vector<std::int64_t> starts;
        const auto add_unmapped = [&](std::int64_t end, std::int64_t& at) {
            for (; at < end; ++at) {
                starts.push_back(at);
                series.sources.emplace_back();
            }
        };
        std::int64_t at = 0;
        const std::int64_t num_records = std::ssize(series.times);
        for (const auto& [first, source] : all) {
            add_unmapped(std::min(first, num_records), at);
            if (first != at) throw Hdf5Failure("sources overlap");
            if (source.num_records > num_records - at) throw Hdf5Failure("sources are beyond its records");
            starts.push_back(first);
            series.sources.push_back(source);
            at += source.num_records;
        }
        add_unmapped(num_records, at);
        for (std::size_t f = 0; f < of_field.size(); ++f) {
            const bool is_static = series.shown.fields[f].is_static;
            std::vector<bool>& has = series.has.emplace_back(starts.size());
            for (std::size_t s = 0; s < starts.size(); ++s) {
                // Only the last source of a static field is named: those before it need not be known.
                has[s] = is_static ? of_field[f].empty() ||
                                         of_field[f].begin()->second.file == series.sources[s].file
                                   : of_field[f].contains(starts[s]);
            }
        }
    });
    if (!status.ok()) return status;
    std::int64_t num_records = 0;
    for (const SeriesSource& source : series.sources) num_records += source.num_records;
    if (num_records != std::ssize(series.times) || num_records != std::ssize(series.numbers)) return none;
    return series;
}

Result<std::vector<std::vector<std::byte>>> SeriesNetcdf4::read_records(
    const std::string& path, std::span<const FieldDescription> fields, std::int64_t num_records) const {
    if (Status status = check_kind(path); !status.ok()) return status;
    std::vector<std::vector<std::byte>> values;
    std::optional<Status> by_chunks;
    Status status = with_file(path, netcdf4_kind, [&](hid_t file) {
        for (const FieldDescription& field : fields) {
            const Handle dataset = open_dataset(file, field.name);
            const Lengths count = lengths_of(field, num_records);
            const Lengths start(count.size(), 0);
            const Handle from(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
            if (H5Sget_simple_extent_ndims(from) != static_cast<int>(count.size()))
                throw Hdf5Failure("field " + field.name + " has other dimensions");
            std::vector<std::byte>& read = values.emplace_back(
                static_cast<std::size_t>(num_records * field.num_elements() * bytes_of(field.type)));
            by_chunks = read_chunks(dataset, path_of(dataset), native_type(field.type), start, count, read);
            if (by_chunks && !by_chunks->ok()) return;
            if (by_chunks) continue;
            check(H5Sselect_hyperslab(from, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
                  "H5Sselect_hyperslab");
            const Handle to = space_of(count, count);
            check(H5Dread(dataset, native_type(field.type), to, from, H5P_DEFAULT, read.data()), "H5Dread");
        }
    });
    if (!status.ok()) return status;
    if (by_chunks && !by_chunks->ok()) return *by_chunks;
    return values;
}

bool SeriesNetcdf4::is_series_or_rest(const std::string& path) const {
    const Result<FoundStep> whole = read_netcdf4(path, Records::all);
    if (whole.ok()) return whole.value().attributes.contains(mark);
    // Torn or damaged. A crash leaves nothing, zeros, or a part: too little to have anything, or a beginning
    // that has our mark.
    Result<storage::FilePtr> file = storage::open_file(path, {});
    if (!file.ok()) return false;
    std::vector<std::byte> start(std::size_t{1} << 20);
    const Result<std::int64_t> size = file.value()->size_bytes(), read = file.value()->read_at(start, 0);
    if (!size.ok() || !read.ok()) return false;
    start.resize(static_cast<std::size_t>(read.value()));
    const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
    const bool is_whole_start = size.value() == read.value();
    return (is_whole_start && text.find_first_not_of('\0') == std::string_view::npos) ||
           (size.value() < most_beginning && is_torn(start, size.value())) ||
           text.find(mark) != std::string_view::npos;
}

}  // namespace

const SeriesFormat& series_netcdf4() {
    static const SeriesNetcdf4 series;
    return series;
}

}  // namespace hakobi::format
