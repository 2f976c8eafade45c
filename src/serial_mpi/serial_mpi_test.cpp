#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

// Without a launcher and without MPI_Init, whose end would be that of all tests but one.

namespace {

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class SerialFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "serial_mpi_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path folder_;
};

}  // namespace

TEST(SerialMessages, ArriveInTheirOrderAndByTheirTag) {
    const std::array<int, 3> sent = {1, 2, 3};
    MPI_Send(&sent[0], 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Send(&sent[1], 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    MPI_Send(&sent[2], 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    std::array<int, 3> got{};
    MPI_Status status;
    MPI_Recv(&got[0], 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &status);
    EXPECT_EQ(status.MPI_TAG, 8);
    MPI_Recv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    EXPECT_EQ(status.MPI_TAG, 7);
    MPI_Recv(&got[2], 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(got, (std::array<int, 3>{2, 1, 3}));
}

TEST(SerialMessages, OfOneCommunicatorAreNotSeenInAnother) {
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    const int value = 5;
    MPI_Send(&value, 1, MPI_INT, 0, 1, other);
    int is_there = 1;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    EXPECT_EQ(is_there, 0);
    int got = 0;
    MPI_Recv(&got, 1, MPI_INT, 0, 1, other, MPI_STATUS_IGNORE);
    EXPECT_EQ(got, 5);
    MPI_Comm_free(&other);
    EXPECT_EQ(other, MPI_COMM_NULL);
}

TEST(SerialMessages, ASynchronousSendIsCompleteWhenItIsMatched) {
    const double value = 2.5;
    double got = 0;
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    MPI_Issend(&value, 1, MPI_DOUBLE, 0, 3, MPI_COMM_SELF, &send);
    int is_done = 1;
    MPI_Test(&send, &is_done, MPI_STATUS_IGNORE);
    EXPECT_EQ(is_done, 0);
    int has_come = 0, count = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, 3, MPI_COMM_SELF, &has_come, &message, &status);
    ASSERT_EQ(has_come, 1);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    EXPECT_EQ(count, 1);
    MPI_Imrecv(&got, 1, MPI_DOUBLE, &message, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Test(&send, &is_done, MPI_STATUS_IGNORE);
    EXPECT_EQ(is_done, 1);
    EXPECT_EQ(send, MPI_REQUEST_NULL);
    EXPECT_EQ(got, 2.5);
}

TEST(SerialMessages, LongerThanTheirRoomAreAnError) {
    const std::array<int, 2> value = {1, 2};
    int got = 0;
    MPI_Send(value.data(), 2, MPI_INT, 0, 4, MPI_COMM_SELF);
    EXPECT_EQ(MPI_Recv(&got, 1, MPI_INT, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    EXPECT_EQ(got, 1);
}

TEST(SerialMessages, PersistentRequestsStartAgain) {
    int value = 0, got = -1;
    std::array<MPI_Request, 2> requests{};
    MPI_Recv_init(&got, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &requests[0]);
    MPI_Send_init(&value, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &requests[1]);
    for (value = 1; value < 4; ++value) {
        for (MPI_Request& request : requests) MPI_Start(&request);
        MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
        EXPECT_EQ(got, value);
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
}

TEST(SerialMessagesDeathTest, ThatNobodySendsEndTheProcess) {
    int got = 0;
    EXPECT_EXIT(MPI_Recv(&got, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE),
                testing::ExitedWithCode(EXIT_FAILURE), "runs alone: nobody sends it");
}

TEST(SerialCollectives, GiveWhatTheyGet) {
    const std::array<std::int64_t, 2> own = {3, 4};
    std::array<std::int64_t, 2> all{};
    MPI_Allreduce(own.data(), all.data(), 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(all, own);
    MPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(all, own);
    std::array<std::int64_t, 4> places{};
    const int count = 2, place = 2;
    MPI_Allgatherv(own.data(), 2, MPI_INT64_T, places.data(), &count, &place, MPI_INT64_T, MPI_COMM_WORLD);
    EXPECT_EQ(places, (std::array<std::int64_t, 4>{0, 0, 3, 4}));
}

TEST(SerialAttributes, AreRemovedWithTheirCommunicator) {
    static int num_removed = 0;
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(
        MPI_COMM_NULL_COPY_FN, [](MPI_Comm, int, void*, void*) { return ++num_removed, MPI_SUCCESS; }, &key,
        nullptr);
    MPI_Comm comm = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_attr(comm, key, &key);
    MPI_Comm_dup(comm, &copy);
    void* found = nullptr;
    int is_there = 1;
    MPI_Comm_get_attr(copy, key, static_cast<void*>(&found), &is_there);
    EXPECT_EQ(is_there, 0);
    MPI_Comm_free(&copy);
    EXPECT_EQ(num_removed, 0);
    MPI_Comm_free(&comm);
    EXPECT_EQ(num_removed, 1);
}

TEST_F(SerialFile, HasTheBytesOfAViewOfTiles) {
    const std::filesystem::path path = folder_ / "file";
    MPI_File file = MPI_FILE_NULL;
    ASSERT_EQ(MPI_File_open(MPI_COMM_SELF, ("ufs:" + path.string()).c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE,
                            MPI_INFO_NULL, &file),
              MPI_SUCCESS);
    // Two bytes of every four, from byte 1 on; memory: every second byte.
    MPI_Datatype pair = MPI_DATATYPE_NULL, tile = MPI_DATATYPE_NULL, memory = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_BYTE, &pair);
    const std::array<int, 3> lengths = {1, 1, 0};
    const std::array<MPI_Aint, 3> offsets = {0, 4, 8};
    const std::array<MPI_Datatype, 3> types = {pair, pair, MPI_BYTE};
    MPI_Type_create_struct(3, lengths.data(), offsets.data(), types.data(), &tile);
    MPI_Type_create_hvector(3, 1, 2, MPI_BYTE, &memory);
    MPI_File_set_view(file, 1, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    const std::string text = "a-b-c-d-e-f-";
    MPI_Status status;
    ASSERT_EQ(MPI_File_write_at_all(file, 0, text.data(), 1, memory, &status), MPI_SUCCESS);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT_EQ(count, 3);
    ASSERT_EQ(MPI_File_write_at_all(file, 3, text.data() + 6, 1, memory, &status), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);
    // The second tile begins where the first one's last byte ends.
    EXPECT_EQ(content_of(path), std::string("\0ab\0\0cdef", 9));
    for (MPI_Datatype* type : {&pair, &tile, &memory}) MPI_Type_free(type);
}

TEST_F(SerialFile, ThatCannotBeOpenedSaysWhy) {
    MPI_File file = MPI_FILE_NULL;
    const int error =
        MPI_File_open(MPI_COMM_SELF, (folder_ / "none").c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    int error_class = 0, length = 0;
    MPI_Error_class(error, &error_class);
    EXPECT_EQ(error_class, MPI_ERR_NO_SUCH_FILE);
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    MPI_Error_string(error, text.data(), &length);
    EXPECT_STREQ(text.data(), "No such file or directory");
}
