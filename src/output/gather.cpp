// Pieces become a file:
//
//  1. Every piece's header is read, and the file laid out under <file>.part as rank 0 of any other method would.
//  2. The values are brought into file order (assemble.hpp), and their checksums compared.
//  3. The file gets the newest piece's time of modification, and its name.
//  4. <file>.pieces becomes <file>.pieces.gathered, whose pieces nobody needs, and is removed.
//
// Killed before 4, a later gathering does it all again; killed in 4, it removes what is left. By 3 it tells its
// own file from one that a later run wrote: only that is newer than the pieces.
#include "output/gather.hpp"

#include <algorithm>
#include <filesystem>
#include <hakobi/output.hpp>
#include <optional>

#include "base/guard.hpp"
#include "output/agreement.hpp"
#include "output/assemble.hpp"
#include "output/piece.hpp"
#include "output/step_file.hpp"

namespace hakobi {
namespace output {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view folder_suffix = ".nc.pieces";
constexpr std::string_view gathered_suffix = ".gathered";
constexpr std::size_t max_open_pieces = 256;

/// All pieces of a step, checked against each other.
struct PieceSet {
    format::StepDescription description;
    std::vector<Piece> pieces;  // by rank
};

Status incomplete(std::string text) {
    return {ErrorCode::format, std::move(text)};
}

Result<PieceSet> read_set(const std::string& folder) {
    Result<Piece> first = read_piece(piece_path(folder, 0));
    if (!first.ok()) {
        if (first.status().code() != ErrorCode::not_found) return first.status();
        return incomplete(folder + ": the piece of rank 0 is missing");
    }
    PieceSet set;
    Result<format::StepDescription> description = format::decode_step(first.value().header.description);
    if (!description.ok()) return incomplete(folder + ": " + description.status().text());
    set.description = std::move(description).value();
    if (Status status = format::check_description(set.description); !status.ok()) {
        return incomplete(folder + ": " + status.text());
    }
    const int num_ranks = first.value().header.num_ranks;
    set.pieces.push_back(std::move(first).value());
    std::string missing;
    int num_missing = 0;
    for (int rank = 1; rank < num_ranks; ++rank) {
        Result<Piece> piece = read_piece(piece_path(folder, rank));
        if (piece.ok()) {
            set.pieces.push_back(std::move(piece).value());
        } else if (piece.status().code() != ErrorCode::not_found) {
            return piece.status();
        } else if (++num_missing <= 5) {
            missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
        }
    }
    if (num_missing > 0) {
        return incomplete(folder + ": " + std::to_string(num_missing) + " of " + std::to_string(num_ranks) +
                          " pieces are missing (rank " + missing + (num_missing > 5 ? ", …)" : ")"));
    }
    for (int rank = 0; rank < num_ranks; ++rank) {
        const PieceHeader& header = set.pieces[static_cast<std::size_t>(rank)].header;
        bool fits = header.rank == rank && header.num_ranks == num_ranks &&
                    header.step_fingerprint == set.pieces[0].header.step_fingerprint &&
                    header.blocks.size() == set.description.fields.size();
        for (std::size_t f = 0; fits && f < header.blocks.size(); ++f) {
            fits = header.blocks[f].global == set.description.fields[f].global &&
                   header.types[f] == static_cast<std::uint8_t>(set.description.fields[f].type);
        }
        if (!fits) return incomplete(piece_path(folder, rank) + ": the piece is of another step");
    }
    return set;
}

/// One field's blocks, in the pieces of all ranks.
class PieceMembers final : public Members {
  public:
    PieceMembers(const std::vector<Piece>& pieces, std::size_t field)
        : pieces_(pieces),
          field_(field),
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
            if (checksums_[member].value() != pieces_[member].checksums[field_]) {
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
            Result<storage::FilePtr> opened = storage::open_file(piece.path, {});
            if (!opened.ok()) return opened.status();
            // Of very many pieces only some stay open: processes may hold a thousand files, no more.
            storage::FilePtr& place = member < max_open_pieces ? files_[member] : opened_here;
            place = std::move(opened).value();
            file = place.get();
        }
        Result<std::int64_t> read = file->read_at(space, piece.values_bytes[field_] + taken_[member]);
        if (!read.ok()) return read.status();
        return read.value() == std::ssize(space) ? Status() : incomplete(piece.path + ": the piece is torn");
    }

    const std::vector<Piece>& pieces_;
    std::size_t field_;
    std::vector<std::int64_t> taken_;
    std::vector<Checksum> checksums_;
    std::vector<storage::FilePtr> files_;
};

Status write_values(const PieceSet& set, const format::Layout& layout, const std::string& part,
                    std::int64_t buffer_bytes) {
    Result<storage::FilePtr> opened = storage::open_file(part, {.read = false, .write = true});
    if (!opened.ok()) return opened.status();
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(buffer_bytes));
    Status status;
    for (std::size_t f = 0; f < set.description.fields.size() && status.ok(); ++f) {
        std::vector<Block> blocks;
        for (const Piece& piece : set.pieces) blocks.push_back(piece.header.blocks[f]);
        if (find_overlap(blocks)) return incomplete(part + ": blocks of the pieces overlap");
        PieceMembers members(set.pieces, f);
        status = assemble(blocks, format::bytes_of(set.description.fields[f].type), layout.offsets_bytes[f],
                          members, *opened.value(), {buffer.get(), static_cast<std::size_t>(buffer_bytes)});
        if (status.ok()) status = members.check();
    }
    status.keep_first(opened.value()->close());
    return status;
}

