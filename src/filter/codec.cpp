#include "filter/codec.hpp"

#include <libdeflate.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <new>
#include <string>

#include "filter/blosc.hpp"
#include "filter/round.hpp"
#include "filter/shuffle.hpp"

namespace hakobi::filter {
namespace {

template <class Value>
std::span<Value> as_values(std::span<std::byte> bytes) {
    return {reinterpret_cast<Value*>(bytes.data()), bytes.size() / sizeof(Value)};
}

template <auto function>
struct Deleter {
    template <class T>
    void operator()(T* pointer) const {
        function(pointer);
    }
};

template <class T>
T* required(T* pointer) {
    if (pointer == nullptr) throw std::bad_alloc();
    return pointer;
}

}  // namespace

struct Coder::State {
    std::unique_ptr<libdeflate_compressor, Deleter<libdeflate_free_compressor>> deflater;
    int deflater_level = 0;
    std::unique_ptr<libdeflate_decompressor, Deleter<libdeflate_free_decompressor>> inflater;
    std::unique_ptr<ZSTD_CCtx, Deleter<ZSTD_freeCCtx>> zstd;
    std::unique_ptr<ZSTD_DCtx, Deleter<ZSTD_freeDCtx>> unzstd;
    std::vector<std::byte> shuffled, packed;

    /// The packed size; 0 where it is not less than the size before.
    std::size_t pack(const Filters& filters, std::span<const std::byte> values) {
        if (packed.size() < values.size()) packed.resize(values.size());
        if (filters.codec == Codec::deflate) {
            if (!deflater || deflater_level != filters.level) {
                deflater.reset(required(libdeflate_alloc_compressor(filters.level)));
                deflater_level = filters.level;
            }
            return libdeflate_zlib_compress(deflater.get(), values.data(), values.size(), packed.data(),
                                            values.size() - 1);
        }
        if (!zstd) zstd.reset(required(ZSTD_createCCtx()));
        const std::size_t bytes = ZSTD_compressCCtx(zstd.get(), packed.data(), values.size() - 1,
                                                    values.data(), values.size(), filters.level);
        if (ZSTD_isError(bytes) == 0) return bytes;
        if (ZSTD_getErrorCode(bytes) == ZSTD_error_memory_allocation) throw std::bad_alloc();
        return 0;  // no room in fewer bytes
    }
};

Coder::Coder() : state_(std::make_unique<State>()) {}
Coder::~Coder() = default;
Coder::Coder(Coder&&) noexcept = default;
Coder& Coder::operator=(Coder&&) noexcept = default;

Result<Encoded> Coder::encode(const Filters& filters, Element element, std::int64_t element_bytes,
                              std::span<std::byte> values, const void* kept) {
    try {
        if (filters.significant_bits > 0 && element == Element::float64)
            round_bits(as_values<double>(values), filters.significant_bits, static_cast<const double*>(kept));
        if (filters.significant_bits > 0 && element == Element::float32)
            round_bits(as_values<float>(values), filters.significant_bits, static_cast<const float*>(kept));
        std::span<const std::byte> shuffled = values;
        const bool is_shuffled = element_bytes > 1;
        if (is_shuffled) {
            if (state_->shuffled.size() < values.size()) state_->shuffled.resize(values.size());
            shuffle(values, element_bytes, std::span(state_->shuffled).first(values.size()));
            shuffled = std::span(state_->shuffled).first(values.size());
        }
        Encoded encoded;
        const std::size_t bytes = state_->pack(filters, shuffled);
        if (bytes > 0) shuffled = std::span(state_->packed).first(bytes);
        if (bytes == 0) encoded.skipped = is_shuffled ? 2 : 1;
        if (filters.frame == Frame::blosc) {
            const BloscHeader header =
                blosc_header(filters.codec, element_bytes, std::ssize(values), std::ssize(shuffled));
            encoded.bytes.assign(header.begin(), header.end());
            encoded.skipped = 0;
        }
        encoded.bytes.insert(encoded.bytes.end(), shuffled.begin(), shuffled.end());
        return encoded;
    } catch (const std::bad_alloc&) {
        return Status(ErrorCode::out_of_memory, "packing a chunk: no memory");
    }
}

Status Coder::unpack(Codec codec, std::span<const std::byte> packed, std::span<std::byte> values) {
    const auto damaged = [](const char* what) {
        return Status(ErrorCode::format, std::string("a chunk is damaged: ") + what);
    };
    if (codec == Codec::deflate) {
        if (!state_->inflater) state_->inflater.reset(libdeflate_alloc_decompressor());
        if (!state_->inflater) return {ErrorCode::out_of_memory, "unpacking a chunk: no memory"};
        const libdeflate_result result = libdeflate_zlib_decompress(
            state_->inflater.get(), packed.data(), packed.size(), values.data(), values.size(), nullptr);
        return result == LIBDEFLATE_SUCCESS ? Status() : damaged("not as deflate packs its size");
    }
    if (!state_->unzstd) state_->unzstd.reset(ZSTD_createDCtx());
    if (!state_->unzstd) return {ErrorCode::out_of_memory, "unpacking a chunk: no memory"};
    const std::size_t bytes =
        ZSTD_decompressDCtx(state_->unzstd.get(), values.data(), values.size(), packed.data(), packed.size());
    if (ZSTD_isError(bytes) != 0) return damaged(ZSTD_getErrorName(bytes));
    return bytes == values.size() ? Status() : damaged("not as zstd packs its size");
}

}  // namespace hakobi::filter
