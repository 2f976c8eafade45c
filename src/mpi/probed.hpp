#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/message_context.hpp"

namespace hakobi::mpi {

/// A message of at most 2^31 - 1 bytes under way between buffer arrays, in their context. The bytes belong to
/// it until `test` has returned true. Moving only; one under way that is destroyed is left to MPI.
class ProbedMessage {
  public:
    static ProbedMessage send(const MessageContext& context, std::span<const std::byte> bytes, int to,
                              int tag);
    static ProbedMessage receive(const MessageContext& context, std::span<std::byte> bytes, int from,
                                 int tag);
    /// The length of the next message from a rank with a tag, which `receive` then gets; -1: none has come.
    [[nodiscard]] static std::int64_t probe(const MessageContext& context, int from, int tag);

    ProbedMessage() = default;
    ProbedMessage(ProbedMessage&& other) noexcept;
    ProbedMessage& operator=(ProbedMessage&& other) noexcept;

    /// Whether the message is complete, or there is none; drives MPI's progress.
    [[nodiscard]] bool test();

  private:
    MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace hakobi::mpi
