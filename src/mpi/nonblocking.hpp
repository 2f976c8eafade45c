#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <span>
#include <vector>

namespace hakobi::mpi {

/// A message of at most 2^31 - 1 bytes under way, in the library's own context. The bytes belong to it until
/// `test` returned true. Moving only; destroying one that is under way is a bug.
class Pending {
  public:
    static Pending send(const Comm& comm, std::span<const std::byte> bytes, int to, int tag);
    /// `from` may be any_rank.
    static Pending receive(const Comm& comm, std::span<std::byte> bytes, int from, int tag);
    static constexpr int any_rank = -1;

    /// Whether the message is complete; drives MPI's progress.
    [[nodiscard]] bool test();

  private:
    MPI_Request request_ = MPI_REQUEST_NULL;
};

/// The highest tag that our messages may carry: one above is wait.hpp's.
[[nodiscard]] int highest_tag(const Comm& comm);

/// Collective: `words` of every rank, in rank order; all of them `words.size()` long.
std::vector<std::int64_t> all_gather(const Comm& comm, std::span<const std::int64_t> words);
/// Collective: the same with a length a rank; `lengths[r]` is known to all.
std::vector<std::int64_t> all_gather(const Comm& comm, std::span<const std::int64_t> words,
                                     std::span<const std::int64_t> lengths);

}  // namespace hakobi::mpi
