#include "filter/blosc.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "filter/shuffle.hpp"

namespace hakobi::filter {
namespace {

constexpr std::uint8_t format_version = 2, codec_version = 1;
constexpr std::uint8_t is_shuffled = 1, is_copied = 2, is_bit_shuffled = 4, is_not_split = 16;
constexpr std::uint8_t zlib = 3, zstd = 4;  // in the flags' three highest bits
constexpr std::int32_t block_begin = 20;

struct Header {
    std::uint8_t version = format_version, codec_version = filter::codec_version, flags = 0,
                 element_bytes = 1;
    std::int32_t values_bytes = 0, block_bytes = 0, chunk_bytes = 0;
    std::int32_t block_begin = filter::block_begin, packed_bytes = 0;
};
static_assert(sizeof(Header) == blosc_header_bytes);

}  // namespace

BloscHeader blosc_header(Codec codec, std::int64_t element_bytes, std::int64_t values_bytes,
                         std::int64_t packed_bytes) {
    Header header;
    const unsigned number = codec == Codec::zstd ? zstd : zlib;
    header.flags =
        static_cast<std::uint8_t>((number << 5U) | is_not_split | (element_bytes > 1 ? is_shuffled : 0U));
    header.element_bytes = static_cast<std::uint8_t>(element_bytes);
    header.values_bytes = header.block_bytes = static_cast<std::int32_t>(values_bytes);
    header.packed_bytes = static_cast<std::int32_t>(packed_bytes);
    header.chunk_bytes = static_cast<std::int32_t>(packed_bytes + blosc_header_bytes);
    BloscHeader bytes;
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

Status unpack_blosc(Coder& coder, std::int64_t element_bytes, std::span<const std::byte> chunk,
                    std::span<std::byte> values) {
    const auto damaged = [](const char* how) {
        return Status(ErrorCode::format, std::string("a chunk is damaged: ") + how);
    };
    Header header;
    if (chunk.size() < sizeof header) return damaged("shorter than Blosc's header");
    std::memcpy(&header, chunk.data(), sizeof header);
    if (header.version != format_version || header.chunk_bytes != std::ssize(chunk))
        return damaged("its header is not Blosc's");
    if (header.values_bytes != std::ssize(values)) return damaged("it holds another number of values");
    if (header.element_bytes != element_bytes) return damaged("its values are of another size");
    const unsigned number = static_cast<unsigned>(header.flags) >> 5U;
    const bool is_ours = header.block_bytes == header.values_bytes && header.block_begin == block_begin &&
                         (header.flags & (is_copied | is_bit_shuffled)) == 0 &&
                         (header.flags & is_not_split) != 0 && (number == zlib || number == zstd);
    if (!is_ours) {
        return {ErrorCode::unsupported,
                "a chunk is packed otherwise than Hakobi's: a Zarr library can read it"};
    }
    const std::span<const std::byte> packed = chunk.subspan(sizeof header);
    if (header.packed_bytes != std::ssize(packed)) return damaged("its block has another size");
    const bool shuffled = (header.flags & is_shuffled) != 0;
    std::vector<std::byte> between(shuffled ? values.size() : 0);
    const std::span<std::byte> unpacked = shuffled ? std::span(between) : values;
    if (packed.size() == values.size()) {
        std::memcpy(unpacked.data(), packed.data(), packed.size());
    } else {
        const Codec codec = number == zstd ? Codec::zstd : Codec::deflate;
        if (Status status = coder.unpack(codec, packed, unpacked); !status.ok()) return status;
    }
    if (shuffled) unshuffle(unpacked, header.element_bytes, values);
    return {};
}

}  // namespace hakobi::filter