std::string file_of(const std::string& folder) {
    return folder.substr(0, folder.size() - std::string_view(".pieces").size());
}

bool is_piece(const fs::path& path) {
    return path.extension() == ".piece";
}

/// When the newest piece was written; nothing where no piece is found.
std::optional<fs::file_time_type> newest_piece(const std::string& folder) {
    std::optional<fs::file_time_type> newest;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        std::error_code unknown;
        const fs::file_time_type time = entry->last_write_time(unknown);
        if (!unknown && is_piece(entry->path()) && (!newest || time > *newest)) newest = time;
    }
    return newest;
}

/// Whether the step's file is of a later run than the pieces.
bool is_file_newer(const std::string& folder) {
    const std::optional<fs::file_time_type> newest = newest_piece(folder);
    std::error_code error;
    const fs::file_time_type time = fs::last_write_time(file_of(folder), error);
    return newest && !error && time > *newest;
}

/// Removes a folder of pieces that are in their file, and nothing else that somebody put into it.
Status remove_gathered(const std::string& folder) {
    std::error_code error;
    std::vector<std::string> pieces;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        if (is_piece(entry->path())) pieces.push_back(entry->path().string());
    }
    if (error == std::errc::no_such_file_or_directory) return {};
    for (const std::string& piece : pieces) {
        if (Status removed = storage::remove_file(piece); !removed.ok()) return removed;
    }
    if (!error) fs::remove(folder, error);
    return error ? status_of_errno(error.value(), "cannot remove folder", folder) : Status();
}

Status make_file(const std::string& folder, std::int64_t buffer_bytes, bool sync) {
    const std::string gathered = folder + std::string(gathered_suffix);
    std::error_code ignored;
    const bool is_left_over = fs::exists(gathered, ignored);
    if (Status status = remove_gathered(gathered); !status.ok()) return status;
    if (is_left_over && !fs::exists(folder, ignored)) return {};
    Result<PieceSet> set = read_set(folder);
    if (!set.ok()) return set.status();
    const std::string path = file_of(folder);
    const std::string part = part_path(path);
    Result<format::Layout> layout = format::lay_out_netcdf4(set.value().description);
    if (!layout.ok()) return layout.status();
    if (Status status = check_free(path); !status.ok()) return status;
    Status status = create_file(part, layout.value());
    if (status.ok()) status = write_values(set.value(), layout.value(), part, buffer_bytes);
    if (const auto newest = newest_piece(folder); status.ok() && newest) {
        // Where that cannot be, a gathering killed before its last step leaves pieces that the next one only names.
        fs::last_write_time(part, *newest, ignored);
    }
    if (status.ok()) status = finish_file(part, path, sync);
    if (!status.ok()) {
        discard_file(part);
        return status;
    }
    if (Status renamed = storage::rename_file(folder, gathered); !renamed.ok()) return renamed;
    return remove_gathered(gathered);
}

/// The name of the pieces' folder that `path` is, also where it is one that a gathering was killed in removing.
std::optional<std::string> pieces_folder_of(const fs::path& path) {
    std::string name = path.string();
    if (name.ends_with(gathered_suffix)) name.resize(name.size() - gathered_suffix.size());
    std::error_code ignored;
    if (!name.ends_with(folder_suffix) || !fs::is_directory(path, ignored)) return std::nullopt;
    return name;
}

std::vector<std::string> find_folders(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    std::error_code error;
    if (pieces_folder_of(path + std::string(gathered_suffix))) return {path};
    const fs::file_status found = fs::status(path, error);
    if (!fs::exists(found))
        throw Error(ErrorCode::not_found, "cannot gather " + path + ": there is no such folder");
    if (!fs::is_directory(found))
        throw Error(ErrorCode::format, "cannot gather " + path + ": it is not a folder");
    if (const auto folder = pieces_folder_of(path)) return {*folder};
    std::vector<std::string> folders;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
        if (const auto folder = pieces_folder_of(entry->path())) folders.push_back(*folder);
    }
    if (error) status_of_errno(error.value(), "cannot list folder", path).throw_if_error();
    if (folders.empty())
        throw Error(ErrorCode::not_found, "cannot gather " + path + ": no *.nc.pieces folder is in it");
    std::sort(folders.begin(), folders.end());
    folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
    return folders;
}

}  // namespace

Status gather_folder(const std::string& folder, std::int64_t buffer_bytes, bool sync) {
    return guarded("gathering " + folder, [&] { return make_file(folder, buffer_bytes, sync); });
}

}  // namespace output

GatherResult gather_pieces(std::string_view path) {
    constexpr std::int64_t buffer_bytes = 64 << 20;
    GatherResult result;
    for (const std::string& folder : output::find_folders(std::string(path))) {
        if (output::is_file_newer(folder)) {
            result.incomplete.push_back(folder + ": " + output::file_of(folder) +
                                        " is newer than the pieces; move it away to gather them");
            continue;
        }
        // Synced: once the pieces are gone the file is all there is, and nobody is there to run again.
        const Status status = output::gather_folder(folder, buffer_bytes, true);
        if (status.ok()) {
            result.files.push_back(output::file_of(folder));
        } else if (status.code() == ErrorCode::format) {
            result.incomplete.push_back(status.text());
        } else {
            status.throw_if_error();
        }
    }
    return result;
}

}  // namespace hakobi
