#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <string>
#include <utility>

#include "device/buffer.hpp"
#include "device/device.hpp"
#include "device/pinned.hpp"
#include "mpi/agree.hpp"

namespace hakobi::bench {

/// Ends all ranks when a driver fails in the middle: the others wait for this one.
void must(const Status& status);
template <class T>
[[nodiscard]] T must(Result<T> result) {
    must(result.status());
    return std::move(result).value();
}

/// The value, or the error of any rank on all of them. Collective.
template <class T>
[[nodiscard]] T agreed(const Comm& comm, Result<T> result) {
    mpi::agree_or_throw(comm, result.ok() ? Status() : result.status());
    return std::move(result).value();
}

/// Page-locked memory of the host.
class LockedArray {
  public:
    /// An error where the driver does not lock it: copies would be slower, and the figures wrong.
    [[nodiscard]] static Result<LockedArray> make(device::Device& device, std::int64_t bytes);
    [[nodiscard]] std::byte* data() const { return memory_.data(); }
    template <class T>
    [[nodiscard]] T* as() const {
        return reinterpret_cast<T*>(memory_.data());
    }

  private:
    explicit LockedArray(device::Pinned memory) : memory_(std::move(memory)) {}
    device::Pinned memory_;
};

/// This rank's device: number (rank on its node) modulo their number. Collective; not_found alike on all
/// ranks where one has none, with what the drivers say.
[[nodiscard]] device::Device& own_device(const Comm& comm);

}  // namespace hakobi::bench
