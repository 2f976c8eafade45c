#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transfer.hpp"

namespace hakobi::bench {

/// One contender on all links of this rank, with several messages under way on each.
class Entrant {
  public:
    /// Collective over the two ranks of each link. The payload's way is rank 0's.
    Entrant(std::string_view name, const std::vector<Link>& links, Payload payload, int num_under_way);

    /// Moves `num` messages each way over this rank's first `num_links` links. Each is written anew before it
    /// is sent, and read word by word when it has come. `before` is called before each.
    void run(int num_links, int num, const std::function<void()>& before = {});

    [[nodiscard]] const std::string& name() const { return name_; }
    /// Whether all that has come so far was what was sent.
    [[nodiscard]] bool is_right() const { return is_right_; }
    [[nodiscard]] int num_under_way() const { return static_cast<int>(slots_.front().size()); }
    [[nodiscard]] int num_calls() const { return slots_.front().front()->num_calls(); }

  private:
    void start(std::size_t link, int number);
    void finish(std::size_t link, int number);

    std::string name_;
    Way way_ = Way::both;
    std::vector<int> peers_;
    int rank_ = 0;
    bool is_right_ = true;
    std::vector<std::vector<std::unique_ptr<Transfer>>> slots_;  ///< by link
};

}  // namespace hakobi::bench
