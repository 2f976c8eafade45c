#include "base/copy_bytes.hpp"

#include <limits>
#include <vector>

#include "base/clock.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace hakobi {
namespace {

constexpr double memory_bytes_s = 5e9;  // of copies between memory and memory: no other need be faster
constexpr std::size_t slow_distance_bytes = 64;  // a destination so little above its source, modulo a page

#if defined(__x86_64__)
double seconds_of_copy(std::byte* to, const std::byte* from, std::int64_t num_bytes) {
    double best_s = std::numeric_limits<double>::max();
    for (int i = 0; i < 4; ++i) {  // the first touches the pages
        void* destination = to;
        const void* source = from;
        auto count = static_cast<std::size_t>(num_bytes);
        const double start_s = now_s();
        asm volatile("rep movsb" : "+D"(destination), "+S"(source), "+c"(count) : : "memory");
        best_s = std::min(best_s, now_s() - start_s);
    }
    return best_s;
}

bool measured_slow() {
    constexpr std::int64_t num_bytes = 128 << 10;
    std::vector<std::byte> source(static_cast<std::size_t>(num_bytes + 2 * page_bytes)),
        target(source.size());
    const std::byte* const from = congruent_with(0, source.data());
    std::byte* const to = congruent_with(0, target.data());
    const double apart_s = seconds_of_copy(to + page_bytes / 2, from, num_bytes);
    const double near_s = seconds_of_copy(to + 16, from, num_bytes);
    return near_s > 2 * apart_s && near_s > num_bytes / memory_bytes_s;
}
#else
bool measured_slow() {
    return false;
}
#endif

}  // namespace

#if defined(__SSE2__)
void copy_past_cache(std::byte* to, const std::byte* from, std::size_t num_bytes) {
    constexpr std::size_t vector_bytes = sizeof(__m128i), line_bytes = 4 * vector_bytes;
    const std::size_t head = std::min(num_bytes, (-reinterpret_cast<std::uintptr_t>(to)) % line_bytes);
    std::memcpy(to, from, head);
    to += head, from += head, num_bytes -= head;
    for (; num_bytes >= line_bytes; to += line_bytes, from += line_bytes, num_bytes -= line_bytes) {
        __m128i line[4];
        std::memcpy(line, from, line_bytes);
        for (std::size_t i = 0; i < 4; ++i) _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, line[i]);
    }
    std::memcpy(to, from, num_bytes);
    _mm_sfence();  // before any other store tells another thread that the bytes are there
}
#else
void copy_past_cache(std::byte* to, const std::byte* from, std::size_t num_bytes) {
    copy_bytes(to, from, num_bytes);
}
#endif

bool is_slow_copy(std::size_t to_address, std::size_t from_address) {
    const std::size_t distance = (to_address - from_address) % static_cast<std::size_t>(page_bytes);
    if (distance == 0 || distance >= slow_distance_bytes) return false;
    static const bool is_slow = measured_slow();
    return is_slow;
}

}  // namespace hakobi
