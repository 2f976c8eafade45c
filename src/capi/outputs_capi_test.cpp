// Several outputs from one put, through the C interface: values, checkpoints, and errors as codes.
#include <hakobi/outputs.hpp>
#include <vector>

#include "capi_fixture.hpp"

namespace {

constexpr std::int64_t num_rows = 7, num_columns = 5;

class CApiOutputs : public hakobi::test::CApiTest {
  protected:
    void TearDown() override {
        hakobi_outputs_free(outs_);
        CApiTest::TearDown();
    }

    static hakobi_outputs_options options_of(int if_exists) {
        auto options = HAKOBI_INIT(hakobi_outputs_options);
        options.time_units = "hours since 2000-01-01";
        options.if_exists = if_exists;
        return options;
    }
    static hakobi_derived_field derived(const char* of, const char* cell_method) {
        auto field = HAKOBI_INIT(hakobi_derived_field);
        field.of = of;
        field.cell_method = cell_method;
        return field;
    }
    int create(const hakobi_outputs_options& options) {
        return hakobi_outputs_create(comm_, (folder_ + "/state").c_str(), &options, &outs_);
    }
    int define(const char* name) {
        const std::int64_t global[] = {num_rows, num_columns};
        auto definition = HAKOBI_INIT(hakobi_field_definition);
        definition.name = name;
        definition.units = "K";
        definition.global = global;
        definition.num_dims = 2;
        return hakobi_outputs_define(outs_, &definition, &t_);
    }
    int add(const char* prefix, const char* every, std::vector<hakobi_derived_field> fields) {
        return hakobi_outputs_add(outs_, (folder_ + "/" + prefix).c_str(), nullptr, every, fields.data(),
                                  static_cast<std::int64_t>(fields.size()));
    }
    /// "raw" has each step, "two" the means and maxima of two hours.
    void begin(const hakobi_outputs_options& options) {
        ASSERT_EQ(create(options), HAKOBI_OK) << text();
        ASSERT_EQ(define("t"), HAKOBI_OK) << text();
        EXPECT_NE(t_, 0);
        ASSERT_EQ(add("raw", nullptr, {derived("t", nullptr)}), HAKOBI_OK) << text();
        auto highest = derived("t", "maximum");
        highest.name = "highest";
        highest.store_as = "float32";
        ASSERT_EQ(add("two", "2h", {derived("t", "mean"), highest}), HAKOBI_OK) << text();
    }
    static double value(double time, std::int64_t element) {
        return static_cast<double>((element * 7 + static_cast<std::int64_t>(2 * time) * 5) % 11);
    }
    /// Steps every half an hour.
    void run(double first, double last) {
        const hakobi_block block = split(num_rows, num_columns);
        for (double time = first; time <= last; time += 0.5) {
            std::vector<double> values;
            for (std::int64_t y = 0; y < block.count[0]; ++y)
                for (std::int64_t x = 0; x < block.count[1]; ++x)
                    values.push_back(value(time, (block.start[0] + y) * num_columns + block.start[1] + x));
            EXPECT_EQ(hakobi_outputs_begin_step(outs_, time), HAKOBI_OK) << text();
            EXPECT_EQ(hakobi_outputs_put(outs_, t_, &block, values.data(), nullptr), HAKOBI_OK) << text();
            EXPECT_EQ(hakobi_outputs_end_step(outs_), HAKOBI_OK) << text();
        }
    }
    void close() {
        EXPECT_EQ(hakobi_outputs_close(outs_), HAKOBI_OK) << text();
        EXPECT_EQ(hakobi_outputs_close(outs_), HAKOBI_OK) << text();
        hakobi_outputs_free(outs_);
        outs_ = nullptr;
    }
    std::vector<double> read(const char* prefix, const char* name, std::int64_t step) const {
        hakobi_input* in = nullptr;
        std::vector<double> values(num_rows * num_columns);
        EXPECT_EQ(hakobi_input_open_alone((folder_ + "/" + prefix).c_str(), &in), HAKOBI_OK) << text();
        auto read = HAKOBI_INIT(hakobi_field_read);
        read.name = name;
        read.step = step;
        read.type = HAKOBI_FLOAT64;
        read.data = values.data();
        EXPECT_EQ(hakobi_input_read(in, &read), HAKOBI_OK) << text();
        hakobi_input_free(in);
        return values;
    }

