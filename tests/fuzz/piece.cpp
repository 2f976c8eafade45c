// A piece file: its header alone, and the whole file.
#include "output/piece.hpp"

#include "input.hpp"

using namespace hakobi;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = fuzz::Input(data, size).bytes();
    if (const auto header = output::decode_header(bytes); header.ok()) {
        // Regions are kept in their shortest form: what is written again need not be the bytes that were read.
        const auto once = output::encode_header(header.value());
        const auto again = output::decode_header(once);
        fuzz::require(again.ok() && output::encode_header(again.value()) == once);
    }
    const fuzz::FileOf file(bytes);
    const Result<output::Piece> piece = output::read_piece(file.path());
    if (!piece.ok()) return 0;
    for (std::size_t f = 0; f < piece.value().header.regions.size(); ++f)
        fuzz::require(piece.value().values_bytes[f] <= static_cast<std::int64_t>(size));
    return 0;
}
