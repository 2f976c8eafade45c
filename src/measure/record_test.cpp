#include "measure/record.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace hakobi::measure {
namespace {

std::string temporary_path(const char* name) {
    return ::testing::TempDir() + "hakobi-record-" + std::to_string(getpid()) + "-" + name;
}

TEST(Conditions, NameWhatAFigureDependsOn) {
    const Record record = conditions("mpi", 4, Topology::load());
    EXPECT_EQ(record["kind"], "conditions");
    EXPECT_EQ(record["schema"], schema_version);
    for (const char* key :
         {"benchmark", "time_utc", "host", "kernel", "processor", "num_cores", "memory_bytes", "topology",
          "l1_bytes", "l2_bytes", "l3_bytes", "ranks", "hakobi_version", "commit"}) {
        EXPECT_TRUE(record.contains(key)) << key;
    }
    EXPECT_EQ(conditions("mpi", 4, Topology::load(false))["topology"], "unknown");
}

TEST(ToRecord, HoldsEverySampleAndTheSpreadBesideTheMedian) {
    Measurement measurement;
    measurement.samples = {3, 1, 2, 5, 4, 6};
    measurement.summary = summarize(measurement.samples);
    measurement.wide = true;
    const Record record = to_record(measurement, "GB/s");
    EXPECT_EQ(record["samples"].size(), 6U);
    EXPECT_EQ(record["median"], 3.5);
    EXPECT_EQ(record["ci_low"], 1);
    EXPECT_EQ(record["ci_high"], 6);
    EXPECT_DOUBLE_EQ(record["spread"], 5 / 3.5);
    EXPECT_EQ(record["unit"], "GB/s");
    EXPECT_EQ(record["wide"], true);
}

TEST(RecordWriter, WritesOneLineARecordAndStartsAnew) {
    const std::string path = temporary_path("lines.jsonl");
    for (int run = 0; run < 2; ++run) {
        auto writer = RecordWriter::open(path);
        ASSERT_TRUE(writer.ok());
        EXPECT_TRUE(writer.value().write({{"kind", "summary"}, {"bytes", 1}}).ok());
        EXPECT_TRUE(writer.value().write({{"kind", "summary"}, {"bytes", 2}}).ok());
    }
    std::ifstream file(path);
    int lines = 0;
    for (std::string line; std::getline(file, line); ++lines) {
        EXPECT_EQ(nlohmann::json::parse(line)["bytes"], lines + 1);
    }
    EXPECT_EQ(lines, 2);
    std::remove(path.c_str());
}

TEST(RecordWriter, AFullDeviceIsNoSpaceAndStaysAnError) {
    auto writer = RecordWriter::open("/dev/full");
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ(writer.value().write({{"kind", "summary"}}).code(), ErrorCode::no_space);
    EXPECT_EQ(writer.value().write({{"kind", "summary"}}).code(), ErrorCode::no_space);
}

TEST(RecordWriter, AnEmptyPathWritesNowhereAndAFolderIsRefused) {
    EXPECT_TRUE(RecordWriter::open("").value().write({{"kind", "summary"}}).ok());
    EXPECT_FALSE(RecordWriter::open(::testing::TempDir()).ok());
    EXPECT_EQ(RecordWriter::open("/nonexistent/x.jsonl").status().code(), ErrorCode::not_found);
}

}  // namespace
}  // namespace hakobi::measure
