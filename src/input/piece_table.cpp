#include "input/piece_table.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/bytes.hpp"
#include "base/guard.hpp"
#include "input/steps.hpp"
#include "input/windowed.hpp"
#include "mpi/messages.hpp"
#include "output/piece_set.hpp"
#include "region/cursor.hpp"
#include "storage/file.hpp"

namespace hakobi::input {
namespace {

void encode(const Block& block, ByteWriter& writer) {
    writer.put_all(block.global);
    writer.put_all(block.start);
    writer.put_all(block.count);
}

std::vector<std::byte> encode(const PieceTable& table) {
    ByteWriter writer;
    for (const PieceTable::Entry& piece : table.pieces) {
        writer.put_text(piece.path);
        writer.put_all(piece.offsets_bytes);
        for (const Block& block : piece.blocks) encode(block, writer);
    }
    return writer.take();
}

void decode(std::span<const std::byte> bytes, PieceTable& table) {
    ByteReader reader(bytes);
    table.pieces.clear();
    while (reader.ok() && !reader.at_end()) {
        PieceTable::Entry piece;
        piece.path = reader.get_text();
        piece.offsets_bytes = reader.get_all<std::int64_t>();
        for (std::size_t f = 0; f < piece.offsets_bytes.size(); ++f) {
            Block block;
            block.global = reader.get_all<std::int64_t>();
            block.start = reader.get_all<std::int64_t>();
            block.count = reader.get_all<std::int64_t>();
            piece.blocks.push_back(std::move(block));
        }
        table.pieces.push_back(std::move(piece));
    }
}

/// What two blocks of one array have in common; nothing where that is nothing.
std::optional<Block> intersection(const Block& a, const Block& b) {
    Block both = a;
    for (std::size_t d = 0; d < a.global.size(); ++d) {
        both.start[d] = std::max(a.start[d], b.start[d]);
        both.count[d] = std::min(a.start[d] + a.count[d], b.start[d] + b.count[d]) - both.start[d];
        if (both.count[d] <= 0) return std::nullopt;
    }
    return both;
}

/// The elements `part` of an array that holds the elements `whole`.
Region within(const Block& whole, const Block& part, std::int64_t offset_bytes, std::int64_t element_bytes) {
    std::vector<std::int64_t> start = part.start;
    for (std::size_t d = 0; d < start.size(); ++d) start[d] -= whole.start[d];
    return Region::subarray(offset_bytes, whole.count, start, part.count, element_bytes);
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
            Result<output::PieceSet> set = output::read_piece_set(folder);
            if (!set.ok()) return set.status();
            for (const output::Piece& piece : set.value().pieces)
                table.pieces.push_back({piece.path, piece.header.blocks, piece.values_bytes});
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

Status read_from_pieces(const PieceTable& table, std::size_t field, const Destination& to) {
    if (to.memory.empty()) return {};
    std::vector<std::pair<const PieceTable::Entry*, Block>> sources;
    std::int64_t num_found = 0;
    for (const PieceTable::Entry& piece : table.pieces) {
        if (const auto both = intersection(to.block, piece.blocks[field])) {
            sources.emplace_back(&piece, *both);
            num_found += both->num_elements();
        }
    }
    if (num_found < to.block.num_elements()) clear(to);
    for (const auto& [piece, both] : sources) {
        Result<storage::FilePtr> file = storage::open_file(piece->path, {.regular_only = true});
        if (!file.ok()) return file.status();
        const Region from = within(piece->blocks[field], both, piece->offsets_bytes[field], to.element_bytes);
        const Region memory = selected(to.memory, within(to.block, both, 0, to.element_bytes));
        if (Status status = read_region(*file.value(), from, to.origin, memory); !status.ok()) return status;
    }
    return {};
}

}  // namespace hakobi::input