    hakobi_outputs* outs_ = nullptr;
    std::int64_t t_ = 0;
};

TEST_F(CApiOutputs, HaveMeansAndMaxima) {
    begin(options_of(HAKOBI_IF_EXISTS_FAIL));
    EXPECT_NE(std::string(hakobi_outputs_explain(outs_)).find("every 2h"), std::string::npos);
    run(0, 4);
    close();
    const auto raw = read("raw", "t", 8), mean = read("two", "t_mean", 1),
               highest = read("two", "highest", 1);
    for (std::int64_t e = 0; e < num_rows * num_columns; ++e) {
        const auto i = static_cast<std::size_t>(e);
        double sum = 0, most = 0;
        for (double time = 2.5; time <= 4; time += 0.5) {
            sum += value(time, e);
            most = std::max(most, value(time, e));
        }
        EXPECT_EQ(raw[i], value(4, e));
        EXPECT_EQ(mean[i], sum / 4);
        EXPECT_EQ(highest[i], most);
    }
}

TEST_F(CApiOutputs, GoOnFromACheckpoint) {
    int is_resumed = 7;
    double time = 7;
    begin(options_of(HAKOBI_IF_EXISTS_FAIL));
    EXPECT_EQ(hakobi_outputs_resume_time(outs_, &is_resumed, &time), HAKOBI_OK) << text();
    EXPECT_EQ(is_resumed, 0);
    run(0, 4);
    close();
    const std::string expected = hakobi::test::contents(folder_ + "/two_000001.nc");

    begin(options_of(HAKOBI_IF_EXISTS_REPLACE));
    run(0, 3);
    EXPECT_EQ(hakobi_outputs_checkpoint(outs_), HAKOBI_OK) << text();
    hakobi_outputs_free(outs_);

    auto resumed = options_of(HAKOBI_IF_EXISTS_RESUME);
    resumed.has_resume_at = HAKOBI_YES;
    resumed.resume_at = 2;
    EXPECT_EQ(same_everywhere(create(resumed)), HAKOBI_NOT_FOUND);
    EXPECT_EQ(outs_, nullptr);
    resumed.resume_at = 3;
    begin(resumed);
    EXPECT_EQ(hakobi_outputs_resume_time(outs_, &is_resumed, &time), HAKOBI_OK) << text();
    EXPECT_EQ(is_resumed, 1);
    EXPECT_EQ(time, 3);
    run(3.5, 4);
    close();
    EXPECT_EQ(hakobi::test::contents(folder_ + "/two_000001.nc"), expected);
}

TEST_F(CApiOutputs, CountTheTimeBeforeTheFirstStep) {
    auto options = options_of(HAKOBI_IF_EXISTS_FAIL);
    options.has_begin_time = HAKOBI_YES;
    options.begin_time = 0;
    begin(options);
    run(1.5, 2);
    close();
    // The first put stands for 1.5 h, the second one for 0.5 h.
    EXPECT_EQ(read("two", "t_mean", 0)[1], (3 * value(1.5, 1) + value(2, 1)) / 4);
}

TEST_F(CApiOutputs, WhatOneRankGivesWronglyIsAnErrorOnAll) {
    const bool is_last = rank_ == size_ - 1;
    auto options = options_of(is_last ? 9 : HAKOBI_IF_EXISTS_FAIL);
    EXPECT_EQ(same_everywhere(create(options)), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("if_exists is 9"), std::string::npos) << text();
    options = options_of(HAKOBI_IF_EXISTS_FAIL);
    options.struct_size = is_last ? 1 : options.struct_size;
    EXPECT_EQ(same_everywhere(create(options)), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("hakobi_outputs_options: its struct_size is 1"), std::string::npos) << text();
    EXPECT_EQ(same_everywhere(hakobi_outputs_create(comm_, is_last ? nullptr : "x", nullptr, &outs_)),
              HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_outputs_create(nullptr, "x", nullptr, &outs_), HAKOBI_INVALID_ARGUMENT);

    ASSERT_EQ(create(options_of(HAKOBI_IF_EXISTS_FAIL)), HAKOBI_OK) << text();
    ASSERT_EQ(define("t"), HAKOBI_OK) << text();
    EXPECT_EQ(define("t"), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(t_, 0);
    auto field = derived("t", "mean");
    field.num_attributes = is_last ? 1 : 0;
    EXPECT_EQ(same_everywhere(add("two", "2h", {field})), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("num_attributes is 1, but there are none"), std::string::npos) << text();
    EXPECT_EQ(hakobi_error_rank(), size_ - 1);
    const char* reason = "field t: not a list";
    EXPECT_EQ(same_everywhere(is_last ? hakobi_outputs_refuse_add(outs_, reason) : add("two", "2h", {field})),
              HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(text(), reason);
    EXPECT_EQ(same_everywhere(add("two", "2 weeks", {field})), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_outputs_close(outs_), HAKOBI_OK) << text();
}

TEST_F(CApiOutputs, WhatOneRankCannotPutFailsTheNextStepOfAnOutput) {
    const hakobi_block block = split(num_rows, num_columns);
    const std::vector<double> values(num_rows * num_columns);
    begin(options_of(HAKOBI_IF_EXISTS_FAIL));
    EXPECT_EQ(hakobi_outputs_put(outs_, t_, &block, values.data(), nullptr), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("no step is open"), std::string::npos) << text();
    EXPECT_EQ(hakobi_outputs_begin_step(outs_, 0), HAKOBI_OK) << text();
    (void)hakobi_outputs_put(outs_, rank_ == size_ - 1 ? t_ + 1 : t_, &block, values.data(), nullptr);
    EXPECT_EQ(same_everywhere(hakobi_outputs_end_step(outs_)), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("is none that define has returned"), std::string::npos) << text();
    EXPECT_EQ(hakobi_outputs_begin_step(outs_, 1), HAKOBI_FAILED);
    EXPECT_EQ(hakobi_outputs_close(outs_), HAKOBI_OK) << text();
}

TEST_F(CApiOutputs, FlushGivesHiddenStepsTheirNames) {
    auto options = HAKOBI_INIT(hakobi_output_options);
    options.method = "pipelined";
    options.asynchronous = HAKOBI_YES;
    hakobi_output* out = nullptr;
    ASSERT_EQ(hakobi_output_create(comm_, (folder_ + "/run").c_str(), &options, &out), HAKOBI_OK) << text();
    auto field = HAKOBI_INIT(hakobi_field);
    const std::vector<double> values(num_rows * num_columns);
    field.name = "t";
    field.type = HAKOBI_FLOAT64;
    field.block = split(num_rows, num_columns);
    field.data = values.data();
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_put(out, &field), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_flush(out), HAKOBI_OK) << text();
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/run_000000.nc"));
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    hakobi_output_free(out);
    EXPECT_EQ(hakobi_output_flush(nullptr), HAKOBI_INVALID_ARGUMENT);
}

}  // namespace
