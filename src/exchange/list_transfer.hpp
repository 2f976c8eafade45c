#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "device/buffer.hpp"
#include "mpi/device_queue.hpp"
#include "mpi/probed.hpp"

// How a list goes from one rank to another; each list tag has three message tags.
//  1. The sender says how many bytes it has and, on a common node, where its pieces are (tag + 0). Few bytes
//     come along.
//  2. The receiver of the list that is next in turn gives its word (tag + 1).
//     On a common node it first compares the numbers. It takes what came along, or has the kernel copy from
//     the sender's pieces to its own, and answers `taken`; it answers `differs`, which ends both; or `pack`.
//     Between nodes it says at once how many bytes it takes, and both compare: between two ranks that send to
//     each other a word would otherwise wait behind the bytes that go the same way, and these for nothing.
//  3. Asked to pack, the sender sends parts (tag + 2), some under way at a time; the receiver unpacks each.
//     On a common node a part is of pack_bytes, between nodes it is so short that the MPI library sends it
//     without asking the receiver.
// With a list on a device nothing comes along and the kernel copies nothing. Parts are then page-locked: a
// queue of the device fills and empties them, and a part goes on its way, or is used again, when the mark
// behind its copies is over. A list's turn is over before the next of its pair and tag begins: parts of two
// lists never mix.

namespace hakobi::exchange {

/// The receiver's answer to a list (step 2).
enum class Answer : std::int64_t { none, taken, pack, differs };

/// Goes through a list's bytes in order.
class ListCursor {
  public:
    ListCursor() = default;
    explicit ListCursor(const std::vector<::iovec>& pieces) : pieces_(&pieces) {}
    /// Calls `visit(address, bytes)` for the next `bytes` bytes, piece by piece.
    template <class Visit>
    void next(std::int64_t bytes, Visit visit) {
        while (bytes > 0) {
            const ::iovec& piece = (*pieces_)[piece_];
            const std::int64_t part = std::min(bytes, static_cast<std::int64_t>(piece.iov_len) - at_);
            if (part > 0)
                visit(static_cast<std::byte*>(piece.iov_base) + at_, static_cast<std::size_t>(part));
            bytes -= part;
            at_ += part;
            if (at_ == static_cast<std::int64_t>(piece.iov_len)) ++piece_, at_ = 0;
        }
    }

  private:
    const std::vector<::iovec>* pieces_ = nullptr;
    std::size_t piece_ = 0;
    std::int64_t at_ = 0;
};

/// The rank at the other end and the list's tag.
struct Link {
    const mpi::MessageContext* context = nullptr;
    int rank = -1, tag = 0;

    /// Messages of step 1, 2 or 3 above.
    [[nodiscard]] mpi::ProbedMessage send(int step, std::span<const std::byte> bytes) const {
        return mpi::ProbedMessage::send(*context, bytes, rank, message_tag(step));
    }
    [[nodiscard]] mpi::ProbedMessage receive(int step, std::span<std::byte> bytes) const {
        return mpi::ProbedMessage::receive(*context, bytes, rank, message_tag(step));
    }
    [[nodiscard]] std::int64_t probe(int step) const {
        return mpi::ProbedMessage::probe(*context, rank, message_tag(step));
    }

  private:
    [[nodiscard]] int message_tag(int step) const { return 3 * tag + step - 1; }
};

/// Steps 1 and 2: the announcement and the receiver's word. Stays where it is while these are on their way.
struct Handshake {
    std::vector<std::byte> announcement;  ///< empty: not here yet
    Answer answer = Answer::none;
    /// An Answer on a common node, between nodes the receiver's number of bytes.
    std::int64_t word = 0;
    bool has_given = false;  ///< the receiver has given its word
    mpi::ProbedMessage announced, answered;

    void reset() {
        announcement.clear();
        answer = Answer::none;
        has_given = false;
    }
    void announce(const Link& link) {
        answered = link.receive(2, std::as_writable_bytes(std::span(&word, 1)));
        announced = link.send(1, announcement);
    }
    /// The announcement has gone and the word has come.
    bool is_answered() { return announced.test() && answered.test(); }

    /// The sender's announcement has come.
    bool has_announcement(const Link& link);
    void give_word(const Link& link, std::int64_t what) {
        word = what;
        has_given = true;
        answered = link.send(2, std::as_bytes(std::span(&word, 1)));
    }
    bool is_word_sent() { return answered.test(); }
};

/// Step 3: a list's bytes in parts, in order, in buffers that are used in turn.
class Parts {
  public:
    /// At the first byte of `pieces`, which stay as they are; `part_bytes` a part, `most_bytes` under way at
    /// a time. With `queue`, which stays, pieces are on `device`; out_of_memory where its driver locks no
    /// pages.
    Status begin(const std::vector<::iovec>& pieces, std::int64_t num_bytes, std::int64_t part_bytes,
                 std::int64_t most_bytes, device::Device* device, mpi::DeviceQueue* queue);

    /// Packs into the buffers that are free and sends what is packed; whether there was anything.
    bool send(const Link& link);
    bool is_sent();

    /// Posts receives into the buffers that are free, and unpacks what has come; whether there was anything.
    bool receive(const Link& link);
    /// Everything has come. A device may still have to unpack.
    [[nodiscard]] bool is_received() const { return left_bytes_ == 0 && !parts_[next_].is_full; }
    /// Takes all of the list's bytes, of a device's list and a page at most, from memory.
    void take(std::span<const std::byte> bytes);

  private:
    struct Part {
        std::vector<std::byte> on_host;
        device::Buffer locked;
        std::span<std::byte> bytes;
        mpi::ProbedMessage message;
        /// Sending: packed, or being packed, and not yet sent. Receiving: being received, or not yet
        /// unpacked.
        bool is_full = false;
        mpi::DeviceMark copied;
    };

    /// Its bytes, so many of what is left.
    void make_room(Part& part, std::int64_t bytes);
    void make_room(Part& part) { make_room(part, std::min(left_bytes_, part_bytes_)); }
    void pack(Part& part);
    void unpack(Part& part);
    [[nodiscard]] Part& follow(std::size_t& number) {
        Part& part = parts_[number];
        number = (number + 1) % parts_.size();
        return part;
    }

    std::vector<Part> parts_;
    /// The oldest full part, and the next free one.
    std::size_t next_ = 0, free_ = 0;
    mpi::DeviceQueue* queue_ = nullptr;
    ListCursor cursor_;
    std::int64_t left_bytes_ = 0;  ///< of the list, in no part yet
    std::int64_t part_bytes_ = 0;
};

}  // namespace hakobi::exchange
