#pragma once

#include <cstddef>
#include <cstdint>

#include "region/cursor.hpp"

namespace hakobi {

/// Marks the bytes of a collective buffer that hold data, one bit a byte. Used only for cycles that a request
/// does not fill, so that holes in it are never written. Several processes may mark at once.
class ByteMarks {
  public:
    /// `words` has (num_bytes + 63) / 64 entries, all 0 at first; lent.
    ByteMarks(std::uint64_t* words, std::int64_t num_bytes) : words_(words), num_bytes_(num_bytes) {}
    static std::int64_t num_words(std::int64_t num_bytes) { return (num_bytes + 63) / 64; }

    /// `num` runs, `stride` apart.
    void mark(std::int64_t from, std::int64_t length, std::int64_t stride = 0, std::int64_t num = 1);
    /// The next run of marked bytes at or after `from`; length 0 when there is none.
    struct Run {
        std::int64_t from = 0, length = 0;
    };
    [[nodiscard]] Run next_run(std::int64_t from) const;
    void clear();
    /// Copies `old` to the bytes [from, from + length) of `buffer` that are not marked; old[0] is for
    /// buffer[from].
    void fill_unmarked(std::byte* buffer, std::int64_t from, std::int64_t length, const std::byte* old) const;
    [[nodiscard]] std::int64_t num_bytes() const noexcept { return num_bytes_; }
    [[nodiscard]] const std::uint64_t* words() const noexcept { return words_; }

  private:
    void set(std::int64_t word, std::uint64_t bits_of_word);
    [[nodiscard]] std::int64_t first_with(bool marked, std::int64_t from) const;
    std::uint64_t* words_;
    std::int64_t num_bytes_;
};

/// A collective buffer that stands for the file's bytes [file_begin, file_begin + its length).
struct BufferWindow {
    std::byte* buffer = nullptr;
    std::int64_t file_begin_bytes = 0;
    ByteMarks* marks = nullptr;  ///< marked by copies into the buffer where given
};

/// Copies what the processor must not touch: memory of a device.
class RunMover {
  public:
    /// `num` runs of `length` bytes, of each side so far apart.
    struct Series {
        std::byte* to;
        const std::byte* from;
        std::int64_t to_stride, from_stride, length, num;
    };
    virtual ~RunMover() = default;
    /// Takes the copy over, to be made later; or returns false: the processor may touch both sides, and
    /// copies.
    virtual bool take(const Series& series) = 0;
};

/// Walk `file` and `memory` in lockstep, both at the same stream position, up to `stream_end`, and copy
/// memory (offsets from `origin`) into the window, or the other way. Both cursors stand at stream_end
/// afterwards. Bytes that a `mover` takes are copied later: it says when.
void copy_to_window(Cursor& file, Cursor& memory, const std::byte* origin, std::int64_t stream_end,
                    const BufferWindow& window, RunMover* mover = nullptr);
void copy_from_window(Cursor& file, Cursor& memory, std::byte* origin, std::int64_t stream_end,
                      const BufferWindow& window, RunMover* mover = nullptr);
/// The same with one side packed: consecutive bytes in stream order.
void pack(Cursor& memory, const std::byte* origin, std::int64_t stream_end, std::byte* packed,
          RunMover* mover = nullptr);
void unpack(Cursor& memory, std::byte* origin, std::int64_t stream_end, const std::byte* packed,
            RunMover* mover = nullptr);

/// The bytes that one request puts into one window, in a form that adds up over ranks: two sums of this kind
/// are equal to the window's own (`whole_window`) exactly when every byte of the window is written once.
/// `boundaries` sums a hash of each piece's begin less that of its end: touching ends cancel, so of a tiling
/// only the outermost two remain.
struct Coverage {
    std::int64_t bytes = 0;
    std::uint64_t boundaries = 0;
    friend bool operator==(const Coverage&, const Coverage&) = default;
};
[[nodiscard]] Coverage whole_window(std::int64_t begin_bytes, std::int64_t end_bytes);
/// Moves `file` on to stream_end and adds up what lies between.
[[nodiscard]] Coverage coverage(Cursor& file, std::int64_t stream_end);

}  // namespace hakobi
