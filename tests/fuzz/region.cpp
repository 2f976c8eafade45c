// A region as another process's words: whatever they say, what is valid can be walked, cut and sent on.
#include "region/region.hpp"

#include "input.hpp"
#include "region/cursor.hpp"

using namespace hakobi;

namespace {

constexpr int most_pieces = 2000;

/// Bytes seen and a hash of what was seen, of at most `most_pieces` pieces.
struct Walked {
    std::int64_t bytes = 0;
    std::uint64_t hash = 0;
    bool is_whole = true;
    friend bool operator==(const Walked&, const Walked&) = default;
};

Walked walk(const Region& region) {
    Walked walked;
    int num_pieces = 0;
    for (Cursor cursor(region); !cursor.at_end();) {
        if (++num_pieces > most_pieces) return {.bytes = walked.bytes, .hash = 0, .is_whole = false};
        fuzz::require(cursor.remaining() > 0 && cursor.stream() == walked.bytes);
        fuzz::require(cursor.offset() >= region.begin_bytes() &&
                      cursor.offset() <= region.end_bytes() - cursor.remaining());
        walked.hash = (walked.hash * 31 + static_cast<std::uint64_t>(cursor.offset())) * 31 +
                      static_cast<std::uint64_t>(cursor.remaining());
        walked.bytes += cursor.remaining();
        cursor.advance(cursor.remaining());
    }
    return walked;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const auto part = input.take<std::uint16_t>();
    // A byte a word for small numbers, 127 before a whole word for large ones.
    std::vector<std::int64_t> words;
    while (!input.empty()) {
        const auto small = input.take<std::int8_t>();
        words.push_back(small == 127 ? input.take<std::int64_t>() : small);
    }
    const Region region = Region::from_words(words);
    if (!region.valid()) return 0;
    const Walked walked = walk(region);
    fuzz::require(!walked.is_whole || walked.bytes == region.size_bytes());
    std::vector<std::int64_t> again;
    region.to_words(again);
    fuzz::require(walk(Region::from_words(again)) == walked);
    const std::int64_t from = region.size_bytes() / 65536 * part;
    const Region rest = region.substream(from, region.size_bytes() - from);
    fuzz::require(rest.valid() && rest.size_bytes() == region.size_bytes() - from);
    (void)walk(rest);
    if (region.is_ordered() && !region.empty()) {
        Cursor cursor(region);
        cursor.seek(from);
        if (!cursor.at_end()) fuzz::require(region.bytes_below(cursor.offset()) == from);
    }
    return 0;
}
