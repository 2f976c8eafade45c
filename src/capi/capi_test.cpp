#include <hakobi/output.hpp>
#include <hakobi/version.hpp>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "capi_fixture.hpp"

namespace {

class CApi : public hakobi::test::CApiTest {};

TEST_F(CApi, WritesTheBytesThatCppWrites) {
    const hakobi_block block = split(7, 5);
    const std::size_t num = static_cast<std::size_t>(block.count[0] * block.count[1]);
    const std::vector<float> values(num, 1.5F);
    const std::vector<std::int64_t> numbers(num, rank_);

    hakobi_output* out = create("c");
    auto field = HAKOBI_INIT(hakobi_field);
    field.name = "a";
    field.block = block;
    field.type = HAKOBI_FLOAT32;
    field.data = values.data();
    EXPECT_EQ(hakobi_output_begin_step(out, 2.5), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_put(out, &field), HAKOBI_OK) << text();
    field.name = "b";
    field.units = "K";
    field.type = HAKOBI_INT64;
    field.data = numbers.data();
    EXPECT_EQ(hakobi_output_put(out, &field), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
    auto times = HAKOBI_INIT(hakobi_output_times);
    EXPECT_EQ(hakobi_output_get_times(out, &times), HAKOBI_OK) << text();
    EXPECT_EQ(times.bytes, static_cast<std::int64_t>(num * (sizeof(float) + sizeof(std::int64_t))));
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << "a second close does nothing";
    hakobi_output_free(out);

    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const hakobi::Block same = hakobi::split({7, 5}, size_, rank_);
    auto cpp = hakobi::Output::create(comm, folder_ + "/cpp");
    cpp.begin_step(2.5);
    cpp.put({.name = "a", .block = same, .data = values});
    cpp.put({.name = "b", .units = "K", .block = same, .data = numbers});
    cpp.end_step();
    cpp.close();
    comm.free();
    EXPECT_EQ(hakobi::test::contents(folder_ + "/c_000000.nc"),
              hakobi::test::contents(folder_ + "/cpp_000000.nc"));
}

TEST_F(CApi, CompressesAsCppDoes) {
    const hakobi_block block = split(70, 90);
    const auto num = static_cast<std::size_t>(block.count[0] * block.count[1]);
    std::vector<double> values(num);
    for (std::size_t i = 0; i < num; ++i) values[i] = 0.1 * static_cast<double>(i);
    auto options = HAKOBI_INIT(hakobi_output_options);
    options.compression = "zstd:2";
    options.significant_bits = 11;
    hakobi_output* out = nullptr;
    ASSERT_EQ(hakobi_output_create(comm_, (folder_ + "/c").c_str(), &options, &out), HAKOBI_OK) << text();
    auto field = HAKOBI_INIT(hakobi_field);
    field.name = "a";
    field.block = block;
    field.type = HAKOBI_FLOAT64;
    field.data = values.data();
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_put(out, &field), HAKOBI_OK) << text();
    field.name = "b";
    field.compression = "deflate";
    field.significant_bits = 52;
    EXPECT_EQ(hakobi_output_put(out, &field), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
    auto times = HAKOBI_INIT(hakobi_output_times);
    EXPECT_EQ(hakobi_output_get_times(out, &times), HAKOBI_OK) << text();
    EXPECT_GT(times.encode_s, 0);
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    hakobi_output_free(out);

    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const hakobi::Block same = hakobi::split({70, 90}, size_, rank_);
    auto cpp =
        hakobi::Output::create(comm, folder_ + "/cpp", {.compression = "zstd:2", .significant_bits = 11});
    cpp.begin_step(0);
    cpp.put({.name = "a", .block = same, .data = values});
    cpp.put({.name = "b", .compression = "deflate", .significant_bits = 52, .block = same, .data = values});
    cpp.end_step();
    cpp.close();
    comm.free();
    EXPECT_EQ(hakobi::test::contents(folder_ + "/c_000000.nc"),
              hakobi::test::contents(folder_ + "/cpp_000000.nc"));
}

TEST_F(CApi, StepsOfAnEarlierRunAreRefusedResumedOrReplaced) {
    const auto write_a_step = [&](int if_exists) {
        auto options = HAKOBI_INIT(hakobi_output_options);
        options.if_exists = if_exists;
        hakobi_output* out = nullptr;
        const int code = hakobi_output_create(comm_, (folder_ + "/again").c_str(), &options, &out);
        if (code != HAKOBI_OK) return code;
        EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
        EXPECT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
        EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
        hakobi_output_free(out);
        return code;
    };
    EXPECT_EQ(write_a_step(HAKOBI_IF_EXISTS_FAIL), HAKOBI_OK);
    EXPECT_EQ(same_everywhere(write_a_step(HAKOBI_IF_EXISTS_FAIL)), HAKOBI_EXISTS);
    EXPECT_EQ(write_a_step(HAKOBI_IF_EXISTS_RESUME), HAKOBI_OK);
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/again_000001.nc"));
    EXPECT_EQ(write_a_step(HAKOBI_IF_EXISTS_REPLACE), HAKOBI_OK);
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/again_000001.nc"));
}

TEST_F(CApi, WhatIsNoOptionOnOneRankCreateReportsOnAll) {
    struct Wrong {
        void (*spoil)(hakobi_output_options&);
        const char* text;
    };
    static const hakobi_attribute twice[2] = {{sizeof(hakobi_attribute), "a", "x", nullptr, nullptr, 0},
                                              {sizeof(hakobi_attribute), "a", "y", nullptr, nullptr, 0}};
    static const hakobi_attribute of_no_size = {0, "a", "x", nullptr, nullptr, 0};
    static const hakobi_axis without_values = {
        sizeof(hakobi_axis), "x", "m", nullptr, nullptr, 3, nullptr, 0};
    static const hakobi_hint without_value = {"cb_nodes", nullptr};
    const Wrong wrongs[] = {
        {[](hakobi_output_options& o) { o.method = "pipelind"; }, "did you mean 'pipelined'?"},
        {[](hakobi_output_options& o) { o.if_exists = 3; }, "if_exists is 3"},
        {[](hakobi_output_options& o) { o.sync = 2; }, "sync is 2, not HAKOBI_YES"},
        {[](hakobi_output_options& o) { o.buffer_bytes = 1; }, "buffer_bytes is 1"},
        {[](hakobi_output_options& o) { o.stage_patience_s = -7; }, "option stage.patience_s is -7"},
        {[](hakobi_output_options& o) { o.num_axes = 2; }, "num_axes is 2, but there are none"},
        {[](hakobi_output_options& o) { o.axes = &without_values, o.num_axes = 1; }, "axis x: no values"},
        {[](hakobi_output_options& o) { o.hints = &without_value, o.num_hints = 1; }, "hint cb_nodes"},
        {[](hakobi_output_options& o) { o.attributes = twice, o.num_attributes = 2; }, "it is given twice"},
        {[](hakobi_output_options& o) { o.attributes = &of_no_size, o.num_attributes = 1; },
         "hakobi_attribute: its struct_size is 0"},
        {[](hakobi_output_options& o) { o.struct_size = 0; }, "hakobi_output_options: its struct_size is 0"},
    };
    for (const Wrong& wrong : wrongs) {
        auto options = HAKOBI_INIT(hakobi_output_options);
        if (rank_ == size_ - 1) wrong.spoil(options);
        hakobi_output* out = nullptr;
        EXPECT_EQ(same_everywhere(hakobi_output_create(comm_, (folder_ + "/x").c_str(), &options, &out)),
                  HAKOBI_INVALID_ARGUMENT)
            << wrong.text;
        EXPECT_EQ(out, nullptr);
        EXPECT_EQ(hakobi_error_rank(), size_ - 1);
        EXPECT_NE(text().find(wrong.text), std::string::npos) << text();
    }
}

TEST_F(CApi, ACalendarIsWrittenAndReadBack) {
    const auto create_with = [&](const char* calendar, hakobi_output** out) {
        auto options = HAKOBI_INIT(hakobi_output_options);
        options.time_units = "days since 2000-01-01";
        options.calendar = calendar;
        return hakobi_output_create(comm_, (folder_ + "/year").c_str(), &options, out);
    };
    hakobi_output* out = nullptr;
    EXPECT_EQ(same_everywhere(create_with("360_days", &out)), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("did you mean '360_day'?"), std::string::npos) << text();
    ASSERT_EQ(create_with("360_day", &out), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_begin_step(out, 1), HAKOBI_OK);
    EXPECT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    hakobi_output_free(out);
    hakobi_input* in = nullptr;
    ASSERT_EQ(hakobi_input_open(comm_, (folder_ + "/year").c_str(), nullptr, &in), HAKOBI_OK) << text();
    EXPECT_STREQ(hakobi_input_calendar(in), "360_day");
    EXPECT_EQ(hakobi_input_close(in), HAKOBI_OK);
    hakobi_input_free(in);
    EXPECT_EQ(hakobi_input_calendar(nullptr), nullptr);
}

TEST_F(CApi, OneRankReadsWhileTheOthersDoNot) {
    const hakobi_block block = split(4, 6);
    const std::vector<double> values(static_cast<std::size_t>(block.count[0] * block.count[1]), 2.5);
    hakobi_output* out = create("run");
    auto field = HAKOBI_INIT(hakobi_field);
    field.name = "a";
    field.block = block;
    field.type = HAKOBI_FLOAT64;
    field.data = values.data();
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
    EXPECT_EQ(hakobi_output_put(out, &field), HAKOBI_OK);
    EXPECT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK) << text();
    hakobi_output_free(out);
    hakobi_input* in = nullptr;
    ASSERT_EQ(hakobi_input_open(comm_, (folder_ + "/run").c_str(), nullptr, &in), HAKOBI_OK) << text();
    if (rank_ == size_ - 1) {
        std::vector<double> found(24);
        auto read = HAKOBI_INIT(hakobi_field_read);
        read.name = "a";
        read.step = -1;
        read.type = HAKOBI_FLOAT64;
        read.data = found.data();
        read.num_values = 24;
        EXPECT_EQ(hakobi_input_read_independent(in, &read), HAKOBI_OK) << text();
        EXPECT_EQ(found, std::vector<double>(24, 2.5));
        read.name = "b";
        EXPECT_EQ(hakobi_input_read_independent(in, &read), HAKOBI_NOT_FOUND);
        EXPECT_EQ(hakobi_error_rank(), -1);
        EXPECT_EQ(hakobi_input_read_independent(in, nullptr), HAKOBI_INVALID_ARGUMENT);
        EXPECT_EQ(hakobi_refuse("an array of another shape"), HAKOBI_INVALID_ARGUMENT);
        EXPECT_EQ(text(), "an array of another shape");
    }
    EXPECT_EQ(hakobi_input_close(in), HAKOBI_OK);
    hakobi_input_free(in);
}

TEST_F(CApi, AFieldThatOneRankCannotPutFailsTheStepOnAll) {
    const hakobi_block block = split(4, 6);
    const std::vector<double> values(static_cast<std::size_t>(block.count[0] * block.count[1]), 1.0);
    hakobi_output* out = create("bad");
    auto field = HAKOBI_INIT(hakobi_field);
    field.name = "a";
    field.block = block;
    field.type = rank_ == size_ - 1 ? 17 : HAKOBI_FLOAT64;
    field.data = values.data();
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
    EXPECT_EQ(hakobi_output_put(out, &field), rank_ == size_ - 1 ? HAKOBI_INVALID_ARGUMENT : HAKOBI_OK);
    EXPECT_EQ(same_everywhere(hakobi_output_end_step(out)), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("17 is not a type of values"), std::string::npos) << text();
    EXPECT_EQ(hakobi_error_rank(), size_ - 1);
    EXPECT_EQ(hakobi_output_begin_step(out, 1), HAKOBI_FAILED);
    EXPECT_EQ(same_everywhere(hakobi_output_close(out)), HAKOBI_OK) << text();
    hakobi_output_free(out);
    if (rank_ == 0) {
        EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "a temporary file is left";
    }
}

TEST_F(CApi, MissingOrTooFewValuesFailTheStepOnAll) {
    for (const bool is_null : {true, false}) {
        const hakobi_block block = split(4, 6);
        const std::vector<double> values(static_cast<std::size_t>(block.count[0] * block.count[1]), 1.0);
        hakobi_output* out = create("few");
        auto field = HAKOBI_INIT(hakobi_field);
        field.name = "a";
        field.block = block;
        field.type = HAKOBI_FLOAT64;
        field.data = values.data();
        if (rank_ == 0) {
            if (is_null) field.data = nullptr;
            field.num_values = 1;
        }
        EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
        (void)hakobi_output_put(out, &field);
        EXPECT_EQ(same_everywhere(hakobi_output_end_step(out)), HAKOBI_INVALID_ARGUMENT);
        EXPECT_EQ(hakobi_error_rank(), 0);
        EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK);
        hakobi_output_free(out);
    }
}

