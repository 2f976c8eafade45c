#include "face.hpp"

#include <cstddef>

namespace hakobi::bench {
namespace {

/// The first word of a message; each word is one more than the one before.
std::uint64_t first_value(int number, int sender) {
    return (static_cast<std::uint64_t>(number) + 1) * 0x9e3779b97f4a7c15U +
           static_cast<std::uint64_t>(sender) * 0xd1342543de82ef95U;
}

}  // namespace

Face::Face(std::int64_t bytes, std::int64_t row_bytes, bool is_low, Way way)
    : num_rows_(row_bytes == 0 ? 1 : bytes / row_bytes),
      row_words_(row_bytes == 0 ? bytes / 8 : row_bytes / 8) {
    const bool receives = way != Way::send, sends = way != Way::receive;
    low_receives_ = is_low ? receives : sends;
    high_receives_ = is_low ? sends : receives;
    pitch_words_ = row_words_ * (1 + (low_receives_ ? 1 : 0) + (high_receives_ ? 1 : 0));
    // Ghosts below the own elements are those of the upper rank, and are there where it has any.
    own_at_ = high_receives_ ? row_words_ : 0;
    ghosts_at_ = is_low ? own_at_ + row_words_ : 0;
    words_.assign(static_cast<std::size_t>(num_rows_ * pitch_words_), 0);
}

void Face::fill(int number, int sender) {
    std::uint64_t value = first_value(number, sender);
    each_row(own(), [&](std::uint64_t* row) {
        for (std::int64_t i = 0; i < row_words_; ++i) row[i] = value + static_cast<std::uint64_t>(i);
        value += static_cast<std::uint64_t>(row_words_);
    });
}

bool Face::holds(int number, int sender) {
    std::uint64_t value = first_value(number, sender), wrong = 0;
    each_row(ghosts(), [&](const std::uint64_t* row) {
        for (std::int64_t i = 0; i < row_words_; ++i)
            wrong |= row[i] ^ (value + static_cast<std::uint64_t>(i));
        value += static_cast<std::uint64_t>(row_words_);
    });
    return wrong == 0;
}

}  // namespace hakobi::bench
