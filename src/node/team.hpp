#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/futex.hpp"
#include "base/status.hpp"
#include "mpi/awaited_word.hpp"
#include "mpi/wait.hpp"

namespace hakobi::node {

/// The ranks of one node, meeting in memory that they share: no messages, and waiting sleeps (mpi/wait.hpp).
/// One rank, the leader (node rank 0), works while the others wait for its word.
struct TeamMemory {
    alignas(64) mpi::AwaitedWord arrived;   ///< followers that have arrived in this round
    alignas(64) mpi::AwaitedWord released;  ///< rounds that the leader has ended
};

/// Local view of a TeamMemory. Thread rule: one thread a rank.
class Team {
  public:
    Team() = default;
    Team(const Comm& comm, TeamMemory* memory, Patience patience)
        : comm_(comm),
          memory_(memory),
          node_rank_(comm.node_rank()),
          num_followers_(static_cast<std::uint32_t>(comm.node_size() - 1)),
          patience_(patience) {}

    /// Collective over the node: when all ranks have arrived the leader runs `work`, then all return. `work`
    /// sees what ranks wrote to shared memory before, and all ranks see what `work` wrote after.
    template <class Work>
    void round(Work work) {
        assert(memory_ != nullptr);
        if (node_rank_ == 0) {
            memory_->arrived.wait(comm_, patience_, [this](std::uint32_t n) { return n == num_followers_; });
            memory_->arrived.word.store(0, std::memory_order_relaxed);
            work();
            memory_->released.word.fetch_add(1);
            memory_->released.wake();
        } else {
            const std::uint32_t before = memory_->released.word.load(std::memory_order_relaxed);
            if (memory_->arrived.word.fetch_add(1) + 1 == num_followers_) memory_->arrived.wake();
            memory_->released.wait(comm_, patience_, [before](std::uint32_t n) { return n != before; });
        }
    }
    void barrier() {
        round([] {});
    }
    [[nodiscard]] const Patience& patience() const noexcept { return patience_; }

  private:
    Comm comm_;
    TeamMemory* memory_ = nullptr;
    int node_rank_ = 0;
    std::uint32_t num_followers_ = 0;
    Patience patience_;
};

/// An error text in shared memory: a path and a reason. Its pages stay untouched until there is one.
struct SharedText {
    static constexpr std::size_t most_bytes = 4096 + 256;
    std::array<char, most_bytes> text;
    SharedText() { text[0] = '\0'; }
    void set(std::string_view value) {
        const std::size_t length = std::min(value.size(), text.size() - 1);
        std::memcpy(text.data(), value.data(), length);
        text[length] = '\0';
    }
    [[nodiscard]] std::string_view get() const { return text.data(); }
};

}  // namespace hakobi::node
