// Readers of a field store for bytes that others may have written: indexes, the catalogue, schemas, requests,
// keys. The first byte says which. Checksums are made right, since the readers behind them must withstand
// bytes that they would keep out.
#include <cstring>
#include <string_view>

#include "base/checksum.hpp"
#include "store/consolidated.hpp"
#include "store/format.hpp"
#include "store/request.hpp"

using namespace hakobi;

namespace {

void read_commit(std::span<const std::byte> bytes) {
    const auto groups = store::decode_commit(bytes);
    if (!groups.ok()) return;
    store::Catalogue catalogue;
    catalogue.files.emplace_back();
    for (const store::GroupRows& rows : groups.value()) store::add_rows(catalogue, rows, 0, 1, {});
    catalogue.sort();
    store::Catalogue again;
    if (!store::decode_consolidated(store::encode_consolidated(catalogue), again).ok()) __builtin_trap();
    if (again.num_rows() != catalogue.num_rows()) __builtin_trap();
}

void read_consolidated(std::span<const std::byte> bytes) {
    if (bytes.size() < 24) return;
    std::vector<std::byte> sealed(bytes.begin(), bytes.end());
    const std::uint64_t checksum = checksum_of(std::span(sealed).subspan(16));
    std::memcpy(sealed.data() + 8, &checksum, sizeof checksum);
    store::Catalogue catalogue;
    if (!store::decode_consolidated(sealed, catalogue).ok()) return;
    catalogue.sort();
}

void read_schema(std::string_view text) {
    const auto schema = store::Schema::parse(text, "schema");
    if (!schema.ok()) return;
    store::SplitKey split;
    (void)schema.value().split(Key{{"class", "od"}, {"step", "1"}}, split);
}

void read_request(std::string_view text) {
    static const store::Schema schema =
        store::Schema::parse(store::shipped_schema("weather"), "weather").value();
    try {
        const store::Request request(text, schema);
        store::Catalogue catalogue;
        (void)request.check_values(catalogue);
    } catch (const Error&) {
    }
    try {
        store::SplitKey split;
        (void)schema.split(Key::parse(text), split);
    } catch (const Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data + 1), size - 1);
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    switch (data[0] % 6) {
        case 0:
            (void)store::decode_header(bytes);
            (void)store::scan_log(bytes, 0, 1,
                                  [](const store::Record& record) { read_commit(record.payload); });
            break;
        case 1:
            read_commit(bytes);
            break;
        case 2:
            (void)store::decode_wipe(bytes);
            break;
        case 3:
            read_consolidated(bytes);
            break;
        case 4:
            read_schema(text);
            break;
        default:
            read_request(text);
    }
    return 0;
}
