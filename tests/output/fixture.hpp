#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <hakobi/hakobi.hpp>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "filter/codec.hpp"
#include "format/chunks.hpp"
#include "format/registry.hpp"
#include "output/placement.hpp"
#include "series/series.hpp"
#include "series/step_file.hpp"

namespace hakobi::test {

namespace fs = std::filesystem;

/// A communicator and a folder that all ranks share, new for each test and removed after it. Making and
/// removing are collective.
class RanksTest : public ::testing::Test {
  protected:
    void SetUp() override {
        comm = Comm::duplicate(MPI_COMM_WORLD);
        char name[] = "/tmp/hakobi_test_XXXXXX";
        if (comm.rank() == 0 && mkdtemp(name) == nullptr) name[0] = '\0';
        MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, comm.handle());
        folder = name;
        ASSERT_FALSE(folder.empty()) << "cannot make a folder in /tmp";
    }
    void TearDown() override {
        MPI_Barrier(comm.handle());
        if (comm.rank() == 0) fs::remove_all(folder);
        MPI_Barrier(comm.handle());
        comm.free();
    }
    [[nodiscard]] bool is_rank_0() const { return comm.rank() == 0; }
    void barrier() const { MPI_Barrier(comm.handle()); }
    /// Collective, so that all ranks leave a loop together.
    [[nodiscard]] bool has_any_rank_failed() const {
        int failed = HasFailure() ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm.handle());
        return failed != 0;
    }

    Comm comm;
    std::string folder;
};

inline std::vector<char> bytes_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file.good()) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The names in a folder, sorted; what shows the steps as one data set is view_test.cpp's and left out.
inline std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
        std::string name = entry.path().filename().string();
        if (!name.ends_with(".series.nc")) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// The value of a test field at an element: differs between fields, steps and elements, exact in every type.
inline std::int64_t value_at(std::size_t field, std::int64_t step, std::int64_t element) {
    return (element * 7 + static_cast<std::int64_t>(field) * 1000003 + step * 31) % 16000057 - 8000000;
}

/// A field of a test: its type by Field::Data's index, and which block each rank has.
struct TestField {
    std::string name;
    format::ValueType type;
    std::vector<std::int64_t> global;
    Block (*block_of)(std::span<const std::int64_t> global, int num_ranks, int rank);
};

/// Cuts the slowest dimension at squares, so that blocks differ in size; the last of several ranks gets
/// nothing.
inline Block uneven_rows(std::span<const std::int64_t> global, int num_ranks, int rank) {
    const std::int64_t owners = std::max(1, num_ranks - 1);
    const auto cut = [&](std::int64_t i) { return global[0] * i * i / (owners * owners); };
    Block block{{global.begin(), global.end()},
                std::vector<std::int64_t>(global.size(), 0),
                {global.begin(), global.end()}};
    const std::int64_t mine = std::min<std::int64_t>(rank, owners);
    block.start[0] = cut(mine);
    block.count[0] = rank < owners ? cut(mine + 1) - cut(mine) : 0;
    return block;
}

/// Cuts the fastest dimension in the ranks' opposite order: every row of the file is shared by all of them.
inline Block backward_columns(std::span<const std::int64_t> global, int num_ranks, int rank) {
    Block block{{global.begin(), global.end()},
                std::vector<std::int64_t>(global.size(), 0),
                {global.begin(), global.end()}};
    const std::int64_t extent = global.back();
    const std::int64_t place = num_ranks - 1 - rank;
    block.start.back() = extent * place / num_ranks;
    block.count.back() = extent * (place + 1) / num_ranks - block.start.back();
    return block;
}

inline Block even_blocks(std::span<const std::int64_t> global, int num_ranks, int rank) {
    return split(global, num_ranks, rank);
}

