#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hakobi {

/// What BufferArrays::get takes; equal on all ranks.
struct BufferArrayOptions {
    /// "auto"; "cma": the receiver has the kernel copy from the sender's memory, piece to piece (one node); "packed":
    /// messages of `pack_bytes`, packed and sent while the next is packed. One that cannot be gives way to "packed".
    std::string path = "auto";
    std::int64_t pack_bytes = 1 << 20;
};

/// A list of pieces of memory that is sent or received as one: the bytes of the list's pieces, in order. The two sides
/// may cut them into other pieces, as long as both hold as many bytes.
///
///     auto arrays = hakobi::BufferArrays::get(comm);                    // collective
///     auto list = arrays.make();                                        // local
///     list.append(row, bytes); list.append(other, bytes);
///     list.send(to, tag);    list.receive(from, tag);    list.done();   list.wait();
///
/// Messages travel in a context of their own, beside whatever the program sends.
class HAKOBI_EXPORT BufferArray {
  public:
    BufferArray(BufferArray&&) noexcept;
    BufferArray& operator=(BufferArray&&) noexcept;
    /// Never communicates; an operation under way is a bug of the caller.
    ~BufferArray();

    /// Adds a piece, whose memory is lent while an operation is under way; also empty ones. Local. Throws
    /// invalid_argument for a negative size, or while an operation is under way.
    void append(void* data, std::int64_t bytes);
    /// Takes all pieces out again. Local; throws as `append`.
    void release();
    [[nodiscard]] std::int64_t bytes() const noexcept;

    /// Begin to send the list to a rank, or to receive into it from one. Return at once; the k-th list that goes from one
    /// rank to another with a tag meets the k-th receive of that tag. Tags go from 0 to 10,000. Local: throw
    /// invalid_argument for what is out of range, or when an operation of this list is under way.
    void send(int to, int tag = 0);
    void receive(int from, int tag = 0);
    /// Whether the operation is over; drives it. True when there is none. Throws format where the two sides' bytes
    /// differ in number: on both, and the receiver's pieces are then undefined.
    [[nodiscard]] bool done();
    /// Until it is. Throws as `done`.
    void wait();

  private:
    friend class BufferArrays;
    struct Impl;
    explicit BufferArray(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Where a communicator's buffer arrays come from. A cheap value.
class HAKOBI_EXPORT BufferArrays {
  public:
    /// Collective over `comm`; finds out which ranks reach each other's memory. invalid_argument for options that do not
    /// exist or differ.
    [[nodiscard]] static BufferArrays get(const Comm& comm, const BufferArrayOptions& options = {});
    /// Local.
    [[nodiscard]] BufferArray make() const;
    /// "cma", "packed" or "a copy", by which lists to or from `rank` go. Local.
    [[nodiscard]] std::string_view path_to(int rank) const;

    struct Shared;  ///< for the library's own parts

  private:
    std::shared_ptr<Shared> shared_;
};

}  // namespace hakobi
