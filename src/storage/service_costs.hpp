#pragma once

#include <array>
#include <cstdint>

namespace hakobi::storage {

/// The costs of accesses on one storage, learnt from those that were made: each access `access_s`, and each
/// of its bytes `byte_s`, reading and writing apart. Least squares of relative errors, in which older
/// accesses count less and less. Accesses of one length alone cannot tell the two apart: a guess does until
/// others come. Pure; not thread-safe.
class ServiceCosts {
  public:
    struct Cost {
        double access_s = 0, byte_s = 0;
        [[nodiscard]] double of(double num_accesses, double num_bytes) const noexcept {
            return num_accesses * access_s + num_bytes * byte_s;
        }
    };
    /// `num_accesses` of together `num_bytes`, made by one thread one after the other in `seconds`.
    void completed(bool is_write, std::int64_t num_accesses, std::int64_t num_bytes, double seconds);
    /// `is_from_memory`: the storage is known to serve from memory, which changes the guess.
    [[nodiscard]] Cost of(bool is_write, bool is_from_memory) const;

  private:
    struct Sums {
        double nn = 0, nb = 0, bb = 0, n = 0, b = 0;
    };
    std::array<Sums, 2> sums_;  // reading, writing
};

}  // namespace hakobi::storage
