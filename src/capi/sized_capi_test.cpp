// Structs of programs that were built with an earlier header, which are shorter, and of ones that were never
// given a size.
#include "capi_fixture.hpp"

#include <array>
#include <cstddef>
#include <vector>

#include "capi/sized.hpp"

namespace {

class CApiSizes : public hakobi::test::CApiTest {
  protected:
    hakobi_output* create(const char* name, const hakobi_output_options& options) const {
        hakobi_output* out = nullptr;
        EXPECT_EQ(hakobi_output_create(comm_, (folder_ + "/" + name).c_str(), &options, &out), HAKOBI_OK)
            << text();
        return out;
    }
};

// The struct of an earlier header, here without fields on meshes, is followed by bytes that are not the
// struct's.
TEST_F(CApiSizes, AFieldOfAnEarlierHeaderIsPut) {
    auto options = HAKOBI_INIT(hakobi_output_options);
    options.struct_size = offsetof(hakobi_output_options, significant_bits);
    options.significant_bits = 77;  // behind its end: not looked at
    hakobi_output* out = create("run", options);
    const std::int64_t global[] = {4, 6};
    const double value = 1;
    auto field = HAKOBI_INIT(hakobi_field);
    field.name = "a";
    field.type = HAKOBI_FLOAT64;
    const std::vector<double> values(24, value);
    field.data = values.data();
    ASSERT_EQ(hakobi_split(2, global, size_, rank_, &field.block), HAKOBI_OK);
    field.struct_size = offsetof(hakobi_field, is_static);
    field.is_static = field.on = 99;
    field.num_components = -1;
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
    EXPECT_EQ(hakobi_output_put(out, &field), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    hakobi_output_free(out);
}

TEST_F(CApiSizes, NothingIsWrittenBehindAnEarlierStruct) {
    hakobi_output* out = create("run", HAKOBI_INIT(hakobi_output_options));
    auto times = HAKOBI_INIT(hakobi_output_times);
    times.struct_size = offsetof(hakobi_output_times, bytes);
    times.bytes = -7;
    EXPECT_EQ(hakobi_output_get_times(out, &times), HAKOBI_OK) << text();
    EXPECT_GT(times.run_s, 0);
    EXPECT_EQ(times.bytes, -7);
    EXPECT_EQ(times.struct_size, offsetof(hakobi_output_times, bytes));
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    hakobi_output_free(out);
}

TEST_F(CApiSizes, WhatIsNoSizeIsRefusedOnAllRanks) {
    hakobi_output* out = create("run", HAKOBI_INIT(hakobi_output_options));
    auto times = HAKOBI_INIT(hakobi_output_times);
    auto field = HAKOBI_INIT(hakobi_field);
    for (const std::size_t size : {std::size_t{0}, sizeof(std::size_t), sizeof(hakobi_output_times) - 1,
                                   sizeof(hakobi_output_times) + 8, std::size_t{1} << 62}) {
        times.struct_size = size;
        EXPECT_EQ(hakobi_output_get_times(out, &times), HAKOBI_INVALID_ARGUMENT) << size;
        EXPECT_NE(text().find("hakobi_output_times: its struct_size is " + std::to_string(size)),
                  std::string::npos)
            << text();
    }
    if (rank_ == size_ - 1) field.struct_size = sizeof(hakobi_field) + 8;
    field.name = "a";
    field.type = HAKOBI_FLOAT64;
    const double value = 1;
    field.data = &value;
    field.num_values = 1;
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
    (void)hakobi_output_put(out, &field);
    EXPECT_EQ(same_everywhere(hakobi_output_end_step(out)), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("the program was built with a newer Hakobi"), std::string::npos) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    hakobi_output_free(out);
}

// An array's entries are as far apart as the program's header has them.
TEST(CApiArray, OfAnEarlierHeaderIsReadEntryByEntry) {
    struct Earlier {
        std::size_t struct_size;
        const char* name;
        const char* text;
    };
    const std::array<Earlier, 2> two{{{sizeof(Earlier), "a", "x"}, {sizeof(Earlier), "b", "y"}}};
    const auto taken = hakobi::capi::all_taken(reinterpret_cast<const hakobi_attribute*>(two.data()), 2,
                                               "hakobi_attribute", "attributes");
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_STREQ(taken[1].name, "b");
    EXPECT_STREQ(taken[1].text, "y");
    EXPECT_EQ(taken[1].doubles, nullptr);
    EXPECT_EQ(taken[1].num_values, 0);
}

}  // namespace
