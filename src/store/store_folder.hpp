#pragma once

// What the store's tests stand on: a folder of their own, and fields that differ.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <hakobi/store.hpp>
#include <string>
#include <vector>

namespace hakobi::store {

/// A path for a store, removed with all that is in it.
class StoreFolder {
  public:
    StoreFolder() {
        static int number = 0;
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        path_ =
            (std::filesystem::current_path() / ("store." + std::string(test->name()) + "." +
                                                std::to_string(::getpid()) + "." + std::to_string(number++)))
                .string();
    }
    ~StoreFolder() {
        std::error_code error;
        std::filesystem::remove_all(path_, error);
    }
    StoreFolder(const StoreFolder&) = delete;
    StoreFolder& operator=(const StoreFolder&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

    /// The code of what `body` throws; ok where it throws nothing.
    template <class Body>
    static ErrorCode code_of(Body&& body) {
        try {
            body();
            return ErrorCode::ok;
        } catch (const Error& error) {
            return error.code();
        }
    }
    /// The text of what `body` throws, or "".
    template <class Body>
    static std::string text_of(Body&& body) {
        try {
            body();
            return "";
        } catch (const Error& error) {
            return error.what();
        }
    }

  private:
    std::string path_;
};

inline Key weather_key(int step, int level, int param) {
    return {{"class", "od"},
            {"expver", "0001"},
            {"stream", "oper"},
            {"date", "20260101"},
            {"time", "0000"},
            {"type", "fc"},
            {"levtype", "pl"},
            {"step", std::to_string(step)},
            {"levelist", std::to_string(level)},
            {"param", std::to_string(param)}};
}

inline std::vector<std::byte> field_of(int num_bytes, int seed) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(num_bytes));
    for (int i = 0; i < num_bytes; ++i) {
        bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>((i * 7 + i / 251 + seed * 31) % 255 + 1);
    }
    return bytes;
}

}  // namespace hakobi::store