TEST_F(CApi, ABindingsOwnReasonReachesAllRanks) {
    hakobi_output* out = create("refused");
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
    EXPECT_EQ(hakobi_output_refuse(out, "field a: not contiguous"), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(text(), "field a: not contiguous");
    EXPECT_EQ(same_everywhere(hakobi_output_end_step(out)), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("field a: not contiguous"), std::string::npos) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK);
    hakobi_output_free(out);
}

TEST_F(CApi, ABindingsOwnReasonTakesThePlaceOfACall) {
    const char* reason = "Halo::plan: an array of another shape";
    hakobi_output* out = nullptr;
    const int code = rank_ == 0 ? hakobi_comm_refuse(comm_, reason)
                                : hakobi_output_create(comm_, (folder_ + "/x").c_str(), nullptr, &out);
    EXPECT_EQ(same_everywhere(code), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(text(), reason);
    EXPECT_EQ(hakobi_error_rank(), 0);
    EXPECT_EQ(hakobi_comm_refuse(nullptr, reason), HAKOBI_INVALID_ARGUMENT);
}

TEST_F(CApi, AnOutputThatIsFreedInTheMiddleOfAStepLeavesNoFile) {
    hakobi_output* out = create("abandoned");
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
    hakobi_output_free(out);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) {
        EXPECT_TRUE(std::filesystem::is_empty(folder_));
    }
}

