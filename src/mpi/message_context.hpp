#pragma once

#include <cstddef>
#include <hakobi/comm.hpp>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mpi/agree.hpp"

namespace hakobi::mpi {

/// A communicator of its own for one object's messages, or for those of one kind of object: they meet neither
/// the program's nor others'. A cheap value; destruction never communicates.
class MessageContext {
  public:
    MessageContext() = default;
    /// For one object, which frees it. Collective over `comm`. Throws out_of_memory alike on all ranks where
    /// MPI gives no communicator.
    [[nodiscard]] static MessageContext duplicate(const Comm& comm);
    /// Collective over it.
    void free();

    enum class Kind { halos, buffer_arrays, chunks, descriptions };
    /// Returns the context in which all objects of that kind on `comm` send; Comm::free releases it. The
    /// first call is collective, and throws as `duplicate` does.
    [[nodiscard]] static MessageContext of(const Comm& comm, Kind kind);
    /// The same where nothing may be thrown: `context` is as it was after an error.
    static Agreed get(const Comm& comm, Kind kind, MessageContext& context);

    [[nodiscard]] MPI_Comm handle() const noexcept { return state_->comm; }
    /// The highest tag that messages may carry.
    [[nodiscard]] int highest_tag() const noexcept { return state_->highest_tag; }
    /// A tag for one object: equal on all ranks that call it equally often.
    [[nodiscard]] int next_tag() noexcept {
        return std::exchange(state_->next_tag, (state_->next_tag + 1) % state_->highest_tag);
    }

  private:
    struct State {
        MPI_Comm comm = MPI_COMM_NULL;
        int highest_tag = 0;
        int next_tag = 0;
    };
    struct Kept;
    std::shared_ptr<State> state_;
};

/// Messages under way in a context, each with an owner's number. The bytes belong to it until its message is
/// complete. Messages have any length: long ones go in parts. A failed communication call ends the program
/// (comm_state.hpp, check).
class MessagesUnderWay {
  public:
    MessagesUnderWay() = default;
    explicit MessagesUnderWay(MessageContext context) : context_(context) {}

    /// Return how many requests were made, each of which reports `owner` once.
    int send(std::span<const std::byte> bytes, int to, int tag, int owner);
    int receive(std::span<std::byte> bytes, int from, int tag, int owner);

    /// The owners of requests that became complete, once for each; `wait_some` blocks in MPI until there is
    /// one, if any is under way. Valid until the next call. Both drive MPI's progress.
    [[nodiscard]] std::span<const int> wait_some();
    [[nodiscard]] std::span<const int> test_some();
    void wait_all();
    [[nodiscard]] bool empty() const noexcept { return requests_.empty(); }

  private:
    std::span<const int> take_complete(int num_complete);

    MessageContext context_;
    std::vector<MPI_Request> requests_;
    std::vector<int> owners_, indices_, complete_;
};

}  // namespace hakobi::mpi
