#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "handle.hpp"

namespace hakobi::recorder {

/// Identifies a communicator on every rank of it: by its world ranks, and by how many communicators of the
/// same ranks were made before it. Ranks make and free those of the same ranks in the same order.
struct Group {
    std::vector<int> ranks;
    int copy = 0;
    auto operator<=>(const Group&) const = default;
};

/// The program's communicators, numbered in the order in which they are first used. Any thread; local.
class Groups {
  public:
    /// A communicator that was just made, by a call that all its ranks make: of several with the same ranks,
    /// messages of one never meet those of another.
    void keep(MPI_Comm comm);
    void forget(MPI_Comm comm);
    /// -1 for none and for those that are not replayed: of two groups (an intercommunicator), or with ranks
    /// that MPI_COMM_WORLD has not.
    [[nodiscard]] int number_of(MPI_Comm comm);
    /// A rank of a group as world rank; -1 for none, MPI_PROC_NULL: -2.
    [[nodiscard]] int world_rank(int group, int rank) const;
    /// By their numbers.
    [[nodiscard]] std::vector<Group> all() const;

  private:
    std::unordered_map<std::uint64_t, Group> made_;  ///< that there are, by handle; no ranks: not replayed
    std::set<Group> taken_;                          ///< by those that were made and not freed
    std::unordered_map<std::uint64_t, int> number_of_comm_;  ///< those that were used
    std::map<Group, int> number_of_group_;
    std::vector<Group> groups_;
    mutable std::mutex mutex_;
};

}  // namespace hakobi::recorder
