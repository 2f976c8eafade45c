#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "site.hpp"

namespace hakobi::bench {

/// A part of a field of doubles and its place in a buffer; all in values.
struct PackRegion {
    std::uint32_t offset = 0, in_buffer = 0, num_values = 0;
    std::uint32_t row_length = 0, num_rows = 0;  ///< of a plane
    std::uint32_t row_stride = 0, plane_stride = 0;
    std::uint32_t unused = 0;  ///< the kernel reads four of these numbers at a time
};

/// Kernels of our own that pack all regions at once, as the codes of the field have them: CUDA's, compiled by
/// the driver.
class PackKernel {
  public:
    /// unsupported where the driver cannot compile it: HIP's, and the tests' own.
    [[nodiscard]] static Result<std::unique_ptr<PackKernel>> make(DeviceSite& site,
                                                                  const std::vector<PackRegion>& regions);
    /// Both begin in the default stream's order and return at once.
    Status pack(double* field, double* buffer) { return launch(pack_, field, buffer); }
    Status unpack(double* field, double* buffer) { return launch(unpack_, field, buffer); }

  private:
    using Launch = int(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                       unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                       void* stream, void** arguments, void** extra);
    PackKernel(device::Buffer regions, unsigned num_regions)
        : regions_(std::move(regions)), num_regions_(num_regions) {}
    Status launch(void* kernel, double* field, double* buffer);

    device::Buffer regions_;
    unsigned num_regions_;
    Launch* launch_ = nullptr;
    void *pack_ = nullptr, *unpack_ = nullptr;
};

}  // namespace hakobi::bench
