#include "format/found_step.hpp"

#include <gtest/gtest.h>

namespace hakobi::format {
namespace {

FoundStep step_that_was_found() {
    FoundStep step;
    step.title = "title";
    step.time_units = "days since 2000-01-01";
    step.calendar = "noleap";
    step.attributes = {{"source", std::string("model")}};
    step.axes = {
        {.name = "x", .units = "m", .values = {0.5, 1.5}, .attributes = {{"axis", std::string("X")}}}};
    FoundField field;
    field.shown = {.name = "eta", .type = "float", .dims = {"y", "x"}, .shape = {3, 2}};
    field.type = ValueType::float32;
    field.has_record = true;
    field.offset_bytes = 4096;
    field.offsets_of_steps = {4096, 8192};
    step.fields.push_back(field);
    field.shown = {.name = "names", .type = "string", .dims = {}, .shape = {}, .is_static = true};
    field.type.reset();
    field.offset_bytes = -1;
    field.why_library = "it has another type";
    field.file = "run_000000.hdf.mesh";
    step.fields.push_back(field);
    return step;
}

TEST(FoundStep, SurvivesEncodingButForItsTime) {
    FoundStep step = step_that_was_found();
    step.time = 5;
    const Result<FoundStep> decoded = decode_found(encode_found(step));
    ASSERT_TRUE(decoded.ok()) << decoded.status().text();
    EXPECT_EQ(encode_found(decoded.value()), encode_found(step));
    EXPECT_EQ(decoded.value().time, 0);
    ASSERT_EQ(decoded.value().fields.size(), 2U);
    EXPECT_EQ(decoded.value().fields[0].type, ValueType::float32);
    EXPECT_EQ(decoded.value().fields[0].shown, step.fields[0].shown);
    EXPECT_EQ(decoded.value().fields[0].offsets_of_steps, step.fields[0].offsets_of_steps);
    EXPECT_FALSE(decoded.value().fields[1].type);
    EXPECT_EQ(decoded.value().fields[1].file, "run_000000.hdf.mesh");
}

TEST(FoundStep, IsNotDecodedFromAPartOfItsBytes) {
    std::vector<std::byte> bytes = encode_found(step_that_was_found());
    for (std::size_t length = 0; length < bytes.size(); ++length)
        ASSERT_EQ(decode_found(std::span(bytes).first(length)).status().code(), ErrorCode::internal)
            << length;
    bytes.push_back({});
    EXPECT_FALSE(decode_found(bytes).ok());
}

TEST(FoundStep, OfOneStepHasItsTimeAlone) {
    FoundStep step;
    step.time = 3;
    EXPECT_EQ(num_steps_of(step), 1);
    EXPECT_EQ(time_of(step, 0), 3);
    step.times = {3, 4, 6};
    EXPECT_EQ(num_steps_of(step), 3);
    EXPECT_EQ(time_of(step, 2), 6);
}

}  // namespace
}  // namespace hakobi::format
