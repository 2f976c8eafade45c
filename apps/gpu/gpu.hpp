#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/device.hpp>
#include <memory>
#include <string>

namespace hakobi::apps {

/// A GPU with one stream, by its driver: CUDA's or HIP's, which is loaded when it is asked for. A program
/// written for one of them has these calls from that driver's headers.
class Gpu {
  public:
    /// This rank's: number (rank on its node) modulo their number. Collective over `comm`; throws not_found,
    /// alike on all ranks, where one has none.
    [[nodiscard]] static std::shared_ptr<Gpu> open(const Comm& comm);
    virtual ~Gpu() = default;

    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual DeviceStream stream() const = 0;
    /// Memory of the GPU, released with its last owner. Collective over `comm`; throws out_of_memory alike on
    /// all ranks.
    [[nodiscard]] std::shared_ptr<std::byte> allocate(const Comm& comm, std::int64_t bytes);

    /// Copies in the stream's order, to or from memory of the host. A failure ends the program: other ranks
    /// wait for this one.
    virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
    /// Waits for all that the stream holds.
    virtual void synchronize() = 0;

  protected:
    virtual std::byte* try_allocate(std::int64_t bytes) noexcept = 0;  ///< null: there is no memory left
    virtual void release(std::byte* memory) noexcept = 0;

  private:
    std::weak_ptr<Gpu> self_;  ///< memory keeps its GPU
};

}  // namespace hakobi::apps
