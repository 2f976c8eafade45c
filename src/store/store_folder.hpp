#pragma once

// Fixtures of the store's tests: a folder of their own, and fields that differ.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <hakobi/store.hpp>
#include <string>
#include <vector>

#include "storage/objects.hpp"
#include "storage/place.hpp"
#include "store/place.hpp"

namespace hakobi::store {

/// Where stores of tests lie: "" a folder, "objects:" objects in a folder, and the servers that
/// lab/hakobi_lab/object_servers.py has started.
inline std::vector<std::string> store_bases() {
    std::vector<std::string> bases = {"", "objects:"};
    for (const char* const name : {"HAKOBI_TEST_S3", "HAKOBI_TEST_RADOS"}) {
        if (const char* const base = std::getenv(name)) bases.emplace_back(base);
    }
    return bases;
}
inline std::string name_of_base(const ::testing::TestParamInfo<std::string>& info) {
    return info.param.empty() ? "folder" : info.param.substr(0, info.param.find(':'));
}

inline bool is_server(const std::string& base) {
    return storage::limits_of(base).is_on_objects;
}

/// The text that `work` returns, from a process of its own: librados does not outlive a fork, so that a
/// process that forks leaves it to its children.
inline std::string in_child(const std::function<std::string()>& work) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        std::string text;
        try {
            text = work();
        } catch (const std::exception& error) {
            text = error.what();
        }
        (void)!::write(ends[1], text.data(), text.size());
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t length = 0; (length = ::read(ends[0], part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<std::size_t>(length));
    ::close(ends[0]);
    int status = -1;
    ::waitpid(child, &status, 0);
    return status == 0 || !text.empty() ? text : "a process ended with status " + std::to_string(status);
}

/// A test of stores at each of them.
class AtEachPlace : public ::testing::TestWithParam<std::string> {};
#define HAKOBI_AT_EACH_PLACE(suite) \
    INSTANTIATE_TEST_SUITE_P(At, suite, ::testing::ValuesIn(store_bases()), name_of_base)

/// The objects that a store on object storage consists of.
inline storage::ObjectsPtr objects_of(const std::string& path) {
    return storage::open_objects(path.starts_with("objects:") ? path.substr(8) : path).value();
}
inline std::vector<std::string> object_names(const std::string& path) {
    const Result<storage::Listing> listing = objects_of(path)->list({});
    std::vector<std::string> names;
    for (const storage::ListedObject& object : listing.value().objects) names.push_back(object.name);
    return names;
}

/// The names in a store, sorted, with blanks between.
inline std::string names_in(const std::string& path) {
    std::vector<std::string> names;
    if (is_on_objects(path)) {
        names = object_names(path);
    } else {
        for (const auto& entry : std::filesystem::directory_iterator(path))
            names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    std::string text;
    for (const std::string& name : names) text += name + " ";
    return text;
}

inline void remove_store(const std::string& path) {
    std::error_code ignored;
    if (path.starts_with("objects:")) {
        std::filesystem::remove_all(path.substr(8), ignored);
    } else if (is_on_objects(path)) {
        for (const std::string& name : object_names(path)) (void)objects_of(path)->remove(name);
    } else {
        std::filesystem::remove_all(path, ignored);
    }
}

/// A path for a store, removed with all that is in it.
class StoreFolder {
  public:
    /// With `is_left` somebody else removes it: a process that forks touches no server.
    explicit StoreFolder(const std::string& base = "", bool is_left = false) : is_left_(is_left) {
        static int number = 0;
        std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
        std::ranges::replace(test, '/', '.');
        const std::string name =
            "store." + test + "." + std::to_string(::getpid()) + "." + std::to_string(number++);
        path_ =
            is_server(base) ? base + "/" + name : base + (std::filesystem::current_path() / name).string();
    }
    ~StoreFolder() {
        if (!is_left_) remove_store(path_);
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
    bool is_left_;
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
