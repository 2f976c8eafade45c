// Fields that are defined once, through the C interface.
#include <hakobi/output.hpp>

#include "capi_fixture.hpp"

namespace {

class CApiDefined : public hakobi::test::CApiTest {
  protected:
    hakobi_field_definition eta() const {
        auto definition = HAKOBI_INIT(hakobi_field_definition);
        definition.name = "eta";
        definition.units = "m";
        definition.global = global;
        definition.num_dims = 2;
        return definition;
    }
    static constexpr std::int64_t global[] = {7, 5};
};

TEST_F(CApiDefined, FieldsGiveTheBytesThatCppWrites) {
    const hakobi_block block = split(7, 5);
    const auto num = static_cast<std::size_t>(block.count[0] * block.count[1]);
    std::vector<double> values(2 * num, -1);
    for (std::size_t i = 0; i < num; ++i) values[2 * i] = static_cast<double>(i) + rank_;
    const std::int64_t strides[] = {2 * block.count[1], 2};
    const std::int16_t number = 7, missing = -1;
    hakobi_output* out = create("c");
    hakobi_field_definition definition = eta();
    definition.compression = "none";
    definition.store_as = "int32:scale_factor=0.5,add_offset=-1";
    std::int64_t eta_id = -1, number_id = -1;
    EXPECT_EQ(hakobi_output_define(out, &definition, &eta_id), HAKOBI_OK) << text();
    definition = HAKOBI_INIT(hakobi_field_definition);
    definition.name = "number";
    definition.type = HAKOBI_INT16;
    definition.fill_value = &missing;
    EXPECT_EQ(hakobi_output_define(out, &definition, &number_id), HAKOBI_OK) << text();
    EXPECT_NE(eta_id, number_id);
    auto layout = HAKOBI_INIT(hakobi_memory_layout);
    layout.strides = strides;
    EXPECT_EQ(hakobi_output_begin_step(out, 2.5), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_put_values(out, eta_id, &block, values.data(), &layout), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_put_values(out, number_id, nullptr, &number, nullptr), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    hakobi_output_free(out);

    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    auto cpp = hakobi::Output::create(comm, folder_ + "/cpp");
    cpp.begin_step(2.5);
    cpp.put({.name = "eta",
             .units = "m",
             .block = hakobi::split({7, 5}, size_, rank_),
             .data = std::span(values),
             .strides = {2 * block.count[1], 2},
             .store_as = "int32:scale_factor=0.5,add_offset=-1"});
    cpp.put({.name = "number",
             .block = {},
             .data = std::span(&number, 1),
             .fill_value = hakobi::FillValue(missing)});
    cpp.end_step();
    cpp.close();
    comm.free();
    EXPECT_EQ(hakobi::test::contents(folder_ + "/c_000000.nc"),
              hakobi::test::contents(folder_ + "/cpp_000000.nc"));
}

TEST_F(CApiDefined, WhatOneRankCannotDefineIsRefusedOnAll) {
    struct Wrong {
        void (*spoil)(hakobi_field_definition&);
        const char* text;
    };
    const Wrong wrongs[] = {
        {[](hakobi_field_definition& d) { d.type = 17; }, "field eta: 17 is not a type of values"},
        {[](hakobi_field_definition& d) { d.type = HAKOBI_COMPLEX64; }, "is not a type of values"},
        {[](hakobi_field_definition& d) { d.num_dims = 9; }, "field eta: num_dims is 9, not 0 to 8"},
        {[](hakobi_field_definition& d) { d.on = 3; }, "field eta: 3 is no value of `on`"},
        {[](hakobi_field_definition& d) { d.is_static = 2; }, "field eta: is_static is 2"},
        {[](hakobi_field_definition& d) { d.num_attributes = 1; }, "num_attributes is 1, but there are none"},
        {[](hakobi_field_definition& d) { d.name = nullptr; }, "field '': a name is at most"},
        {[](hakobi_field_definition& d) { d.struct_size = 0; }, "hakobi_field_definition: its struct_size"},
    };
    hakobi_output* out = create("run");
    std::int64_t id = 7;
    for (const Wrong& wrong : wrongs) {
        hakobi_field_definition definition = eta();
        if (rank_ == size_ - 1) wrong.spoil(definition);
        EXPECT_EQ(same_everywhere(hakobi_output_define(out, &definition, &id)), HAKOBI_INVALID_ARGUMENT)
            << wrong.text;
        EXPECT_EQ(id, 0);
        EXPECT_EQ(hakobi_error_rank(), size_ - 1);
        EXPECT_NE(text().find(wrong.text), std::string::npos) << text();
    }
    const hakobi_field_definition definition = eta();
    EXPECT_EQ(same_everywhere(hakobi_output_define(out, rank_ == 0 ? nullptr : &definition, &id)),
              HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(same_everywhere(hakobi_output_define(out, &definition, rank_ == 0 ? nullptr : &id)),
              HAKOBI_INVALID_ARGUMENT);
    const char* reason = "field eta: not a dtype";
    EXPECT_EQ(same_everywhere(rank_ == 0 ? hakobi_output_refuse_define(out, reason)
                                         : hakobi_output_define(out, &definition, &id)),
              HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(text(), reason);
    EXPECT_EQ(hakobi_output_define(nullptr, &definition, &id), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_output_define(out, &definition, &id), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    hakobi_output_free(out);
}

TEST_F(CApiDefined, WhatOneRankCannotPutFailsTheStepOnAll) {
    const hakobi_block block = split(7, 5);
    const std::vector<double> values(static_cast<std::size_t>(block.count[0] * block.count[1]), 1.0);
    struct Given {
        std::int64_t id;
        const hakobi_block* block;
        hakobi_memory_layout layout;
    };
    struct Wrong {
        void (*spoil)(Given&);
        const char* text;
    };
    const Wrong wrongs[] = {
        {[](Given& g) { g.id += 1; }, "none that this output's define has returned"},
        {[](Given& g) { g.id = 0; }, "none that this output's define has returned"},
        {[](Given& g) { g.block = nullptr; }, "its block is of an array of "},
        {[](Given& g) { g.layout.type = HAKOBI_FLOAT32; },
         "its values are float, and it is defined as double"},
        {[](Given& g) { g.layout.type = 17; }, "field eta: 17 is not a type of values"},
        {[](Given& g) { g.layout.num_values = 1; }, "but 1 values were given"},
        {[](Given& g) { g.layout.memory = 9; }, "field eta: memory is 9"},
        {[](Given& g) { g.layout.struct_size = 1; }, "hakobi_memory_layout: its struct_size is 1"},
    };
    for (const Wrong& wrong : wrongs) {
        hakobi_output* out = create("run");
        const hakobi_field_definition definition = eta();
        Given given{0, &block, HAKOBI_INIT(hakobi_memory_layout)};
        ASSERT_EQ(hakobi_output_define(out, &definition, &given.id), HAKOBI_OK) << text();
        EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
        if (rank_ == size_ - 1) wrong.spoil(given);
        (void)hakobi_output_put_values(out, given.id, given.block, values.data(), &given.layout);
        EXPECT_EQ(same_everywhere(hakobi_output_end_step(out)), HAKOBI_INVALID_ARGUMENT) << wrong.text;
        EXPECT_NE(text().find(wrong.text), std::string::npos) << text();
        EXPECT_EQ(hakobi_error_rank(), size_ - 1);
        EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK);
        hakobi_output_free(out);
    }
    EXPECT_EQ(hakobi_output_put_values(nullptr, 1, &block, values.data(), nullptr), HAKOBI_INVALID_ARGUMENT);
}

}  // namespace
