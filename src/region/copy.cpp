#include "region/copy.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/copy_bytes.hpp"

namespace hakobi {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection whose outputs look independent.
std::uint64_t mix(std::int64_t value) {
    std::uint64_t z = static_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

// Pieces that are alike on both sides; or one side is contiguous and holds `num` of the other's pieces.
struct Runs {
    std::int64_t num, length, file_stride, memory_stride;
    bool is_file_contiguous, is_memory_contiguous;
};

Runs runs_at(const Cursor::Series& file, const Cursor::Series& memory, std::int64_t left) {
    const std::int64_t length = std::min(file.length, memory.length);
    if (length >= left) return {1, left, 0, 0, true, true};
    if (file.length == memory.length) {
        const std::int64_t num = std::min({file.num, memory.num, left / length});
        return {num, length, file.stride, memory.stride, false, false};
    }
    if (file.length < memory.length) {
        return {std::min({file.num, memory.length / length, left / length}),
                length,
                file.stride,
                length,
                false,
                true};
    }
    return {std::min({memory.num, file.length / length, left / length}),
            length,
            length,
            memory.stride,
            true,
            false};
}

void move_on(Cursor& cursor, bool is_contiguous, const Runs& runs) {
    is_contiguous ? cursor.advance(runs.num * runs.length) : cursor.skip(runs.num);
}

// Calls run(file offset, memory offset, runs) for each series of runs that are contiguous on both sides.
template <class F>
void for_each_series(Cursor& file, Cursor& memory, std::int64_t stream_end, F run) {
    assert(file.stream() == memory.stream() && file.stream() <= stream_end);
    while (file.stream() < stream_end) {
        const Cursor::Series from = file.series();
        const Cursor::Series to = memory.series();
        const Runs runs = runs_at(from, to, stream_end - file.stream());
        run(from.offset, to.offset, runs);
        move_on(file, runs.is_file_contiguous, runs);
        move_on(memory, runs.is_memory_contiguous, runs);
    }
}

// Calls run(memory offset, packed offset, series), a series as long as it is within the stream.
template <class F>
void for_each_memory_series(Cursor& memory, std::int64_t stream_end, F run) {
    const std::int64_t begin = memory.stream();
    while (memory.stream() < stream_end) {
        Cursor::Series series = memory.series();
        const std::int64_t at = memory.stream() - begin, left = stream_end - memory.stream();
        if (series.length > left) {
            run(series.offset, at, {series.offset, left, 0, 1});
            memory.advance(left);
        } else {
            series.num = std::min(series.num, left / series.length);
            run(series.offset, at, series);
            memory.skip(series.num);
        }
    }
}

struct Side {
    std::byte* bytes;
    std::int64_t stride;
};
struct Source {
    const std::byte* bytes;
    std::int64_t stride;
};

// The compiler knows the length: a piece is a load and a store or two.
template <std::size_t length>
void copy_pieces_of(Side to, Source from, std::int64_t num) {
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < num; ++i)
        std::memcpy(to.bytes + i * to.stride, from.bytes + i * from.stride, length);
}

// `num` pieces of `length` bytes, which do not overlap on the side that is written.
void copy_pieces(Side to, Source from, std::int64_t length, std::int64_t num) {
    switch (num > 1 ? length : 0) {
        case 1:
            return copy_pieces_of<1>(to, from, num);
        case 2:
            return copy_pieces_of<2>(to, from, num);
        case 4:
            return copy_pieces_of<4>(to, from, num);
        case 8:
            return copy_pieces_of<8>(to, from, num);
        case 12:
            return copy_pieces_of<12>(to, from, num);
        case 16:
            return copy_pieces_of<16>(to, from, num);
        case 24:
            return copy_pieces_of<24>(to, from, num);
        case 32:
            return copy_pieces_of<32>(to, from, num);
        case 64:
            return copy_pieces_of<64>(to, from, num);
        default:
            for (std::int64_t i = 0; i < num; ++i)
                copy_bytes(to.bytes + i * to.stride, from.bytes + i * from.stride,
                           static_cast<std::size_t>(length));
    }
}

// Walks with what copies a series. Whether there is a mover is asked once a walk, not once a series.
template <class Walk>
void with_copies_of(RunMover* mover, Walk walk) {
    if (mover == nullptr) {
        return walk([](Side to, Source from, std::int64_t length, std::int64_t num) {
            copy_pieces(to, from, length, num);
        });
    }
    walk([mover](Side to, Source from, std::int64_t length, std::int64_t num) {
        if (!mover->take({to.bytes, from.bytes, to.stride, from.stride, length, num}))
            copy_pieces(to, from, length, num);
    });
}

std::uint64_t bits(std::int64_t from, std::int64_t to) {  // [from, to) of one word
    const std::uint64_t high = to == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << to) - 1;
    return high & ~((std::uint64_t{1} << from) - 1);
}

