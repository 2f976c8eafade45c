#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace hakobi {

/// XXH3, 64 bits; equal bytes give equal values on every machine.
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> bytes, std::uint64_t seed = 0);

/// The same of bytes that come in parts.
class Checksum {
  public:
    Checksum();
    Checksum(Checksum&&) noexcept;
    ~Checksum();
    void reset();
    void add(std::span<const std::byte> bytes);
    [[nodiscard]] std::uint64_t value() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace hakobi