/// Leaves the array's border, and with it some elements of every row, to nobody: holes.
inline Block inner_blocks(std::span<const std::int64_t> global, int num_ranks, int rank) {
    std::vector<std::int64_t> inner(global.begin(), global.end());
    for (std::int64_t& extent : inner) extent -= 2;
    Block block = split(inner, num_ranks, rank);
    block.global.assign(global.begin(), global.end());
    for (std::int64_t& start : block.start) ++start;
    return block;
}

/// Calls `call` with a 0 of the type.
template <class Call>
void visit(format::ValueType type, Call call) {
    using format::ValueType;
    switch (type) {
        case ValueType::float64:
            return call(double{});
        case ValueType::float32:
            return call(float{});
        case ValueType::int32:
            return call(std::int32_t{});
        case ValueType::int64:
            return call(std::int64_t{});
        case ValueType::int8:
            return call(std::int8_t{});
        case ValueType::uint8:
            return call(std::uint8_t{});
        case ValueType::int16:
            return call(std::int16_t{});
        case ValueType::uint16:
            return call(std::uint16_t{});
        case ValueType::uint32:
            return call(std::uint32_t{});
        case ValueType::uint64:
            return call(std::uint64_t{});
    }
}

/// A rank's values of a field, kept as bytes.
class Values {
  public:
    Values(std::size_t field, const TestField& test_field, std::int64_t step, Block block)
        : block_(std::move(block)), type_(test_field.type) {
        std::vector<std::int64_t> index(block_.count.size(), 0);
        for (std::int64_t n = block_.num_elements(); n > 0; --n) {
            std::int64_t element = 0;
            for (std::size_t d = 0; d < index.size(); ++d)
                element = element * block_.global[d] + block_.start[d] + index[d];
            append(value_at(field, step, element));
            for (std::size_t d = index.size(); d-- > 0;) {
                if (++index[d] < block_.count[d]) break;
                index[d] = 0;
            }
        }
    }
    [[nodiscard]] Field::Data data() const {
        Field::Data data;
        visit(type_, [&]<class T>(T) { data = as<T>(); });
        return data;
    }
    [[nodiscard]] const Block& block() const { return block_; }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

  private:
    void append(std::int64_t value) {
        visit(type_, [&]<class T>(T) { append_raw(static_cast<T>(value)); });
    }
    template <class T>
    void append_raw(T value) {
        const auto* raw = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
    }
    template <class T>
    [[nodiscard]] std::span<const T> as() const {
        return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
    }
    Block block_;
    format::ValueType type_;
    std::vector<std::byte> bytes_;
};

/// Puts and ends one step of the fields; the step's time is its number / 4.
inline void write_step(Output& out, const Comm& comm, std::int64_t step,
                       const std::vector<TestField>& fields) {
    std::vector<Values> values;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        values.emplace_back(f, fields[f], step,
                            fields[f].block_of(fields[f].global, comm.size(), comm.rank()));
    }
    out.begin_step(0.25 * static_cast<double>(step));
    for (std::size_t f = 0; f < fields.size(); ++f) {
        out.put(placed.field(
            {.name = fields[f].name, .units = "m", .block = values[f].block(), .data = values[f].data()}));
    }
    out.end_step();
    placed.end_step();
}

/// A field's whole array, every rank's values one by one at their places: made without the code that moves
/// values.
inline std::vector<std::byte> reference_array(std::size_t f, const TestField& field, std::int64_t step,
                                              int num_ranks) {
    const auto element_bytes = static_cast<std::size_t>(format::bytes_of(field.type));
    std::size_t num_elements = 1;
    for (const std::int64_t extent : field.global) num_elements *= static_cast<std::size_t>(extent);
    std::vector<std::byte> array(num_elements * element_bytes);
    visit(field.type, [&]<class T>(T) {
        if (!std::is_floating_point_v<T>) return;
        const T missing = std::numeric_limits<T>::quiet_NaN();
        for (std::size_t n = 0; n < num_elements; ++n)
            std::memcpy(&array[n * sizeof(T)], &missing, sizeof(T));
    });
    for (int rank = 0; rank < num_ranks; ++rank) {
        const Values values(f, field, step, field.block_of(field.global, num_ranks, rank));
        const Block& block = values.block();
        std::vector<std::int64_t> index(block.count.size(), 0);
        for (std::int64_t n = 0; n < block.num_elements(); ++n) {
            std::int64_t element = 0;
            for (std::size_t d = 0; d < index.size(); ++d)
                element = element * block.global[d] + block.start[d] + index[d];
            std::memcpy(array.data() + static_cast<std::size_t>(element) * element_bytes,
                        values.bytes().data() + static_cast<std::size_t>(n) * element_bytes, element_bytes);
            for (std::size_t d = index.size(); d-- > 0;) {
                if (++index[d] < block.count[d]) break;
                index[d] = 0;
            }
        }
    }
    return array;
}

