#pragma once

#include <gtest/gtest.h>
#include <hakobi/comm.hpp>
// After mpi.h, so that hakobi_comm_duplicate is there.
#include <hakobi/bindings.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace hakobi::test {

inline std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file.good()) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A communicator of the C interface, and a folder that all ranks share for the time of a test.
class CApiTest : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(hakobi_comm_duplicate(MPI_COMM_WORLD, &comm_), HAKOBI_OK) << text();
        rank_ = hakobi_comm_rank(comm_);
        size_ = hakobi_comm_size(comm_);
        char name[] = "/tmp/hakobi-capi-XXXXXX";
        if (rank_ == 0) {
            ASSERT_NE(mkdtemp(name), nullptr);
        }
        MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
        folder_ = name;
    }
    void TearDown() override {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank_ == 0) std::filesystem::remove_all(folder_);
        EXPECT_EQ(hakobi_comm_free(comm_), HAKOBI_OK);
    }

    static std::string text() { return hakobi_error_text(); }
    /// The code of a collective call, which must be the same on all ranks.
    static int same_everywhere(int code) {
        int lowest = 0, highest = 0;
        MPI_Allreduce(&code, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&code, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        EXPECT_EQ(lowest, highest);
        return code;
    }

    hakobi_block split(std::int64_t ny, std::int64_t nx) const {
        const std::int64_t global[] = {ny, nx};
        hakobi_block block;
        EXPECT_EQ(hakobi_split(2, global, size_, rank_, &block), HAKOBI_OK) << text();
        return block;
    }
    hakobi_output* create(const std::string& name) const {
        hakobi_output* out = nullptr;
        EXPECT_EQ(hakobi_output_create(comm_, (folder_ + "/" + name).c_str(), nullptr, &out), HAKOBI_OK)
            << text();
        return out;
    }

    hakobi_comm* comm_ = nullptr;
    int rank_ = 0, size_ = 0;
    std::string folder_;
};

}  // namespace hakobi::test
