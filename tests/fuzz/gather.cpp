// A folder of pieces, gathered. The input is a step's description and the ranks' blocks; lengths and
// checksums are set right here, so that the fuzzer comes to what lies behind them.
#include "series/gather.hpp"

#include <filesystem>
#include <hakobi/error.hpp>
#include <hakobi/output.hpp>

#include "format/netcdf4/netcdf4.hpp"
#include "input.hpp"
#include "series/piece.hpp"

using namespace hakobi;
namespace fs = std::filesystem;

namespace {

/// One folder for the process's whole life.
struct Folder {
    std::string path;
    Folder() {
        std::string name = (fs::temp_directory_path() / "hakobi_fuzz_XXXXXX").string();
        fuzz::require(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Folder() { fs::remove_all(path); }
};

/// A block of the field's array where the input's bits say so, of anything otherwise.
Block block_of(const std::vector<std::int64_t>& global, fuzz::Input& input) {
    Block block{.global = global, .start = {}, .count = {}};
    const bool is_wild = input.take<std::uint8_t>() == 255;
    if (is_wild && !global.empty()) block.global[0] = input.take<std::int64_t>();
    for (std::size_t d = 0; d < global.size(); ++d) {
        block.start.push_back(is_wild ? input.take<std::int64_t>() : input.take<std::uint8_t>());
        block.count.push_back(is_wild ? input.take<std::int64_t>() : input.take<std::uint8_t>());
    }
    return block;
}

void write_piece(const std::string& path, const format::StepDescription& description, int rank, int num_ranks,
                 fuzz::Input& input) {
    constexpr std::int64_t most_bytes = 1 << 16;
    static const std::vector<std::byte> values(most_bytes);
    series::Step step;
    step.description = description;
    if (format::check_description(description).ok()) {
        if (auto layout = format::netcdf4().lay_out(description); layout.ok()) step.layout = layout.value();
    }
    for (std::size_t f = 0; f < description.fields.size(); ++f) {
        const format::FieldDescription& field = description.fields[f];
        const Block block = block_of(field.global, input);
        const std::int64_t offset = f < step.layout.offsets_bytes.size() ? step.layout.offsets_bytes[f] : 0;
        const Region file =
            Region::subarray(offset, block.global, block.start, block.count, format::bytes_of(field.type));
        const auto address = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(values.data()));
        step.parts.push_back(
            {file, Region::contiguous(address, std::clamp<std::int64_t>(file.size_bytes(), 0, most_bytes))});
    }
    fuzz::require(series::write_piece(path, step, rank, num_ranks, false).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const auto claimed_ranks = input.take<std::int8_t>();
    const auto description = format::decode_step(input.take_bytes(input.take<std::uint16_t>()));
    if (!description.ok()) return 0;
    static const Folder folder;
    const std::string path = folder.path + "/run_000000.nc";
    const std::string pieces = series::pieces_folder(path);
    fs::create_directory(pieces);
    int rank = 0;
    do {
        write_piece(series::piece_path(pieces, rank), description.value(), rank, claimed_ranks, input);
    } while (++rank < std::min<int>(claimed_ranks, 4));
    GatherResult result;
    try {
        result = gather_pieces(folder.path);
        fuzz::require(result.files.size() + result.incomplete.size() == 1);
    } catch (const Error& error) {
        // A step may be larger than this file system's files, or than memory; nothing else throws.
        fuzz::require(error.code() == ErrorCode::no_space || error.code() == ErrorCode::out_of_memory);
    }
    fuzz::require(fs::exists(path) == !result.files.empty());
    for (const auto& entry : fs::directory_iterator(folder.path)) {
        const fs::path extension = entry.path().extension();
        fuzz::require(extension != ".part" && extension != ".whole");
        fs::remove_all(entry.path());
    }
    return 0;
}