/// The chunks of an array as they are stored.
inline std::vector<filter::Encoded> reference_chunks(const format::FieldDescription& field,
                                                     const std::vector<std::byte>& array) {
    const format::ChunkGrid grid(field.global, format::bytes_of(field.type));
    const auto element_bytes = static_cast<std::size_t>(format::bytes_of(field.type));
    filter::Coder coder;
    std::vector<filter::Encoded> chunks;
    for (std::int64_t c = 0; c < grid.num_chunks(); ++c) {
        std::vector<std::byte> values(static_cast<std::size_t>(grid.chunk_bytes()));
        const std::vector<std::int64_t> start = grid.start_of(c);
        std::vector<std::int64_t> index(start.size(), 0);
        for (std::size_t n = 0; n < values.size(); n += element_bytes) {
            std::size_t element = 0;
            bool is_inside = true;
            for (std::size_t d = 0; d < index.size(); ++d) {
                is_inside = is_inside && start[d] + index[d] < field.global[d];
                element = element * static_cast<std::size_t>(field.global[d]) +
                          static_cast<std::size_t>(start[d] + index[d]);
            }
            if (is_inside) std::memcpy(&values[n], &array[element * element_bytes], element_bytes);
            for (std::size_t d = index.size(); d-- > 0;) {
                if (++index[d] < grid.shape()[d]) break;
                index[d] = 0;
            }
        }
        const filter::Element element = field.type == format::ValueType::float64   ? filter::Element::float64
                                        : field.type == format::ValueType::float32 ? filter::Element::float32
                                                                                   : filter::Element::other;
        chunks.push_back(
            coder.encode(field.filters, element, static_cast<std::int64_t>(element_bytes), values).value());
    }
    return chunks;
}

/// The name of a step's file, without its folder.
inline std::string file_name(const std::string& format, int step) {
    return "run_00000" + std::to_string(step) + std::string(format::find_format(format).value()->extension());
}

/// The bytes of the step with that name: its file's, or of a step in a store those of its files at their
/// addresses.
inline std::vector<char> bytes_of_step(const std::string& path, const std::vector<TestField>& fields) {
    const std::string store = series::store_of(path);
    if (store.empty()) return bytes_of_file(path);
    std::vector<char> bytes;
    for (const TestField& field : fields) {
        std::string shard = store + "/" + field.name + "/c." + std::to_string(series::parse(path).step);
        for (std::size_t d = 0; d < field.global.size(); ++d) shard += ".0";
        const std::vector<char> own = bytes_of_file(shard);
        bytes.resize((bytes.size() + 4095) / 4096 * 4096);
        bytes.insert(bytes.end(), own.begin(), own.end());
    }
    return bytes;
}

/// The names of what has `num_steps` steps of the prefix "run".
inline std::vector<std::string> names_of_steps(const std::string& format, int num_steps) {
    if (format::find_format(format).value()->has_store()) return {"run.zarr"};
    std::vector<std::string> names;
    for (int step = 0; step < num_steps; ++step) names.push_back(file_name(format, step));
    return names;
}