/// Eight bytes of `old` where the mark's bit is 0, of `data` where it is 1.
std::uint64_t blended(std::uint64_t data, std::uint64_t old, std::uint64_t marks_of_eight) {
    // Bit i to byte i, then from 0 or not to all bits of the byte.
    std::uint64_t mask = (marks_of_eight * 0x0101010101010101ULL) & 0x8040201008040201ULL;
    mask = (mask + 0x7f7f7f7f7f7f7f7fULL) & 0x8080808080808080ULL;
    mask = (mask >> 7) * 0xff;
    return (data & mask) | (old & ~mask);
}

}  // namespace

void ByteMarks::set(std::int64_t word, std::uint64_t bits_of_word) {
    std::atomic_ref<std::uint64_t> target(words_[word]);
    if (bits_of_word == ~std::uint64_t{0}) {
        target.store(bits_of_word, std::memory_order_relaxed);
    } else if (bits_of_word != 0) {
        target.fetch_or(bits_of_word, std::memory_order_relaxed);
    }
}

void ByteMarks::mark(std::int64_t from, std::int64_t length, std::int64_t stride, std::int64_t num) {
    assert(from >= 0 && length >= 0 && from + length <= num_bytes_);
    assert(from + (num - 1) * stride >= 0 && from + (num - 1) * stride + length <= num_bytes_);
    std::int64_t word = from / 64;
    std::uint64_t gathered =
        0;  // of that word: an atomic access for each piece would cost more than the copy
    for (std::int64_t i = 0; i < num; ++i) {
        const std::int64_t begin = from + i * stride, end = begin + length;
        for (std::int64_t of = begin / 64; of * 64 < end; ++of) {
            if (of != word) {
                set(word, std::exchange(gathered, 0));
                word = of;
            }
            gathered |=
                bits(std::max(begin - of * 64, std::int64_t{0}), std::min(end - of * 64, std::int64_t{64}));
        }
    }
    set(word, gathered);
}

std::int64_t ByteMarks::first_with(bool marked, std::int64_t from) const {
    for (std::int64_t word = from / 64; word * 64 < num_bytes_; ++word) {
        std::uint64_t value = std::atomic_ref<std::uint64_t>(words_[word]).load(std::memory_order_relaxed);
        if (!marked) value = ~value;
        if (word == from / 64) value &= bits(from % 64, 64);
        if (value != 0) return std::min(word * 64 + std::countr_zero(value), num_bytes_);
    }
    return num_bytes_;
}

ByteMarks::Run ByteMarks::next_run(std::int64_t from) const {
    const std::int64_t begin = first_with(true, from);
    return begin == num_bytes_ ? Run{begin, 0} : Run{begin, first_with(false, begin) - begin};
}

