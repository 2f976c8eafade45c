// Steps read back from a group; store.hpp says how they got into it.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "base/crc32c.hpp"
#include "filter/blosc.hpp"
#include "format/calendar.hpp"
#include "format/zarr/metadata.hpp"
#include "format/zarr/reading.hpp"
#include "format/zarr/store.hpp"
#include "region/copy.hpp"
#include "region/cursor.hpp"
#include "region/region.hpp"
#include "storage/file.hpp"

namespace hakobi::format::zarr {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

Result<Axis> read_axis(const storage::Place& store, const std::string& name, std::int64_t length,
                       Attributes attributes) {
    Axis axis{.name = name, .units = {}, .values = {}, .attributes = std::move(attributes)};
    const auto take = [&](const char* what, std::string& text) {
        const auto entry = axis.attributes.find(what);
        if (entry == axis.attributes.end()) return;
        if (const auto* value = std::get_if<std::string>(&entry->second)) text = *value;
        axis.attributes.erase(entry);
    };
    take("units", axis.units);
    take("standard_name", axis.standard_name);
    const std::string inside = name + "/c.0";
    const Result<std::optional<storage::WholeObject>> found = store.get(inside);
    if (!found.ok()) return found.status();
    constexpr std::int64_t each_bytes = sizeof(double);
    if (!found.value() || std::ssize(found.value()->bytes) % each_bytes != 0 ||
        std::ssize(found.value()->bytes) / each_bytes != length)
        return damaged(store.path_of(inside), "the coordinates of axis " + name + " are not there");
    axis.values.resize(static_cast<std::size_t>(length));
    std::memcpy(axis.values.data(), found.value()->bytes.data(), found.value()->bytes.size());
    return axis;
}

/// Where a shard's chunks are.
struct Place {
    std::int64_t offset_bytes = 0, bytes = 0;
};

Result<std::vector<Place>> places_in(storage::File& file, const Array& array) {
    const Result<std::int64_t> size = file.size_bytes();
    if (!size.ok()) return size.status();
    if (!array.is_sharded()) return std::vector<Place>{{0, size.value()}};
    const std::int64_t num = array.num_chunks_in_all(), length = index_bytes(num);
    if (num > size.value() / 16 || size.value() < length) return damaged(file.path(), "the shard is torn");
    std::vector<std::byte> index(static_cast<std::size_t>(length));
    const Result<std::int64_t> read = file.read_at(index, size.value() - length);
    if (!read.ok()) return read.status();
    std::uint32_t sum = 0;
    std::memcpy(&sum, index.data() + index.size() - sizeof sum, sizeof sum);
    if (read.value() != length || sum != crc32c(std::span(index).first(index.size() - sizeof sum)))
        return damaged(file.path(), "the shard's index is damaged");
    std::vector<Place> places(static_cast<std::size_t>(num));
    std::memcpy(places.data(), index.data(), index.size() - sizeof sum);
    for (const Place& place : places) {
        const bool is_in_file = place.offset_bytes >= 0 && place.bytes >= 0 &&
                                place.offset_bytes <= size.value() - length - place.bytes;
        if (!is_in_file) return damaged(file.path(), "the shard's index leads out of it");
    }
    return places;
}

/// That chunks are as large as the array's document says, before memory of that size is used.
Status check_chunks(const std::string& path, const Array& array, std::span<const Place> places) {
    constexpr std::int64_t most_packed_bytes = std::numeric_limits<std::int32_t>::max();  // of blosc
    if (array.is_packed()) {
        return array.chunk_bytes() <= most_packed_bytes
                   ? Status()
                   : damaged(path, "its chunks are larger than any that can be packed");
    }
    const auto is_whole = [&](const Place& place) { return place.bytes == array.chunk_bytes(); };
    return std::ranges::all_of(places, is_whole) ? Status() : damaged(path, "a chunk has another size");
}

/// The values of one chunk.
Status read_chunk(storage::File& file, const Array& array, const Place& place, filter::Coder& coder,
                  std::span<std::byte> values) {
    assert(place.bytes >= 0 && std::ssize(values) == array.chunk_bytes());
    std::vector<std::byte> packed(static_cast<std::size_t>(place.bytes));
    const Result<std::int64_t> read = file.read_at(packed, place.offset_bytes);
    if (!read.ok()) return read.status();
    if (read.value() != place.bytes) return damaged(file.path(), "the shard is torn");
    if (array.is_packed()) {
        Status status = filter::unpack_blosc(coder, bytes_of(array.type), packed, values);
        return status.ok() ? status : Status(status.code(), file.path() + ": " + status.text());
    }
    std::ranges::copy(packed, values.begin());
    return {};
}

/// A shard that is open, and where its chunks are.
struct Shard {
    storage::FilePtr file;
    std::vector<Place> places;

