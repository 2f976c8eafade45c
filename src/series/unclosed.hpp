#pragma once

#include <hakobi/comm.hpp>
#include <memory>
#include <string>

#include "base/forked.hpp"

namespace hakobi::series {

// Steps that end_step has accepted are finished also where nobody calls close:
//
//  1. From create to close an output is in this process's list, in the order of create.
//  2. Whoever drops its object (leaves a scope by an exception, forgets it) leaves the state here while
//     something is pending: its threads go on storing.
//  3. It is finished in the next collective call on its Comm that can do so: Output::create or Input::open on
//     the same Comm, where all ranks have dropped it; Comm::free; MPI_Finalize, once all its ranks are there.
//     Rank 0 says which call was missing.
//  4. Where no such call comes (a signal, MPI_Abort), receipts say what is stored (receipts.hpp), rank 0's
//     last line names what has no name yet (last_words.hpp), and the next opener completes it
//     (unfinished.hpp).
//  5. A child made by fork has none of its parent's outputs: it neither closes nor finishes them, and forgets
//     those that it drops.

/// An output as this list knows it.
class Unclosed {
  public:
    virtual ~Unclosed() = default;
    [[nodiscard]] virtual const Comm& own_comm() const noexcept = 0;
    [[nodiscard]] virtual const std::string& own_prefix() const noexcept = 0;
    /// Whether close would do more than what each rank can do by itself. Equal on all ranks; local.
    [[nodiscard]] virtual bool has_pending() const noexcept = 0;
    /// Does what close does, with errors on rank 0's stderr. Collective over its Comm where something is
    /// pending, else local.
    virtual void finish() noexcept = 0;
    [[nodiscard]] const Maker& maker() const noexcept { return maker_; }

  private:
    Maker maker_;
};

/// Local, in the same order on all ranks of a Comm.
void add_unclosed(Unclosed& output);
/// It was closed, or has failed: nothing is left to be done.
void remove_unclosed(Unclosed& output) noexcept;
/// Takes over an output whose object goes: keeps it while it is in the list. One process alone waits for
/// nobody, and finishes it at once. Local.
void drop_unclosed(std::unique_ptr<Unclosed> output) noexcept;

/// Finishes those on this very Comm that all its ranks have dropped. Collective over `comm`.
void finish_dropped(const Comm& comm) noexcept;

}  // namespace hakobi::series
