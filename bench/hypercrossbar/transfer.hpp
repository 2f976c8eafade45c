#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "face.hpp"
#include "links.hpp"

namespace hakobi::bench {

/// The message that is measured over a link: the bytes of a message, the bytes that lie together (0: all),
/// and the way.
struct Payload {
    std::int64_t bytes = 0, row_bytes = 0;
    Way way = Way::send;
};

/// One message over a link, or one each way, moved again and again by one contender, in memory of its own.
class Transfer {
  public:
    Transfer(const Link& link, const Payload& payload)
        : face_(payload.bytes, payload.row_bytes, link.pair.rank() == 0, payload.way) {}
    virtual ~Transfer() = default;
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;
    virtual void start() = 0;
    virtual void wait() = 0;
    /// The calls of the library or MPI for one message in each direction used.
    [[nodiscard]] virtual int num_calls() const = 0;
    [[nodiscard]] Face& face() { return face_; }
    [[nodiscard]] const Face& face() const { return face_; }

  private:
    Face face_;
};

/// "mpi": MPI_Isend and MPI_Irecv, of a datatype where the memory has gaps; "mpi-packed": of a buffer that is
/// packed by hand; "mpi-rows": a message a row; "halo": hakobi::Halo; "buffer-arrays": hakobi::BufferArrays.
[[nodiscard]] std::span<const std::string_view> transfer_names();

/// Makes the transfers of one link; several may be under way at once.
class TransferMaker {
  public:
    virtual ~TransferMaker() = default;
    /// Collective over the link's two ranks. `slot`: how many were made before it.
    [[nodiscard]] virtual std::unique_ptr<Transfer> make(int slot) = 0;
};
/// Collective over the link's two ranks. Throws invalid_argument for a name that is none.
[[nodiscard]] std::unique_ptr<TransferMaker> make_transfer_maker(std::string_view name, const Link& link,
                                                                 const Payload& payload);

}  // namespace hakobi::bench
