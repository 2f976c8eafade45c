#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <span>
#include <vector>

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

/// The context in which exchanges' messages travel, of its own on each Comm; Comm::free releases it. The first call is
/// collective.
MPI_Comm exchange_context(const Comm& comm);
/// A tag for one exchange object. Collective in order: equal on all ranks that call it equally often.
int next_exchange_tag(const Comm& comm);

/// Messages that are sent again and again between the same buffers, in exchange_context, which must be there already.
/// The destructor does not communicate; messages under way then are a bug. A failed call ends the program.
class PersistentMessages {
  public:
    PersistentMessages(const Comm& comm, int tag);
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

    MPI_Comm context_;
    int tag_;
    std::vector<MPI_Request> requests_;
    std::vector<int> completed_;
};

}  // namespace hakobi::mpi