    static Result<Shard> open(const Array& array, const std::string& path, const std::string& root) {
        Result<storage::FilePtr> file = storage::open_file(path, {.regular_only = true, .root = root});
        if (!file.ok()) return file.status();
        Result<std::vector<Place>> places = places_in(*file.value(), array);
        if (!places.ok()) return places.status();
        if (Status status = check_chunks(path, array, places.value()); !status.ok()) return status;
        return Shard{std::move(file).value(), std::move(places).value()};
    }
    [[nodiscard]] Status read(const Array& array, std::size_t chunk, filter::Coder& coder,
                              std::span<std::byte> values) const {
        return read_chunk(*file, array, places[chunk], coder, values);
    }
};

Status read_packed(const std::string& path, const Block& block, std::span<std::byte> values) {
    const std::string folder = path.substr(0, path.rfind('/'));
    const storage::PlacePtr store = storage::open_place(folder.substr(0, folder.rfind('/')));
    const Result<std::optional<storage::WholeObject>> text = store->get(name_of(folder) + "/zarr.json");
    if (!text.ok()) return text.status();
    if (!text.value()) return damaged(folder, "it has no zarr.json");
    Result<Array> made = Array::from_json(name_of(folder), parsed(text.value()->bytes));
    if (!made.ok()) return made.status();
    const Array& array = made.value();
    if (array.shape != block.global)
        return damaged(folder, "its array has another shape than its group says");
    const Result<Shard> shard = Shard::open(array, path, store->path());
    if (!shard.ok()) return shard.status();
    const std::int64_t element_bytes = bytes_of(array.type);
    std::int64_t num_elements = 1;
    for (const std::int64_t count : block.count) num_elements *= count;
    if (std::ssize(values) / element_bytes != num_elements || std::ssize(values) % element_bytes != 0)
        return damaged(folder, "its array has another type than its group says");
    filter::Coder coder;
    std::vector<std::byte> chunk(static_cast<std::size_t>(array.chunk_bytes())), part;
    assert(std::ssize(shard.value().places) == array.num_chunks_in_all());
    for (std::int64_t c = 0; c < array.num_chunks_in_all(); ++c) {
        std::vector<std::int64_t> in_chunk(block.count.size()), in_block = in_chunk, count = in_chunk;
        bool is_empty = false;
        std::int64_t rest = c;
        for (std::size_t d = count.size(); d-- > 0; rest /= array.num_chunks[d]) {
            const std::int64_t from = rest % array.num_chunks[d] * array.chunk[d];
            const std::int64_t first = std::max(from, block.start[d]);
            count[d] = std::min(from + array.chunk[d], block.start[d] + block.count[d]) - first;
            in_chunk[d] = first - from;
            in_block[d] = first - block.start[d];
            is_empty = is_empty || count[d] <= 0;
        }
        if (is_empty) continue;
        Status status = shard.value().read(array, static_cast<std::size_t>(c), coder, chunk);
        if (!status.ok()) return status;
        const Region from = Region::subarray(0, array.chunk, in_chunk, count, element_bytes);
        const Region to = Region::subarray(0, block.count, in_block, count, element_bytes);
        part.resize(static_cast<std::size_t>(from.size_bytes()));
        Cursor source(from), target(to);
        pack(source, chunk.data(), from.size_bytes(), part.data());
        unpack(target, values.data(), to.size_bytes(), part.data());
    }
    return {};
}

/// The size of a shard whose chunks are not packed.
std::int64_t plain_bytes(const Array& array) {
    const std::int64_t num = array.num_chunks_in_all();
    return num * array.chunk_bytes() + (num > 1 ? index_bytes(num) : 0);
}

/// A group as it was read last, with the coordinates of its axes and the names of its shards: who reads its
/// steps one after the other asks a server for little more than its version.
struct KnownGroup {
    storage::PlacePtr store;
    Group group;
    std::map<std::string, Axis> axes;
    std::map<std::string, std::set<std::string>> shards;  // by array, of a store on objects

