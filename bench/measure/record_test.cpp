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
    EXPECT_DOUBLE_EQ(record["spread"], (4.75 - 2.25) / 2);
    EXPECT_DOUBLE_EQ(record["relative_width"], 5 / 3.5);
    EXPECT_EQ(record["unit"], "GB/s");
    EXPECT_EQ(record["wide"], true);
}

TEST(RecordWriter, WritesOneLineARecordAfterThoseThatAreThere) {
    const std::string path = temporary_path("lines.jsonl");
    // A killed run leaves nothing, a line without its newline, or half a line.
    for (const char* left : {"", R"({"bytes": 3})", R"({"bytes)"}) {
        std::ofstream(path) << R"({"bytes": 1})"
                            << "\n"
                            << R"({"bytes": 2})"
                            << "\n"
                            << left;
        auto writer = RecordWriter::open(path);
        ASSERT_TRUE(writer.ok()) << writer.status().text();
        const int before = nlohmann::json::accept(left) ? 3 : 2;
        EXPECT_TRUE(writer.value().write({{"kind", "summary"}, {"bytes", before + 1}}).ok());
        std::ifstream file(path);
        int lines = 0;
        for (std::string line; std::getline(file, line); ++lines) {
            EXPECT_EQ(nlohmann::json::parse(line)["bytes"], lines + 1);
        }
        EXPECT_EQ(lines, before + 1);
    }
    std::remove(path.c_str());
}

TEST(RecordWriter, LeavesSomebodyElsesFileAlone) {
    const std::string path = temporary_path("notes.txt");
    for (const char* notes : {"precious\n", "precious", "[1, 2]\n", "{\n"}) {
        std::ofstream(path) << notes;
        EXPECT_EQ(RecordWriter::open(path).status().code(), ErrorCode::invalid_argument) << notes;
        std::ifstream file(path);
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), notes);
    }
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
