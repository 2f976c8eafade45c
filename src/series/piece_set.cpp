#include "series/piece_set.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/checksum.hpp"
#include "region/cursor.hpp"
#include "region/region.hpp"
#include "series/assemble.hpp"
#include "storage/file.hpp"

namespace hakobi::series {
namespace {

constexpr std::size_t max_open_pieces = 256;

Status incomplete(std::string text) {
    return {ErrorCode::format, std::move(text)};
}

/// Names the first of the missing; `ranks` are those that are there, ascending.
Status missing_pieces(const std::string& folder, std::span<const int> ranks, int num_ranks) {
    const auto num_missing = num_ranks - static_cast<int>(ranks.size());
    std::string missing;
    int num_named = 0;
    for (int rank = 0; num_named < std::min(num_missing, 5); ++rank) {
        if (std::ranges::binary_search(ranks, rank)) continue;
        missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
        ++num_named;
    }
    return incomplete(folder + ": " + std::to_string(num_missing) + " of " + std::to_string(num_ranks) +
                      " pieces are missing (rank " + missing + (num_missing > 5 ? ", …)" : ")"));
}

/// One part, in the pieces of all ranks.
class PieceMembers final : public Members {
  public:
    PieceMembers(const std::vector<Piece>& pieces, std::size_t part)
        : pieces_(pieces),
          part_(part),
          taken_(pieces.size(), 0),
          checksums_(pieces.size()),
          files_(pieces.size()) {}

    Status take(std::span<Request> requests) override {
        for (Request& request : requests) {
            const auto member = static_cast<std::size_t>(request.member);
            const std::span<std::byte> space{request.space, static_cast<std::size_t>(request.length_bytes)};
            if (Status status = read(member, space); !status.ok()) return status;
            checksums_[member].add(space);
            taken_[member] += request.length_bytes;
            request.data = request.space;
        }
        return {};
    }
    /// After everything was taken: whether it is what was written.
    [[nodiscard]] Status check() const {
        for (std::size_t member = 0; member < pieces_.size(); ++member) {
            if (checksums_[member].value() != pieces_[member].checksums[part_]) {
                return incomplete(pieces_[member].path +
                                  ": the values are not those that were written (checksum)");
            }
        }
        return {};
    }

  private:
    Status read(std::size_t member, std::span<std::byte> space) {
        const Piece& piece = pieces_[member];
        storage::FilePtr opened_here;
        storage::File* file = files_[member].get();
        if (file == nullptr) {
            Result<storage::FilePtr> opened = storage::open_file(piece.path, {.regular_only = true});
            if (!opened.ok()) return opened.status();
            // If there are very many pieces, only some stay open: processes may hold a thousand files, no
            // more.
            storage::FilePtr& place = member < max_open_pieces ? files_[member] : opened_here;
            place = std::move(opened).value();
            file = place.get();
        }
        Result<std::int64_t> read = file->read_at(space, piece.values_bytes[part_] + taken_[member]);
        if (!read.ok()) return read.status();
        return read.value() == std::ssize(space) ? Status() : incomplete(piece.path + ": the piece is torn");
    }

    const std::vector<Piece>& pieces_;
    std::size_t part_;
    std::vector<std::int64_t> taken_;
    std::vector<Checksum> checksums_;
    std::vector<storage::FilePtr> files_;
};

}  // namespace

Result<PieceSet> read_piece_set(const std::string& folder) {
    Result<Piece> first = read_piece(piece_path(folder, 0));
    if (!first.ok()) {
        if (first.status().code() != ErrorCode::not_found) return first.status();
        return incomplete(folder + ": the piece of rank 0 is missing");
    }
    PieceSet set;
    Result<format::StepDescription> description = format::decode_step(first.value().header.description);
    if (!description.ok()) return incomplete(folder + ": " + description.status().text());
    set.description = std::move(description).value();
    const format::Format* const format = format_of_step(folder);
    const format::Rules rules = format != nullptr ? format->rules() : format::Rules();
    if (Status status = format::check_description(set.description, rules); !status.ok())
        return incomplete(folder + ": " + status.text());
    if (first.value().header.offsets_bytes.size() != set.description.fields.size())
        return incomplete(folder + ": the description of the step is damaged");
    const int num_ranks = first.value().header.num_ranks;
    Result<std::vector<int>> ranks = ranks_in(folder);
    if (!ranks.ok()) return ranks.status();
    std::erase_if(ranks.value(), [&](int rank) { return rank >= num_ranks; });
    if (std::ssize(ranks.value()) != num_ranks) return missing_pieces(folder, ranks.value(), num_ranks);
    set.pieces.push_back(std::move(first).value());
    for (int rank = 1; rank < num_ranks; ++rank) {
        Result<Piece> piece = read_piece(piece_path(folder, rank));
        if (!piece.ok()) return piece.status();
        set.pieces.push_back(std::move(piece).value());
    }
    for (int rank = 0; rank < num_ranks; ++rank) {
        const PieceHeader& header = set.pieces[static_cast<std::size_t>(rank)].header;
        bool fits = header.run == set.pieces[0].header.run && header.step == set.pieces[0].header.step &&
                    header.rank == rank && header.num_ranks == num_ranks &&
                    header.step_fingerprint == set.pieces[0].header.step_fingerprint &&
                    header.regions.size() == set.num_parts();
        for (const Region& region : header.regions) fits = fits && region.end_bytes() <= set.file_bytes();
        if (!fits) return incomplete(piece_path(folder, rank) + ": the piece is of another step");
    }
    return set;
}

std::vector<Region> PieceSet::regions(std::size_t part) const {
    std::vector<Region> result;
    for (const Piece& piece : pieces) result.push_back(piece.header.regions[part]);
    return result;
}

Status write_values(const PieceSet& set, const std::string& path, std::int64_t buffer_bytes) {
    Result<storage::FilePtr> opened = storage::open_file(path, {.read = false, .write = true});
    if (!opened.ok()) return opened.status();
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(buffer_bytes));
    Status status;
    for (std::size_t part = 0; part < set.num_parts() && status.ok(); ++part) {
        PieceMembers members(set.pieces, part);
        const std::vector<Region> regions = set.regions(part);
        status = assemble(regions, members, *opened.value(),
                          {buffer.get(), static_cast<std::size_t>(buffer_bytes)});
        if (status.ok()) status = members.check();
    }
    status.keep_first(opened.value()->close());
    return status;
}

