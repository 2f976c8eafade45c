#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/device.hpp>
#include <hakobi/export.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hakobi {
inline namespace v0 {

/// Options of BufferArrays::get; equal on all ranks.
struct BufferArrayOptions {
    /// "auto": "cma" for lists whose pieces have 4 KiB or more on average, else "packed"; "cma": the kernel
    /// copies piece to piece from the sender's memory to the receiver's (within a node); "packed": messages
    /// of `pack_bytes`, one packed while the previous one is sent; between nodes shorter ones, at most 2 *
    /// pack_bytes of them under way. "packed" is also used where "cma" is not possible, and for memory of a
    /// device.
    std::string path = "auto";
    std::int64_t pack_bytes = 1 << 20;
};

/// A list of memory pieces that is sent or received as one message: the pieces' bytes, in order. Sender and
/// receiver may use different pieces if their total sizes are equal.
///
///     auto arrays = hakobi::BufferArrays::get(comm);                    // collective
///     auto list = arrays.make();                                        // local
///     list.append(row, bytes); list.append(other, bytes);
///     list.send(to, tag);    list.receive(from, tag);    list.done();   list.wait();
///
/// Messages use a context of their own, separate from the program's messages.
class HAKOBI_EXPORT BufferArray {
  public:
    BufferArray(BufferArray&&) noexcept;
    BufferArray& operator=(BufferArray&&) noexcept;
    /// Never communicates. No operation may be in progress.
    ~BufferArray();

    /// Adds a piece, which may be empty. Its memory must stay valid during operations. Local. Throws
    /// invalid_argument for a negative size, while an operation is in progress, or for a piece that lies only
    /// partly on a device; unsupported where the list's pieces are not all on the host or on one device.
    void append(void* data, std::int64_t bytes);
    /// The same, and where the piece is.
    void append(void* data, std::int64_t bytes, Memory memory);
    /// Removes all pieces. Local; throws as `append`.
    void release();
    [[nodiscard]] std::int64_t bytes() const noexcept;

    /// Start to send the list to a rank, or to receive into it from one, and return immediately. Between two
    /// ranks, the k-th send with a tag matches the k-th receive with that tag; tags are 0 to 10,000. Local.
    /// Throw invalid_argument for an argument out of range, or while an operation of this list is in
    /// progress. Pieces on a device are used when what its default stream holds is done.
    void send(int to, int tag = 0);
    void receive(int from, int tag = 0);
    /// The same for pieces on a device: they are used when what `stream` holds is done. Throw
    /// invalid_argument for a stream of another device, too.
    void send(int to, int tag, DeviceStream stream);
    void receive(int from, int tag, DeviceStream stream);
    /// Progresses the operation; true if it is complete or there is none. Throws format on both sides if
    /// their total sizes differ; the receiver's memory is then undefined.
    [[nodiscard]] bool done();
    /// Waits until the operation is complete. Throws as `done`.
    void wait();
    /// The same without waiting for the device: what `stream` is given from here on begins when the pieces
    /// may be used.
    void wait(DeviceStream stream);

  private:
    friend class BufferArrays;
    struct Impl;
    explicit BufferArray(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Makes the buffer arrays of a communicator. Copies are cheap.
class HAKOBI_EXPORT BufferArrays {
  public:
    /// Collective over `comm`; determines which ranks can access each other's memory. Throws invalid_argument
    /// for unknown options, or if they differ between ranks.
    [[nodiscard]] static BufferArrays get(const Comm& comm, const BufferArrayOptions& options = {});
    /// A new, empty list. Local.
    [[nodiscard]] BufferArray make() const;
    /// How lists reach `rank` or come from it: "cma" or "packed". Local.
    [[nodiscard]] std::string_view path_to(int rank) const;

    struct Shared;  ///< for the library's own parts

  private:
    std::shared_ptr<Shared> shared_;
};

}  // namespace v0
}  // namespace hakobi