TEST_F(CApi, CollectivesArePlannedAndExecuted) {
    hakobi_collectives* collectives = nullptr;
    auto options = HAKOBI_INIT(hakobi_collectives_options);
    options.method = "model";
    ASSERT_EQ(hakobi_collectives_create(comm_, &options, &collectives), HAKOBI_OK) << text();
    hakobi_collective_plan* plan = nullptr;
    ASSERT_EQ(hakobi_collectives_allreduce(collectives, HAKOBI_FLOAT64, HAKOBI_SUM, 1, &plan), HAKOBI_OK)
        << text();
    double one = 1, sum = 0;
    EXPECT_EQ(hakobi_collective_plan_execute(plan, &one, &sum), HAKOBI_OK) << text();
    EXPECT_EQ(sum, hakobi_comm_size(comm_));
    EXPECT_EQ(hakobi_collective_plan_start(plan, &one, nullptr), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(hakobi_collective_plan_explain(plan), nullptr);
    hakobi_collective_plan_free(plan);
    EXPECT_EQ(hakobi_collectives_allreduce(collectives, 77, HAKOBI_SUM, 1, &plan), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(hakobi_collectives_free(collectives), HAKOBI_OK);
    // Refused on one rank, told to all.
    options.topology = rank_ == 0 ? "star:4" : "nodes";
    EXPECT_EQ(hakobi_collectives_create(comm_, &options, &collectives), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(collectives, nullptr);
}

TEST_F(CApi, NullIsRefusedNotFollowed) {
    hakobi_output* out = nullptr;
    hakobi_comm* none = comm_;
    EXPECT_EQ(hakobi_comm_duplicate(MPI_COMM_NULL, &none), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(hakobi_comm_duplicate_world(nullptr), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_output_create(nullptr, "x", nullptr, &out), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_output_begin_step(nullptr, 0), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_output_put(nullptr, nullptr), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_output_end_step(nullptr), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_output_close(nullptr), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_output_get_times(nullptr, nullptr), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_split(2, nullptr, 1, 0, nullptr), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_gather_pieces(nullptr, nullptr), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_output_method(nullptr), nullptr);
    EXPECT_EQ(hakobi_comm_rank(nullptr), -1);
    EXPECT_EQ(hakobi_comm_free(nullptr), HAKOBI_OK);
    hakobi_output_free(nullptr);
    hakobi_gather_result_free(nullptr);
}

TEST_F(CApi, ErrorTextBelongsToTheThread) {
    EXPECT_EQ(hakobi_output_begin_step(nullptr, 0), HAKOBI_INVALID_ARGUMENT);
    const std::string mine = text();
    std::thread([] {
        EXPECT_STREQ(hakobi_error_text(), "");
        EXPECT_EQ(hakobi_gather_pieces("/nonexistent/pieces", nullptr), HAKOBI_NOT_FOUND);
    }).join();
    EXPECT_EQ(text(), mine);
}

TEST(CApiNames, AreThoseOfCpp) {
    EXPECT_STREQ(hakobi_version(), HAKOBI_VERSION);
    EXPECT_EQ(hakobi::version(), HAKOBI_VERSION);
    EXPECT_TRUE(HAKOBI_VERSION_AT_LEAST(HAKOBI_VERSION_MAJOR, HAKOBI_VERSION_MINOR, HAKOBI_VERSION_PATCH));
    EXPECT_FALSE(HAKOBI_VERSION_AT_LEAST(HAKOBI_VERSION_MAJOR, HAKOBI_VERSION_MINOR + 1, 0));
    EXPECT_FALSE(HAKOBI_VERSION_AT_LEAST(HAKOBI_VERSION_MAJOR + 1, 0, 0));
    EXPECT_STREQ(hakobi_error_name(HAKOBI_NO_SPACE), "no_space");
    const auto names = hakobi::output_methods();
    for (std::size_t i = 0; i < names.size(); ++i)
        EXPECT_EQ(hakobi_output_method_name(static_cast<int>(i)), names[i]);
    EXPECT_EQ(hakobi_output_method_name(static_cast<int>(names.size())), nullptr);
    EXPECT_EQ(hakobi_output_method_name(-1), nullptr);
}

TEST(CApiMpi, InitialisedByTheProgramIsNotFinalisedByTheLibrary) {
    EXPECT_EQ(hakobi_mpi_init_if_needed(), HAKOBI_OK);
    EXPECT_EQ(hakobi_mpi_finalize_if_ours(), HAKOBI_OK);
    int is_finalized = 1;
    MPI_Finalized(&is_finalized);
    EXPECT_EQ(is_finalized, 0);
}

}  // namespace