/// The bytes that the step's file must have: the layout's, and every field's values.
inline std::vector<char> reference_file(const OutputOptions& options, std::int64_t step,
                                        const std::vector<TestField>& fields, int num_ranks) {
    format::StepDescription description{.title = options.title,
                                        .time_units = options.time_units,
                                        .time = 0.25 * static_cast<double>(step),
                                        .axes = options.axes,
                                        .fields = {},
                                        .attributes = {},
                                        .calendar = options.calendar};
    filter::Filters filters = filter::parse_filters(options.compression, options.significant_bits).value();
    filters.frame = format::find_format(options.format).value()->frame();
    std::vector<std::vector<std::byte>> arrays;
    std::vector<std::vector<filter::Encoded>> encoded;
    std::vector<std::vector<format::StoredChunk>> stored;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        description.fields.push_back({.name = fields[f].name,
                                      .units = "m",
                                      .long_name = {},
                                      .standard_name = {},
                                      .type = fields[f].type,
                                      .global = fields[f].global,
                                      .filters = filters,
                                      .fill_value = format::default_fill(fields[f].type)});
        arrays.push_back(reference_array(f, fields[f], step, num_ranks));
        encoded.emplace_back();
        stored.emplace_back();
        if (!format::is_chunked(description.fields[f])) continue;
        encoded[f] = reference_chunks(description.fields[f], arrays[f]);
        for (const filter::Encoded& chunk : encoded[f])
            stored[f].push_back({std::ssize(chunk.bytes), chunk.skipped});
    }
    Result<format::Layout> laid_out =
        format::find_format(options.format).value()->lay_out(description, stored);
    EXPECT_TRUE(laid_out.ok()) << laid_out.status().text();
    const format::Layout& layout = laid_out.value();
    std::vector<char> bytes(static_cast<std::size_t>(layout.file_bytes), 0);
    const auto put = [&bytes](std::int64_t offset_bytes, const std::vector<std::byte>& part) {
        std::memcpy(bytes.data() + offset_bytes, part.data(), part.size());
    };
    for (const auto& extent : layout.metadata) put(extent.offset_bytes, extent.bytes);
    for (std::size_t f = 0; f < fields.size(); ++f) {
        if (encoded[f].empty()) put(layout.offsets_bytes[f], arrays[f]);
        for (std::size_t c = 0; c < encoded[f].size(); ++c)
            put(layout.chunk_offsets_bytes[f][c], encoded[f][c].bytes);
    }
    return bytes;
}

/// Calls `call` and returns the Error that it threw; code ok when it threw none.
template <class Call>
Error error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return {ErrorCode::ok, ""};
}

/// Collective: whether every rank holds the same error as rank 0 (code, rank and text).
inline bool is_same_everywhere(const Comm& comm, const Error& error) {
    std::string mine =
        std::string(to_string(error.code())) + "|" + std::to_string(error.rank()) + "|" + error.what();
    mine.resize(1000);
    std::string first = mine;
    MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, comm.handle());
    int same = mine == first ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm.handle());
    return same != 0;
}

/// Every method that writes files, as parameter of a test.
inline std::vector<std::string> writing_methods() {
    std::vector<std::string> names;
    for (const std::string_view name : output_methods()) {
        if (name != "none") names.emplace_back(name);
    }
    return names;
}

/// A method and a format, as parameter of a test.
struct Way {
    std::string method, format;
};
inline std::vector<Way> all_ways() {
    std::vector<Way> ways;
    for (const std::string_view format : output_formats()) {
        for (const std::string& method : writing_methods()) ways.push_back({method, std::string(format)});
    }
    return ways;
}
/// Those of fields on axes.
inline std::vector<Way> every_way() {
    std::vector<Way> ways = all_ways();
    std::erase_if(ways,
                  [](const Way& way) { return format::find_format(way.format).value()->holds_meshes(); });
    return ways;
}
inline std::string name_of_way(const ::testing::TestParamInfo<Way>& info) {
    std::string name = info.param.method + "_" + info.param.format;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}
inline std::string name_of_method(const ::testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

}  // namespace hakobi::test
