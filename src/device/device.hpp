#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <hakobi/device.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hakobi::device {

/// A copy between a device's memory and the host's or itself: `num[0]` times `num[1]` runs of `length_bytes`.
/// Each side has a distance between neighbouring runs, one a dimension, slowest first. Distances are not
/// negative; a run lies in one allocation of a device, and all of them may be in several. Either address may
/// be of host memory, which should be page-locked: otherwise the driver waits for the copy.
struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::int64_t length_bytes = 0;
    std::array<std::int64_t, 2> num{1, 1}, to_strides_bytes{0, 0}, from_strides_bytes{0, 0};
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return num[0] * num[1] * length_bytes; }
};

/// Copies that are given together, again and again: in one launch of a kernel where that is faster. No copy
/// reads or writes what another one writes, since they run in no order or at once. When it ends, no queue may
/// have it still to do.
class CopyList {
  public:
    virtual ~CopyList() = default;
};

/// A point in a queue.
class Mark {
  public:
    virtual ~Mark() = default;
    /// Whether everything before the point is done. An error is that of the work before it.
    [[nodiscard]] virtual Result<bool> is_over() = 0;
};

/// A stream of Hakobi's own on one device. Copies begin in their order, while the program goes on. For one
/// thread. Its end waits for everything.
class Queue {
  public:
    virtual ~Queue() = default;
    /// Work given to this queue from here on begins when all that `stream` holds now is done. Does not wait
    /// itself. Fails with invalid_argument for a stream of another device.
    virtual Status begin_after(DeviceStream stream) = 0;
    /// Work given to `stream` from here on begins when all that this queue holds now is done. Does not wait
    /// itself.
    virtual Status hold_back(DeviceStream stream) = 0;
    /// Gives a copy. It has been done when `finish` or a later mark says so, or an error of theirs says why
    /// not.
    virtual Status start(const Copy& copy) = 0;
    /// The same with all copies of a list, which is of this queue's device.
    virtual Status start(const CopyList& list) = 0;
    virtual Result<std::unique_ptr<Mark>> mark() = 0;
    /// Waits for everything.
    virtual Status finish() = 0;
};

/// The plain bytes by which another process of the node maps an allocation of this one.
struct SharedHandle {
    std::array<std::byte, 64> bytes{};
    std::int64_t offset_bytes = 0;  ///< from the allocation's begin to the address that was asked for
    int device = 0;                 ///< number in the process that shares it; see Device::uuid
};

/// One device of one driver. Stays as long as the process. Thread-safe.
class Device {
  public:
    virtual ~Device() = default;
    [[nodiscard]] virtual int number() const = 0;  ///< among the driver's, as this process counts
    [[nodiscard]] virtual std::string_view driver() const = 0;  ///< "CUDA" or "HIP"
    [[nodiscard]] virtual std::string text() const = 0;         ///< "CUDA device 0 (NVIDIA H100 80GB HBM3)"
    [[nodiscard]] virtual std::array<std::byte, 16> uuid() const = 0;  ///< the same in every process
    [[nodiscard]] virtual Result<std::unique_ptr<Queue>> make_queue() = 0;
    /// Looks now at what the copies' memory is, which has to stay. Waits for the device.
    [[nodiscard]] virtual Result<std::unique_ptr<CopyList>> prepare(std::span<const Copy> copies) = 0;

    /// Device memory of Hakobi's own. out_of_memory.
    [[nodiscard]] virtual Result<std::byte*> allocate(std::int64_t bytes) = 0;
    virtual void release(std::byte* memory) noexcept = 0;
    /// Locks the pages of host memory, so that copies to and from it do not wait. Memory that is locked
    /// already is no error.
    virtual Status lock_pages(std::byte* memory, std::int64_t bytes) = 0;
    virtual void unlock_pages(std::byte* memory) noexcept = 0;

    /// unsupported where the driver shares no memory of this kind.
    [[nodiscard]] virtual Result<SharedHandle> share(const std::byte* memory) = 0;
    /// The address here of what another process shares. Not one of this process.
    [[nodiscard]] virtual Result<std::byte*> open_shared(const SharedHandle& handle) = 0;
    virtual void close_shared(std::byte* memory) noexcept = 0;
};

/// The device that has [address, address + bytes), or null: host memory. `said` is the caller's word. Cheap
/// where no driver is loaded. invalid_argument for memory that lies only partly in a device's allocation, for
/// an address that `said` calls the device's and no driver knows; unsupported, with both versions, for a
/// driver that is too old. Thread-safe.
Result<Device*> device_of(const void* address, std::int64_t bytes, Memory said = Memory::automatic);

/// All devices of all drivers of this machine. Loads the drivers.
std::vector<Device*> all_devices();
/// The same, and why a driver that is there gives none: "CUDA 10.1: 11.2 is needed".
std::vector<std::string> refused_drivers();

}  // namespace hakobi::device