void ByteMarks::fill_unmarked(std::byte* buffer, std::int64_t from, std::int64_t length,
                              const std::byte* old) const {
    const std::int64_t to = from + length;
    assert(from >= 0 && to <= num_bytes_);
    for (std::int64_t at = from; at < to;) {
        const std::int64_t word_end = std::min((at / 64 + 1) * 64, to);
        const std::uint64_t marks =
            std::atomic_ref<std::uint64_t>(words_[at / 64]).load(std::memory_order_relaxed);
        const std::byte* source = old + (at - from);
        if (marks == 0) {
            std::memcpy(buffer + at, source, static_cast<std::size_t>(word_end - at));
        } else if (std::endian::native == std::endian::little && word_end - at == 64 &&
                   marks != ~std::uint64_t{0}) {
            for (int eight = 0; eight < 8; ++eight) {
                std::uint64_t mine = 0, theirs = 0;
                std::memcpy(&mine, buffer + at + eight * 8, 8);
                std::memcpy(&theirs, source + eight * 8, 8);
                mine = blended(mine, theirs, marks >> (eight * 8) & 0xff);
                std::memcpy(buffer + at + eight * 8, &mine, 8);
            }
        } else if (marks != ~std::uint64_t{0}) {
            for (std::int64_t byte = at; byte < word_end; ++byte) {
                if ((marks >> (byte % 64) & 1) == 0) buffer[byte] = old[byte - from];
            }
        }
        at = word_end;
    }
}

void ByteMarks::clear() {
    std::memset(words_, 0, static_cast<std::size_t>(num_words(num_bytes_)) * sizeof(*words_));
}

void copy_to_window(Cursor& file, Cursor& memory, const std::byte* origin, std::int64_t stream_end,
                    const BufferWindow& window, RunMover* mover) {
    with_copies_of(mover, [&](auto copy) {
        for_each_series(file, memory, stream_end,
                        [&](std::int64_t file_offset, std::int64_t memory_offset, const Runs& runs) {
                            const std::int64_t at = file_offset - window.file_begin_bytes;
                            copy({window.buffer + at, runs.file_stride},
                                 {origin + memory_offset, runs.memory_stride}, runs.length, runs.num);
                            if (window.marks != nullptr)
                                window.marks->mark(at, runs.length, runs.file_stride, runs.num);
                        });
    });
}

void copy_from_window(Cursor& file, Cursor& memory, std::byte* origin, std::int64_t stream_end,
                      const BufferWindow& window, RunMover* mover) {
    with_copies_of(mover, [&](auto copy) {
        for_each_series(file, memory, stream_end,
                        [&](std::int64_t file_offset, std::int64_t memory_offset, const Runs& runs) {
                            copy({origin + memory_offset, runs.memory_stride},
                                 {window.buffer + (file_offset - window.file_begin_bytes), runs.file_stride},
                                 runs.length, runs.num);
                        });
    });
}

void pack(Cursor& memory, const std::byte* origin, std::int64_t stream_end, std::byte* packed,
          RunMover* mover) {
    with_copies_of(mover, [&](auto copy) {
        for_each_memory_series(memory, stream_end,
                               [&](std::int64_t offset, std::int64_t at, const Cursor::Series& series) {
                                   copy({packed + at, series.length}, {origin + offset, series.stride},
                                        series.length, series.num);
                               });
    });
}

void unpack(Cursor& memory, std::byte* origin, std::int64_t stream_end, const std::byte* packed,
            RunMover* mover) {
    with_copies_of(mover, [&](auto copy) {
        for_each_memory_series(memory, stream_end,
                               [&](std::int64_t offset, std::int64_t at, const Cursor::Series& series) {
                                   copy({origin + offset, series.stride}, {packed + at, series.length},
                                        series.length, series.num);
                               });
    });
}

Coverage whole_window(std::int64_t begin_bytes, std::int64_t end_bytes) {
    return {end_bytes - begin_bytes, mix(begin_bytes) - mix(end_bytes)};
}

Coverage coverage(Cursor& file, std::int64_t stream_end) {
    Coverage sum{stream_end - file.stream(), 0};
    while (file.stream() < stream_end) {
        const Cursor::Series series = file.series();
        const std::int64_t left = stream_end - file.stream();
        const std::int64_t length = std::min(series.length, left);
        const std::int64_t num = length == series.length ? std::min(series.num, left / length) : 1;
        for (std::int64_t i = 0; i < num; ++i) {
            const std::int64_t begin = series.offset + i * series.stride;
            sum.boundaries += mix(begin) - mix(begin + length);
        }
        length == series.length ? file.skip(num) : file.advance(length);
    }
    return sum;
}

}  // namespace hakobi
