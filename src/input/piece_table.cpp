#include "input/piece_table.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "base/guard.hpp"
#include "format/chunks.hpp"
#include "input/steps.hpp"
#include "input/windowed.hpp"
#include "mpi/messages.hpp"
#include "region/cursor.hpp"
#include "series/piece_set.hpp"
#include "storage/file.hpp"

namespace hakobi::input {
namespace {

std::vector<std::byte> encode(const PieceTable& table) {
    ByteWriter writer;
    writer.put_all(table.field_offsets_bytes);
    for (const PieceTable::Entry& piece : table.pieces) {
        writer.put_text(piece.path);
        writer.put_all(piece.offsets_bytes);
        for (const Region& region : piece.regions) {
            std::vector<std::int64_t> words;
            region.to_words(words);
            writer.put_all(words);
        }
    }
    return writer.take();
}

void decode(std::span<const std::byte> bytes, PieceTable& table) {
    ByteReader reader(bytes);
    table.field_offsets_bytes = reader.get_all<std::int64_t>();
    table.pieces.clear();
    while (reader.ok() && !reader.at_end()) {
        PieceTable::Entry piece;
        piece.path = reader.get_text();
        piece.offsets_bytes = reader.get_all<std::int64_t>();
        for (std::size_t f = 0; f < piece.offsets_bytes.size(); ++f)
            piece.regions.push_back(Region::from_words(reader.get_all<std::int64_t>()));
        table.pieces.push_back(std::move(piece));
    }
}

/// Bytes that two ordered regions have in common, as parts of their streams.
struct Common {
    Region of_wanted, of_held;
};
Common common(const Region& wanted, const Region& held) {
    std::vector<std::int64_t> wanted_bytes, held_bytes, lengths;
    Cursor a(wanted), b(held);
    while (!a.at_end() && !b.at_end()) {
        if (a.offset() + a.remaining() <= b.offset()) {
            a.seek(wanted.bytes_below(b.offset()));
        } else if (b.offset() + b.remaining() <= a.offset()) {
            b.seek(held.bytes_below(a.offset()));
        } else {
            const std::int64_t begin = std::max(a.offset(), b.offset());
            const std::int64_t end = std::min(a.offset() + a.remaining(), b.offset() + b.remaining());
            a.advance(begin - a.offset());
            b.advance(begin - b.offset());
            wanted_bytes.push_back(a.stream());
            held_bytes.push_back(b.stream());
            lengths.push_back(end - begin);
            a.advance(end - begin);
            b.advance(end - begin);
        }
    }
    return {Region::indexed(wanted_bytes, lengths), Region::indexed(held_bytes, lengths)};
}

/// The parts of `memory`, a block's elements in their order, that `stream` (offsets in that order) names.
Region selected(const Region& memory, const Region& stream) {
    std::vector<Region::Part> parts;
    for (Cursor cursor(stream); !cursor.at_end();) {
        const std::int64_t length = cursor.remaining();
        parts.push_back({.region = memory.substream(cursor.offset(), length)});
        cursor.advance(length);
    }
    return Region::concatenated(parts);
}

void clear(const Destination& to) {
    for (Cursor cursor(to.memory); !cursor.at_end();) {
        const std::int64_t length = cursor.remaining();
        std::memset(to.origin + cursor.offset(), 0, static_cast<std::size_t>(length));
        cursor.advance(length);
    }
}

}  // namespace

mpi::Agreed read_piece_table(const Comm& comm, const std::string& folder, PieceTable& table) noexcept {
    table = {};
    Status status;
    if (!comm || comm.rank() == 0) {
        status = guarded("reading pieces", [&]() -> Status {
            Result<series::PieceSet> set = series::read_piece_set(folder);
            if (!set.ok()) return set.status();
            Result<format::StepDescription> step =
                format::decode_step(set.value().pieces[0].header.description);
            if (!step.ok()) return step.status();
            if (std::ranges::any_of(step.value().fields, format::is_chunked)) {
                return {
                    ErrorCode::unsupported,
                    folder + ": pieces of compressed fields are read when they are gathered (hakobi gather)"};
            }
            table.field_offsets_bytes = set.value().pieces[0].header.offsets_bytes;
            for (const series::Piece& piece : set.value().pieces)
                table.pieces.push_back({piece.path, piece.header.regions, piece.values_bytes});
            return {};
        });
    }
    if (mpi::Agreed agreed = agree(comm, status); !agreed.status.ok()) return agreed;
    if (comm) {
        std::vector<std::byte> bytes = encode(table);
        mpi::broadcast(comm, bytes, 0);
        decode(bytes, table);
    }
    table.folder = folder;
    return {};
}

Status read_from_pieces(const PieceTable& table, std::size_t field, const std::string& backend,
                        const Destination& to) {
    if (to.memory.empty()) return {};
    const Region wanted = Region::subarray(table.field_offsets_bytes[field], to.block.global, to.block.start,
                                           to.block.count, to.element_bytes);
    std::vector<std::pair<const PieceTable::Entry*, Common>> sources;
    std::int64_t found_bytes = 0;
    for (const PieceTable::Entry& piece : table.pieces) {
        Common both = common(wanted, piece.regions[field]);
        found_bytes += both.of_held.size_bytes();
        if (!both.of_held.empty()) sources.emplace_back(&piece, std::move(both));
    }
    if (found_bytes < wanted.size_bytes()) clear(to);
    for (const auto& [piece, both] : sources) {
        Result<storage::FilePtr> file = storage::open_file(backend + piece->path, {.regular_only = true});
        if (!file.ok()) return file.status();
        const Region memory = selected(to.memory, both.of_wanted);
        const Region from = both.of_held.moved(piece->offsets_bytes[field]);
        if (Status status = read_region(*file.value(), from, to.origin, memory); !status.ok()) return status;
    }
    return {};
}

}  // namespace hakobi::input
