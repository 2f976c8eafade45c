#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mpi/message_context.hpp"

namespace hakobi::mpi {

/// Bytes at regular distances, slowest first: what becomes a datatype.
struct Pieces {
    struct Dimension {
        std::int64_t count = 1, stride_bytes = 0;
    };
    std::byte* first = nullptr;
    std::vector<Dimension> dims;
    std::int64_t piece_bytes = 0;
};

/// Messages that are sent again and again between the same buffers, in a context with one tag.
/// The destructor does not communicate; messages under way then are a bug. A failed call ends the program.
class PersistentMessages {
  public:
    PersistentMessages(MessageContext context, int tag) : context_(std::move(context)), tag_(tag) {}
    ~PersistentMessages();
    PersistentMessages(const PersistentMessages&) = delete;
    PersistentMessages& operator=(const PersistentMessages&) = delete;

    /// Each returns the message's number, from 0 on. At most 2^31 - 1 bytes; the memory is lent.
    int add_send(std::span<const std::byte> bytes, int to);
    int add_receive(std::span<std::byte> bytes, int from);
    int add_send(std::span<const Pieces> pieces, int to);
    int add_receive(std::span<const Pieces> pieces, int from);

    void start(int message);
    /// Numbers of messages that have completed since the last look; drives MPI's progress.
    std::span<const int> test();

  private:
    int add(MPI_Request request);
    MPI_Datatype type_of(std::span<const Pieces> pieces);

    MessageContext context_;
    int tag_;
    std::vector<MPI_Request> requests_;
    std::vector<int> completed_;
};

}  // namespace hakobi::mpi
