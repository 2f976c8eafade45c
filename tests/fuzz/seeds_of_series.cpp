// Seeds of the targets zarr, series, objects, growing and grib.
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "described.hpp"
#include "filter/codec.hpp"
#include "format/netcdf4/growing.hpp"
#include "format/netcdf4/netcdf4.hpp"
#include "format/series_format.hpp"
#include "format/vtkhdf/growing.hpp"
#include "format/zarr/array.hpp"
#include "format/zarr/metadata.hpp"
#include "seeds.hpp"

namespace hakobi::fuzz {
namespace {

/// Groups with an axis and one field: plain, packed, in shards of two chunks, and one of any depth.
void add_zarr(Seeds& seeds) {
    namespace zarr = format::zarr;
    using Json = nlohmann::ordered_json;
    const auto group_of = [](const Json& field) {
        Json group = zarr::group_document({{"hakobi_store", 1}, {"title", "a run"}});
        group["consolidated_metadata"] = {{"kind", "inline"},
                                          {"must_understand", false},
                                          {"metadata",
                                           {{"time", zarr::line_of("time", 1, 1024, {{"units", "s"}})},
                                            {"x", zarr::line_of("x", 3, 3, {{"units", "m"}})},
                                            {"eta", field}}}};
        return group.dump();
    };
    const auto add = [&](char how, const std::string& group, const std::string& document,
                         const Bytes& shard) {
        Bytes input{static_cast<std::byte>(how)};
        add_part<std::uint16_t>(input, bytes_in(group));
        add_part<std::uint16_t>(input, bytes_in(document));
        input.insert(input.end(), shard.begin(), shard.end());
        seeds.add("zarr", input);
    };
    for (const filter::Codec codec : {filter::Codec::none, filter::Codec::deflate, filter::Codec::zstd}) {
        for (const std::int64_t rows : {4, 2}) {
            zarr::Array array = zarr::array_of(field("eta", format::ValueType::float64, {4, 3}), {"y", "x"});
            array.chunk = {rows, 3};
            array.num_chunks = {4 / rows, 1};
            array.packing = {.codec = codec, .level = 3, .frame = filter::Frame::blosc};
            array.fill = -1.0;
            Bytes shard;
            std::vector<std::int64_t> offsets, lengths;
            filter::Coder coder;
            for (std::int64_t c = 0; c < 4 / rows; ++c) {
                Bytes chunk(static_cast<std::size_t>(rows * 3 * 8), std::byte{1});
                if (array.is_packed()) {
                    Bytes room(static_cast<std::size_t>(filter::most_encoded_bytes(std::ssize(chunk))));
                    const auto encoded =
                        coder.encode(array.packing, filter::Element::float64, 8, chunk, room).value().bytes;
                    chunk.assign(encoded.begin(), encoded.end());
                }
                offsets.push_back(std::ssize(shard));
                lengths.push_back(std::ssize(chunk));
                shard.insert(shard.end(), chunk.begin(), chunk.end());
            }
            if (array.is_sharded()) {
                const Bytes index = zarr::shard_index(offsets, lengths);
                shard.insert(shard.end(), index.begin(), index.end());
            }
            const Json document = array.to_json(1);
            for (const char how : {'\1', '\7'}) add(how, group_of(document), document.dump(), shard);
        }
    }
    constexpr std::size_t depth = 20'000;
    const std::string deep = std::string(depth, '[') + std::string(depth, ']');
    add(2, "{\"attributes\":{\"hakobi_store\":1,\"a\":" + deep + "}}", deep, {});
}

/// Markers, receipts, commits, journals and names as runs leave them; series.cpp adds what seals them.
void add_series(Seeds& seeds) {
    const auto add = [&](char what, std::span<const std::byte> bytes) {
        Bytes input{static_cast<std::byte>(what)};
        input.insert(input.end(), bytes.begin(), bytes.end());
        seeds.add("series", input);
    };
    add(0, bytes_in("hakobi stage\nnode n1\nfolder /local/nvme/run.0123456789abcdef.stage\n"));
    add(0, bytes_in("hakobi stage\nnode n1\nfolder /l/run.0123456789abcdef.stage\nnothing is there\n"));
    for (const std::int64_t num_writers : {1, 2}) {
        ByteWriter writer;
        writer.put(static_cast<std::uint8_t>(128));
        for (std::int64_t rank = 0; rank < num_writers; ++rank)
            writer.put(std::array<std::int64_t, 3>{4000, rank, num_writers});
        add(1, writer.take());
    }
    ByteWriter commit;
    commit.put_text("run_000000.nc");
    commit.put_text("run_000000.nc");
    commit.put(std::int64_t{5000});
    commit.put_all(Bytes(48, std::byte{7}));
    commit.put(std::int64_t{2});
    for (const std::int64_t offset : {4096, 0}) {
        commit.put(offset);
        commit.put_all(Bytes(48, std::byte{1}));
    }
    add(2, commit.take());
    ByteWriter record;  // overview/journal.cpp: a key, a checksum, what was found
    record.put_text("key");
    record.put(std::uint32_t{9});
    record.put(std::int64_t{1});
    record.put(0.5);
    for (const std::vector<double>& found : {std::vector<double>{1, 2}, {}, {3}}) record.put_all(found);
    Bytes journal;
    add_part<std::uint16_t>(journal, record.take());
    add(3, journal);
    for (const char* name :
         {"out/run_000012.nc", "run_000012.nc.0123456789abcdef.part", "run_000012.hdf.mesh.pieces.gathered",
          "run_000012.nc.commit.0123456789abcdef.part", "run.series.000256.nc", "run.zarr", "run.staged",
          "/local/run.0123456789abcdef.stage", "run_000012.nc.overview.zip",
          "run_000012.nc.0123456789abcdef.whole"})
        add(4, bytes_in(name));
}

/// Answers of a server, one behind the other, and the head of a striped file.
void add_objects(Seeds& seeds) {
    enum Answer : std::uint8_t { whole = 0, part = 1, missing = 2, differs = 3 };
    struct Said {
        Answer answer;
        std::string_view head, body;
    };
    const auto add = [&](char what, const std::vector<Said>& answers) {
        Bytes input{static_cast<std::byte>(what)};
        for (const Said& said : answers) {
            input.push_back(static_cast<std::byte>(said.answer));
            Bytes head, body;
            add_part<std::uint8_t>(head, bytes_in(said.head));
            add_part<std::uint16_t>(body, bytes_in(said.body));
            input.insert(input.end(), head.begin(), head.end());
            input.insert(input.end(), body.begin(), body.end());
        }
        seeds.add("objects", input);
    };
    constexpr std::string_view page =
        "<?xml version=\"1.0\"?><ListBucketResult "
        "xmlns=\"x\"><Name>bucket</Name><EncodingType>url</EncodingType>"
        "<IsTruncated>true</IsTruncated><NextContinuationToken>next&amp;</"
        "NextContinuationToken><Contents><Key>run/c%2B1"
        "</Key><Size>70</Size><ETag>&quot;e&quot;</ETag><LastModified>2026-11-26T14:00:00.000Z</"
        "LastModified></Contents>"
        "<CommonPrefixes><Prefix>run/d/</Prefix></CommonPrefixes></ListBucketResult>";
    constexpr std::string_view last =
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>run/e&#x41;</Key>"
        "<LastModified>1014-11-26T14:00:00.000Z</LastModified></Contents></"
        "ListBucketResult>";
    for (const char what : {'\0', '\1'}) add(what, {{whole, "", page}, {whole, "", last}});
    constexpr std::string_view facts =
        "Content-Length: 100\r\nETag: \"e\"\r\nLast-Modified: Wed, 26 Nov 2026 14:00:00 GMT\r\n";
    constexpr std::string_view some = "content-range: bytes 0-4/10\r\netag: \"e\"\r\n";
    add(2, {{part, some, "12345"}, {part, "content-range: bytes 5-9/10\r\n", "67890"}});
    add(2, {{whole, "content-length: 5\r\nx-amz-checksum-crc32c: AAAAAA==\r\n", "12345"}});
    add(3, {{whole, facts, ""}, {whole, facts, ""}, {part, some, "1234567890"}});
    add(3, {{missing, "", ""}, {missing, "", "<Error><Code>NoSuchBucket</Code></Error>"}});
    add(4, {{whole, "", "<R><UploadId>7</UploadId></R>"},
            {whole, "etag: \"0a1b\"\r\nx-amz-checksum-crc32c: AAAAAA==\r\n", ""},
            {missing, "", "<Error><Code>NoSuchKey</Code></Error>"},
            {whole, "", "<ListBucketResult/>"},
            {differs, "", "<Error><Code>PreconditionFailed</Code></Error>"},
            {whole, "etag: \"x\"\r\n", ""},
            {whole, "", "<P><Part><PartNumber>1</PartNumber><ETag>e</ETag><Size>100</Size></Part></P>"},
            {whole, "", "<U><Upload><Key>run/name</Key><UploadId>7</UploadId></Upload></U>"},
            {whole, "", ""}});
    add(5, {{whole, "", ""},
            {whole, "", ""},
            {differs, "", "<Error><Code>PreconditionFailed</Code></Error>"},
            {differs, "", "<Error><Code>PreconditionFailed</Code></Error>"},
            {whole, "", ""},
            {differs, "", "<Error><Code>PreconditionFailed</Code><Message>m</Message></Error>"},
            {whole, "x-amz-meta-hakobi-put: word\r\n", ""},
            {whole, "etag: \"e\"\r\n", ""}});
    seeds.add("objects", "\6Wed, 26 Nov 2026 14:00:00 GMT");
    seeds.add("objects",
              "\6"
              "2026-11-26T14:00:00.000Z");
    seeds.add("objects", "\6<a b=\"c\">&lt;&#x41;&#65;%41+</a>");
    Bytes striped{std::byte{7}};
    const std::int64_t file_bytes = 5000;
    const auto number = std::as_bytes(std::span(&file_bytes, 1));
    striped.insert(striped.end(), number.begin(), number.end());
    const auto head =
        bytes_in("hakobi striped file 1\nid 0123456789abcdef0123456789abcdef\nobject_bytes 4096\n");
    striped.insert(striped.end(), head.begin(), head.end());
    seeds.add("objects", striped);
}

/// The file of a format that takes several steps, with two of them.
Bytes growing_file(const format::GrowingFormat& format, const format::StepDescription& step) {
    const std::unique_ptr<format::GrowingFile> growing = format.begin_file();
    Bytes file;
    for (int num = 0; num < 2; ++num) {
        const format::Layout layout = growing->append(step, {}).value();
        file.resize(static_cast<std::size_t>(layout.file_bytes));
        for (const format::Extent& extent : layout.commit)
            std::ranges::copy(extent.bytes, file.begin() + extent.offset_bytes);
    }
    return file;
}

void add_growing(Seeds& seeds) {
    const auto add = [&](char what, const Bytes& file) {
        Bytes input{static_cast<std::byte>(what)};
        input.insert(input.end(), file.begin(), file.end());
        seeds.add("growing", input);
    };
    const format::StepDescription step = descriptions().front();
    add(0, growing_file(format::growing_netcdf4(), step));
    add(1, growing_file(format::growing_vtkhdf(), mesh_step()));
    // Three records of two files; of the second field the file itself has a copy.
    format::SeriesDescription series{.shown = step,
                                     .sources = {{"run_000000.nc", 1}, {"run_000001.nc", 2}},
                                     .has = {{true, false}, {true, true}},
                                     .numbers = {0, 1, 2},
                                     .times = {0, 1, 2},
                                     .left_out = {"v", "w"}};
    constexpr std::size_t copied_bytes = std::size_t{3} * 24 * 4;
    for (const std::vector<Bytes>& copies : {std::vector<Bytes>(), {{}, Bytes(copied_bytes)}}) {
        series.copies = copies;
        const format::Layout layout = format::netcdf4().series()->lay_out_series(series, ".").value();
        Bytes file(static_cast<std::size_t>(layout.file_bytes));
        for (const format::Extent& extent : layout.metadata)
            std::ranges::copy(extent.bytes, file.begin() + extent.offset_bytes);
        add(2, file);
    }
}

std::string section(int number, std::size_t octets) {
    std::string text(octets, '\1');
    text.replace(0, 5, std::string("\0\0\0", 3) + static_cast<char>(octets) + static_cast<char>(number));
    return text;
}

/// Messages of both editions, and a file of two with what stands between them.
void add_grib(Seeds& seeds) {
    const auto edition2 = [](const std::string& sections) {
        std::string text("GRIB\0\0\0\2\0\0\0\0\0\0", 14);
        const std::size_t length = 16 + sections.size() + 4;
        return text + static_cast<char>(length >> 8) + static_cast<char>(length & 0xff) + sections + "7777";
    };
    const auto product = [](int number, std::size_t octets) {  // of hours, on a surface of pressure
        std::string four = section(4, octets);
        four.replace(5, 4, std::string("\0\0\0", 3) + static_cast<char>(number));
        four.replace(17, 5, std::string("\1\0\0\0\6", 5));
        four.replace(22, 7, std::string("\x64\0\0\0\0\xc8\xff", 7));
        return four;
    };
    const std::string begin = section(1, 21) + section(3, 40), values = section(5, 21) + section(7, 9);
    const std::string no_bitmap = std::string("\0\0\0\6\6\xff", 6);
    std::string all;
    for (const auto& [number, octets] : {std::pair(0, 34), std::pair(1, 37), std::pair(2, 36),
                                         std::pair(8, 58), std::pair(11, 61), std::pair(12, 60)}) {
        const std::string one =
            begin + product(number, static_cast<std::size_t>(octets)) + no_bitmap + values;
        seeds.add("grib", edition2(one));
        all += edition2(one + product(0, 34) + no_bitmap + values) + "\r\n7777";
    }
    seeds.add("grib", all);
    for (const int centre : {7, 98}) {
        std::string one(52, '\1');
        one.replace(0, 8,
                    std::string("\0\0\x34\2", 4) + static_cast<char>(centre) + std::string("\1\1\xc0", 3));
        one[9] = 100;
        const std::string two("\0\0\x20", 3), three("\0\0\7", 3), four("\0\0\x0c", 3);
        const std::string rest =
            one + two + std::string(29, '\2') + three + std::string(4, '\3') + four + std::string(9, '\4');
        const std::size_t length = 8 + rest.size() + 4;
        seeds.add("grib", std::string("GRIB\0\0", 6) + static_cast<char>(length) + '\1' + rest + "7777");
    }
}

}  // namespace

void add_seeds_of_series(Seeds& seeds) {
    add_zarr(seeds);
    add_series(seeds);
    add_objects(seeds);
    add_growing(seeds);
    add_grib(seeds);
}

}  // namespace hakobi::fuzz
