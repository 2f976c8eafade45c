#include "format/hdf5/chunk_tree.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace hakobi::format {
namespace {

/// A file in which a tree of chunks of 10 elements grows.
class GrownTree {
  public:
    void add(std::uint64_t chunk) {
        tree_.add({.start = {10 * chunk}, .bytes = 80, .skipped = 0, .offset_bytes = offset_of_chunk(chunk)},
                  allocate_, nodes_);
        keep_nodes();
    }
    static std::int64_t offset_of_chunk(std::uint64_t chunk) {
        return static_cast<std::int64_t>(1'000'000 + 100 * chunk);
    }
    /// The offsets of all chunks, as a reader that follows the tree finds them.
    std::vector<std::int64_t> found() {
        const std::vector<std::byte> root = tree_.root(allocate_, nodes_);
        keep_nodes();
        std::vector<std::int64_t> offsets;
        follow(root, -1, offsets);
        return offsets;
    }

  private:
    template <class T>
    static T number_in(const std::vector<std::byte>& node, std::size_t at) {
        T value{};
        std::memcpy(&value, node.data() + at, sizeof value);
        return value;
    }
    void keep_nodes() {
        for (Extent& node : nodes_) {
            const bool is_new = written_.emplace(node.offset_bytes, std::move(node.bytes)).second;
            ASSERT_TRUE(is_new) << "a node that readers may have is overwritten";
        }
        nodes_.clear();
    }
    /// `level` -1: the root's.
    void follow(const std::vector<std::byte>& node, int level, std::vector<std::int64_t>& offsets) {
        ASSERT_EQ(std::memcmp(node.data(), "TREE\1", 5), 0);
        ASSERT_EQ(std::ssize(node), tree_.node_bytes());
        const int own = number_in<std::uint8_t>(node, 5);
        ASSERT_TRUE(level < 0 || own == level);
        constexpr std::size_t header_bytes = 24, key_bytes = 24, entry_bytes = key_bytes + 8;
        const std::size_t num = number_in<std::uint16_t>(node, 6);
        for (std::size_t i = 0; i < num; ++i) {
            const std::size_t at = header_bytes + i * entry_bytes;
            const auto child = number_in<std::int64_t>(node, at + key_bytes);
            if (own > 0) {
                ASSERT_TRUE(written_.contains(child));
                follow(written_.at(child), own - 1, offsets);
                continue;
            }
            EXPECT_EQ(number_in<std::uint32_t>(node, at), 80U);
            EXPECT_EQ(number_in<std::uint64_t>(node, at + 8), 10 * offsets.size());
            offsets.push_back(child);
        }
        // The last key is behind the last chunk of all.
        EXPECT_GE(number_in<std::uint64_t>(node, header_bytes + num * entry_bytes + 8), 10 * offsets.size());
    }

    ChunkTree tree_{{10}};
    std::int64_t end_ = 0;
    ChunkTree::Allocate allocate_ = [this](std::int64_t bytes) { return std::exchange(end_, end_ + bytes); };
    std::vector<Extent> nodes_;
    std::map<std::int64_t, std::vector<std::byte>> written_;
};

TEST(ChunkTree, LeadsToAllChunksInOrderHoweverManyThereAre) {
    GrownTree tree;
    std::uint64_t num = 0;
    for (const std::uint64_t most : {1U, 2U, 63U, 64U, 65U, 128U, 129U, 4032U, 4033U, 4097U, 9000U}) {
        while (num < most) tree.add(num++);
        const std::vector<std::int64_t> found = tree.found();
        ASSERT_EQ(found.size(), most);
        for (std::uint64_t chunk = 0; chunk < most; ++chunk)
            ASSERT_EQ(found[chunk], GrownTree::offset_of_chunk(chunk));
    }
}

}  // namespace
}  // namespace hakobi::format
