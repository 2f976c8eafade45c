// Messages pending across the drop-in's file calls.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "pending/across.hpp"

namespace hakobi::pending {
namespace {

constexpr int small_bytes = 1024;       // travels in a mailbox
constexpr int large_bytes = 1 << 19;    // a rank's part of what is shuffled, or written in one piece
constexpr int element_bytes = 4 << 10;  // dealt out to the ranks in turn

/// A shared file of the test's own, open while it lasts.
class File {
  public:
    File() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        int pid = getpid();
        MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
        const bool has_memory = std::filesystem::is_directory("/dev/shm");
        const std::filesystem::path parent = has_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
        name_ = "hakobi-pending-" + std::to_string(pid);
        folder_ = parent / name_;
        if (rank == 0) std::filesystem::create_directories(folder_);
        MPI_Barrier(MPI_COMM_WORLD);
        open();
        bytes.assign(large_bytes, static_cast<char>('a' + rank));
        for (int i = 0; i < 2; ++i)  // the engine is there, and knows the storage
            MPI_File_write_at_all(handle, std::int64_t{large_bytes} * rank, bytes.data(), large_bytes,
                                  MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_Type_vector(large_bytes / element_bytes, element_bytes, element_bytes * size, MPI_BYTE, &dealt);
        MPI_Type_commit(&dealt);
        MPI_Info_create(&info);
    }
    ~File() {
        MPI_Info_free(&info);
        MPI_Type_free(&dealt);
        if (handle != MPI_FILE_NULL) close();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) std::filesystem::remove_all(folder_);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    // Each time another one: OMPIO names a semaphore after the file, which a rank that closes late removes
    // under the others.
    void open() {
        static int number = 0;
        const std::string path = (folder_ / (name_ + "-" + std::to_string(++number))).string();
        MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &handle);
        MPI_File_set_errhandler(handle, MPI_ERRORS_ARE_FATAL);
    }
    void close() { MPI_File_close(&handle); }
    void deal() { MPI_File_set_view(handle, element_bytes * rank, MPI_BYTE, dealt, "native", MPI_INFO_NULL); }
    void undeal() { MPI_File_set_view(handle, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL); }
    [[nodiscard]] MPI_Offset begin(int each) const { return static_cast<MPI_Offset>(each) * rank; }

    int rank = 0, size = 1;
    MPI_File handle = MPI_FILE_NULL;
    MPI_Datatype dealt = MPI_DATATYPE_NULL;
    MPI_Info info = MPI_INFO_NULL;
    std::vector<char> bytes;

  private:
    std::string name_;
    std::filesystem::path folder_;
};

class FileCall : public Call {
  public:
    using Body = void (*)(File&);
    FileCall(Body before, Body body, Body after) : before_(before), body_(body), after_(after) {}
    void prepare() override { before_(file_); }
    void run() override { body_(file_); }
    void finish() override { after_(file_); }

