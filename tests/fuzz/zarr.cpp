// A series' group of Zarr 3 as somebody else may have left it: the group's zarr.json, an array's own, and a
// shard, whose index gets a right checksum where the first byte says so.
#include <array>
#include <cstring>
#include <limits>

#include "base/crc32c.hpp"
#include "format/format.hpp"
#include "format/zarr/array.hpp"
#include "format/zarr/metadata.hpp"
#include "format/zarr/store.hpp"
#include "input.hpp"

using namespace hakobi;
namespace zarr = hakobi::format::zarr;

namespace {

format::StepDescription next_step() {
    return {.title = {},
            .time_units = "s",
            .time = 2,
            .axes = {},
            .fields = {{.name = "eta",
                        .units = "m",
                        .long_name = {},
                        .standard_name = {},
                        .type = format::ValueType::float64,
                        .global = {4, 3}}}};
}

/// Corrects the checksum that ends a shard's index, where the array is one of shards.
void seal(std::span<const std::byte> document, std::vector<std::byte>& shard) {
    try {
        const auto* const text = reinterpret_cast<const char*>(document.data());
        const auto array =
            zarr::Array::from_json("eta", nlohmann::ordered_json::parse(text, text + document.size()));
        if (!array.ok() || !array.value().is_sharded()) return;
        const std::int64_t num = array.value().num_chunks_in_all();
        if (num > std::ssize(shard) / 16 || std::ssize(shard) < zarr::index_bytes(num)) return;
        const auto index = std::span(shard).last(static_cast<std::size_t>(zarr::index_bytes(num)));
        const std::uint32_t sum = crc32c(index.first(index.size() - sizeof(std::uint32_t)));
        std::memcpy(index.data() + index.size() - sizeof sum, &sum, sizeof sum);
    } catch (const nlohmann::ordered_json::exception&) {
    }
}

void read_field(const fuzz::Folder& folder, const format::FoundField& field) {
    if (!field.type) return;
    Block block{.global = field.shown.shape, .start = {}, .count = {}};
    std::int64_t num = 1;
    for (const std::int64_t length : block.global) {
        block.count.push_back(std::min<std::int64_t>(length, 8));
        block.start.push_back(length - block.count.back());
        num *= block.count.back();
        if (num > 4096) return;
    }
    std::vector<std::byte> values(static_cast<std::size_t>(num * format::bytes_of(*field.type)));
    (void)zarr::read_values(folder.path_of(field.file), block, values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const fuzz::Folder folder;
    folder.empty();
    fuzz::Input input(data, size);
    const auto how = input.take<std::uint8_t>();
    const auto group = input.take_bytes(input.take<std::uint16_t>());
    const auto document = input.take_bytes(input.take<std::uint16_t>());
    std::vector<std::byte> shard(input.bytes().begin(), input.bytes().end());
    if ((how & 1) != 0) seal(document, shard);
    for (const char* name : {"run.zarr", "run.zarr/eta", "run.zarr/time", "run.zarr/x"})
        std::filesystem::create_directory(folder.path_of(name));
    std::vector<double> times(zarr::times_a_chunk, std::numeric_limits<double>::quiet_NaN());
    times[0] = 1;
    const std::array<double, 3> points = {1, 2, 3};
    folder.write("run.zarr/zarr.json", group);
    folder.write("run.zarr/eta/zarr.json", document);
    folder.write("run.zarr/eta/c.0.0.0", shard);
    folder.write("run.zarr/time/c.0", std::as_bytes(std::span(times)));
    folder.write("run.zarr/x/c.0", std::as_bytes(std::span(points)));

    const storage::PlacePtr store = storage::open_place(folder.path_of("run.zarr"));
    const Result<format::FoundStep> found = zarr::read_stored(store, 0);
    if (found.ok()) {
        for (const format::FoundField& field : found.value().fields) read_field(folder, field);
    }
    // Values are read by the array's own document, whatever the group says.
    std::vector<std::byte> values(4 * sizeof(double));
    (void)zarr::read_values(folder.path_of("run.zarr/eta/c.0.0.0"),
                            {.global = {4, 3}, .start = {1, 1}, .count = {2, 2}}, values);
    if (const auto fields = zarr::fields_in(*store); fields.ok()) (void)fields.value()->take(next_step());
    if ((how & 2) != 0) (void)zarr::mend(*store);
    if ((how & 4) != 0) (void)zarr::remove_store(*store);
    return 0;
}
