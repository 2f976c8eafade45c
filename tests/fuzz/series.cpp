// Small files of a series that a killed run, or somebody else, has left: the marker of a stage, receipts, a
// commit, a journal of overviews; and names. The first byte says which. Checksums are made right, since the
// readers behind them must withstand bytes that they would keep out.
#include <cstring>

#include "base/checksum.hpp"
#include "base/crc.hpp"
#include "input.hpp"
#include "overview/container.hpp"
#include "overview/journal.hpp"
#include "series/names.hpp"
#include "series/pending_commit.hpp"
#include "series/receipts.hpp"
#include "series/stage.hpp"

using namespace hakobi;

namespace {

constexpr std::uint64_t token = 0xfeed;
constexpr std::int64_t block_bytes = 4096;

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t at, const T& value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

void read_marker(const fuzz::Folder& folder, std::span<const std::byte> bytes) {
    folder.write("run.staged", bytes);
    const Result<std::optional<series::Marker>> marker = series::read_marker(folder.path_of("run"));
    if (marker.ok()) fuzz::require(marker.value() && !marker.value()->folder.empty());
}

/// Blocks of receipts behind up to a block of values: each of the fuzzer's numbers, and sealed.
void read_receipts(const fuzz::Folder& folder, fuzz::Input input) {
    const std::string path = series::part_path(folder.path_of("run_000003.nc"), token);
    std::vector<std::byte> file(block_bytes * input.take<std::uint8_t>() / 128);
    file.resize((file.size() + block_bytes - 1) / block_bytes * block_bytes);
    for (int num = 0; num < 4 && !input.empty(); ++num) {
        std::vector<std::byte> block(block_bytes);
        std::memcpy(block.data(), "hkbstrd1", 8);
        put(block, 8, token);
        for (const std::size_t at : {16, 24, 32}) put(block, at, input.take<std::int64_t>());
        put(block, 40, checksum_of(std::span(block).first(40)));
        file.insert(file.end(), block.begin(), block.end());
    }
    folder.write("run_000003.nc.000000000000feed.part", file);
    const Result<series::Receipts> receipts = series::read_receipts(path);
    if (!receipts.ok() || receipts.value().num_writers == 0) return;
    // The file is cut to what they say, never made longer.
    fuzz::require(receipts.value().file_bytes >= 0 && receipts.value().file_bytes <= std::ssize(file) &&
                  receipts.value().num_stored <= receipts.value().num_writers);
    series::FileNames names{.part = path,
                            .whole = series::whole_path(path),
                            .path = folder.path_of("run_000003.nc"),
                            .file_bytes = receipts.value().file_bytes};
    series::FileState state = series::state_of(series::parse(path), receipts.value());
    if (state == series::FileState::stored)
        fuzz::require(series::advance(names, state, series::FileState::named).ok());
}

void read_commit(const fuzz::Folder& folder, std::span<const std::byte> bytes) {
    std::vector<std::byte> file(24);
    std::memcpy(file.data(), "hakcomm1", 8);
    put(file, 8, std::ssize(bytes));
    put(file, 16, checksum_of(bytes));
    file.insert(file.end(), bytes.begin(), bytes.end());
    folder.write("run_000004.nc.commit.000000000000feed.part", file);
    const Result<series::PendingCommit> pending =
        series::read_pending_commit(folder.path_of("run_000004.nc.commit.000000000000feed.part"));
    if (!pending.ok()) return;
    fuzz::require(pending.value().name.find('/') == std::string::npos &&
                  pending.value().part_name.find('/') == std::string::npos);
    std::vector<std::byte> before(200, std::byte{7});
    folder.write("run_000000.nc", before);
    (void)series::carry_out(pending.value(), folder.path_of("."));
}

void read_journal(const fuzz::Folder& folder, fuzz::Input input) {
    const std::string head = "head\n";
    std::vector<std::byte> file;
    file.insert(file.end(), overview::bytes_of(head).begin(), overview::bytes_of(head).end());
    while (!input.empty()) {
        const auto record = input.take_bytes(input.take<std::uint16_t>());
        const std::size_t at = file.size();
        file.resize(at + 12);
        put(file, at, crc32(record));
        put(file, at + 4, std::uint64_t{record.size()});
        file.insert(file.end(), record.begin(), record.end());
    }
    folder.write("journal", file);
    overview::Journal journal;
    (void)journal.open(folder.path_of("journal"), "head");
    (void)journal.find("key");
}

void read_name(std::string_view text) {
    const series::Name name = series::parse(text);
    if (name.kind == series::Kind::step && name.form == series::Name::Form::final)
        fuzz::require(series::step_path(name.prefix, name.step, name.extension) == text);
    (void)series::parse(text, "run");
    (void)series::parse(text, text.substr(0, text.size() / 2));
    (void)series::series_on_stage(std::string(text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const fuzz::Folder folder;
    folder.empty();
    fuzz::Input input(data, size);
    switch (input.take<std::uint8_t>() % 5) {
        case 0:
            read_marker(folder, input.bytes());
            break;
        case 1:
            read_receipts(folder, input);
            break;
        case 2:
            read_commit(folder, input.bytes());
            break;
        case 3:
            read_journal(folder, input);
            break;
        default:
            read_name(input.text());
    }
    return 0;
}
