// A piece file: its header alone, and the whole file.
#include "series/piece.hpp"

#include "input.hpp"

using namespace hakobi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = fuzz::Input(data, size).bytes();
    if (const auto header = series::decode_header(bytes); header.ok()) {
        // Regions are kept in their shortest form: what is written again need not be the bytes that were
        // read.
        const auto once = series::encode_header(header.value());
        const auto again = series::decode_header(once);
        fuzz::require(again.ok() && series::encode_header(again.value()) == once);
    }
    const fuzz::FileOf file(bytes);
    const Result<series::Piece> piece = series::read_piece(file.path());
    if (!piece.ok()) return 0;
    for (std::size_t f = 0; f < piece.value().header.regions.size(); ++f)
        fuzz::require(piece.value().values_bytes[f] <= static_cast<std::int64_t>(size));
    return 0;
}
