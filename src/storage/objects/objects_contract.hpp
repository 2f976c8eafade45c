#pragma once

// The stores that the contract of objects.hpp is held against. A server's take part where a variable names a
// root on one that runs: tests/python/test_object_servers.py starts them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "storage/objects.hpp"

namespace hakobi::storage::contract {

struct Store {
    std::string name;
    std::string root;
};
inline void PrintTo(const Store& store, std::ostream* out) {
    *out << store.name;
}

inline const std::vector<Store>& stores() {
    static const std::vector<Store> all = [] {
        std::vector<Store> found = {{"memory", "memory:contract"},
                                    {"folder", (std::filesystem::current_path() / "objects").string()}};
        for (const auto& [name, variable] :
             {std::pair("s3", "HAKOBI_TEST_S3"), {"rados", "HAKOBI_TEST_RADOS"}}) {
            const char* const root = std::getenv(variable);
            if (root != nullptr && *root != '\0') found.push_back({name, root});
        }
        return found;
    }();
    return all;
}

/// Objects of its own for each test, removed afterwards, also where the test failed.
class OpenedStore {
  public:
    explicit OpenedStore(const Store& store) {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        std::string name = std::string(test->name()) + "." + std::to_string(::getpid());
        for (char& c : name) c = c == '/' ? '.' : c;
        root_ = store.root + "/" + name;
        objects_ = again();
    }
    ~OpenedStore() {
        const Result<Listing> left = objects_->list({});
        EXPECT_TRUE(left.ok()) << left.status().text();
        for (const ListedObject& each : left.ok() ? left.value().objects : std::vector<ListedObject>())
            EXPECT_TRUE(objects_->remove(each.name).ok());
        if (objects_->abilities().kind == "folder") std::filesystem::remove_all(root_);
    }
    /// The same objects as another process would open them.
    [[nodiscard]] ObjectsPtr again() const {
        Result<ObjectsPtr> opened = open_objects(root_);
        if (!opened.ok()) throw std::runtime_error(opened.status().text());
        return opened.value();
    }
    [[nodiscard]] const std::string& root() const { return root_; }
    Objects& operator*() { return *objects_; }
    Objects* operator->() { return objects_.get(); }

  private:
    std::string root_;
    ObjectsPtr objects_;
};

/// Bytes that differ from other seeds' and from their neighbours.
inline std::vector<std::byte> bytes_of(std::size_t length, unsigned seed) {
    std::vector<std::byte> bytes(length);
    std::minstd_rand random(seed + 1);
    for (std::byte& byte : bytes) byte = std::byte(random() >> 8 & 0xff);
    return bytes;
}

}  // namespace hakobi::storage::contract
