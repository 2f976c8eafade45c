#include "filter/codec.hpp"

#include <libdeflate.h>
#include <zstd.h>
#include <zstd_errors.h>
#ifdef HAKOBI_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

#include <cassert>
#include <cstring>
#include <new>
#include <string>
#include <vector>

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

/// Parameters of zstd in place of the level's own; 0: the level's.
struct ZstdTuning {
    int strategy = 0, hash_log = 0, chain_log = 0, min_match = 0;
};
/// Chunks of floating-point values at zstd's default level (decision 69). The level's own parameters are made
/// for text: two tables that do not stay in a core's caches. Where mantissas are noise, one small table of
/// short matches finds nearly all that there is; where values repeat, two are needed, but smaller ones.
constexpr int zstd_default_level = 3;
constexpr ZstdTuning for_noise{.strategy = ZSTD_fast, .hash_log = 14, .min_match = 4},
    for_repeats{.hash_log = 15, .chain_log = 14};
/// A chunk is noise where samples of it pack to no less than this.
constexpr double least_noise_ratio = 0.3;
constexpr std::size_t sample_bytes = 2048, num_samples = 16;

#ifdef HAKOBI_HAVE_ISAL
/// ISA-L packs what is hard to pack three times as fast as libdeflate at its first level, and 1 % larger;
/// what packs to less than this it leaves 3 to 15 % larger, and libdeflate packs that (decision 69).
constexpr double least_isal_ratio = 0.3;
constexpr int isal_level = 2;

/// The packed size; 0 where there is not enough room.
std::size_t deflate_by_isal(std::span<const std::byte> values, std::span<std::byte> packed,
                            std::vector<std::byte>& work) {
    work.resize(ISAL_DEF_LVL2_DEFAULT);
    isal_zstream stream;
    isal_deflate_stateless_init(&stream);
    stream.level = isal_level;
    stream.level_buf = reinterpret_cast<std::uint8_t*>(work.data());
    stream.level_buf_size = static_cast<std::uint32_t>(work.size());
    stream.gzip_flag = IGZIP_ZLIB;
    // It reads only.
    stream.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(values.data()));
    stream.avail_in = static_cast<std::uint32_t>(values.size());
    stream.next_out = reinterpret_cast<std::uint8_t*>(packed.data());
    stream.avail_out = static_cast<std::uint32_t>(packed.size());
    return isal_deflate_stateless(&stream) == COMP_OK ? stream.total_out : 0;
}
#endif

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
    std::vector<std::byte> shuffled, isal_work, samples;

    /// The packed size; 0 where it does not fit in `room`, which is shorter than the values.
    std::size_t pack(const Filters& filters, Element element, std::span<const std::byte> values,
                     std::span<std::byte> room) {
        return filters.codec == Codec::deflate ? deflate(filters, values, room)
                                               : pack_by_zstd(filters.level, element, values, room);
    }

    std::size_t deflate(const Filters& filters, std::span<const std::byte> values,
                        std::span<std::byte> room) {
#ifdef HAKOBI_HAVE_ISAL
        if (filters.level == 1 && filters.significant_bits == 0) {
            const std::size_t bytes = deflate_by_isal(values, room, isal_work);
            if (bytes == 0 ||
                static_cast<double>(bytes) >= least_isal_ratio * static_cast<double>(values.size()))
                return bytes;
        }
#endif
        if (!deflater || deflater_level != filters.level) {
            deflater.reset(required(libdeflate_alloc_compressor(filters.level)));
            deflater_level = filters.level;
        }
        return libdeflate_zlib_compress(deflater.get(), values.data(), values.size(), room.data(),
                                        room.size());
    }

    std::size_t pack_by_zstd(int level, Element element, std::span<const std::byte> values,
                             std::span<std::byte> room) {
        const bool is_tuned = level == zstd_default_level && element != Element::other;
        if (!is_tuned) return run_zstd(level, {}, values, room);
        return run_zstd(level, is_noise(values, room) ? for_noise : for_repeats, values, room);
    }

    /// Whether pieces from all parts of the chunk, packed together, stay long. Overwrites `room`.
    bool is_noise(std::span<const std::byte> values, std::span<std::byte> room) {
        if (values.size() < 2 * num_samples * sample_bytes) return false;
        samples.clear();
        const std::size_t distance = values.size() / num_samples;
        for (std::size_t i = 0; i < num_samples; ++i) {
            const auto piece = values.subspan(i * distance + (distance - sample_bytes) / 2, sample_bytes);
            samples.insert(samples.end(), piece.begin(), piece.end());
        }
        const std::size_t bytes =
            run_zstd(zstd_default_level, for_noise, samples, room.first(samples.size()));
        return bytes == 0 ||
               static_cast<double>(bytes) >= least_noise_ratio * static_cast<double>(samples.size());
    }

    /// As `pack`, in `room`.
    std::size_t run_zstd(int level, const ZstdTuning& tuning, std::span<const std::byte> values,
                         std::span<std::byte> room) {
        if (!zstd) zstd.reset(required(ZSTD_createCCtx()));
        ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_strategy, tuning.strategy);
        ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_hashLog, tuning.hash_log);
        ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_chainLog, tuning.chain_log);
        ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_minMatch, tuning.min_match);
        const std::size_t bytes =
            ZSTD_compress2(zstd.get(), room.data(), room.size(), values.data(), values.size());
        if (ZSTD_isError(bytes) == 0) return bytes;
        if (ZSTD_getErrorCode(bytes) == ZSTD_error_memory_allocation) throw std::bad_alloc();
        return 0;  // no room in fewer bytes
    }
};

std::int64_t most_encoded_bytes(std::int64_t values_bytes) {
    return values_bytes + blosc_header_bytes;
}

Coder::Coder() : state_(std::make_unique<State>()) {}
Coder::~Coder() = default;
Coder::Coder(Coder&&) noexcept = default;
Coder& Coder::operator=(Coder&&) noexcept = default;

Result<Encoded> Coder::encode(const Filters& filters, Element element, std::int64_t element_bytes,
                              std::span<std::byte> values, std::span<std::byte> room, const void* kept) {
    assert(std::ssize(room) >= most_encoded_bytes(std::ssize(values)));
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
        const bool is_framed = filters.frame == Frame::blosc;
        const std::span<std::byte> packed = room.subspan(is_framed ? blosc_header_bytes : 0);
        std::size_t bytes = state_->pack(filters, element, shuffled, packed.first(values.size() - 1));
        Encoded encoded;
        if (bytes == 0) {
            std::memcpy(packed.data(), shuffled.data(), shuffled.size());
            bytes = shuffled.size();
            if (!is_framed) encoded.skipped = is_shuffled ? 2 : 1;
        }
        if (is_framed) {
            const BloscHeader header = blosc_header(filters.codec, element_bytes, std::ssize(values),
                                                    static_cast<std::int64_t>(bytes));
            std::memcpy(room.data(), header.data(), header.size());
            bytes += header.size();
        }
        encoded.bytes = room.first(bytes);
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
