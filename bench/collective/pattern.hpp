#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "region/region.hpp"

namespace hakobi::bench {

/// How a file is divided among ranks. The array is cut to a size that the pattern can have; `file_bytes` says
/// which.
struct Pattern {
    std::string name;
    std::int64_t file_bytes = 0;
    std::int64_t piece_bytes = 0;  ///< contiguous in the file, of the largest rank
    std::string shape;             ///< for people: "320 x 320 x 320 doubles in 2 x 2 x 2 blocks"
    std::vector<Region> files;     ///< one a rank; together they tile the file
    /// For the MPI library: this rank's file view as a subarray of `global` elements of `element_bytes`; the
    /// cyclic pattern has two dimensions, rounds by pieces.
    std::vector<std::int64_t> global, start, count;
    std::int64_t element_bytes = 1;
};

/// block3d: doubles, cubes of ranks as MPI_Dims_create has them; tile2d: doubles; cyclic: pieces of
/// `piece_bytes` dealt in turn; lattice4d: sites of 192 bytes (a colour spinor of double complex) in 4-D
/// blocks; contiguous. `bytes` is what the file should about have.
Result<Pattern> make_pattern(std::string_view name, std::int64_t bytes, std::int64_t piece_bytes,
                             int num_ranks, int rank);
[[nodiscard]] std::span<const std::string_view> pattern_names();

/// The value of the file's byte at `offset` in the file of sample number `seed`: every byte can be told where
/// it is from.
void fill_expected(std::span<std::byte> bytes, std::int64_t offset, int seed);
/// Index of the first byte that is not as expected, or -1.
[[nodiscard]] std::int64_t first_wrong(std::span<const std::byte> bytes, std::int64_t offset, int seed);

}  // namespace hakobi::bench
