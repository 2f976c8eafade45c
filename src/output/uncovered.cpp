#include "output/uncovered.hpp"

#include <algorithm>
#include <cassert>

namespace hakobi::output {
namespace {

/// A sweep along the slowest dimension cuts the array into slabs between the blocks' faces; a slab that some
/// blocks reach, and do not fill, is an array of one dimension less.
class Sweep {
  public:
    explicit Sweep(std::span<const std::int64_t> global)
        : global_({global.begin(), global.end()}),
          box_{global_, std::vector<std::int64_t>(global.size(), 0), global_} {}

    void run(std::size_t d, const std::vector<const Block*>& blocks) {
        if (blocks.empty()) {
            for (std::size_t rest = d; rest < global_.size(); ++rest) {
                box_.start[rest] = 0;
                box_.count[rest] = global_[rest];
            }
            found_.push_back(box_);
            return;
        }
        std::int64_t covered = 0, all = 1;
        for (const Block* block : blocks) covered += elements_from(d, *block);
        for (std::size_t rest = d; rest < global_.size(); ++rest) all *= global_[rest];
        if (covered == all) return;

        std::vector<std::int64_t> cuts = {0, global_[d]};
        std::vector<const Block*> waiting = blocks;
        for (const Block* block : blocks) {
            cuts.push_back(block->start[d]);
            cuts.push_back(block->start[d] + block->count[d]);
        }
        std::ranges::sort(cuts);
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        std::ranges::stable_sort(waiting, {}, [&](const Block* block) { return block->start[d]; });
        std::vector<const Block*> active;
        auto next = waiting.begin();
        for (std::size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
            std::erase_if(active,
                          [&](const Block* block) { return block->start[d] + block->count[d] <= cuts[cut]; });
            for (; next != waiting.end() && (*next)->start[d] == cuts[cut]; ++next) active.push_back(*next);
            box_.start[d] = cuts[cut];
            box_.count[d] = cuts[cut + 1] - cuts[cut];
            run(d + 1, active);
        }
    }
    [[nodiscard]] std::vector<Block> take() { return std::move(found_); }

  private:
    static std::int64_t elements_from(std::size_t d, const Block& block) {
        std::int64_t product = 1;
        for (; d < block.count.size(); ++d) product *= block.count[d];
        return product;
    }

    std::vector<std::int64_t> global_;
    Block box_;  // what the sweeps so far have cut out
    std::vector<Block> found_;
};

}  // namespace

std::vector<Block> uncovered(std::span<const std::int64_t> global, std::span<const Block> blocks) {
    assert(!global.empty());
    std::vector<const Block*> with_elements;
    for (const Block& block : blocks) {
        if (block.num_elements() > 0) with_elements.push_back(&block);
    }
    Sweep sweep(global);
    sweep.run(0, with_elements);
    return sweep.take();
}

Block share_of(const Block& block, int num_ranks, int rank) {
    assert(rank >= 0 && rank < num_ranks && !block.count.empty());
    Block share = block;
    // The longest dimension, of equal ones the slowest.
    const auto d = static_cast<std::size_t>(std::ranges::max_element(block.count) - block.count.begin());
    const std::int64_t whole = block.count[d] / num_ranks, more = block.count[d] % num_ranks;
    share.start[d] += whole * rank + std::min<std::int64_t>(more, rank);
    share.count[d] = whole + (rank < more ? 1 : 0);
    return share;
}

}  // namespace hakobi::output
