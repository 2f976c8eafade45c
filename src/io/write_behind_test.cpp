// Short writes behind others: in order, under locks that others see, with errors that are told once.
#include "io/write_behind.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "base/descriptor.hpp"
#include "io/hidden_writes.hpp"
#include "io/policy.hpp"
#include "storage/range_lock.hpp"

namespace hakobi::io {
namespace {

/// Keeps a log in place of bytes; the first write waits until it is let go.
class SlowFile : public storage::File {
  public:
    Status write_at(std::span<const std::byte> data, std::int64_t offset) override {
        if (num_written_++ == 0) may_go.get_future().wait();
        log += std::to_string(offset) + ":" + static_cast<char>(data[0]) + " ";
        return offset == 13 ? Status(ErrorCode::no_space, "no space for 13") : Status();
    }
    Result<std::int64_t> read_at(std::span<std::byte>, std::int64_t) override { return std::int64_t{0}; }
    Result<std::int64_t> size_bytes() override { return std::int64_t{0}; }
    Status set_size(std::int64_t) override { return {}; }
    Status preallocate(std::int64_t) override { return {}; }
    Status sync() override { return {}; }
    Status close() override { return {}; }
    [[nodiscard]] const std::string& path() const noexcept override { return log; }

    std::promise<void> may_go;
    std::string log;

  private:
    int num_written_ = 0;
};

class WriteBehindTest : public testing::Test {
  protected:
    void SetUp() override {
        path_ = std::filesystem::temp_directory_path() / ("hakobi_behind_" + std::to_string(::getpid()));
        std::ofstream{path_};
        other_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        behind_ = std::make_unique<WriteBehind>(
            file_, path_,
            WriteBehind::Counted{
                [this] { ++num_begun_; },
                [this](ErrorCode error) { (error != ErrorCode::ok ? num_failed_ : num_ended_)++; }});
    }
    void TearDown() override { std::filesystem::remove(path_); }
    bool add(std::int64_t offset, std::size_t length, char value) {
        return behind_->add(std::vector(length, static_cast<std::byte>(value)), offset);
    }
    [[nodiscard]] bool meets(std::int64_t begin, std::int64_t end) const {
        return WriteBehind::meets(other_.get(), {begin, end});
    }

    std::string path_;
    Descriptor other_;
    SlowFile file_;
    std::atomic<int> num_begun_ = 0, num_ended_ = 0, num_failed_ = 0;
    std::unique_ptr<WriteBehind> behind_;
};

TEST_F(WriteBehindTest, OthersSeeWhatIsOnItsWay) {
    EXPECT_EQ(WriteBehind::end_bytes(other_.get()), 0);
    ASSERT_TRUE(add(100, 50, 'a'));
    ASSERT_TRUE(add(1000, 10, 'b'));
    ASSERT_TRUE(add(120, 100, 'c'));  // over the first
    EXPECT_TRUE(meets(149, 150));
    EXPECT_TRUE(meets(0, 101));
    EXPECT_TRUE(meets(219, 300));
    EXPECT_FALSE(meets(220, 1000));
    EXPECT_FALSE(meets(0, 100));
    EXPECT_EQ(WriteBehind::end_bytes(other_.get()), 1010);
    EXPECT_EQ(behind_->range().begin_bytes, 100);
    EXPECT_EQ(behind_->range().end_bytes, 1010);
    EXPECT_FALSE(behind_->meets_others({0, 2000})) << "its own";
    EXPECT_TRUE(behind_->is_any());
    EXPECT_EQ(num_begun_, 3);
    file_.may_go.set_value();
    behind_->wait({});
    EXPECT_EQ(file_.log, "100:a 1000:b 120:c ");
    EXPECT_EQ(num_ended_, 3);
    EXPECT_FALSE(meets(0, 2000));
    EXPECT_EQ(WriteBehind::end_bytes(other_.get()), 0);
    EXPECT_FALSE(behind_->is_any());
}

/// Such as flock(2) of a reader on NFS makes of it.
TEST_F(WriteBehindTest, WholeFileLocksOfOthersAreNoneOfOurs) {
    const Descriptor foreign(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    for (const short type : {F_RDLCK, F_WRLCK}) {
        struct flock whole = storage::lock_on(type, 0, 0);
        ASSERT_EQ(storage::change_lock(foreign.get(), F_OFD_SETLK, whole), 0);
        EXPECT_FALSE(meets(0, 100));
        EXPECT_FALSE(meets(50, 50));
        EXPECT_EQ(WriteBehind::end_bytes(other_.get()), 0);
        EXPECT_EQ(HiddenWrites::is_held(other_.get()), 0);
    }
}

TEST_F(WriteBehindTest, AnErrorIsTheFirstOnesAndToldOnce) {
    file_.may_go.set_value();
    ASSERT_TRUE(add(7, 3, 'a'));
    ASSERT_TRUE(add(13, 3, 'b'));
    ASSERT_TRUE(add(20, 3, 'c'));
    behind_->wait({});
    EXPECT_NE(behind_->error(), ErrorCode::ok);
    EXPECT_EQ(behind_->take_error().code(), ErrorCode::no_space);
    EXPECT_EQ(behind_->error(), ErrorCode::ok);
    EXPECT_TRUE(behind_->take_error().ok());
    EXPECT_EQ(num_failed_, 1);
    EXPECT_EQ(file_.log, "7:a 13:b 20:c ") << "the others are carried out";
    EXPECT_FALSE(meets(0, 100));
}

TEST_F(WriteBehindTest, WhatIsTooMuchIsLeftToTheCaller) {
    constexpr auto most = static_cast<std::size_t>(policy_limits::most_behind);
    EXPECT_FALSE(add(0, most + 1, 'a'));
    EXPECT_FALSE(add(WriteBehind::most_offset_bytes, 1, 'a'));
    std::int64_t num = 0;
    while (add(num * policy_limits::most_behind, most, 'a')) ++num;
    EXPECT_EQ(num, policy_limits::most_behind_together / policy_limits::most_behind);
    file_.may_go.set_value();
    behind_->wait({});
    EXPECT_TRUE(add(0, most, 'b'));
    behind_.reset();  // waits
    EXPECT_EQ(num_begun_, num + 1);
    EXPECT_EQ(num_ended_, num + 1);
}

TEST_F(WriteBehindTest, WithoutAFileToLockNothingIsTaken) {
    WriteBehind none(file_, path_ + "/none", {[] {}, [](ErrorCode) {}});
    EXPECT_FALSE(none.add(std::vector(8, std::byte{1}), 0));
    file_.may_go.set_value();
}

}  // namespace
}  // namespace hakobi::io
