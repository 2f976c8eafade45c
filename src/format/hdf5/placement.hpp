#pragma once

#include <cassert>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace hakobi::format {

/// Where HDF5 puts what it lays out behind what a file has already: metadata one behind the other from a
/// place on, raw data where it is told to. Pure code.
class Placement {
  public:
    explicit Placement(std::int64_t begin_bytes) : end_bytes_(begin_bytes) {}

    /// The next raw data, of that size, are at `offset_bytes`: somebody has stored them, or will. To be
    /// called just before they are made.
    void expect(std::int64_t bytes, std::int64_t offset_bytes) {
        assert(bytes > 0 && offset_bytes >= 0);
        expected_.emplace_back(bytes, offset_bytes);
    }
    /// Where they are; -1 where others are expected.
    [[nodiscard]] std::int64_t take_expected(std::int64_t bytes) {
        if (expected_.empty() || expected_.front().first != bytes) return -1;
        const std::int64_t offset = expected_.front().second;
        expected_.pop_front();
        return offset;
    }
    [[nodiscard]] bool is_any_expected() const noexcept { return !expected_.empty(); }
    /// Room for metadata.
    [[nodiscard]] std::int64_t allocate(std::int64_t bytes) {
        assert(bytes >= 0 && end_bytes_ % 8 == 0);
        return std::exchange(end_bytes_, end_bytes_ + (bytes + 7) / 8 * 8);
    }
    [[nodiscard]] std::int64_t end_bytes() const noexcept { return end_bytes_; }

    /// Nodes of indexes are among the metadata; those that were made since they were taken last.
    void note_node(std::int64_t offset_bytes) { nodes_.push_back(offset_bytes); }
    [[nodiscard]] std::vector<std::int64_t> take_nodes() { return std::exchange(nodes_, {}); }

  private:
    std::int64_t end_bytes_;
    std::deque<std::pair<std::int64_t, std::int64_t>> expected_;  // bytes, offset
    std::vector<std::int64_t> nodes_;
};

}  // namespace hakobi::format
