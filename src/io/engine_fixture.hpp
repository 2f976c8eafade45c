#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "io/engine.hpp"
#include "mpi/messages.hpp"
#include "mpi/nonblocking.hpp"
#include "region/cursor.hpp"

namespace hakobi::io {

inline constexpr std::byte untouched{0xee};

inline std::byte value_at(std::int64_t offset, int rank) {
    return static_cast<std::byte>(
        (static_cast<std::uint64_t>(offset) * 2654435761u + static_cast<unsigned>(rank) * 97u) >> 7);
}

/// Returns the values that a request of `rank` writes to the region.
inline std::vector<std::byte> values_of(const Region& region, int rank) {
    std::vector<std::byte> values;
    for (Cursor at(region); !at.at_end(); at.advance(at.remaining()))
        for (std::int64_t i = 0; i < at.remaining(); ++i) values.push_back(value_at(at.offset() + i, rank));
    return values;
}

/// The same on all ranks.
class Draws {
  public:
    explicit Draws(std::uint64_t seed) : random_(seed) {}
    std::int64_t operator()(std::int64_t lo, std::int64_t hi) {
        return std::uniform_int_distribution<std::int64_t>(lo, hi)(random_);
    }
    /// Ranks' pieces of a file in turn, each a multiple of `unit` or nothing, with holes between them.
    std::vector<Region> interleaved(int num_ranks, std::int64_t begin, std::int64_t num_rounds,
                                    std::int64_t piece, std::int64_t unit = 1) {
        std::vector<std::vector<std::int64_t>> offsets(static_cast<std::size_t>(num_ranks)),
            lengths = offsets;
        std::int64_t at = begin;
        for (std::int64_t round = 0; round < num_rounds; ++round) {
            for (std::size_t rank = 0; rank < offsets.size(); ++rank) {
                const std::int64_t length = (*this)(0, 2) == 0 ? 0 : unit * (*this)(1, piece / unit);
                offsets[rank].push_back(at);
                lengths[rank].push_back(length);
                at += length + ((*this)(0, 3) == 0 ? (*this)(1, piece) : 0);
            }
        }
        std::vector<Region> regions;
        for (std::size_t rank = 0; rank < offsets.size(); ++rank)
            regions.push_back(Region::indexed(offsets[rank], lengths[rank]));
        return regions;
    }

  private:
    std::mt19937_64 random_;
};

struct Setting {
    const char* name;
    Hints hints;
    int ranks_per_node = 0;
};
inline void PrintTo(const Setting& setting, std::ostream* os) {
    *os << setting.name;
}

class EngineTest : public testing::TestWithParam<Setting> {
  protected:
    void SetUp() override {
        if (GetParam().ranks_per_node > 0)
            setenv("HAKOBI_RANKS_PER_NODE", std::to_string(GetParam().ranks_per_node).c_str(), 1);
        comm_ = Comm::duplicate(MPI_COMM_WORLD);
        unsetenv("HAKOBI_RANKS_PER_NODE");
        path_ = std::filesystem::temp_directory_path() /
                ("hakobi_engine_" + std::to_string(comm_.size()) + "_" + std::to_string(pid_of_a_rank()));
    }
    void TearDown() override {
        mpi::agree_or_throw(comm_, {});
        if (comm_.rank() == 0) std::filesystem::remove(path_);
        comm_.free();
    }
    /// Returns the pid of one of the ranks, the same on all.
    std::int64_t pid_of_a_rank() {
        std::vector<std::int64_t> pid{getpid()};
        mpi::all_max(comm_, pid);
        return pid.front();
    }
    std::int64_t mpi_sum(std::int64_t mine) {
        std::int64_t sum = 0;
        for (const std::int64_t each : mpi::all_gather(comm_, std::span(&mine, 1))) sum += each;
        return sum;
    }
    // Rank 0 makes a file of `size` bytes of `untouched`, once all have read the one before.
    void make_file(std::int64_t size) {
        mpi::agree_or_throw(comm_, {});
        if (comm_.rank() == 0) {
            std::ofstream file(path_, std::ios::binary | std::ios::trunc);
            const std::vector<char> bytes(static_cast<std::size_t>(size), static_cast<char>(untouched));
            file.write(bytes.data(), size);
        }
        mpi::agree_or_throw(comm_, {});
    }
    std::vector<std::byte> file_bytes() {
        mpi::agree_or_throw(comm_, {});
        std::vector<std::byte> bytes(std::filesystem::file_size(path_));
        std::ifstream file(path_, std::ios::binary);
        file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return bytes;
    }
    std::unique_ptr<Engine> open_engine(bool write) { return open_engine({path_, write}, GetParam().hints); }
    std::unique_ptr<Engine> open_engine(const EngineFile& file, const Hints& hints) {
        std::vector<std::string> warnings;
        std::unique_ptr<Engine> engine;
        Engine::open(comm_, file, engine_options(hints, warnings).value(), engine).throw_if_error();
        EXPECT_TRUE(warnings.empty());
        return engine;
    }
    // Writes with every rank's region and compares the whole file; then reads it back through the same
    // regions.
    void round_trip(const std::vector<Region>& files, const Region& memory, std::int64_t memory_bytes,
                    std::int64_t file_size) {
        const auto mine = static_cast<std::size_t>(comm_.rank());
        make_file(file_size);
        std::vector<std::byte> source(static_cast<std::size_t>(memory_bytes), untouched);
        Cursor file_cursor(files[mine]);
        Cursor memory_cursor(memory);
        while (!file_cursor.at_end()) {
            const std::int64_t length = std::min(file_cursor.remaining(), memory_cursor.remaining());
            for (std::int64_t i = 0; i < length; ++i) {
                source[static_cast<std::size_t>(memory_cursor.offset() + i)] =
                    value_at(file_cursor.offset() + i, comm_.rank());
            }
            file_cursor.advance(length);
            memory_cursor.advance(length);
        }
        auto engine = open_engine(true);
        engine->write_all(files[mine], source.data(), memory).throw_if_error();
        std::vector<std::byte> image(static_cast<std::size_t>(file_size), untouched);
        for (int rank = 0; rank < comm_.size(); ++rank) {
            for (Cursor at(files[static_cast<std::size_t>(rank)]); !at.at_end(); at.advance(1)) {
                const auto index = static_cast<std::size_t>(at.offset());
                if (index >= image.size()) image.resize(index + 1, std::byte{0});
                image[index] = value_at(at.offset(), rank);
            }
        }
        const std::vector<std::byte> written = file_bytes();
        ASSERT_EQ(written.size(), image.size());
        ASSERT_TRUE(std::equal(image.begin(), image.end(), written.begin()))
            << "first difference at "
            << std::mismatch(image.begin(), image.end(), written.begin()).first - image.begin();

        std::vector<std::byte> target(source.size(), untouched);
        std::int64_t bytes_read = -1;
        engine->read_all(files[mine], target.data(), memory, bytes_read).throw_if_error();
        EXPECT_EQ(bytes_read, files[mine].size_bytes());
        ASSERT_EQ(source, target);
        engine->close().throw_if_error();
    }

    Comm comm_;
    std::string path_;
};

}  // namespace hakobi::io
