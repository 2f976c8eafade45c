#include "output/piece.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "base/bytes.hpp"
#include "output/agreement.hpp"
#include "region/block.hpp"
#include "storage/file.hpp"

namespace hakobi::output {
namespace {

constexpr std::array<char, 8> magic = {'h', 'a', 'k', 'o', 'b', 'i', ':', 'p'};
constexpr std::array<char, 8> whole = {'w', 'h', 'o', 'l', 'e', ':', 'p', '\n'};
constexpr std::uint32_t version = 2, byte_order = 0x01020304;

struct Preamble {
    std::array<char, 8> magic;
    std::uint32_t version;
    std::uint32_t byte_order;
    std::int64_t header_bytes;
    std::uint64_t header_checksum;
};

Status damaged(const std::string& path, const char* how) {
    return {ErrorCode::format, path + ": " + how};
}

std::int64_t values_bytes(const PieceHeader& header, std::size_t field) {
    return header.blocks[field].num_elements() *
           format::bytes_of(static_cast<format::ValueType>(header.types[field]));
}

/// Reads exactly `bytes`; a file that ends before is torn.
Status read_all(storage::File& file, std::span<std::byte> bytes, std::int64_t offset) {
    Result<std::int64_t> read = file.read_at(bytes, offset);
    if (!read.ok()) return read.status();
    return read.value() == std::ssize(bytes) ? Status() : damaged(file.path(), "the piece is torn");
}

}  // namespace

std::vector<std::byte> encode_header(const PieceHeader& header) {
    ByteWriter writer;
    writer.put(header.run);
    writer.put(header.step);
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

Result<PieceHeader> decode_header(std::span<const std::byte> bytes) {
    ByteReader reader(bytes);
    PieceHeader header;
    header.run = reader.get<RunId>();
    header.step = reader.get<std::int64_t>();
    header.rank = reader.get<int>();
    header.num_ranks = reader.get<int>();
    header.step_fingerprint = reader.get<std::uint64_t>();
    header.description = reader.get_all<std::byte>();
    header.types = reader.get_all<std::uint8_t>();
    const auto bad = [](std::string text) {
        return Status(ErrorCode::format, "the piece's header is damaged" + std::move(text));
    };
    for (std::size_t f = 0; f < header.types.size() && reader.ok(); ++f) {
        Block block{.global = reader.get_all<std::int64_t>(), .start = {}, .count = {}};
        block.start = reader.get_all<std::int64_t>();
        block.count = reader.get_all<std::int64_t>();
        header.blocks.push_back(std::move(block));
    }
    if (!reader.ok() || !reader.at_end()) return bad("");
    if (header.num_ranks < 1 || header.rank < 0 || header.rank >= header.num_ranks)
        return bad(": rank " + std::to_string(header.rank) + " of " + std::to_string(header.num_ranks));
    for (std::size_t f = 0; f < header.types.size(); ++f) {
        const std::string which = ": field " + std::to_string(f + 1) + ": ";
        if (header.types[f] > static_cast<std::uint8_t>(format::ValueType::int64))
            return bad(which + "an unknown type");
        if (Status status = check_block(header.blocks[f]); !status.ok()) return bad(which + status.text());
    }
    return header;
}

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

bool is_piece(std::string_view path) {
    return path.ends_with(".piece");
}

Result<std::vector<int>> ranks_in(const std::string& folder) {
    namespace fs = std::filesystem;
    std::vector<int> ranks;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        int rank = 0;
        const auto [rest, failure] = std::from_chars(name.data(), name.data() + name.size(), rank);
        if (failure == std::errc() && rank >= 0 && piece_path(folder, rank) == folder + "/" + name)
            ranks.push_back(rank);
    }
    if (error) return status_of_errno(error.value(), "cannot list folder", folder);
    std::ranges::sort(ranks);
    return ranks;
}

Status write_piece(const std::string& path, const Step& step, int rank, int num_ranks, bool sync) {
    PieceHeader header{.run = step.run, .step = step.number, .rank = rank, .num_ranks = num_ranks};
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

    Result<storage::FilePtr> opened = storage::open_file(
        path, {.read = false, .write = true, .create = true, .exclusive = true, .regular_only = true});
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
    Result<storage::FilePtr> opened = storage::open_file(path, {.regular_only = true});
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
    if (fingerprint(encoded) != preamble.header_checksum)
        return damaged(path, "the piece's header is damaged");
    Result<PieceHeader> header = decode_header(encoded);
    if (!header.ok()) return damaged(path, header.status().text().c_str());
    Piece piece{.path = path, .header = std::move(header).value(), .values_bytes = {}, .checksums = {}};
    offset += preamble.header_bytes;
    const std::size_t num_fields = piece.header.blocks.size();
    for (std::size_t f = 0; f < num_fields; ++f) {
        piece.values_bytes.push_back(offset);
        offset += values_bytes(piece.header, f);
        // Compared field by field: many large blocks together could leave 63 bits.
        if (offset > size.value()) return damaged(path, "the piece is torn");
    }
    piece.checksums.resize(num_fields);
    std::array<char, 8> end{};
    const std::int64_t trailer_bytes = std::ssize(piece.checksums) * 8 + std::ssize(end);
    if (size.value() - offset != trailer_bytes) return damaged(path, "the piece is torn");
    Status status = read_all(file, std::as_writable_bytes(std::span(piece.checksums)), offset);
    if (status.ok())
        status = read_all(file, std::as_writable_bytes(std::span(end)), size.value() - std::ssize(end));
    if (!status.ok()) return status;
    if (end != whole) return damaged(path, "the piece is torn");
    return piece;
}

}  // namespace hakobi::output