namespace {

Status differs(const std::string& path, std::string_view what) {
    return incomplete(path + " is not what the pieces make (" + std::string(what) +
                      "): move it away to gather them");
}

/// Reads exactly `space`, or says that the file differs.
Status read_whole(storage::File& file, std::span<std::byte> space, std::int64_t offset_bytes) {
    Result<std::int64_t> read = file.read_at(space, offset_bytes);
    if (!read.ok()) return read.status();
    return read.value() == std::ssize(space) ? Status() : differs(file.path(), "it ends early");
}

/// The bytes of an extent over which no piece has any.
Status prove_metadata(storage::File& file, const format::Extent& extent, const PieceSet& set) {
    std::vector<std::byte> found(extent.bytes.size());
    if (Status status = read_whole(file, found, extent.offset_bytes); !status.ok()) return status;
    const std::int64_t begin = extent.offset_bytes, end = begin + std::ssize(found);
    for (const Piece& piece : set.pieces) {
        for (const Region& region : piece.header.regions) {
            if (region.end_bytes() <= begin || region.begin_bytes() >= end) continue;
            Cursor cursor(region);
            for (cursor.seek(region.bytes_below(begin)); !cursor.at_end() && cursor.offset() < end;) {
                const std::int64_t length = std::min(cursor.remaining(), end - cursor.offset());
                std::memcpy(found.data() + (cursor.offset() - begin),
                            extent.bytes.data() + (cursor.offset() - begin),
                            static_cast<std::size_t>(length));
                cursor.advance(length);
            }
        }
    }
    return found == extent.bytes ? Status() : differs(file.path(), "its description");
}

/// Every piece's bytes of a part, found in the file in one pass.
Status prove_part(storage::File& file, std::size_t part, const PieceSet& set, std::span<std::byte> buffer) {
    const std::vector<Region> regions = set.regions(part);
    std::int64_t part_end = 0;
    for (const Region& region : regions) part_end = std::max(part_end, region.end_bytes());
    std::vector<Cursor> cursors(regions.begin(), regions.end());
    std::vector<Checksum> checksums(set.pieces.size());
    // Bytes that no piece has are passed over: a few small blocks may claim to be of an array that fills a
    // disk.
    const auto next_byte = [&] {
        std::int64_t lowest = part_end;
        for (const Cursor& cursor : cursors) {
            if (!cursor.at_end()) lowest = std::min(lowest, cursor.offset());
        }
        return lowest;
    };
    for (std::int64_t begin = next_byte(); begin < part_end; begin = next_byte()) {
        const std::int64_t end = std::min(begin + std::ssize(buffer), part_end);
        const auto window = buffer.first(static_cast<std::size_t>(end - begin));
        if (Status status = read_whole(file, window, begin); !status.ok()) return status;
        for (std::size_t p = 0; p < cursors.size(); ++p) {
            Cursor& cursor = cursors[p];
            while (!cursor.at_end() && cursor.offset() < end) {
                const std::int64_t length = std::min(cursor.remaining(), end - cursor.offset());
                checksums[p].add(window.subspan(static_cast<std::size_t>(cursor.offset() - begin),
                                                static_cast<std::size_t>(length)));
                cursor.advance(length);
            }
        }
    }
    for (std::size_t p = 0; p < checksums.size(); ++p) {
        if (checksums[p].value() != set.pieces[p].checksums[part])
            return differs(file.path(), "values of array " + std::to_string(part + 1));
    }
    return {};
}

}  // namespace

Status prove_file(const PieceSet& set, const std::string& path, std::int64_t buffer_bytes) {
    Result<storage::FilePtr> opened = storage::open_file(path, {.regular_only = true});
    if (!opened.ok()) return opened.status();
    storage::File& file = *opened.value();
    Result<std::int64_t> size = file.size_bytes();
    if (!size.ok()) return size.status();
    if (size.value() != set.file_bytes()) return differs(path, "its size");
    for (const format::Extent& extent : set.metadata()) {
        if (Status status = prove_metadata(file, extent, set); !status.ok()) return status;
    }
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(buffer_bytes));
    const std::span<std::byte> space{buffer.get(), static_cast<std::size_t>(buffer_bytes)};
    for (std::size_t part = 0; part < set.num_parts(); ++part) {
        if (Status status = prove_part(file, part, set, space); !status.ok()) return status;
    }
    return {};
}

}  // namespace hakobi::series
