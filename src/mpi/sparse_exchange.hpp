#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <span>
#include <vector>

#include "mpi/message_context.hpp"

namespace hakobi::mpi {

struct WordsTo {
    int rank = 0;
    std::span<const std::int64_t> words;
};
struct WordsFrom {
    int rank = 0;
    std::vector<std::int64_t> words;
};

/// Longest message that travels in one part: 1 GiB.
constexpr std::int64_t most_words_of_a_part = std::int64_t{1} << 27;

/// Collective over `comm`, whose `context` it is: each rank sends messages to ranks of its choice (itself
/// too), and no rank knows who sends to it. Returns what came, by sender, and of one sender in the order in
/// which it was sent. No step costs as much as there are ranks. `part_words` is equal on all ranks; longer
/// messages go in parts.
[[nodiscard]] std::vector<WordsFrom> sparse_exchange(const Comm& comm, MessageContext& context,
                                                     std::span<const WordsTo> messages,
                                                     std::int64_t part_words = most_words_of_a_part);

}  // namespace hakobi::mpi
