#pragma once

// Fixtures of the contract tests: the backends that they run over, and their files and buffers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "storage/faulty.hpp"
#include "storage/file.hpp"
#include "storage_model/throttled.hpp"

namespace hakobi::storage::contract {

inline constexpr OpenMode creating = {.read = true, .write = true, .create = true, .truncate = true};

struct FreeAligned {
    void operator()(std::byte* address) const { std::free(address); }
};

/// Memory that O_DIRECT takes.
class Buffer {
  public:
    explicit Buffer(std::size_t bytes, unsigned seed = 0)
        : bytes_(bytes),
          data_(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))) {
        for (std::size_t i = 0; i < bytes; ++i) data_.get()[i] = value(i, seed);
    }
    /// Differs from its neighbours and from other seeds; never 0, which holes read as.
    static std::byte value(std::size_t i, unsigned seed) {
        return std::byte((i * 7 + i / 251 + seed * 31) % 255 + 1);
    }
    std::byte* data() { return data_.get(); }
    std::span<std::byte> span() { return {data_.get(), bytes_}; }

  private:
    std::size_t bytes_;
    std::unique_ptr<std::byte, FreeAligned> data_;
};

/// A backend under test: the prefix of the file's name, and whether it is opened with O_DIRECT.
struct Backend {
    std::string name;
    std::string prefix;
    bool is_direct = false;
    bool is_under_fault = false;
};

inline void PrintTo(const Backend& backend, std::ostream* out) {
    *out << backend.name;
}

inline const std::vector<Backend>& backends() {
    [[maybe_unused]] static const bool is_registered = (register_throttled(), true);
    static std::vector<Backend> all = {
        {"posix", "posix:"},
        {"direct", "", true},
        {"null", "null:"},
        {"memory", "memory:"},
        {"throttled", "throttled:servers=3,bandwidth=20000,latency=10us,stripe=4K:"},
        {"throttled_memory", "throttled:bandwidth=20000,latency=0:memory:"},
        {"faulty", "", false, true},
    };
    // Where one runs (object_servers.py).
    static const char* const rados = std::getenv("HAKOBI_TEST_RADOS");
    if (rados != nullptr && all.back().name != "rados") all.push_back({"rados", rados});
    return all;
}

/// A file of its own for each test, removed afterwards, also where the test failed.
class OpenedFile {
  public:
    explicit OpenedFile(const Backend& backend) : backend_(backend) {
        // A fault that never fires decorates the file all the same.
        if (backend.is_under_fault) arm_fault({.operation = FileOperation::write, .nth = 1'000'000'000});
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        std::string name = std::string(test->name()) + "." + std::to_string(::getpid());
        std::ranges::replace(name, '/', '.');
        path_ = backend.prefix + (std::filesystem::current_path() / ("storage." + name)).string();
        mode_ = creating;
        mode_.direct = backend.is_direct;
        reopen();
        mode_.create = mode_.truncate = false;
    }
    ~OpenedFile() {
        (void)file_->close();
        EXPECT_TRUE(remove_file(path_).ok());
        disarm_fault();
    }
    void reopen() {
        Result<FilePtr> opened = open_file(path_, mode_);
        if (!opened.ok()) throw std::runtime_error(opened.status().text());
        file_ = std::move(opened).value();
    }
    [[nodiscard]] const std::string& path() const { return path_; }
    File& operator*() { return *file_; }
    File* operator->() { return file_.get(); }

  private:
    Backend backend_;
    std::string path_;
    OpenMode mode_;
    FilePtr file_;
};

inline bool is_all(std::span<const std::byte> data, std::byte value) {
    return std::ranges::all_of(data, [&](std::byte b) { return b == value; });
}

}  // namespace hakobi::storage::contract