  private:
    File file_;
    Body before_, body_, after_;
};

constexpr FileCall::Body nothing = [](File&) {};
constexpr FileCall::Body deal = [](File& f) { f.deal(); };
constexpr FileCall::Body rewind = [](File& f) { MPI_File_seek(f.handle, 0, MPI_SEEK_SET); };

Row row(const char* name, FileCall::Body body, FileCall::Body before = nothing,
        FileCall::Body after = nothing) {
    return {name, [=] { return std::make_unique<FileCall>(before, body, after); }};
}

const Row rows[] = {
    row("write_at_all_of_1_KiB",
        [](File& f) {
            MPI_File_write_at_all(f.handle, f.begin(small_bytes), f.bytes.data(), small_bytes, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
        }),
    row("write_at_all_of_nothing",
        [](File& f) { MPI_File_write_at_all(f.handle, 0, f.bytes.data(), 0, MPI_BYTE, MPI_STATUS_IGNORE); }),
    row("write_at_all_of_one_piece",
        [](File& f) {
            MPI_File_write_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
        }),
    row("read_at_all_of_1_KiB",
        [](File& f) {
            MPI_File_read_at_all(f.handle, f.begin(small_bytes), f.bytes.data(), small_bytes, MPI_BYTE,
                                 MPI_STATUS_IGNORE);
        }),
    row("read_at_all_of_one_piece",
        [](File& f) {
            MPI_File_read_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                 MPI_STATUS_IGNORE);
        }),
    row(
        "write_all_dealt",
        [](File& f) {
            MPI_File_write_all(f.handle, f.bytes.data(), large_bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        },
        deal, rewind),
    row(
        "read_all_dealt",
        [](File& f) {
            MPI_File_read_all(f.handle, f.bytes.data(), large_bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        },
        deal, rewind),
    row("write_at_all_begin_and_end",
        [](File& f) {
            MPI_File_write_at_all_begin(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes,
                                        MPI_BYTE);
            MPI_File_write_at_all_end(f.handle, f.bytes.data(), MPI_STATUS_IGNORE);
        }),
    row("read_at_all_begin_and_end",
        [](File& f) {
            MPI_File_read_at_all_begin(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE);
            MPI_File_read_at_all_end(f.handle, f.bytes.data(), MPI_STATUS_IGNORE);
        }),
    row(
        "write_all_begin_and_end",
        [](File& f) {
            MPI_File_write_all_begin(f.handle, f.bytes.data(), large_bytes, MPI_BYTE);
            MPI_File_write_all_end(f.handle, f.bytes.data(), MPI_STATUS_IGNORE);
        },
        deal, rewind),
    row(
        "read_all_begin_and_end",
        [](File& f) {
            MPI_File_read_all_begin(f.handle, f.bytes.data(), large_bytes, MPI_BYTE);
            MPI_File_read_all_end(f.handle, f.bytes.data(), MPI_STATUS_IGNORE);
        },
        deal, rewind),
    row("iwrite_at_all_and_wait",
        [](File& f) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_File_iwrite_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                   &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }),
    row("iread_at_all_and_waitall",
        [](File& f) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_File_iread_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                  &request);
            MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
        }),
    row(
        "iwrite_all_dealt_and_test",
        [](File& f) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_File_iwrite_all(f.handle, f.bytes.data(), large_bytes, MPI_BYTE, &request);
            for (int flag = 0; flag == 0;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        },
        deal, rewind),
    row("write_at_all_behind_iwrite_at_all",
        [](File& f) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_File_iwrite_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                   &request);
            MPI_File_write_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }),
    row("sync_behind_a_freed_request",
        [](File& f) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_File_iwrite_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                   &request);
            MPI_Request_free(&request);
            MPI_File_sync(f.handle);
        }),
    row(
        "sync", [](File& f) { MPI_File_sync(f.handle); },
        [](File& f) {
            MPI_File_write_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
        }),
    row("read_at_and_write_at_behind_write_at_all",
        [](File& f) {
            MPI_File_write_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
            MPI_File_write_at(f.handle, std::int64_t{large_bytes} * f.size + f.begin(small_bytes),
                              f.bytes.data(), small_bytes, MPI_BYTE, MPI_STATUS_IGNORE);
            MPI_File_read_at(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                             MPI_STATUS_IGNORE);
        }),
    row("set_size", [](File& f) { MPI_File_set_size(f.handle, std::int64_t{large_bytes} * f.size); }),
#ifndef OPEN_MPI  // OMPIO's leaves a broadcast behind that another communicator then takes for its own
    row("preallocate", [](File& f) { MPI_File_preallocate(f.handle, std::int64_t{large_bytes} * f.size); }),
#endif
    row(
        "set_view", [](File& f) { f.deal(); }, nothing, [](File& f) { f.undeal(); }),
    row("set_info", [](File& f) { MPI_File_set_info(f.handle, f.info); }),
    row("set_atomicity", [](File& f) { MPI_File_set_atomicity(f.handle, 0); }),
    row(
        "open", [](File& f) { f.open(); }, [](File& f) { f.close(); }),
    row(
        "close", [](File& f) { f.close(); },
        [](File& f) {
            MPI_File_write_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
        },
        [](File& f) { f.open(); }),
    row(
        "first_write_at_all",
        [](File& f) {
            MPI_File_write_at_all(f.handle, f.begin(large_bytes), f.bytes.data(), large_bytes, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
        },
        [](File& f) {
            f.close();
            f.open();
        }),
};

class MpiIo : public testing::TestWithParam<Row> {};

TEST_P(MpiIo, MovesPendingMessages) {
    make_across_messages(GetParam());
}

// By way of collective buffers, where the engine would have chosen otherwise.
TEST_P(MpiIo, MovesPendingMessagesWhereItShuffles) {
    setenv("HAKOBI_HINTS", "hakobi_shuffle=always;cb_buffer_size=262144;hakobi_depth=2", 1);
    make_across_messages(GetParam());
    unsetenv("HAKOBI_HINTS");
}

TEST_P(MpiIo, MovesPendingMessagesWhereItHides) {
    setenv("HAKOBI_HINTS", "hakobi_shuffle=always;cb_buffer_size=262144;hakobi_hidden=write", 1);
    make_across_messages(GetParam());
    unsetenv("HAKOBI_HINTS");
}

INSTANTIATE_TEST_SUITE_P(Calls, MpiIo, testing::ValuesIn(rows), name_of_row);

}  // namespace
}  // namespace hakobi::pending
