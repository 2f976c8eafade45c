#include "groups.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hakobi::recorder {
namespace {

std::vector<int> world_ranks_of(MPI_Comm comm) {
    int is_inter = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter != 0)
        return {};
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    int size = 0;
    PMPI_Group_size(group, &size);
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::vector<int> world_ranks(ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    PMPI_Group_translate_ranks(group, size, ranks.data(), world, world_ranks.data());
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    // Ranks that the program spawned have no place in a trace.
    const bool is_foreign =
        std::find(world_ranks.begin(), world_ranks.end(), MPI_UNDEFINED) != world_ranks.end();
    return is_foreign ? std::vector<int>{} : world_ranks;
}

}  // namespace

void Groups::keep(MPI_Comm comm) {
    const std::lock_guard lock(mutex_);
    Group made{world_ranks_of(comm)};
    while (taken_.contains(made)) ++made.copy;
    if (!made.ranks.empty()) taken_.insert(made);
    made_[key_of(comm)] = std::move(made);
}

void Groups::forget(MPI_Comm comm) {
    const std::lock_guard lock(mutex_);
    number_of_comm_.erase(key_of(comm));
    const auto made = made_.find(key_of(comm));
    if (made == made_.end()) return;
    taken_.erase(made->second);
    made_.erase(made);
}

int Groups::number_of(MPI_Comm comm) {
    const std::lock_guard lock(mutex_);
    if (const auto known = number_of_comm_.find(key_of(comm)); known != number_of_comm_.end())
        return known->second;
    const auto made = made_.find(key_of(comm));
    // One whose making was not seen counts as the first of its ranks.
    const Group group = made != made_.end() ? made->second : Group{world_ranks_of(comm)};
    if (group.ranks.empty()) return number_of_comm_[key_of(comm)] = -1;
    const auto [entry, is_new] = number_of_group_.try_emplace(group, static_cast<int>(groups_.size()));
    if (is_new) groups_.push_back(group);
    return number_of_comm_[key_of(comm)] = entry->second;
}

int Groups::world_rank(int group, int rank) const {
    if (rank == MPI_PROC_NULL) return -2;
    if (group < 0) return -1;
    const std::lock_guard lock(mutex_);
    const auto& ranks = groups_[static_cast<std::size_t>(group)].ranks;
    return rank >= 0 && rank < static_cast<int>(ranks.size()) ? ranks[static_cast<std::size_t>(rank)] : -1;
}

std::vector<Group> Groups::all() const {
    const std::lock_guard lock(mutex_);
    return groups_;
}

}  // namespace hakobi::recorder