    /// Nothing where there is none; of an object no size is asked for: it is the one that it must have.
    [[nodiscard]] Result<std::optional<std::int64_t>> shard_bytes(const Array& array,
                                                                  const std::string& key) {
        if (!store->limits().is_on_objects) return store->size_of(array.name + "/" + key);
        const Result<bool> has_it = has_object(array.name, key);
        if (!has_it.ok()) return has_it.status();
        return has_it.value() ? std::optional(plain_bytes(array)) : std::nullopt;
    }
    [[nodiscard]] Result<bool> has_object(const std::string& name, const std::string& key) {
        const auto known = shards.find(name);
        if (known != shards.end()) return known->second.contains(key);
        const Result<std::vector<storage::Listed>> listed = store->list(name);
        if (!listed.ok() && listed.status().code() != ErrorCode::not_found) return listed.status();
        for (const storage::Listed& each : listed.ok() ? listed.value() : std::vector<storage::Listed>())
            shards[name].insert(each.name);
        return shards[name].contains(key);
    }
    [[nodiscard]] Result<Axis> axis(const std::string& name, std::int64_t length, Attributes attributes) {
        const auto known = axes.find(name);
        if (known != axes.end()) return known->second;
        Result<Axis> axis = read_axis(*store, name, length, std::move(attributes));
        if (axis.ok()) axes.emplace(name, axis.value());
        return axis;
    }
};

/// Whether nobody has put another zarr.json or other times since. A series that replaces one of as many steps
/// may have an equal zarr.json.
bool is_unchanged(const KnownGroup& known) {
    const Group& group = known.group;
    const Result<std::string> version = known.store->version_of("zarr.json");
    if (!version.ok() || version.value() != group.version) return false;
    if (group.times.empty()) return true;
    const std::size_t last = (group.times.size() - 1) / static_cast<std::size_t>(times_a_chunk);
    const Result<std::string> times = known.store->version_of(times_in(last));
    return times.ok() && times.value() == group.times_version;
}

/// Null where there is no group. Files are read anew.
Result<std::shared_ptr<KnownGroup>> known_group(const storage::PlacePtr& store) {
    static thread_local std::shared_ptr<KnownGroup> last;
    const bool is_known = last && last->store->path() == store->path() && !last->group.version.empty();
    if (is_known && is_unchanged(*last)) return last;
    last.reset();
    Result<std::optional<Group>> found = read_group(*store);
    if (!found.ok()) return found.status();
    if (found.value())
        last = std::make_shared<KnownGroup>(
            KnownGroup{.store = store, .group = std::move(*found.value()), .axes = {}, .shards = {}});
    return last;
}

}  // namespace

