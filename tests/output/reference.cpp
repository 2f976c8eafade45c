#include "output/reference.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>

#include "format/chunks.hpp"
#include "format/registry.hpp"
#include "series/series.hpp"
#include "series/step_file.hpp"

namespace hakobi::test {

Values::Values(std::size_t field, const TestField& test_field, std::int64_t step, Block block)
    : block_(std::move(block)), type_(test_field.type) {
    visit(type_, [&]<class T>(T) {
        std::vector<std::int64_t> index(block_.count.size(), 0);
        bytes_.reserve(static_cast<std::size_t>(block_.num_elements()) * sizeof(T));
        for (std::int64_t n = block_.num_elements(); n > 0; --n) {
            std::int64_t element = 0;
            for (std::size_t d = 0; d < index.size(); ++d)
                element = element * block_.global[d] + block_.start[d] + index[d];
            const T value = static_cast<T>(value_at(field, step, element));
            const auto* raw = reinterpret_cast<const std::byte*>(&value);
            bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
            for (std::size_t d = index.size(); d-- > 0;) {
                if (++index[d] < block_.count[d]) break;
                index[d] = 0;
            }
        }
    });
}

Field::Data Values::data() const {
    Field::Data data;
    visit(type_, [&]<class T>(T) {
        data = std::span<const T>(reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T));
    });
    return data;
}

std::vector<std::byte> reference_array(std::size_t f, const TestField& field, std::int64_t step,
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

std::vector<ReferenceChunk> reference_chunks(const format::FieldDescription& field,
                                             const std::vector<std::byte>& array) {
    const format::ChunkGrid grid(field.global, format::bytes_of(field.type));
    const auto element_bytes = static_cast<std::size_t>(format::bytes_of(field.type));
    filter::Coder coder;
    std::vector<ReferenceChunk> chunks;
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
        std::vector<std::byte> room(static_cast<std::size_t>(filter::most_encoded_bytes(grid.chunk_bytes())));
        const filter::Encoded encoded =
            coder.encode(field.filters, element, static_cast<std::int64_t>(element_bytes), values, room)
                .value();
        chunks.push_back({{encoded.bytes.begin(), encoded.bytes.end()}, encoded.skipped});
    }
    return chunks;
}

std::vector<char> bytes_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    EXPECT_TRUE(file.good()) << path;
    std::vector<char> bytes(file.good() ? static_cast<std::size_t>(file.tellg()) : 0);
    file.seekg(0).read(bytes.data(), std::ssize(bytes));
    EXPECT_TRUE(file.good()) << path;
    return bytes;
}

std::string file_name(const std::string& format, int step) {
    return "run_00000" + std::to_string(step) + std::string(format::find_format(format).value()->extension());
}

std::vector<char> bytes_of_step(const std::string& path, const std::vector<TestField>& fields) {
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

std::vector<std::string> names_of_steps(const std::string& format, int num_steps) {
    if (format::find_format(format).value()->store() != nullptr) return {"run.zarr"};
    std::vector<std::string> names;
    for (int step = 0; step < num_steps; ++step) names.push_back(file_name(format, step));
    return names;
}

std::vector<char> reference_file(const OutputOptions& options, std::int64_t step,
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
    std::vector<std::vector<ReferenceChunk>> encoded;
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
        for (const ReferenceChunk& chunk : encoded[f])
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

}  // namespace hakobi::test
