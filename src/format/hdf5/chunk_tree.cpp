#include "format/hdf5/chunk_tree.hpp"

#include <cassert>
#include <string_view>
#include <utility>

namespace hakobi::format {
namespace {

constexpr std::size_t header_bytes = 24, address_bytes = 8;
constexpr std::uint64_t undefined = ~std::uint64_t{0};

/// Little-endian numbers one behind the other.
class Encoder {
  public:
    explicit Encoder(std::size_t bytes) { bytes_.reserve(bytes); }
    void put(std::uint64_t value, int num_bytes) {
        for (int i = 0; i < num_bytes; ++i)
            bytes_.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xFF));
    }
    void put(std::string_view text) {
        for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    }
    [[nodiscard]] std::vector<std::byte> take(std::size_t bytes) {
        assert(bytes_.size() <= bytes);
        bytes_.resize(bytes);
        return std::move(bytes_);
    }

  private:
    std::vector<std::byte> bytes_;
};

}  // namespace

std::int64_t ChunkTree::node_bytes() const {
    const std::size_t key_bytes = 8 + 8 * (chunk_.size() + 1);
    return static_cast<std::int64_t>(header_bytes + most_entries * address_bytes +
                                     (most_entries + 1) * key_bytes);
}

std::vector<std::byte> ChunkTree::node(const std::vector<PlacedChunk>& entries, std::size_t level) const {
    assert(!entries.empty() && entries.size() <= most_entries);
    const auto size = static_cast<std::size_t>(node_bytes());
    Encoder out(size);
    out.put("TREE");
    out.put(1, 1);  // of chunks
    out.put(level, 1);
    out.put(entries.size(), 2);
    out.put(undefined, 8);
    out.put(undefined, 8);
    const auto put_key = [&](std::uint32_t bytes, std::uint32_t skipped,
                             const std::vector<std::uint64_t>& start) {
        out.put(bytes, 4);
        out.put(skipped, 4);
        for (const std::uint64_t at : start) out.put(at, 8);
        out.put(0, 8);
    };
    for (const PlacedChunk& entry : entries) {
        put_key(entry.bytes, entry.skipped, entry.start);
        out.put(static_cast<std::uint64_t>(entry.offset_bytes), 8);
    }
    // The end of chunks up to the last one: behind it.
    std::vector<std::uint64_t> end = last_;
    for (std::size_t d = 0; d < end.size(); ++d) end[d] += chunk_[d];
    put_key(0, 0, end);
    return out.take(size);
}

PlacedChunk ChunkTree::write_node(const std::vector<PlacedChunk>& entries, std::size_t level,
                                  const Allocate& allocate, std::vector<Extent>& nodes) const {
    PlacedChunk above = entries.front();
    above.offset_bytes = allocate(node_bytes());
    nodes.push_back({above.offset_bytes, node(entries, level)});
    return above;
}

void ChunkTree::add(const PlacedChunk& entry, std::size_t level, const Allocate& allocate,
                    std::vector<Extent>& nodes) {
    assert(level <= levels_.size());
    if (levels_.size() == level) levels_.emplace_back();
    const std::size_t most = level == 0 ? most_entries : most_entries - 1;
    if (levels_[level].size() == most) {
        const PlacedChunk above = write_node(levels_[level], level, allocate, nodes);
        levels_[level].clear();
        add(above, level + 1, allocate, nodes);
    }
    levels_[level].push_back(entry);
}

void ChunkTree::add(const PlacedChunk& chunk, const Allocate& allocate, std::vector<Extent>& nodes) {
    assert(chunk.start.size() == chunk_.size());
    if (levels_.empty()) first_ = chunk;
    add(chunk, 0, allocate, nodes);
    last_ = chunk.start;
}

std::vector<std::byte> ChunkTree::root(const Allocate& allocate, std::vector<Extent>& nodes) const {
    assert(!levels_.empty());
    std::vector<PlacedChunk> entries = levels_[0];
    for (std::size_t level = 0; level + 1 < levels_.size(); ++level) {
        const PlacedChunk above = write_node(entries, level, allocate, nodes);
        entries = levels_[level + 1];
        entries.push_back(above);
    }
    return node(entries, levels_.size() - 1);
}

}  // namespace hakobi::format
