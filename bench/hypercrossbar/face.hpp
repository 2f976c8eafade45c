#pragma once

#include <cstdint>
#include <vector>

namespace hakobi::bench {

/// The direction over one link: a rank sends, receives, or does both.
enum class Way { send, receive, both };

/// The memory of one message a way: rows of a block whose last dimension has ghosts, as a field has them:
/// what is received lies beside what is sent. One row: both are without gaps.
class Face {
  public:
    /// `bytes` each way, in rows of `row_bytes` (0: one row), both multiples of 8, the former of the latter.
    /// `is_low`: the rank is the lower one of the two, its ghosts lie above its own elements.
    Face(std::int64_t bytes, std::int64_t row_bytes, bool is_low, Way way);

    [[nodiscard]] std::int64_t bytes() const { return 8 * num_rows_ * row_words_; }
    [[nodiscard]] std::int64_t num_rows() const { return num_rows_; }
    [[nodiscard]] std::int64_t row_words() const { return row_words_; }
    [[nodiscard]] std::int64_t pitch_words() const { return pitch_words_; }
    /// Whether the lower rank has ghosts, and the upper one: equal on both.
    [[nodiscard]] bool low_receives() const { return low_receives_; }
    [[nodiscard]] bool high_receives() const { return high_receives_; }
    [[nodiscard]] std::uint64_t* data() { return words_.data(); }
    /// The first word of the own elements, and of the ghosts (where this rank receives).
    [[nodiscard]] std::uint64_t* own() { return words_.data() + own_at_; }
    [[nodiscard]] std::uint64_t* ghosts() { return words_.data() + ghosts_at_; }

    /// Own elements get values of the message's number and its sender; and whether every ghost holds those of
    /// another rank.
    void fill(int number, int sender);
    [[nodiscard]] bool holds(int number, int sender);

    /// Calls `visit(words)` for each row of the own elements or of the ghosts.
    template <class Visit>
    void each_row(std::uint64_t* first, Visit visit) const {
        for (std::int64_t row = 0; row < num_rows_; ++row) visit(first + row * pitch_words_);
    }

  private:
    std::int64_t num_rows_ = 1, row_words_ = 0, pitch_words_ = 0, own_at_ = 0, ghosts_at_ = 0;
    bool low_receives_ = false, high_receives_ = false;
    std::vector<std::uint64_t> words_;
};

}  // namespace hakobi::bench
