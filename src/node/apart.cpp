// The ranks' exchange. The memory has a place for each rank, twice:
//
//  1. A rank puts a part of what it brings, and how much was left before, into its place of this round.
//  2. All meet.
//  3. Each takes what is in all places. Where somebody has more than a part there is another round, in the
//     other places: a rank that is there has met all others once more than whoever still reads, so that
//     nothing is overwritten unread.

#include "node/apart.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>

#include "mpi/comm_state.hpp"
#include "node/node_window.hpp"
#include "node/team.hpp"

namespace hakobi::node {
namespace {

struct Place {
    std::size_t num_left = 0;  ///< bytes, this part's included
    std::array<std::byte, 4096 - sizeof(std::size_t)> part;
};

class ExchangeInMemory final : public mpi::NodeExchange {
  public:
    ExchangeInMemory(NodeWindow window, int rank, int size)
        : window_(std::move(window)),
          rank_(static_cast<std::size_t>(rank)),
          size_(static_cast<std::size_t>(size)) {}
    ~ExchangeInMemory() override { window_.free(); }

    [[nodiscard]] static std::int64_t bytes_needed(int size) {
        return static_cast<std::int64_t>(sizeof(TeamMemory)) +
               2 * size * static_cast<std::int64_t>(sizeof(Place));
    }
    /// `comm` has this one.
    void join(const Comm& comm) { team_ = Team(comm, reinterpret_cast<TeamMemory*>(window_.data()), {}); }

    std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override {
        std::vector<std::vector<std::byte>> all(size_);
        for (bool is_over = false; !is_over; is_second_ = !is_second_) {
            Place& own = place(rank_);
            own.num_left = mine.size();
            const std::size_t length = std::min(mine.size(), own.part.size());
            std::ranges::copy(mine.first(length), own.part.begin());
            mine = mine.subspan(length);
            team_.barrier();
            is_over = true;
            for (std::size_t r = 0; r < size_; ++r) {
                const Place& theirs = place(r);
                const std::size_t num = std::min(theirs.num_left, theirs.part.size());
                all[r].insert(all[r].end(), theirs.part.begin(),
                              theirs.part.begin() + static_cast<std::ptrdiff_t>(num));
                is_over = is_over && theirs.num_left == num;
            }
        }
        return all;
    }

  private:
    [[nodiscard]] Place& place(std::size_t rank) const {
        auto* const places = reinterpret_cast<Place*>(window_.data() + sizeof(TeamMemory));
        return places[2 * rank + (is_second_ ? 1 : 0)];
    }

    NodeWindow window_;
    std::size_t rank_, size_;
    bool is_second_ = false;
    Team team_;
};

}  // namespace

Status make_apart(const Comm& comm, Comm& apart) {
    NodeWindow window;
    Status status = NodeWindow::allocate(comm, ExchangeInMemory::bytes_needed(comm.node_size()), window);
    if (!status.ok()) return status;
    const mpi::CommState& from = comm.state();
    auto state = std::make_shared<mpi::CommState>();
    state->rank = state->node.rank = from.node.rank;
    state->size = state->node.size = from.node.size;
    state->node.processes = from.node.processes;
    state->nodes.of_rank.assign(static_cast<std::size_t>(state->size), 0);
    std::vector<int>& ranks = state->nodes.ranks.emplace_back();
    for (int r = 0; r < state->size; ++r) ranks.push_back(r);
    auto exchange = std::make_unique<ExchangeInMemory>(std::move(window), state->rank, state->size);
    ExchangeInMemory& joined = *exchange;
    state->apart = std::move(exchange);
    apart = mpi::CommState::as_comm(std::move(state));
    joined.join(apart);
    return {};
}

}  // namespace hakobi::node
