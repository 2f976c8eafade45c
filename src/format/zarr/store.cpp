#include "format/zarr/store.hpp"

#include <hakobi/version.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.hpp"
#include "format/calendar.hpp"
#include "format/dimensions.hpp"
#include "format/zarr/files.hpp"
#include "format/zarr/reading.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"

namespace hakobi::format::zarr {
namespace {

using Json = nlohmann::ordered_json;

std::string metadata_path(const std::string& folder) {
    return folder + "/zarr.json";
}

std::string times_path(const std::string& store, std::size_t chunk) {
    return store + "/time/c." + std::to_string(chunk);
}

std::span<const std::byte> as_bytes(const std::string& text) {
    return std::as_bytes(std::span(text));
}

Status put_json(const std::string& folder, const Json& document, bool sync) {
    return put(metadata_path(folder), as_bytes(document.dump()), sync);
}

/// The first of the two dimensions of time is the series', the fill value of the others' chunks.
Result<std::vector<double>> read_times(const std::string& store, std::int64_t num_steps) {
    constexpr std::int64_t most_steps = std::int64_t{1} << 32;
    if (num_steps < 0 || num_steps > most_steps) return damaged(store, "an impossible number of steps");
    std::vector<double> times;
    for (std::size_t chunk = 0; std::ssize(times) < num_steps; ++chunk) {
        const Result<std::optional<storage::WholeObject>> found = get(times_path(store, chunk));
        if (!found.ok()) return found.status();
        std::vector<double> values(times_a_chunk, std::numeric_limits<double>::quiet_NaN());
        if (found.value()) {
            const std::vector<std::byte>& bytes = found.value()->bytes;
            if (bytes.size() != values.size() * sizeof(double))
                return damaged(store, "the times of its steps are damaged");
            std::memcpy(values.data(), bytes.data(), bytes.size());
        }
        times.insert(times.end(), values.begin(), values.end());
    }
    times.resize(static_cast<std::size_t>(num_steps));
    return times;
}

Json group_json(const Group& group) {
    return {{"zarr_format", 3},
            {"node_type", "group"},
            {"attributes", group.attributes},
            {"consolidated_metadata",
             {{"kind", "inline"}, {"must_understand", false}, {"metadata", group.arrays}}}};
}

/// What the arrays of a step say, by name.
Result<std::vector<Array>> arrays_of(const StepDescription& step) {
    Result<Dimensions> dimensions = dimensions_of(step);
    if (!dimensions.ok()) return dimensions.status();
    std::vector<Array> arrays;
    for (std::size_t f = 0; f < step.fields.size(); ++f) {
        std::vector<std::string> dims;
        for (const int d : dimensions.value().of_field[f])
            dims.push_back(dimensions.value().all[static_cast<std::size_t>(d)].name);
        arrays.push_back(array_of(step.fields[f], std::move(dims)));
    }
    return arrays;
}

Json attributes_of_group(const StepDescription& step) {
    Attributes attributes = step.attributes;
    attributes["Conventions"] = "CF-1.10";
    if (!step.title.empty()) attributes["title"] = step.title;
    attributes.emplace("source", "hakobi " HAKOBI_VERSION);
    Json object = json_of(attributes, std::nullopt);
    object[mark] = mark_version;
    return object;
}

Attributes attributes_of_time(const StepDescription& step) {
    Attributes attributes = step.time_attributes;
    attributes["standard_name"] = "time";
    attributes["axis"] = "T";
    attributes["units"] = step.time_units;
    if (const std::string calendar = calendar_of(step.time_units, step.calendar); !calendar.empty())
        attributes["calendar"] = calendar;
    return attributes;
}

/// How many steps an array's document counts; nothing where it has no time.
bool has_time(const Json& document) {
    const Json& dims = document.at("dimension_names");
    return !dims.empty() && dims[0] == "time";
}

/// The coordinates of axes are whole before the group names them.
Status put_axes(const std::string& store, const StepDescription& step, Group& group, bool sync) {
    for (const Axis& axis : step.axes) {
        if (axis.values.empty()) continue;
        Attributes attributes = axis.attributes;
        if (!axis.units.empty()) attributes["units"] = axis.units;
        if (!axis.standard_name.empty()) attributes["standard_name"] = axis.standard_name;
        const std::int64_t length = std::ssize(axis.values);
        Json document = line_of(axis.name, length, length, attributes);
        if (group.arrays.contains(axis.name) && group.arrays[axis.name] == document) continue;
        const std::string folder = store + "/" + axis.name;
        Status status = make_folder(folder);
        if (status.ok()) status = put(folder + "/c.0", std::as_bytes(std::span(axis.values)), sync);
        if (status.ok()) status = put_json(folder, document, sync);
        if (!status.ok()) return status;
        group.arrays[axis.name] = std::move(document);
    }
    return {};
}

/// 2.
Status put_time(const std::string& store, Group& group, std::int64_t number, double time, bool sync) {
    const auto at = static_cast<std::size_t>(number);
    group.times.resize(std::max(group.times.size(), at + 1), std::numeric_limits<double>::quiet_NaN());
    group.times[at] = time;
    const std::size_t chunk = at / times_a_chunk;
    std::vector<double> values(times_a_chunk, std::numeric_limits<double>::quiet_NaN());
    const auto first = group.times.begin() + static_cast<std::ptrdiff_t>(chunk * times_a_chunk);
    std::copy(first, first + std::min<std::ptrdiff_t>(times_a_chunk, group.times.end() - first),
              values.begin());
    Status status = make_folder(store + "/time");
    return status.ok() ? put(times_path(store, chunk), std::as_bytes(std::span(values)), sync) : status;
}

/// Their own zarr.json, of those that `is_wanted` says.
template <class IsWanted>
Status put_arrays(const std::string& store, const Json& arrays, bool sync, const IsWanted& is_wanted) {
    std::vector<std::string> names;
    for (const auto& [name, document] : arrays.items()) {
        if (is_wanted(name, document)) names.push_back(name);
    }
    return for_each_parallel(names.size(), num_at_once(store), "hakobi-zarr", [&](std::size_t i) {
        return put_json(store + "/" + names[i], arrays.at(names[i]), sync);
    });
}

/// 1, and the end of what a killed run left of fields that this step has not: without them the fill value is read.
Status place_shards(const std::string& folder, const std::string& store, const Group& group,
                    std::span<const Array> arrays, std::int64_t number, const Adding& how) {
    for (const Array& array : arrays) {
        if (group.arrays.contains(array.name)) continue;
        if (Status status = make_folder(store + "/" + array.name); !status.ok()) return status;
    }
    std::vector<std::int64_t> sizes;
    if (how.pace) {
        Result<std::vector<std::int64_t>> found = storage::sizes_of_members(folder);
        if (!found.ok()) return found.status();
        sizes = std::move(found).value();
        if (sizes.size() != arrays.size()) return damaged(folder, "it has not a file for each of its fields");
    }
    Status status = for_each_parallel(
        arrays.size(), how.pace ? num_at_once(store) : 1, "hakobi-zarr", [&](std::size_t f) {
            const std::string from = storage::member_path(folder, f);
            std::string to = store + "/" + arrays[f].name;
            to.append("/").append(arrays[f].key(number));
            return how.pace ? place_copy(from, sizes[f], to, how.sync, how.pace) : place(from, to, how.sync);
        });
    if (!status.ok()) return status;
    for (const auto& [name, document] : group.arrays.items()) {
        if (!has_time(document) || name == "time") continue;
        if (std::ranges::find(arrays, name, &Array::name) != arrays.end()) continue;
        const Result<Array> absent = Array::from_json(name, document);
        if (!absent.ok()) continue;  // another program's
        const std::string left = std::string(store).append("/").append(name).append("/");
        if (Status removed = remove(left + absent.value().key(number)); !removed.ok()) return removed;
    }
    return {};
}

/// Of an array's document what steps must have in common.
Json form_of(const Json& document) {
    Json form = document;
    form.erase("attributes");
    if (has_time(document)) form["shape"][0] = 0;
    return form;
}

}  // namespace

Result<std::optional<Group>> read_group(const std::string& store) {
    using Found = std::optional<Group>;
    const Result<std::optional<storage::WholeObject>> document = get(metadata_path(store));
    if (!document.ok()) return document.status();
    if (!document.value()) return Found();
    return reading(store, [&]() -> Result<Found> {
        const std::vector<std::byte>& bytes = document.value()->bytes;
        const auto* const text = reinterpret_cast<const char*>(bytes.data());
        const Json root = Json::parse(text, text + bytes.size());
        Group group{.attributes = root.at("attributes"),
                    .arrays = Json::object(),
                    .times = {},
                    .version = document.value()->version};
        if (group.attributes.value(mark, 0) != mark_version)
            return Status(ErrorCode::unsupported, store + ": it is a Zarr group, but no series of Hakobi's");
        group.arrays = root.at("consolidated_metadata").at("metadata");
        if (!group.arrays.contains("time")) return Found(std::move(group));
        Result<std::vector<double>> times =
            read_times(store, group.arrays["time"].at("shape").at(0).get<std::int64_t>());
        if (!times.ok()) return times.status();
        group.times = std::move(times).value();
        return Found(std::move(group));
    });
}

namespace {

/// Which of a step's fields are not like those of the same name.
Status check_like(const Json& group_arrays, std::span<const Array> arrays) {
    for (const Array& array : arrays) {
        const auto before = group_arrays.find(array.name);
        if (before == group_arrays.end()) continue;
        const Json now = form_of(array.to_json(0)), then = form_of(*before);
        if (now == then) continue;
        std::string what = "codecs or fill value";
        if (now.at("shape") != then.at("shape")) what = "extents";
        if (now.at("data_type") != then.at("data_type")) what = "type";
        if (now.at("dimension_names") != then.at("dimension_names")) what = "dimensions";
        return {ErrorCode::invalid_argument,
                "field " + array.name + " has other " + what +
                    " than in earlier steps: in a series of the format zarr a field is one array"};
    }
    return {};
}

class GroupFields final : public StoredFields {
  public:
    explicit GroupFields(Json arrays) : arrays_(std::move(arrays)) {}
    Status take(const StepDescription& step) override {
        return reading("the series", [&]() -> Status {
            const Result<std::vector<Array>> arrays = arrays_of(step);
            if (!arrays.ok()) return arrays.status();
            if (Status status = check_like(arrays_, arrays.value()); !status.ok()) return status;
            for (const Array& array : arrays.value()) arrays_[array.name] = array.to_json(0);
            return {};
        });
    }

