#include "format/zarr/store.hpp"

#include <hakobi/version.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checksum.hpp"
#include "base/parallel.hpp"
#include "format/calendar.hpp"
#include "format/dimensions.hpp"
#include "format/names.hpp"
#include "format/zarr/array.hpp"
#include "format/zarr/metadata.hpp"
#include "format/zarr/reading.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"
#include "storage/paced_copy.hpp"

namespace hakobi::format::zarr {

std::string times_in(std::size_t chunk) {
    return "time/c." + std::to_string(chunk);
}

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* metadata_name = "zarr.json";

/// In the store: the document of an array.
std::string document_of(const std::string& array) {
    return array + "/" + metadata_name;
}

std::span<const std::byte> as_bytes(const std::string& text) {
    return std::as_bytes(std::span(text));
}

Status put_json(const storage::Place& store, const std::string& array, const Json& document, bool sync) {
    return store.put(document_of(array), as_bytes(document.dump()), sync);
}

/// As many as the group says there are, of which each has its chunk: `put_time` leaves none out.
Status read_times(const storage::Place& store, std::int64_t num_steps, Group& group) {
    if (num_steps < 0) return damaged(store.path(), "an impossible number of steps");
    std::vector<double>& times = group.times;
    for (std::size_t chunk = 0; std::ssize(times) < num_steps; ++chunk) {
        const Result<std::optional<storage::WholeObject>> found = store.get(times_in(chunk));
        if (!found.ok()) return found.status();
        if (!found.value()) {
            return damaged(store.path(), "it says that it has " + std::to_string(num_steps) +
                                             " steps, but their times are not there: " + times_in(chunk));
        }
        const std::vector<std::byte>& bytes = found.value()->bytes;
        const std::size_t before = times.size();
        if (bytes.size() != times_a_chunk * sizeof(double))
            return damaged(store.path(), "the times of its steps are damaged: " + times_in(chunk));
        times.resize(before + times_a_chunk);
        std::memcpy(times.data() + before, bytes.data(), bytes.size());
        group.times_version = found.value()->version;
    }
    times.resize(static_cast<std::size_t>(num_steps));
    return {};
}

/// A name in the metadata is a folder's: none but those that a step's fields and axes may have is followed.
Status check_names_in(const storage::Place& store, const Json& arrays) {
    for (const auto& [name, document] : arrays.items()) {
        if (!is_name(name)) {
            constexpr std::size_t most_shown = 60;
            return damaged(store.path(), "its metadata have an array " +
                                             Json(name).dump().substr(0, most_shown) +
                                             ", which is no name of a field or an axis");
        }
        if (!document.is_object())
            return damaged(store.path(), "its metadata say nothing of the array " + name);
    }
    return {};
}

Json group_json(const Group& group) {
    Json document = group_document(group.attributes);
    document["consolidated_metadata"] = {
        {"kind", "inline"}, {"must_understand", false}, {"metadata", group.arrays}};
    if (group.others.is_object()) document.update(group.others);
    return document;
}

/// The arrays of a step, by name.
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

/// Attributes as this run has them, then what else there is: others wrote that.
Json with_others(Json attributes, const Json& before) {
    for (const auto& [name, value] : before.items()) {
        if (!attributes.contains(name)) attributes[name] = value;
    }
    return attributes;
}

/// The same of an array's document. Attributes that a field has members for are the run's, or not there.
Json with_others_attributes(Json document, const Json* before) {
    if (before == nullptr || !before->contains("attributes")) return document;
    Json others = before->at("attributes");
    if (!others.is_object()) return document;
    for (const char* ours : {"_FillValue", "units", "long_name", "standard_name", "coordinates"})
        others.erase(ours);
    document["attributes"] = with_others(std::move(document["attributes"]), others);
    return document;
}

void put_document(Json& arrays, const std::string& name, Json document) {
    const auto before = arrays.find(name);
    arrays[name] = with_others_attributes(std::move(document), before == arrays.end() ? nullptr : &*before);
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
Status put_axes(const storage::Place& store, const StepDescription& step, Group& group, bool sync) {
    for (const Axis& axis : step.axes) {
        if (axis.values.empty()) continue;
        Attributes attributes = axis.attributes;
        if (!axis.units.empty()) attributes["units"] = axis.units;
        if (!axis.standard_name.empty()) attributes["standard_name"] = axis.standard_name;
        const std::int64_t length = std::ssize(axis.values);
        const auto before = group.arrays.find(axis.name);
        const Json* const known = before == group.arrays.end() ? nullptr : &*before;
        Json document = with_others_attributes(line_of(axis.name, length, length, attributes), known);
        if (known != nullptr && *known == document) continue;
        Status status = store.make_folder(axis.name, sync);
        if (status.ok()) status = store.put(axis.name + "/c.0", std::as_bytes(std::span(axis.values)), sync);
        if (status.ok()) status = put_json(store, axis.name, document, sync);
        if (!status.ok()) return status;
        group.arrays[axis.name] = std::move(document);
    }
    return {};
}

/// Over the version that is there: a put of an ended run that arrives late finds another one, and takes no
/// later step's time away.
Status put_times(const storage::Place& store, std::size_t chunk, std::span<const double> values, bool sync) {
    constexpr int most_tries = 10;  // each means that a late one has just arrived
    for (int tries = 1;; ++tries) {
        Result<std::string> version = store.version_of(times_in(chunk));
        if (version.status().code() == ErrorCode::not_found) version = std::string();
        if (!version.ok()) return version.status();
        Status status = store.replace(times_in(chunk), std::as_bytes(values), version.value(), sync);
        if (status.code() != ErrorCode::exists || tries == most_tries) return status;
    }
}

/// 2.
Status put_time(const storage::Place& store, Group& group, std::int64_t number, double time, bool sync) {
    assert(number >= 0);
    const auto at = static_cast<std::size_t>(number);
    const std::size_t num_chunks_before = (group.times.size() + times_a_chunk - 1) / times_a_chunk;
    group.times.resize(std::max(group.times.size(), at + 1), std::numeric_limits<double>::quiet_NaN());
    group.times[at] = time;
    const std::size_t chunk = at / times_a_chunk;
    Status status = store.make_folder("time", sync);
    for (std::size_t c = std::min(chunk, num_chunks_before); c <= chunk && status.ok(); ++c) {
        std::vector<double> values(times_a_chunk, std::numeric_limits<double>::quiet_NaN());
        const auto first = group.times.begin() + static_cast<std::ptrdiff_t>(c * times_a_chunk);
        std::copy(first, first + std::min<std::ptrdiff_t>(times_a_chunk, group.times.end() - first),
                  values.begin());
        status = put_times(store, c, values, sync);
    }
    return status;
}

/// Their own zarr.json, of those that `is_wanted` says.
template <class IsWanted>
Status put_arrays(const storage::Place& store, const Json& arrays, bool sync, const IsWanted& is_wanted) {
    std::vector<std::string> names;
    for (const auto& [name, document] : arrays.items()) {
        if (is_wanted(name, document)) names.push_back(name);
    }
    return for_each_parallel(names.size(), store.limits().num_at_once, "hakobi-zarr", [&](std::size_t i) {
        return put_json(store, names[i], arrays.at(names[i]), sync);
    });
}

using Checksums = std::map<std::string, std::uint64_t>;

/// Whether the store has the member's values already, so that it need not go there. `left`: checksums of
/// those that it has.
Result<bool> has_static(const std::string& member, const storage::Place& store, const Group& group,
                        const Array& array, const LeftStore* left, Checksums& checksums) {
    if (left != nullptr) {
        const Result<std::uint64_t> checksum = storage::checksum_of_file(member);
        if (!checksum.ok()) return checksum.status();
        checksums[array.name] = checksum.value();
        const auto before = left->statics.find(array.name);
        const bool is_same = before != left->statics.end() && before->second == checksum.value();
        if (is_same && group.arrays.contains(array.name)) return true;
    }
    if (!group.arrays.contains(array.name)) return false;
    const std::string inside = array.name + "/" + array.key(0);
    const Result<std::optional<std::int64_t>> there = store.size_of(inside);
    if (!there.ok()) return there.status();
    if (!there.value()) return false;
    const Result<bool> same = has_same_values(array, member, store.path_of(inside), store.path());
    if (!same.ok() || same.value()) return same;
    // A static field is one array without time: with other values it would change in the steps before, too.
    return Status(
        ErrorCode::invalid_argument,
        store.path_of(array.name) +
            ": the static field has other values than in an earlier step: in a series of the format zarr it "
            "is one array, without time");
}

/// 1, and the end of what a killed run left of fields that this step has not: without them the fill value is
/// read.
Status place_shards(const std::string& folder, const storage::Place& store, const Group& group,
                    std::span<const Array> arrays, std::int64_t number, const Adding& how) {
    if (Status status = group.arrays.empty() ? store.make_folder("", how.sync) : Status(); !status.ok())
        return status;
    for (const Array& array : arrays) {
        if (group.arrays.contains(array.name)) continue;
        if (Status status = store.make_folder(array.name, how.sync); !status.ok()) return status;
    }
    std::vector<std::int64_t> sizes;
    if (how.pace) {
        Result<std::vector<std::int64_t>> found = storage::sizes_of_members(folder);
        if (!found.ok()) return found.status();
        sizes = std::move(found).value();
        if (sizes.size() != arrays.size()) return damaged(folder, "it has not a file for each of its fields");
    }
    Checksums checksums;
    std::vector<bool> is_placed(arrays.size());
    for (std::size_t f = 0; f < arrays.size(); ++f) {
        const std::string member = storage::member_path(folder, f);
        if (arrays[f].has_time || !storage::facts_of(member).is_there()) continue;
        const Result<bool> has = has_static(member, store, group, arrays[f], how.left, checksums);
        if (!has.ok()) return has.status();
        is_placed[f] = has.value();
    }
    const auto place = [&](std::size_t f) -> Status {
        if (is_placed[f]) return {};
        const std::string from = storage::member_path(folder, f);
        const std::string to = arrays[f].name + "/" + arrays[f].key(number);
        if (how.pace) return store.put_file(from, sizes[f], to, how.sync, how.pace);
        Status placed = store.commit(from, to, how.sync);
        // A folder whose remover was killed, or of which the system has lost some.
        const bool is_missing = placed.code() == ErrorCode::not_found && !storage::facts_of(from).is_there();
        return is_missing ? damaged(from, "it is missing") : placed;
    };
    Status status =
        for_each_parallel(arrays.size(), how.pace ? store.limits().num_at_once : 1, "hakobi-zarr", place);
    if (!status.ok()) return status;
    if (how.left != nullptr) {
        for (const auto& [name, checksum] : checksums) how.left->statics[name] = checksum;
    }
    for (const auto& [name, document] : group.arrays.items()) {
        if (!has_time(document) || name == "time") continue;
        if (std::ranges::find(arrays, name, &Array::name) != arrays.end()) continue;
        const Result<Array> absent = Array::from_json(name, document);
        if (!absent.ok()) continue;  // another program's
        Status removed = store.remove(std::string(name).append("/").append(absent.value().key(number)));
        if (!removed.ok()) return removed;
    }
    return {};
}

/// The part of an array's document that steps must have in common. Other programs that write the document
/// anew put its members into another order, and name members that are not there.
nlohmann::json form_of(const Json& document) {
    nlohmann::json form = nlohmann::json::parse(document.dump());
    form.erase("attributes");
    if (form.contains("storage_transformers") && form["storage_transformers"].empty())
        form.erase("storage_transformers");
    if (has_time(document)) form["shape"][0] = 0;
    return form;
}

}  // namespace

Result<std::optional<Group>> read_group(const storage::Place& store) {
    using Found = std::optional<Group>;
    const Result<std::optional<storage::WholeObject>> document = store.get(metadata_name);
    if (!document.ok()) return document.status();
    if (!document.value()) return Found();
    return reading(store.path(), [&]() -> Result<Found> {
        const Json root = parsed(document.value()->bytes);
        Group group{.attributes = root.at("attributes"),
                    .arrays = Json::object(),
                    .times = {},
                    .version = document.value()->version,
                    .others = root};
        for (const char* ours : {"zarr_format", "node_type", "attributes", "consolidated_metadata"})
            group.others.erase(ours);
        if (group.attributes.value(mark, 0) != mark_version)
            return Status(ErrorCode::unsupported,
                          store.path() + ": it is a Zarr group, but no series of Hakobi's");
        group.arrays = root.at("consolidated_metadata").at("metadata");
        if (Status status = check_names_in(store, group.arrays); !status.ok()) return status;
        if (!group.arrays.contains("time")) return Found(std::move(group));
        const Json& num_steps = group.arrays["time"].at("shape").at(0);
        if (!num_steps.is_number_integer()) return damaged(store.path(), "its steps are not counted");
        if (Status read = read_times(store, num_steps.get<std::int64_t>(), group); !read.ok()) return read;
        return Found(std::move(group));
    });
}

namespace {

/// Attributes without which values mean something else: the array has one for all of its steps.
constexpr std::array<const char*, 8> meaning = {"units",      "scale_factor",  "add_offset",
                                                "_Unsigned",  "missing_value", "flag_values",
                                                "flag_masks", "flag_meanings"};

/// Reports fields of a step that are not like those of the same name.
Status check_like(const Json& group_arrays, std::span<const Array> arrays) {
    for (const Array& array : arrays) {
        const auto before = group_arrays.find(array.name);
        if (before == group_arrays.end()) continue;
        const Json document = array.to_json(0);
        for (const char* name : meaning) {
            const Json now = document.at("attributes").value(name, Json()),
                       then = before->value("attributes", Json::object()).value(name, Json());
            if (now == then) continue;
            return {ErrorCode::invalid_argument,
                    "field " + array.name + ": its attribute " + name +
                        " is not that of earlier steps: in a series of the format zarr a field is one array"};
        }
        const nlohmann::json now = form_of(document), then = form_of(*before);
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

bool is_line(const std::string& name, const Json& document) {
    return document.at("dimension_names") == Json::array({name});
}

/// Whether a step's names go with those of the steps before: the series is one data set, in which a name
/// stands for one thing and fields find their coordinates in whatever step they were put.
Status check_names(const Json& group_arrays, const StepDescription& step, std::span<const Array> arrays) {
    const auto bad = [](const std::string& text) { return Status(ErrorCode::invalid_argument, text); };
    const auto is_earlier_field = [&](const std::string& name) {
        const auto found = group_arrays.find(name);
        return found != group_arrays.end() && !is_line(name, *found);
    };
    for (const FieldDescription& field : step.fields) {
        for (const std::string& name : field.coordinates) {
            const bool is_there = group_arrays.contains(name) ||
                                  std::ranges::find(step.axes, name, &Axis::name) != step.axes.end() ||
                                  std::ranges::find(arrays, name, &Array::name) != arrays.end();
            if (!is_there) {
                return bad("field " + field.name + ": its coordinates name " + name +
                           ", but neither the step nor one before it has such a field");
            }
        }
    }
    for (const Axis& axis : step.axes) {
        if (is_earlier_field(axis.name))
            return bad("axis " + axis.name + ": an earlier step has a field of that name");
    }
    for (const Array& array : arrays) {
        for (const std::string& dim : array.dims) {
            if (is_earlier_field(dim))
                return bad("field " + array.name +
                           ": an earlier step has a field with the name of its dimension " + dim);
        }
        if (group_arrays.contains(array.name)) continue;
        for (const auto& [name, document] : group_arrays.items()) {
            const Json& dims = document.at("dimension_names");
            if (std::ranges::find(dims, Json(array.name)) != dims.end())
                return bad("field " + array.name + ": the name is that of a dimension of " + name +
                           ", of an earlier step");
        }
    }
    return {};
}

/// A step whose run brought static fields in a step that was lost would be read without them.
Status check_statics(const Group& group, const StepDescription& step, const std::string& folder) {
    for (const std::string& name : step.read_with) {
        const auto found = group.arrays.find(name);
        if (found != group.arrays.end() && !has_time(*found)) continue;
        return {ErrorCode::invalid_argument,
                folder + ": the static field " + name +
                    ", which an earlier step brought, is not in the series: that step was lost"};
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
            if (Status status = check_names(arrays_, step, arrays.value()); !status.ok()) return status;
            for (const Array& array : arrays.value()) arrays_[array.name] = array.to_json(0);
            return {};
        });
    }

  private:
    Json arrays_;
};

/// Whether the group's metadata are those that the caller put last.
Status check_version(const Group& group, const storage::Place& store, const Adding& how) {
    if (how.left == nullptr || how.left->version.empty() || group.version == how.left->version) return {};
    return {ErrorCode::exists, store.path_of(metadata_name) +
                                   " is not what this run made it: another program has replaced or removed "
                                   "it; nothing there was changed"};
}

}  // namespace

Result<std::unique_ptr<StoredFields>> fields_in(const storage::Place& store) {
    Result<std::optional<Group>> group = read_group(store);
    if (!group.ok()) return group.status();
    Json arrays = group.value() ? std::move(group.value()->arrays) : Json::object();
    return std::unique_ptr<StoredFields>(std::make_unique<GroupFields>(std::move(arrays)));
}

Status add_step(const std::string& folder, const storage::Place& store, std::int64_t number,
                const StepDescription& step, const Adding& how) {
    return reading(store.path(), [&]() -> Status {
        Result<std::optional<Group>> found = read_group(store);
        if (!found.ok()) return found.status();
        Group group = found.value()
                          ? std::move(*found.value())
                          : Group{.attributes = Json::object(), .arrays = Json::object(), .times = {}};
        const auto at = static_cast<std::size_t>(number);
        const bool is_in = at < group.times.size() && !std::isnan(group.times[at]);
        // After a try whose answer was lost the step is there, with a version that nobody was told.
        const bool is_own_try =
            is_in && std::bit_cast<std::uint64_t>(group.times[at]) == std::bit_cast<std::uint64_t>(step.time);
        if (is_in && (how.is_new || !is_own_try))
            return {ErrorCode::exists, store.path() + " has a step " + std::to_string(number) + " already"};
        const Result<std::vector<Array>> arrays = arrays_of(step);
        if (!arrays.ok()) return arrays.status();
        if (Status status = is_own_try ? Status() : check_version(group, store, how); !status.ok())
            return status;
        if (Status status = check_like(group.arrays, arrays.value()); !status.ok()) return status;
        if (Status status = check_names(group.arrays, step, arrays.value()); !status.ok()) return status;
        if (Status status = check_statics(group, step, folder); !status.ok()) return status;
        Status status = place_shards(folder, store, group, arrays.value(), number, how);
        if (status.ok()) status = put_time(store, group, number, step.time, how.sync);
        const Json before = group.arrays;
        if (status.ok()) status = put_axes(store, step, group, how.sync);
        if (!status.ok()) return status;
        const std::int64_t num_steps = std::ssize(group.times);
        group.attributes = with_others(attributes_of_group(step), group.attributes);
        put_document(group.arrays, "time",
                     line_of("time", num_steps, times_a_chunk, attributes_of_time(step)));
        for (const Array& array : arrays.value())
            put_document(group.arrays, array.name, array.to_json(num_steps));
        for (const auto& [name, document] : group.arrays.items()) {
            if (has_time(document)) group.arrays[name]["shape"][0] = num_steps;
        }
        // An array that the group names is one for those, too, who open it by itself.
        status = put_arrays(store, group.arrays, how.sync, [&](const std::string& name, const Json&) {
            const Result<std::optional<std::int64_t>> size = store.size_of(document_of(name));
            return !before.contains(name) && (!size.ok() || !size.value());
        });
        const std::string text = group_json(group).dump();
        if (status.ok()) status = store.replace(metadata_name, as_bytes(text), group.version, how.sync);  // 3
        if (status.ok()) {
            status =
                put_arrays(store, group.arrays, how.sync, [&](const std::string& name, const Json& document) {
                    return is_in || !before.contains(name) || before.at(name) != document;
                });
        }
        if (!status.ok()) return status;
        if (how.left != nullptr) how.left->version = group.version;
        storage::discard_file(storage::joined_scheme + folder);
        return {};
    });
}

namespace {

Json parsed_or_null(std::span<const std::byte> bytes) {
    try {
        return parsed(bytes);
    } catch (const Json::exception&) {
        return nullptr;
    } catch (const TooDeep&) {
        return nullptr;
    }
}

}  // namespace

Status mend(const storage::Place& store) {
    Result<std::optional<Group>> found = read_group(store);
    if (!found.ok() || !found.value()) return found.status();
    Group& group = *found.value();
    return reading(store.path(), [&]() -> Status {
        bool has_more = false;  // than the group's own zarr.json
        const Json arrays = group.arrays;
        for (const auto& [name, document] : arrays.items()) {
            const Result<std::optional<storage::WholeObject>> said = store.get(document_of(name));
            if (!said.ok()) return said.status();
            Json whole = document;
            bool is_said = false;
            if (said.value()) {
                // One that is torn has nothing that could be kept.
                const Json own = parsed_or_null(said.value()->bytes);
                if (own.is_object()) whole = with_others_attributes(std::move(whole), &own);
                is_said = own == whole;
            }
            Status status = is_said ? Status() : put_json(store, name, whole, true);
            if (!status.ok()) return status;
            has_more = has_more || whole != document;
            group.arrays[name] = std::move(whole);
        }
        if (!has_more) return {};
        return store.replace(metadata_name, as_bytes(group_json(group).dump()), group.version, true);
    });
}

namespace {

/// A file of an array's folder that 1 to 4 make: "zarr.json", "c", "c.12.0.0", and what a killed run left of
/// one (storage/place.cpp).
bool is_our_file(std::string_view name) {
    if (name.ends_with(".part")) name.remove_suffix(std::string_view(".part").size());
    if (name == metadata_name) return true;
    if (!name.starts_with('c')) return false;
    for (name.remove_prefix(1); name.starts_with('.');) {
        name.remove_prefix(1);
        const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
        if (digits == 0) return false;
        name.remove_prefix(digits);
    }
    return name.empty();
}

}  // namespace

Status remove_store(const storage::Place& store) {
    const Result<std::optional<Group>> group = read_group(store);
    if (!group.ok() || !group.value()) return group.status();
    std::vector<std::string> ours;
    for (const auto& [name, document] : group.value()->arrays.items()) {
        const Result<std::vector<storage::Listed>> listed = store.list(name);
        if (listed.status().code() == ErrorCode::not_found) continue;
        if (!listed.ok()) return listed.status();
        for (const storage::Listed& each : listed.value()) {
            if (is_our_file(each.name)) ours.push_back(std::string(name).append("/").append(each.name));
        }
    }
    // From here on it is no group any more.
    if (Status status = store.remove(metadata_name); !status.ok()) return status;
    Status status = for_each_parallel(ours.size(), store.limits().num_at_once, "hakobi-zarr",
                                      [&](std::size_t i) { return store.remove(ours[i]); });
    if (!status.ok()) return status;
    for (const auto& [name, document] : group.value()->arrays.items()) (void)store.remove_folder(name);
    return store.remove_folder("");
}

}  // namespace hakobi::format::zarr
