#pragma once

#include <atomic>
#include <hakobi/comm.hpp>
#include <mutex>

#include "base/futex.hpp"

namespace hakobi::mpi {

/// An operation that one call starts and another completes. Ranks may wait for what they started in any
/// order, as for MPI's own: a rank that waits for one operation therefore has its part in the others to do.
/// Every wait of this process (wait.hpp) looks at the operations entered here until they are over.
class UnderWay {
  public:
    UnderWay() = default;
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    virtual ~UnderWay() { leave(); }

    [[nodiscard]] bool is_under_way() const noexcept { return is_under_way_.load(std::memory_order_acquire); }
    /// Looks once at everything under way; whether anything moved. Local.
    static bool look_at_all();
    /// Whether an operation is under way. Local.
    [[nodiscard]] static bool is_any();
    /// Keeps other threads from looking, where MPI lets several call.
    [[nodiscard]] static std::unique_lock<std::mutex> lock();

  protected:
    enum class Look { nothing, moved, over };
    /// Does what can be done now. Neither waits nor throws, and enters and leaves nothing here.
    virtual Look look() = 0;

    void enter();
    void leave();
    /// Whether nothing else is under way.
    [[nodiscard]] bool is_alone() const;
    /// Whether this may block in MPI: it is alone, and no other thread looks at it meanwhile.
    [[nodiscard]] bool may_block() const;
    /// Until it is over. MPI's progress is driven by this operation's looks, or, where these may find that a
    /// device is not ready yet, by this.
    void wait_until_over(const Comm& comm, Patience patience = {}, bool do_looks_call_mpi = true) const;

  private:
    std::atomic<bool> is_under_way_ = false;
};

}  // namespace hakobi::mpi
