#include "output/piece.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "output/agreement.hpp"
#include "storage/file.hpp"

namespace hakobi::output {
namespace {

constexpr std::array<char, 8> magic = {'h', 'a', 'k', 'o', 'b', 'i', ':', 'p'};
constexpr std::array<char, 8> whole = {'w', 'h', 'o', 'l', 'e', ':', 'p', '\n'};
constexpr std::uint32_t version = 1, byte_order = 0x01020304;

struct Preamble {
    std::array<char, 8> magic;
    std::uint32_t version;
    std::uint32_t byte_order;
    std::int64_t header_bytes;
    std::uint64_t header_checksum;
};

std::vector<std::byte> encode_header(const PieceHeader& header) {
    ByteWriter writer;
    writer.put(header.rank);
    writer.put(header.num_ranks);
    writer.put(header.step_fingerprint);
    writer.put_all(header.description);
    writer.put_all(header.types);
    for (const Block& block : header.blocks) {
        writer.put_all(block.global);
        writer.put_all(block.start);
        writer.put_all(block.count);
    }
    return writer.take();
}

bool decode_header(std::span<const std::byte> bytes, PieceHeader& header) {
    ByteReader reader(bytes);
    header.rank = reader.get<int>();
    header.num_ranks = reader.get<int>();
    header.step_fingerprint = reader.get<std::uint64_t>();
    header.description = reader.get_all<std::byte>();
    header.types = reader.get_all<std::uint8_t>();
    header.blocks.resize(header.types.size());
    for (Block& block : header.blocks) {
        block.global = reader.get_all<std::int64_t>();
        block.start = reader.get_all<std::int64_t>();
        block.count = reader.get_all<std::int64_t>();
        if (block.start.size() != block.global.size() || block.count.size() != block.global.size())
            return false;
    }
    const auto is_known = [](std::uint8_t type) {
        return type <= static_cast<std::uint8_t>(format::ValueType::int64);
    };
    return reader.ok() && reader.at_end() && std::all_of(header.types.begin(), header.types.end(), is_known);
}

Status damaged(const std::string& path, const char* how) {
    return {ErrorCode::format, path + ": " + how};
}

/// Reads exactly `bytes`; a file that ends before is torn.
Status read_all(storage::File& file, std::span<std::byte> bytes, std::int64_t offset) {
    Result<std::int64_t> read = file.read_at(bytes, offset);
    if (!read.ok()) return read.status();
    return read.value() == std::ssize(bytes) ? Status() : damaged(file.path(), "the piece is torn");
}

}  // namespace

struct Checksum::State {
    XXH3_state_t xxh;
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
    XXH3_64bits_reset(&state_->xxh);
}
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum::~Checksum() = default;
void Checksum::add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
}
std::uint64_t Checksum::value() const {
    return XXH3_64bits_digest(&state_->xxh);
}

std::string pieces_folder(const std::string& step_path) {
    return step_path + ".pieces";
}

std::string piece_path(const std::string& folder, int rank) {
    std::string digits = std::to_string(rank);
    if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
    return folder + "/" + digits + ".piece";
}

Status write_piece(const std::string& path, const Step& step, int rank, int num_ranks, bool sync) {
    PieceHeader header{.rank = rank, .num_ranks = num_ranks};
    std::vector<std::byte> description = format::encode_step(step.description);
    header.step_fingerprint = fingerprint(description);
    if (rank == 0) header.description = std::move(description);
    for (std::size_t f = 0; f < step.parts.size(); ++f) {
        header.blocks.push_back(step.parts[f].block);
        header.types.push_back(static_cast<std::uint8_t>(step.description.fields[f].type));
    }
    const std::vector<std::byte> encoded = encode_header(header);
    ByteWriter start;
    start.put(Preamble{magic, version, byte_order, std::ssize(encoded), fingerprint(encoded)});
    std::vector<std::byte> head = start.take();
    head.insert(head.end(), encoded.begin(), encoded.end());

    Result<storage::FilePtr> opened =
        storage::open_file(path, {.read = false, .write = true, .create = true, .truncate = true});
    if (!opened.ok()) return opened.status();
    storage::File& file = *opened.value();
    Status status = file.write_at(head, 0);
    std::int64_t offset = std::ssize(head);
    ByteWriter trailer;
    for (const Part& part : step.parts) {
        if (!status.ok()) break;
        trailer.put(fingerprint(part.values));
        if (!part.values.empty()) status = file.write_at(part.values, offset);
        offset += std::ssize(part.values);
    }
    trailer.put(whole);
    if (status.ok()) status = file.write_at(trailer.take(), offset);
    if (status.ok() && sync) status = file.sync();
    status.keep_first(file.close());
    return status;
}

Result<Piece> read_piece(const std::string& path) {
    Result<storage::FilePtr> opened = storage::open_file(path, {});
    if (!opened.ok()) return opened.status();
    storage::File& file = *opened.value();
    Result<std::int64_t> size = file.size_bytes();
    if (!size.ok()) return size.status();

    Preamble preamble{};
    if (Status status = read_all(file, std::as_writable_bytes(std::span(&preamble, 1)), 0); !status.ok())
        return status;
    if (preamble.magic != magic) return damaged(path, "not a piece");
    if (preamble.byte_order != byte_order)
        return damaged(path, "the piece is of a machine with another byte order");
    if (preamble.version != version) return damaged(path, "the piece is of another version of hakobi");
    std::int64_t offset = sizeof(Preamble);
    if (preamble.header_bytes < 0 || preamble.header_bytes > size.value() - offset) {
        return damaged(path, "the piece is torn");
    }
    std::vector<std::byte> encoded(static_cast<std::size_t>(preamble.header_bytes));
    if (Status status = read_all(file, encoded, offset); !status.ok()) return status;
    Piece piece{.path = path, .header = {}, .values_bytes = {}, .checksums = {}};
    if (fingerprint(encoded) != preamble.header_checksum || !decode_header(encoded, piece.header)) {
        return damaged(path, "the piece's header is damaged");
    }
    offset += preamble.header_bytes;
    for (std::size_t f = 0; f < piece.header.blocks.size(); ++f) {
        piece.values_bytes.push_back(offset);
        offset += piece.header.blocks[f].num_elements() *
                  format::bytes_of(static_cast<format::ValueType>(piece.header.types[f]));
    }
    piece.checksums.resize(piece.header.blocks.size());
    std::array<char, 8> end{};
    const std::int64_t trailer_bytes = std::ssize(piece.checksums) * 8 + std::ssize(end);
    if (size.value() != offset + trailer_bytes) return damaged(path, "the piece is torn");
    Status status = read_all(file, std::as_writable_bytes(std::span(piece.checksums)), offset);
    if (status.ok())
        status = read_all(file, std::as_writable_bytes(std::span(end)), size.value() - std::ssize(end));
    if (!status.ok()) return status;
    if (end != whole) return damaged(path, "the piece is torn");
    return piece;
}

}  // namespace hakobi::output
