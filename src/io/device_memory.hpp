#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/device.hpp>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "device/device.hpp"
#include "device/joined_copy.hpp"
#include "device/pinned.hpp"
#include "region/copy.hpp"

namespace hakobi::io {

/// The memory of one device that a rank's requests reach, and the queue by which it is copied. One object
/// serves an Output or an Input from call to call; without a device it is empty and costs nothing. Local, for
/// one thread.
///
///  1. `add` asks the drivers whose memory an array is, and has the queue begin after what the program's
///     stream holds then.
///  2. Walks through regions (region/copy.hpp) give series of runs. `take` takes those with a side in such an
///     array, joins neighbours to copies of up to three dimensions, and gives them to the queue.
///  3. `mark` says where the queue stands behind them, and `wait`, or `finish`, waits for that: with
///     mpi::Wait, since what is waited for is the program's own stream, too.
class DeviceMemory final : public RunMover {
  public:
    DeviceMemory() = default;
    /// Waits for what is under way.
    ~DeviceMemory() override;
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    /// Whether [address, address + bytes) is a device's, whose copies then begin after what `stream` holds
    /// now. Errors of device_of; unsupported where an array of another device is here; invalid_argument for a
    /// stream of another device.
    Result<bool> add(const void* address, std::int64_t bytes, Memory said, DeviceStream stream);
    /// Forgets the arrays. Nothing is under way.
    void forget() noexcept;
    [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
    /// The device of the arrays, or of the last ones; null: there never were any.
    [[nodiscard]] device::Device* device() const noexcept { return device_; }

    bool take(const Series& series) override;
    /// Behind all that was taken, or why it cannot be copied.
    Result<std::unique_ptr<device::Mark>> mark();
    /// Returns when the mark is over: the error of what was taken before it. `comm` may be empty.
    static Status wait(const Comm& comm, device::Mark& mark);
    /// Both, for everything.
    Status finish(const Comm& comm);

    /// Host memory of so many bytes, page-locked for the device where that can be had, until the next call or
    /// `forget`. out_of_memory.
    Result<std::byte*> host_room(std::int64_t bytes);

  private:
    struct Range {
        const std::byte *begin, *end;
    };
    enum class Place { host, device, both };
    [[nodiscard]] Place place_of(const std::byte* begin, const std::byte* end);
    void add_range(const std::byte* begin, const std::byte* end);
    Status use(device::Device& device);
    void leave_device() noexcept;
    void take_in_pieces(const Series& series);
    void join(const Series& series, bool is_from_device);
    void flush();
    void give(const device::Copy& copy);
    void start(const device::Copy& copy);
    void start_packed(const device::Copy& copy);

    device::Device* device_ = nullptr;
    std::unique_ptr<device::Queue> queue_;
    std::vector<Range> ranges_;  // ascending, apart
    std::size_t last_ = 0;       // the range found last
    device::JoinedCopy joined_;  // not given to the queue yet
    bool is_from_device_ = false;
    Status status_;  // of what was taken since the last mark
    /// Device memory in which short runs are packed.
    struct Scratch {
        std::byte* memory = nullptr;
        bool is_refused = false;
    } scratch_;
    device::Pinned room_;
};

}  // namespace hakobi::io