Result<FoundStep> read_stored(const storage::PlacePtr& store, std::int64_t number) {
    const Result<std::shared_ptr<KnownGroup>> known = known_group(store);
    if (!known.ok()) return known.status();
    const auto at = static_cast<std::size_t>(number);
    if (!known.value() || number < 0 || at >= known.value()->group.times.size() ||
        std::isnan(known.value()->group.times[at]))
        return Status(ErrorCode::not_found, store->path() + " has no step " + std::to_string(number));
    const Group& group = known.value()->group;
    return reading(store->path(), [&]() -> Result<FoundStep> {
        FoundStep step{.time = group.times[at], .title = {}, .time_units = {}};
        step.attributes = attributes_of(group.attributes);
        step.attributes.erase(mark);
        const auto text = [](const Attributes& attributes, const char* name) {
            const auto entry = attributes.find(name);
            const auto* value =
                entry == attributes.end() ? nullptr : std::get_if<std::string>(&entry->second);
            return value == nullptr ? std::string() : *value;
        };
        step.title = text(step.attributes, "title");
        for (const auto& [name, document] : group.arrays.items()) {
            const Json& dims = document.at("dimension_names");
            const Attributes attributes = attributes_of(document.at("attributes"));
            if (name == "time") {
                step.time_units = text(attributes, "units");
                step.calendar = calendar_of(step.time_units, text(attributes, "calendar"));
                continue;
            }
            if (dims.size() == 1 && dims[0] == name) {
                const Json& length = document.at("shape").at(0);
                if (!length.is_number_integer())
                    return damaged(store->path(), "axis " + name + " has no length");
                Result<Axis> axis = known.value()->axis(name, length.get<std::int64_t>(), attributes);
                if (!axis.ok()) return axis.status();
                step.axes.push_back(std::move(axis).value());
                continue;
            }
            Result<Array> array = Array::from_json(name, document);
            if (!array.ok()) return array.status();
            const Array& is = array.value();
            const Result<std::optional<std::int64_t>> bytes = known.value()->shard_bytes(is, is.key(number));
            if (!bytes.ok()) return bytes.status();
            if (!bytes.value()) continue;  // not put in this step
            FoundField field{.shown = {.name = name,
                                       .type = std::string(format::name_of(is.type)),
                                       .dims = is.dims,
                                       .shape = is.shape,
                                       .is_static = !is.has_time},
                             .type = is.type};
            field.shown.attributes = is.attributes;
            if (is.fill) field.shown.attributes["_FillValue"] = attribute_of(*is.fill);
            field.file = name_of(store->path()) + "/" + name + "/" + is.key(std::string(in_place_of_step));
            // A shard of another size is read, which tells what is wrong with it.
            const bool is_plain = is.is_contiguous() && *bytes.value() == plain_bytes(is);
            field.offset_bytes = is_plain ? 0 : -1;
            if (!is_plain) field.why_library = "it is packed in chunks";
            step.fields.push_back(std::move(field));
        }
        std::set<std::string> dims_known;
        for (const Axis& axis : step.axes) dims_known.insert(axis.name);
        for (const FoundField& field : step.fields) {
            for (const std::string& dim : field.shown.dims)
                if (dims_known.insert(dim).second)
                    step.axes.push_back({.name = dim, .units = {}, .values = {}});
        }
        return step;
    });
}

Result<bool> has_same_values(const Array& array, const std::string& shard, const std::string& other,
                             const std::string& root) {
    const Result<Shard> mine = Shard::open(array, shard, {}), its = Shard::open(array, other, root);
    if (!mine.ok()) return mine.status();
    if (!its.ok()) return its.status();
    const auto chunk_bytes = static_cast<std::size_t>(array.chunk_bytes());
    std::vector<std::byte> values(chunk_bytes), other_values(chunk_bytes);
    filter::Coder coder;
    for (std::size_t c = 0; c < mine.value().places.size(); ++c) {
        Status status = mine.value().read(array, c, coder, values);
        if (status.ok()) status = its.value().read(array, c, coder, other_values);
        if (!status.ok()) return status;
        if (values != other_values) return false;
    }
    return true;
}

Status read_values(const std::string& path, const Block& block, std::span<std::byte> values) {
    return reading(path, [&]() -> Status { return read_packed(path, block, values); });
}

}  // namespace hakobi::format::zarr
