#include "series/piece.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "region/block.hpp"
#include "region/copy.hpp"
#include "region/cursor.hpp"
#include "storage/file.hpp"

namespace hakobi::series {
namespace {

constexpr std::array<char, 8> piece_magic = {'h', 'a', 'k', 'o', 'b', 'i', ':', 'p'};
constexpr std::array<char, 8> whole = {'w', 'h', 'o', 'l', 'e', ':', 'p', '\n'};
constexpr std::uint32_t version = 5, byte_order = 0x01020304;

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
    writer.put(static_cast<std::int64_t>(header.regions.size()));
    for (const Region& region : header.regions) {
        std::vector<std::int64_t> words;
        region.to_words(words);
        writer.put_all(words);
    }
    writer.put_all(header.description);
    writer.put_all(header.offsets_bytes);
    writer.put(header.file_bytes);
    writer.put_all(header.members);
    writer.put(static_cast<std::int64_t>(header.metadata.size()));
    for (const format::Extent& extent : header.metadata) {
        writer.put(extent.offset_bytes);
        writer.put_all(extent.bytes);
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
    header.regions.resize(static_cast<std::size_t>(reader.get_count(sizeof(std::int64_t))));
    for (Region& region : header.regions) region = Region::from_words(reader.get_all<std::int64_t>());
    header.description = reader.get_all<std::byte>();
    header.offsets_bytes = reader.get_all<std::int64_t>();
    header.file_bytes = reader.get<std::int64_t>();
    header.members = reader.get_all<storage::Member>();
    header.metadata.resize(static_cast<std::size_t>(reader.get_count(2 * sizeof(std::int64_t))));
    for (format::Extent& extent : header.metadata) {
        extent.offset_bytes = reader.get<std::int64_t>();
        extent.bytes = reader.get_all<std::byte>();
    }
    const auto bad = [](std::string text) {
        return Status(ErrorCode::format, "the piece's header is damaged" + std::move(text));
    };
    if (!reader.ok() || !reader.at_end()) return bad("");
    if (header.num_ranks < 1 || header.rank < 0 || header.rank >= header.num_ranks)
        return bad(": rank " + std::to_string(header.rank) + " of " + std::to_string(header.num_ranks));
    for (std::size_t p = 0; p < header.regions.size(); ++p) {
        const Region& region = header.regions[p];
        if (!region.valid() || !region.is_ordered() || region.begin_bytes() < 0)
            return bad(": part " + std::to_string(p + 1) + " has no place in a file");
    }
    if (header.file_bytes < 0 || header.file_bytes > max_values_bytes) return bad(": the file's size");
    std::int64_t before = 0;
    for (const storage::Member& member : header.members) {
        if (member.begin < before || member.end < member.begin || member.end > header.file_bytes)
            return bad(": members beyond the file's end");
        before = member.end;
    }
    for (const format::Extent& extent : header.metadata) {
        if (extent.offset_bytes < 0 || extent.offset_bytes > header.file_bytes - std::ssize(extent.bytes))
            return bad(": metadata beyond the file's end");
    }
    return header;
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
    const Result<std::vector<storage::Listed>> listed = storage::list_folder(folder);
    if (!listed.ok()) return listed.status();
    std::vector<int> ranks;
    for (const auto& [name, kind] : listed.value()) {
        int rank = 0;
        const auto [rest, failure] = std::from_chars(name.data(), name.data() + name.size(), rank);
        if (failure == std::errc() && rank >= 0 && piece_path(folder, rank) == folder + "/" + name)
            ranks.push_back(rank);
    }
    std::ranges::sort(ranks);
    return ranks;
}

namespace {

/// Writes a part's bytes at `offset` and takes their checksum: from where they are, or through a buffer where
/// they are not in one place.
Status write_part(storage::File& file, const Region& memory, std::int64_t offset, ByteWriter& checksums) {
    constexpr std::int64_t buffer_bytes = 4 << 20;
    Checksum checksum;
    std::vector<std::byte> buffer;
    for (Cursor cursor(memory); !cursor.at_end();) {
        std::span<const std::byte> bytes;
        if (memory.is_contiguous()) {
            bytes = {reinterpret_cast<const std::byte*>(cursor.offset()),
                     static_cast<std::size_t>(cursor.remaining())};
            cursor.advance(cursor.remaining());
        } else {
            buffer.resize(
                static_cast<std::size_t>(std::min(buffer_bytes, memory.size_bytes() - cursor.stream())));
            pack(cursor, nullptr, cursor.stream() + std::ssize(buffer), buffer.data());
            bytes = buffer;
        }
        checksum.add(bytes);
        if (Status status = file.write_at(bytes, offset); !status.ok()) return status;
        offset += std::ssize(bytes);
    }
    checksums.put(checksum.value());
    return {};
}

}  // namespace

Result<storage::FilePtr> create_piece(const std::string& path) {
    return storage::open_file(
        path, {.read = false, .write = true, .create = true, .exclusive = true, .regular_only = true});
}

Status write_piece(const std::string& path, const Step& step, int rank, int num_ranks, bool sync) {
    Result<storage::FilePtr> created = create_piece(path);
    if (!created.ok()) return created.status();
    storage::File& file = *created.value();
    Status status = fill_piece(file, step, rank, num_ranks);
    if (status.ok() && sync) status = file.sync();
    status.keep_first(file.close());
    return status;
}

Status fill_piece(storage::File& file, const Step& step, int rank, int num_ranks) {
    PieceHeader header{.run = step.run, .step = step.number, .rank = rank, .num_ranks = num_ranks};
    for (const Part& part : step.parts) header.regions.push_back(part.file);
    std::vector<std::byte> description = format::encode_step(step.description);
    header.step_fingerprint = checksum_of(description);
    if (rank == 0) {
        header.description = std::move(description);
        header.offsets_bytes = step.layout.offsets_bytes;
        header.file_bytes = step.layout.file_bytes;
        header.members = step.layout.members;
        header.metadata = step.layout.metadata;
    }
    const std::vector<std::byte> encoded = encode_header(header);
    ByteWriter start;
    start.put(Preamble{piece_magic, version, byte_order, std::ssize(encoded), checksum_of(encoded)});
    std::vector<std::byte> head = start.take();
    head.insert(head.end(), encoded.begin(), encoded.end());

    Status status = file.write_at(head, 0);
    std::int64_t offset = std::ssize(head);
    ByteWriter trailer;
    for (const Part& part : step.parts) {
        if (!status.ok()) break;
        status = write_part(file, part.memory, offset, trailer);
        offset += part.memory.size_bytes();
    }
    trailer.put(whole);
    return status.ok() ? file.write_at(trailer.take(), offset) : status;
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
    if (preamble.magic != piece_magic) return damaged(path, "not a piece");
    if (preamble.byte_order != byte_order)
        return damaged(path, "the piece is of a machine with another byte order");
    if (preamble.version != version) return damaged(path, "the piece is of another version of hakobi");
    std::int64_t offset = sizeof(Preamble);
    if (preamble.header_bytes < 0 || preamble.header_bytes > size.value() - offset) {
        return damaged(path, "the piece is torn");
    }
    std::vector<std::byte> encoded(static_cast<std::size_t>(preamble.header_bytes));
    if (Status status = read_all(file, encoded, offset); !status.ok()) return status;
    if (checksum_of(encoded) != preamble.header_checksum)
        return damaged(path, "the piece's header is damaged");
    Result<PieceHeader> header = decode_header(encoded);
    if (!header.ok()) return damaged(path, header.status().text().c_str());
    Piece piece{.path = path, .header = std::move(header).value(), .values_bytes = {}, .checksums = {}};
    offset += preamble.header_bytes;
    for (const Region& region : piece.header.regions) {
        piece.values_bytes.push_back(offset);
        // Compared part by part: many large ones together could leave 63 bits.
        if (region.size_bytes() > size.value() - offset) return damaged(path, "the piece is torn");
        offset += region.size_bytes();
    }
    piece.checksums.resize(piece.header.regions.size());
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

}  // namespace hakobi::series
