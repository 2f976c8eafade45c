// Answers of a server that is not right.
#include <gtest/gtest.h>

#include "storage/objects/answering_curl.hpp"
#include "storage/objects/put_file.hpp"
#include "storage/objects/stores.hpp"

namespace hakobi::storage {
namespace {

class S3Answers : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!AnsweringCurl::begin([this] { return next(); })) GTEST_SKIP() << "there is no libcurl";
        objects_ = open_s3_objects("//bucket/run").value();
    }
    Answer next() {
        EXPECT_LT(++num_asked_, 100) << "it asks for ever";
        return num_asked_ < 100 ? answer_ : Answer{};
    }

    ObjectsPtr objects_;
    Answer answer_;
    int num_asked_ = 0;
};

TEST_F(S3Answers, AnObjectOfNoSizeIsAnErrorOfTheServer) {
    for (const char* head : {"ETag: e\r", "Content-Length: many\r", "Content-Length: -5\r"}) {
        answer_ = {.http_status = 200, .head = head};
        EXPECT_EQ(objects_->facts("name").status().code(), ErrorCode::io) << head;
        EXPECT_EQ(get_object({objects_, "name"}).status().code(), ErrorCode::io) << head;
    }
}

TEST_F(S3Answers, MemoryIsUsedAsBytesComeNotAsTheServerSays) {
    answer_ = {
        .http_status = 200, .head = "Content-Length: 4000000000000000000\r\nETag: e\r", .body = "12345"};
    EXPECT_FALSE(get_object({objects_, "name"}).ok());
}

TEST_F(S3Answers, APageThatIsItsOwnNextOneEndsAListing) {
    const auto page = [](const std::string& name, const std::string& marker) {
        return "<" + name + "><IsTruncated>true</IsTruncated><" + marker + ">x</" + marker + "></" + name +
               ">";
    };
    answer_ = {.http_status = 200, .body = page("ListBucketResult", "NextContinuationToken")};
    EXPECT_EQ(objects_->list({}).status().code(), ErrorCode::io);
    answer_.body = page("ListPartsResult", "NextPartNumberMarker");
    EXPECT_EQ(objects_->parts("name", "upload").status().code(), ErrorCode::io);
    answer_.body = page("ListMultipartUploadsResult", "NextKeyMarker");
    EXPECT_EQ(objects_->uploads("").status().code(), ErrorCode::io);
}

TEST_F(S3Answers, ADateThatNanosecondsDoNotReachIsNone) {
    const std::string head = "Content-Length: 1\r\nLast-Modified: ";
    answer_ = {.http_status = 200, .head = head + "Wed, 26 Nov 1014 14:00:00 GMT\r"};
    EXPECT_EQ(objects_->facts("name").value().modified_ns, 0);
    answer_.head = head + "Thu, 01 Jan 1970 00:00:02 GMT\r";
    EXPECT_EQ(objects_->facts("name").value().modified_ns, 2'000'000'000);
}

TEST_F(S3Answers, AStatusThatIsNoNumberIsNoAnswer) {
    answer_ = {.http_status = 0};
    EXPECT_FALSE(objects_->facts("name").ok());
}

}  // namespace
}  // namespace hakobi::storage
