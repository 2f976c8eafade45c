#include "storage/faulty.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "storage/access.hpp"
#include "storage/null.hpp"

namespace hakobi::storage {
namespace {

constexpr OpenMode creating = {.read = true, .write = true, .create = true, .truncate = true};

class Faulty : public ::testing::Test {
  protected:
    void TearDown() override {
        disarm_fault();
        set_fault_rank(0);
        (void)remove_file(path);
    }
    FilePtr open() {
        Result<FilePtr> file = open_file(path, creating);
        return file.ok() ? std::move(file).value() : nullptr;
    }
    std::string path = "memory:faulty_test";
    std::array<std::byte, 100> data{};
};

TEST_F(Faulty, FiresExactlyAtTheNthWriteAndOnce) {
    for (std::int64_t nth = 1; nth <= 4; ++nth) {
        arm_fault({.operation = FileOperation::write, .nth = nth});
        const FilePtr file = open();
        for (std::int64_t i = 1; i <= 4; ++i) {
            const Status status = file->write_at(data, 100 * i);
            EXPECT_EQ(status.ok(), i != nth);
            if (i == nth) {
                EXPECT_EQ(status.code(), ErrorCode::no_space);
                EXPECT_NE(status.text().find("injected"), std::string::npos);
            }
            EXPECT_EQ(fault_count().has_fired, i >= nth);
        }
        EXPECT_EQ(fault_count().num_operations, 4);
    }
}

TEST_F(Faulty, ATestFindsTheLastOperationByRaisingN) {
    int num_failures = 0;
    for (std::int64_t nth = 1;; ++nth) {
        arm_fault({.operation = FileOperation::sync, .nth = nth, .error = EIO});
        const FilePtr file = open();
        Status status = file->sync();
        status.keep_first(file->sync());
        status.keep_first(file->sync());
        if (!fault_count().has_fired) {
            EXPECT_TRUE(status.ok());
            break;
        }
        EXPECT_EQ(status.code(), ErrorCode::io);
        ++num_failures;
    }
    EXPECT_EQ(num_failures, 3);
}

TEST_F(Faulty, EveryKindFailsWithoutHavingActed) {
    const std::vector<std::pair<FileOperation, std::function<Status(File&)>>> calls = {
        {FileOperation::read, [&](File& file) { return file.read_at(data, 0).status(); }},
        {FileOperation::write, [&](File& file) { return file.write_at(data, 0); }},
        {FileOperation::set_size, [&](File& file) { return file.set_size(50); }},
        {FileOperation::preallocate, [&](File& file) { return file.preallocate(50); }},
        {FileOperation::sync, [&](File& file) { return file.sync(); }},
        {FileOperation::close, [&](File& file) { return file.close(); }},
        {FileOperation::rename, [&](File&) { return rename_file(path, path + "2"); }},
        {FileOperation::remove, [&](File&) { return remove_file(path); }},
    };
    for (const auto& [operation, call] : calls) {
        arm_fault({.operation = operation, .error = EACCES});
        const FilePtr file = open();
        ASSERT_NE(file, nullptr);
        EXPECT_EQ(call(*file).code(), ErrorCode::permission);
        EXPECT_EQ(file->size_bytes().value(), 0);
        EXPECT_TRUE(open_file(path, {}).ok()) << "the file is gone";
        EXPECT_TRUE(call(*file).ok()) << "failed twice";
        (void)remove_file(path + "2");
    }
    arm_fault({.operation = FileOperation::open, .error = EIO});
    (void)remove_file(path);
    EXPECT_EQ(open_file(path, creating).status().code(), ErrorCode::io);
    EXPECT_EQ(open_file(path, {}).status().code(), ErrorCode::not_found) << "a failed open has made the file";
}

TEST_F(Faulty, AShortWriteWritesHalfAndIsAnError) {
    arm_fault({.operation = FileOperation::write, .error = 0});
    const FilePtr file = open();
    EXPECT_EQ(file->write_at(data, 0).code(), ErrorCode::io);
    EXPECT_EQ(file->size_bytes().value(), 50);
}

TEST_F(Faulty, AShortReadReturnsHalf) {
    arm_fault({.operation = FileOperation::read, .error = 0});
    const FilePtr file = open();
    ASSERT_TRUE(file->write_at(data, 0).ok());
    EXPECT_EQ(file->read_at(data, 0).value(), 50);
    EXPECT_EQ(file->read_at(data, 0).value(), 100);
}

TEST_F(Faulty, OnlyItsRankAndItsFilesFail) {
    set_fault_rank(2);
    arm_fault({.rank = 1, .operation = FileOperation::write});
    EXPECT_TRUE(open()->write_at(data, 0).ok());
    arm_fault({.rank = 2, .operation = FileOperation::write, .path = "another"});
    EXPECT_TRUE(open()->write_at(data, 0).ok());
    EXPECT_EQ(fault_count().num_operations, 0);
    arm_fault({.rank = 2, .operation = FileOperation::write, .path = "faulty"});
    EXPECT_FALSE(open()->write_at(data, 0).ok());
}

TEST_F(Faulty, TheFaultReachesARequestByEveryAccess) {
    for (const std::string_view name : {"posix", "threads", "uring"}) {
        arm_fault({.operation = FileOperation::write, .nth = 2});
        const FilePtr file = open();
        auto access = make_access(*file, {.name = name});
        ASSERT_TRUE(access.ok() || name == "uring") << access.status().text();
        if (!access.ok()) continue;  // no io_uring in this kernel
        Request request{
            .is_write = true, .buffer = data.data(), .extents = {{0, 0, 10}, {10, 10, 10}, {20, 20, 10}}};
        access.value()->submit(request);
        access.value()->drain();
        EXPECT_EQ(request.status.code(), ErrorCode::no_space) << name;
        EXPECT_EQ(request.transferred_bytes, 10) << name;
        EXPECT_EQ(file->size_bytes().value(), 10) << name << ": an extent behind the failed one was written";
    }
}

TEST_F(Faulty, UnarmedFilesAreNotDecorated) {
    disarm_fault();
    FilePtr file = make_null("x");
    const File* given = file.get();
    EXPECT_EQ(with_faults(std::move(file)).get(), given);
    arm_fault({});
    file = make_null("x");
    given = file.get();
    EXPECT_NE(with_faults(std::move(file)).get(), given);
}

TEST(ParseFault, ReadsItsForm) {
    const Result<Fault> fault = parse_fault("rank=1,operation=write,nth=3,error=EIO,path=run.nc");
    ASSERT_TRUE(fault.ok()) << fault.status().text();
    EXPECT_EQ(fault.value().rank, 1);
    EXPECT_EQ(fault.value().operation, FileOperation::write);
    EXPECT_EQ(fault.value().nth, 3);
    EXPECT_EQ(fault.value().error, EIO);
    EXPECT_EQ(fault.value().path, "run.nc");
    EXPECT_EQ(parse_fault("operation=read,error=short").value().error, 0);
    EXPECT_EQ(parse_fault("operation=remove").value().rank, -1);
}

TEST(ParseFault, SaysWhatIsWrong) {
    const auto text_of = [](std::string_view text) { return parse_fault(text).status().text(); };
    EXPECT_NE(text_of("operation=wirte").find("did you mean 'write'"), std::string::npos);
    EXPECT_NE(text_of("operation=write,nth=0").find("nth=0"), std::string::npos);
    EXPECT_NE(text_of("operation=write,nth=2x").find("nth=2x"), std::string::npos);
    EXPECT_NE(text_of("operation=write,error=EWHAT").find("EWHAT"), std::string::npos);
    EXPECT_NE(text_of("operation=sync,error=short").find("short"), std::string::npos);
    EXPECT_NE(text_of("rank=1").find("operation"), std::string::npos);
    EXPECT_NE(text_of("operation=write,when=now").find("when"), std::string::npos);
    EXPECT_EQ(parse_fault("").status().code(), ErrorCode::invalid_argument);
}

/// The variable is read once a process, so each case is a process of its own.
TEST(FaultVariableDeathTest, ArmsTheProcessOrRefusesEveryOpen) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto outcome = [](const char* variable) {
        ::setenv("HAKOBI_FAULT", variable, 1);
        ::setenv("OMPI_COMM_WORLD_RANK", "3", 1);
        const std::array<std::byte, 8> data{};
        const Result<FilePtr> file = open_file("memory:fault_variable", creating);
        const Status status = file.ok() ? file.value()->write_at(data, 0) : file.status();
        std::fprintf(stderr, "[%s]", std::string(to_string(status.code())).c_str());
        std::_Exit(0);
    };
    EXPECT_EXIT(outcome("rank=3,operation=write,error=EDQUOT"), ::testing::ExitedWithCode(0),
                "\\[no_space\\]");
    EXPECT_EXIT(outcome("rank=0,operation=write"), ::testing::ExitedWithCode(0), "\\[ok\\]");
    EXPECT_EXIT(outcome("operation=wrote"), ::testing::ExitedWithCode(0), "\\[invalid_argument\\]");
}

}  // namespace
}  // namespace hakobi::storage
