#include "format/zarr/array.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/crc32c.hpp"
#include "format/zarr/metadata.hpp"

namespace hakobi::format::zarr {
namespace {

FieldDescription field_of(std::vector<std::int64_t> global, ValueType type) {
    FieldDescription field;
    field.name = "eta";
    field.units = "m";
    field.type = type;
    field.global = std::move(global);
    return field;
}

TEST(ZarrArray, IsReadBackFromItsDocument) {
    std::vector<FieldDescription> fields = {field_of({}, ValueType::int32), field_of({5}, ValueType::uint8),
                                            field_of({700, 900}, ValueType::float64),
                                            field_of({3, 1000, 1001}, ValueType::float32),
                                            field_of({400, 400}, ValueType::uint64)};
    fields[0].is_static = fields[1].is_static = true;
    fields[2].fill_value = std::nan("");
    fields[3].filters = {.codec = filter::Codec::zstd, .level = 5, .frame = filter::Frame::blosc};
    fields[4].fill_value = ~std::uint64_t{0};
    for (const FieldDescription& field : fields) {
        const std::vector<std::string> names = {"z", "y", "x"};
        const Array array = array_of(field, {names.end() - std::ssize(field.global), names.end()});
        const nlohmann::ordered_json document = array.to_json(12);
        const Result<Array> back = Array::from_json("eta", document);
        ASSERT_TRUE(back.ok()) << back.status().text();
        EXPECT_EQ(back.value().to_json(12), document);
        EXPECT_EQ(back.value().shape, field.global);
        EXPECT_EQ(back.value().chunk, array.chunk);
        EXPECT_EQ(back.value().has_time, !field.is_static);
        EXPECT_EQ(back.value().is_contiguous(), !array.is_packed());
        EXPECT_EQ(back.value().fill.has_value(), field.fill_value.has_value());
        // Chunks cover the shard, and no more of it than one row of them.
        for (std::size_t d = 0; d < field.global.size(); ++d) {
            EXPECT_GE(array.num_chunks[d] * array.chunk[d], field.global[d]);
            EXPECT_LT((array.num_chunks[d] - 1) * array.chunk[d], field.global[d]);
        }
    }
}

TEST(ZarrArray, NamesTheShardOfAStep) {
    Array array = array_of(field_of({40, 50}, ValueType::float64), {"y", "x"});
    EXPECT_EQ(array.key(12), "c.12.0.0");
    array.has_time = false;
    EXPECT_EQ(array.key(12), "c.0.0");
    EXPECT_EQ(array_of(field_of({}, ValueType::float64), {}).key(0), "c.0");
}

TEST(ZarrArray, HasItsFillValueAsXarrayReadsIt) {
    FieldDescription field = field_of({4}, ValueType::float32);
    field.fill_value = std::nanf("");
    nlohmann::ordered_json document = array_of(field, {"x"}).to_json(1);
    EXPECT_EQ(document["fill_value"], "NaN");
    EXPECT_EQ(document["attributes"]["_FillValue"], "AAAAAAAA+H8=");
    field.fill_value = 1e20F;
    document = array_of(field, {"x"}).to_json(1);
    EXPECT_EQ(document["attributes"]["_FillValue"], "AAAAgB2vFUQ=");
}

TEST(ZarrArray, ThatIsMadeOtherwiseIsRefused) {
    using Json = nlohmann::ordered_json;
    const Json good = array_of(field_of({700, 900}, ValueType::float64), {"y", "x"}).to_json(3);
    ASSERT_TRUE(Array::from_json("eta", good).ok());
    const auto is_refused = [&](const char* at, const Json& value) {
        Json document = good;
        document[Json::json_pointer(at)] = value;
        return Array::from_json("eta", document).status().code() == ErrorCode::unsupported;
    };
    EXPECT_TRUE(is_refused("/data_type", "float16"));
    EXPECT_TRUE(is_refused("/shape", {3, 700}));
    EXPECT_TRUE(is_refused("/shape", {3, 700, 1e9}));
    EXPECT_TRUE(is_refused("/chunk_grid/configuration/chunk_shape", {2, 700, 900}));
    EXPECT_TRUE(is_refused("/chunk_key_encoding/configuration/separator", "/"));
    EXPECT_TRUE(is_refused("/codecs/0/configuration/index_location", "start"));
    EXPECT_TRUE(is_refused("/codecs/0/configuration/chunk_shape", {1, 699, 900}));
    EXPECT_TRUE(is_refused("/codecs/0/configuration/codecs/0/configuration/endian", "middle"));
}

TEST(ZarrArray, ALevelThatBloscHasNotIsRefused) {
    Array array = array_of(field_of({7, 9}, ValueType::float64), {"y", "x"});
    array.packing = {.codec = filter::Codec::zstd, .level = 3, .frame = filter::Frame::blosc};
    nlohmann::ordered_json document = array.to_json(3);
    nlohmann::ordered_json& level = document["codecs"][1]["configuration"]["clevel"];
    ASSERT_TRUE(Array::from_json("eta", document).ok());
    for (const nlohmann::ordered_json& other : {nlohmann::ordered_json(1e300), {-1}, {10}, {1LL << 40}}) {
        level = other.is_array() ? other[0] : other;
        EXPECT_EQ(Array::from_json("eta", document).status().code(), ErrorCode::unsupported) << other;
    }
}

TEST(ZarrShard, IndexSaysWhereChunksAreAndItsChecksum) {
    const std::vector<std::byte> index = shard_index({0, 100, 164}, {100, 64, 8});
    ASSERT_EQ(std::ssize(index), index_bytes(3));
    std::array<std::int64_t, 6> places{};
    std::memcpy(places.data(), index.data(), sizeof places);
    EXPECT_EQ(places, (std::array<std::int64_t, 6>{0, 100, 100, 64, 164, 8}));
    std::uint32_t sum = 0;
    std::memcpy(&sum, index.data() + sizeof places, sizeof sum);
    EXPECT_EQ(sum, crc32c(std::span(index).first(sizeof places)));
}

}  // namespace
}  // namespace hakobi::format::zarr
