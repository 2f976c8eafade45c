#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay.hpp"

// Whether a replay comes to its end is found before it starts, by walking all ranks through their events
// without time, as the prediction does with it (lab/hakobi_lab/measuring/prediction.py); tests hold that both
// refuse alike.
//  1. A message and a receive meet as MPI has them meet: in the order in which they were sent and posted.
//  2. A send of more than the eager limit ends when a receive has met it, a smaller one at once.
//  3. A collective ends when those have come whose data it needs: all, or the root; above the eager limit
//     all.
//  4. Afterwards no message and no collective may be left over: the next repetition would meet it.
// Where receives of any sender are left (they never ended in the program) other orders of messages could meet
// otherwise.

namespace hakobi::bench {

/// Bytes up to which a send ends by itself, where the library does not say another number.
inline constexpr std::int64_t default_eager_bytes = 4096;

/// Why a replay of these parts, one a rank, would wait for ever: one sentence that names a rank and its
/// event; "" where it would not. Pure.
[[nodiscard]] std::string why_it_hangs(const std::vector<RankTrace>& ranks,
                                       std::int64_t eager_bytes = default_eager_bytes);

}  // namespace hakobi::bench
