// Fields whose values are known at every element, and the bytes that files of them must have: made without
// the code that moves values. Compiled once, and optimised, for all tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/hakobi.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "filter/codec.hpp"
#include "format/format.hpp"

namespace hakobi::test {

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

inline const std::vector<TestField> eta_and_mask = {
    {"eta", format::ValueType::float64, {23, 37}, even_blocks},
    {"mask", format::ValueType::int32, {23, 37}, uneven_rows}};
inline const std::vector<TestField> eta_and_u = {{"eta", format::ValueType::float64, {23, 37}, even_blocks},
                                                 {"u", format::ValueType::float32, {3, 23, 37}, uneven_rows}};
inline const std::vector<std::string> methods_without_pieces = {"root", "parallel", "pipelined", "writers",
                                                                "auto"};

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
    Values(std::size_t field, const TestField& test_field, std::int64_t step, Block block);
    [[nodiscard]] Field::Data data() const;
    [[nodiscard]] const Block& block() const { return block_; }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

  private:
    Block block_;
    format::ValueType type_;
    std::vector<std::byte> bytes_;
};

/// A field's whole array, every rank's values one by one at their places: made without the code that moves
/// values.
std::vector<std::byte> reference_array(std::size_t f, const TestField& field, std::int64_t step,
                                       int num_ranks);

/// The chunks of an array as they are stored.
struct ReferenceChunk {
    std::vector<std::byte> bytes;
    std::uint32_t skipped = 0;
};
std::vector<ReferenceChunk> reference_chunks(const format::FieldDescription& field,
                                             const std::vector<std::byte>& array);

std::vector<char> bytes_of_file(const std::string& path);

/// The name of a step's file, without its folder.
std::string file_name(const std::string& format, int step);

/// The bytes of the step with that name: its file's, or of a step in a store those of its files at their
/// addresses.
std::vector<char> bytes_of_step(const std::string& path, const std::vector<TestField>& fields);

/// The names of what has `num_steps` steps of the prefix "run".
std::vector<std::string> names_of_steps(const std::string& format, int num_steps);

/// The bytes that the step's file must have: the layout's, and every field's values.
std::vector<char> reference_file(const OutputOptions& options, std::int64_t step,
                                 const std::vector<TestField>& fields, int num_ranks);

}  // namespace hakobi::test