  private:
    Json arrays_;
};

/// Whether the group's metadata are those that the caller put last.
Status check_version(const Group& group, const std::string& store, const Adding& how) {
    if (how.version == nullptr || how.version->empty() || group.version == *how.version) return {};
    return {ErrorCode::exists, metadata_path(store) +
                                   " is not what this run made it: another program has replaced or removed "
                                   "it; nothing there was changed"};
}

}  // namespace

Result<std::unique_ptr<StoredFields>> fields_in(const std::string& store) {
    Result<std::optional<Group>> group = read_group(store);
    if (!group.ok()) return group.status();
    Json arrays = group.value() ? std::move(group.value()->arrays) : Json::object();
    return std::unique_ptr<StoredFields>(std::make_unique<GroupFields>(std::move(arrays)));
}

Status add_step(const std::string& folder, const std::string& store, std::int64_t number,
                const StepDescription& step, const Adding& how) {
    return reading(store, [&]() -> Status {
        Result<std::optional<Group>> found = read_group(store);
        if (!found.ok()) return found.status();
        Group group = found.value() ? std::move(*found.value()) : Group{Json(), Json::object(), {}};
        const auto at = static_cast<std::size_t>(number);
        const bool is_in = at < group.times.size() && !std::isnan(group.times[at]);
        if (is_in && how.is_new)
            return {ErrorCode::exists, store + " has a step " + std::to_string(number) + " already"};
        const Result<std::vector<Array>> arrays = arrays_of(step);
        if (!arrays.ok()) return arrays.status();
        // Of a try whose answer was lost the step is there, by a version that nobody was told.
        const bool is_own_try =
            is_in && std::bit_cast<std::uint64_t>(group.times[at]) == std::bit_cast<std::uint64_t>(step.time);
        if (Status status = is_own_try ? Status() : check_version(group, store, how); !status.ok())
            return status;
        if (Status status = check_like(group.arrays, arrays.value()); !status.ok()) return status;
        Status status = place_shards(folder, store, group, arrays.value(), number, how);
        if (status.ok()) status = make_folder(store);
        if (status.ok()) status = put_time(store, group, number, step.time, how.sync);
        const Json before = group.arrays;
        if (status.ok()) status = put_axes(store, step, group, how.sync);
        if (!status.ok()) return status;
        const std::int64_t num_steps = std::ssize(group.times);
        group.attributes = attributes_of_group(step);
        group.arrays["time"] = line_of("time", num_steps, times_a_chunk, attributes_of_time(step));
        for (const Array& array : arrays.value()) group.arrays[array.name] = array.to_json(num_steps);
        for (const auto& [name, document] : group.arrays.items()) {
            if (has_time(document)) group.arrays[name]["shape"][0] = num_steps;
        }
        // An array that the group names is one for those, too, who open it by itself.
        status = put_arrays(store, group.arrays, how.sync, [&](const std::string& name, const Json&) {
            return !before.contains(name) && !is_there(metadata_path(store + "/" + name));
        });
        const std::string text = group_json(group).dump();
        if (status.ok())
            status = replace(metadata_path(store), as_bytes(text), group.version, how.sync);  // 3
        if (status.ok()) {
            status =
                put_arrays(store, group.arrays, how.sync, [&](const std::string& name, const Json& document) {
                    return is_in || !before.contains(name) || before.at(name) != document;
                });
        }
        if (!status.ok()) return status;
        if (how.version != nullptr) *how.version = group.version;
        storage::discard_file(storage::joined_scheme + folder);
        return {};
    });
}

Status mend(const std::string& store) {
    const Result<std::optional<Group>> group = read_group(store);
    if (!group.ok() || !group.value()) return group.status();
    return reading(store, [&]() -> Status {
        for (const auto& [name, document] : group.value()->arrays.items()) {
            const Result<std::optional<storage::WholeObject>> said = get(metadata_path(store + "/" + name));
            if (!said.ok()) return said.status();
            const std::string text = document.dump();
            if (said.value() && std::ranges::equal(said.value()->bytes, as_bytes(text))) continue;
            if (Status status = put_json(store + "/" + name, document, false); !status.ok()) return status;
        }
        return {};
    });
}

Status remove_store(const std::string& store) {
    const Result<std::optional<Group>> group = read_group(store);
    if (!group.ok() || !group.value()) return group.status();
    // From here on it is no group any more.
    if (Status status = remove(metadata_path(store)); !status.ok()) return status;
    for (const auto& [name, document] : group.value()->arrays.items()) {
        const std::string folder = store + "/" + name;
        const Result<std::vector<std::string>> listed = names_in(folder);
        if (!listed.ok()) continue;
        std::vector<std::string> ours;
        for (const std::string& each : listed.value()) {
            if (each.starts_with("zarr.json") || each.starts_with("c.") || each == "c")
                ours.push_back(std::string(folder).append("/").append(each));
        }
        Status status = for_each_parallel(ours.size(), num_at_once(store), "hakobi-zarr",
                                          [&](std::size_t i) { return remove(ours[i]); });
        if (!status.ok()) return status;
        (void)remove_folder(folder);
    }
    return remove_folder(store);
}

}  // namespace hakobi::format::zarr
