// A step as files of a Zarr group, one a field: the addresses of all are those of one file
// (storage/joined.hpp), so that methods write regions as they do of any format.
#include "format/zarr/zarr.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <nlohmann/json.hpp>

#include "format/chunks.hpp"
#include "format/zarr/array.hpp"
#include "format/zarr/metadata.hpp"
#include "format/zarr/store.hpp"

namespace hakobi::format {
namespace {

/// Members begin at whole pages, so that accesses that are aligned in the step are in its files.
constexpr std::int64_t alignment_bytes = 4096;
/// A field of 64 TiB in a step has so many; every rank makes their index.
constexpr std::int64_t most_chunks = std::int64_t{1} << 26;

/// Places a field's member behind those before it.
void add_member(Layout& layout, const FieldDescription& field, std::span<const StoredChunk> chunks) {
    const std::int64_t begin = (layout.file_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
    const zarr::Array array = zarr::array_of(field, field.dims);
    const std::int64_t num_chunks = array.num_chunks_in_all();
    assert(!array.is_packed() || std::ssize(chunks) == num_chunks);
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(num_chunks)), lengths = offsets, places;
    std::int64_t end = begin;
    for (std::size_t c = 0; c < offsets.size(); ++c) {
        offsets[c] = end - begin;
        lengths[c] = array.is_packed() ? chunks[c].bytes : array.chunk_bytes();
        if (array.is_packed()) places.push_back(end);
        end += lengths[c];
    }
    if (array.is_sharded()) {
        layout.metadata.push_back({end, zarr::shard_index(offsets, lengths)});
        end += zarr::index_bytes(num_chunks);
    }
    layout.offsets_bytes.push_back(array.is_packed() ? 0 : begin);
    layout.chunk_offsets_bytes.push_back(std::move(places));
    layout.members.push_back({begin, end});
    layout.file_bytes = end;
}

/// Zarr's metadata are JSON, which has no other texts.
Status check_texts(const std::string& whose, const Attributes& attributes) {
    for (const auto& [name, value] : attributes) {
        try {
            static_cast<void>(zarr::json_of({{name, value}}, std::nullopt).dump());
        } catch (const nlohmann::ordered_json::exception&) {
            return {ErrorCode::invalid_argument,
                    whose + ": attribute '" + name + "': its text is not UTF-8, which format zarr needs"};
        }
    }
    return {};
}

class ZarrStore final : public StoreFormat {
  public:
    [[nodiscard]] Result<std::vector<std::int64_t>> steps_in(const std::string& store) const override {
        Result<std::optional<zarr::Group>> group = zarr::read_group(*storage::open_place(store));
        if (!group.ok()) return group.status();
        std::vector<std::int64_t> steps;
        if (!group.value()) return steps;
        for (std::size_t i = 0; i < group.value()->times.size(); ++i) {
            if (!std::isnan(group.value()->times[i])) steps.push_back(static_cast<std::int64_t>(i));
        }
        return steps;
    }
    [[nodiscard]] Result<FoundStep> read_stored(const std::string& store,
                                                std::int64_t number) const override {
        return zarr::read_stored(storage::open_place(store), number);
    }
    [[nodiscard]] Result<std::unique_ptr<StoredFields>> fields_in(const std::string& store) const override {
        return zarr::fields_in(*storage::open_place(store));
    }
    [[nodiscard]] Status add_step(const std::string& folder, const std::string& store, std::int64_t number,
                                  const StepDescription& step, const Adding& how) const override {
        return zarr::add_step(folder, *storage::open_place(store), number, step, how);
    }
    [[nodiscard]] Status mend_store(const std::string& store) const override {
        return zarr::mend(*storage::open_place(store));
    }
    [[nodiscard]] Status remove_store(const std::string& store) const override {
        return zarr::remove_store(*storage::open_place(store));
    }
};

const StoreFormat& zarr_store() {
    static const ZarrStore store;
    return store;
}

class Zarr final : public Format {
  public:
    // A static field is in the store from the step on in which it was put. JSON holds texts of any length,
    // but all of it is written with each step, and read with each look.
    Zarr()
        : Format({.name = "zarr",
                  .extension = ".zarr",
                  .rules = {.is_of_series = true, .most_attribute_bytes = 1 << 20},
                  .holds_chunks = true,
                  .frame = filter::Frame::blosc,
                  .store = &zarr_store()}) {}

    [[nodiscard]] Status check(const StepDescription& step) const override {
        for (const Axis& axis : step.axes) {
            if (Status status = check_texts("axis " + axis.name, axis.attributes); !status.ok())
                return status;
        }
        for (const FieldDescription& field : step.fields) {
            const std::int64_t num_chunks = zarr::array_of(field, field.dims).num_chunks_in_all();
            if (num_chunks > most_chunks) {
                return {ErrorCode::invalid_argument,
                        "field " + field.name + ": it has " + std::to_string(num_chunks) +
                            " chunks, and format zarr takes " + std::to_string(most_chunks)};
            }
            if (Status status =
                    check_texts("field " + field.name, zarr::array_of(field, field.dims).attributes);
                !status.ok())
                return status;
        }
        if (Status status = check_texts("axis time", step.time_attributes); !status.ok()) return status;
        return check_texts("the output", step.attributes);
    }
    [[nodiscard]] Result<Layout> lay_out(const StepDescription& step,
                                         std::span<const std::vector<StoredChunk>> chunks) const override {
        assert(chunks.empty() || chunks.size() == step.fields.size());
        Layout layout;
        for (std::size_t f = 0; f < step.fields.size(); ++f)
            add_member(layout, step.fields[f],
                       chunks.empty() ? std::span<const StoredChunk>() : std::span(chunks[f]));
        return layout;
    }
    [[nodiscard]] Result<FoundStep> read(const std::string& path) const override {
        return Status(ErrorCode::unsupported, path + ": steps of the format zarr are in their series' group");
    }
    [[nodiscard]] Status read_values(const std::string& path, const FoundField& /*field*/, const Block& block,
                                     std::span<std::byte> values,
                                     std::int64_t /*step_in_file*/) const override {
        return zarr::read_values(path, block, values);
    }
};

}  // namespace

const Format& zarr_v3() {
    static const Zarr format;
    return format;
}

}  // namespace hakobi::format
