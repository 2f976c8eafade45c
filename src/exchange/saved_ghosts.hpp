#pragma once

#include <memory>
#include <vector>

#include "exchange/halo_plan.hpp"

namespace hakobi::exchange {

/// A rank's ghosts, put aside for as long as trial exchanges fill them. Throws Error where there is no
/// memory.
class SavedGhosts {
  public:
    explicit SavedGhosts(const HaloPlan& plan);
    void restore() { run(restore_); }

  private:
    void run(const std::vector<Work>& works);

    std::unique_ptr<HaloDevice> device_;  // of its own: the plan may go
    std::vector<std::byte> on_host_;
    std::vector<Work> restore_;
};

}  // namespace hakobi::exchange
