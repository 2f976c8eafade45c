#include "output/known.hpp"

#include <gtest/gtest.h>

namespace hakobi::output {
namespace {

std::vector<format::FieldDescription> fields_of(std::int64_t extent) {
    return {{.name = "eta", .units = "m", .type = format::ValueType::float64, .global = {extent, 3}},
            {.name = "mask", .units = "1", .type = format::ValueType::int8, .global = {extent}}};
}

TEST(Known, ALayoutServesEqualFieldsOnly) {
    Known known;
    EXPECT_FALSE(known.has_layout_of(fields_of(4)));
    EXPECT_FALSE(known.has_layout_of({}));  // a step without fields has a layout, too
    known.keep_layout_of(fields_of(4));
    EXPECT_TRUE(known.has_layout_of(fields_of(4)));
    EXPECT_FALSE(known.has_layout_of(fields_of(5)));
    const std::vector<format::FieldDescription> fields = fields_of(4);
    EXPECT_FALSE(known.has_layout_of(std::span(fields).first(1)));
    std::vector<format::FieldDescription> other = fields_of(4);
    other[1].attributes["level"] = std::vector<std::int64_t>{2};
    EXPECT_FALSE(known.has_layout_of(other));
    known.keep_layout_of(other);
    EXPECT_TRUE(known.has_layout_of(other));
    EXPECT_FALSE(known.has_layout_of(fields_of(4)));
}

TEST(Known, AFieldHasOneTypeInAllSteps) {
    Known known;
    EXPECT_TRUE(known.check_types(fields_of(4)).ok());
    EXPECT_TRUE(known.check_types({}).ok());  // a step without it
    EXPECT_TRUE(known.check_types(fields_of(5)).ok());
    std::vector<format::FieldDescription> other = fields_of(4);
    other[1].type = format::ValueType::int32;
    EXPECT_EQ(known.check_types(other).text(),
              "field mask: its values are int, and those of earlier steps byte: all steps have one type");
    other[1].place = format::Place::mesh;
    EXPECT_TRUE(known.check_types(other).ok()) << "each mesh has its own";
}

TEST(Known, BlocksWithoutGapsLeaveNothingToFill) {
    Known known;
    EXPECT_TRUE(known.uncovered().empty());
    known.keep_blocks(std::vector<HeldField>(2, {{.block = {{4}, {0}, {4}}}}));
    ASSERT_EQ(known.uncovered().size(), 2U);
    for (const std::vector<Block>& blocks : known.uncovered()) EXPECT_TRUE(blocks.empty());
}

}  // namespace
}  // namespace hakobi::output
