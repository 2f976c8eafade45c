#pragma once

#include <cstddef>
#include <map>
#include <random>
#include <vector>

#include "disk.hpp"

namespace hakobi::test {

/// A log carried out, and which of its changes storage may not have yet at any point of it.
class Trace {
  public:
    /// `operations` outlive it. Those that could not be carried out in this order are in `num_impossible`.
    Trace(Disk start, const std::vector<Operation>& operations);
    /// After the first `prefix` come `more`, in a process that found `disk`: the same files and folders,
    /// perhaps made anew.
    void go_on(std::size_t prefix, Disk disk, const std::vector<Operation>& more);

    [[nodiscard]] std::size_t size() const { return changes_.size(); }
    [[nodiscard]] std::size_t num_impossible() const { return num_impossible_; }
    /// Behind the first `prefix` operations; of those in `parts` it has that part only.
    using Parts = std::map<std::size_t, Disk::Part>;
    [[nodiscard]] Disk disk(std::size_t prefix, const Parts& parts = {}) const;
    /// Those of the first `prefix` that may be missing after a power loss: no sync of their file, or of a
    /// folder whose names they change, has followed.
    [[nodiscard]] std::vector<std::size_t> pending(std::size_t prefix) const;
    /// Sets that may be missing, at most `most`: where that is enough, every set of lost ones; else all, all
    /// writes, all names, each alone in each part, each pair, and random ones.
    [[nodiscard]] std::vector<Parts> losses(std::size_t prefix, std::size_t most,
                                            std::mt19937_64& random) const;

  private:
    void add(Disk disk, const std::vector<Operation>& operations);
    [[nodiscard]] bool is_write(std::size_t at) const;

    Disk start_;
    std::vector<Disk::Change> changes_;
    std::vector<std::size_t> stored_at_;
    std::size_t num_impossible_ = 0;
};

}  // namespace hakobi::test
