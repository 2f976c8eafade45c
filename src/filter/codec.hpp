#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "filter/filters.hpp"

namespace hakobi::filter {

/// The type of a chunk's values, as far as filters distinguish it.
enum class Element : std::uint8_t { other, float32, float64 };

/// A chunk as it is stored.
struct Encoded {
    std::span<const std::byte> bytes;  ///< in the room that `encode` got
    /// One bit a filter of the chunk's, the first lowest, that was left out; 0: none. A codec is, where it
    /// saves nothing.
    std::uint32_t skipped = 0;
};

/// How much room `Coder::encode` needs for a chunk.
[[nodiscard]] std::int64_t most_encoded_bytes(std::int64_t values_bytes);

/// Turns chunks into what is stored, and back; keeps the codecs' memory from chunk to chunk. Equal values
/// give equal bytes. One thread at a time.
class Coder {
  public:
    Coder();
    ~Coder();
    Coder(Coder&&) noexcept;
    Coder& operator=(Coder&&) noexcept;

    /// `values` are rounded in place, but for those that equal `kept`, one value or nullptr. `room` has at
    /// least most_encoded_bytes, all of which may be overwritten. out_of_memory.
    Result<Encoded> encode(const Filters& filters, Element element, std::int64_t element_bytes,
                           std::span<std::byte> values, std::span<std::byte> room,
                           const void* kept = nullptr);
    /// The codec alone: `packed` becomes all of `values`. format where it does not.
    Status unpack(Codec codec, std::span<const std::byte> packed, std::span<std::byte> values);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace hakobi::filter
