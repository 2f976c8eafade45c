#include "input/destination.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "region/copy.hpp"
#include "region/cursor.hpp"

namespace hakobi::input {
namespace {

const format::FoundField field{.shown = {.name = "u", .type = "int", .dims = {"y", "x"}, .shape = {4, 6}},
                               .type = format::ValueType::int32};
const Block block{{4, 6}, {1, 2}, {2, 3}};

/// Puts 1, 2, … where the block's elements go; -1 elsewhere.
std::vector<std::int32_t> placed(const FieldRead& read, std::vector<std::int32_t>& memory) {
    Result<Destination> to = destination_of(read, field);
    EXPECT_TRUE(to.ok()) << to.status().text();
    if (!to.ok()) return {};
    std::vector<std::int32_t> values(static_cast<std::size_t>(read.block.num_elements()));
    std::iota(values.begin(), values.end(), 1);
    Cursor cursor(to.value().memory);
    unpack(cursor, to.value().origin, to.value().memory.size_bytes(),
           std::as_bytes(std::span(values)).data());
    return memory;
}

std::string refusal(const FieldRead& read) {
    const Result<Destination> to = destination_of(read, field);
    EXPECT_EQ(to.status().code(), ErrorCode::invalid_argument);
    return to.status().text();
}

TEST(Destination, LeavesGhostsAlone) {
    std::vector<std::int32_t> memory(4 * 7, -1);
    const std::vector<std::int32_t> expected = {-1, -1, -1, -1, -1, -1, -1, -1, -1, 1,  2,  3,  -1, -1,
                                                -1, -1, 4,  5,  6,  -1, -1, -1, -1, -1, -1, -1, -1, -1};
    EXPECT_EQ(placed({.name = "u", .block = block, .data = std::span(memory), .ghosts = {1, 2}}, memory),
              expected);
}

TEST(Destination, TakesFortransOrderAsStrides) {
    std::vector<std::int32_t> memory(6, -1);
    const std::vector<std::int32_t> expected = {1, 4, 2, 5, 3, 6};
    EXPECT_EQ(placed({.name = "u", .block = block, .data = std::span(memory), .strides = {1, 2}}, memory),
              expected);
}

TEST(Destination, NeedsNoMoreThanTheLastElementOfAStride) {
    std::vector<std::int32_t> memory(1 * 5 + 2 * 2 + 1, -1);
    const std::vector<std::int32_t> expected = {1, -1, 2, -1, 3, 4, -1, 5, -1, 6};
    EXPECT_EQ(placed({.name = "u", .block = block, .data = std::span(memory), .strides = {5, 2}}, memory),
              expected);
    memory.pop_back();
    EXPECT_EQ(refusal({.name = "u", .block = block, .data = std::span(memory), .strides = {5, 2}}),
              "field u: its block needs memory of 10 elements, but 9 were given");
}

TEST(Destination, RefusesWhatCannotBe) {
    std::vector<std::int32_t> memory(6);
    std::vector<double> doubles(6);
    const std::span data(memory);
    EXPECT_EQ(refusal({.name = "u", .block = block, .data = std::span(doubles)}),
              "field u: it is int, but memory of double was given");
    EXPECT_EQ(refusal({.name = "u", .block = {{4, 6}, {3, 2}, {2, 3}}, .data = data}).substr(0, 18),
              "field u: its block");
    EXPECT_EQ(refusal({.name = "u", .block = {{6, 4}, {1, 1}, {2, 3}}, .data = data}),
              "field u: its block is of an array of (6, 4), but its shape is (4, 6)");
    EXPECT_EQ(refusal({.name = "u", .block = block, .data = data.first(5)}),
              "field u: its block needs memory of 6 elements, but 5 were given");
    EXPECT_EQ(refusal({.name = "u", .block = block, .data = data, .strides = {2, 1}}),
              "field u: its strides are (2, 1): elements of a block of (2, 3) would meet");
    EXPECT_EQ(refusal({.name = "u", .block = block, .data = data, .strides = {3}}),
              "field u: ghosts and strides have one entry for each of its 2 dimensions");
    EXPECT_EQ(refusal({.name = "u", .block = block, .data = data, .ghosts = {-1, 0}}),
              "field u: its ghosts are (-1, 0)");
    EXPECT_EQ(refusal({.name = "u", .block = block, .data = data, .ghosts = {std::int64_t{1} << 62, 0}}),
              "field u: its ghosts are (4611686018427387904, 0)");
    EXPECT_EQ(refusal({.name = "u", .block = block, .data = data, .ghosts = {0, 0}, .strides = {3, 1}}),
              "field u: ghosts and strides are both given");
}

}  // namespace
}  // namespace hakobi::input
