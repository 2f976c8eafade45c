#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "device/rows.hpp"

namespace hakobi::device {

/// HIP's, the best first.
inline constexpr std::array hip_libraries{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

/// Null, and CUDA's and HIP's names for the legacy default stream and the thread's: streams of every device.
[[nodiscard]] inline bool is_default_stream(const void* stream) {
    return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}

/// The handle that an IPC call passes by value.
struct IpcBytes {
    std::array<std::byte, 64> bytes;
};

/// Functions of a driver that have the same arguments, flags and error numbers in CUDA and in HIP. Streams,
/// events and device addresses are void* here; a result of 0 is success.
struct Calls {
    int (*init)(unsigned flags);
    int (*device_count)(int* num);
    int (*device_name)(char* name, int size, int device);
    int (*device_uuid)(std::byte* uuid, int device);
    int (*device_attribute)(int* value, int attribute, int device);
    int (*memory_alloc)(void** memory, std::size_t bytes);
    int (*memory_free)(void* memory);
    int (*host_register)(void* memory, std::size_t bytes, unsigned flags);
    int (*host_unregister)(void* memory);
    int (*ipc_get)(IpcBytes* handle, void* memory);
    int (*ipc_open)(void** memory, IpcBytes handle, unsigned flags);
    int (*ipc_close)(void* memory);
    int (*stream_create)(void** stream, unsigned flags, int priority);
    int (*stream_destroy)(void* stream);
    int (*stream_synchronize)(void* stream);
    int (*stream_wait_event)(void* stream, void* event, unsigned flags);
    int (*stream_is_capturing)(void* stream, int* status);
    int (*event_create)(void** event, unsigned flags);
    int (*event_record)(void* event, void* stream);
    int (*event_query)(void* event);
    int (*event_destroy)(void* event);
};

/// Error numbers of both drivers that mean something to us.
enum : int {
    invalid_value = 1,
    out_of_device_memory = 2,
    not_initialized = 3,
    deinitialized = 4,
    no_device = 100,
    invalid_device = 101,
    invalid_context = 201,
    invalid_handle = 400,
    not_ready = 600,
    context_is_destroyed = 709,
    already_registered = 712,
    not_permitted = 800,
    not_supported = 801,
};

/// A driver's knowledge of an address.
struct Pointer {
    bool is_device = false;       ///< managed memory, too
    bool is_locked_host = false;  ///< page-locked memory of the host
    int device = 0;
    const std::byte* begin = nullptr;  ///< of its allocation
    std::int64_t size_bytes = 0;       ///< of its allocation; 0: not known
    bool can_be_shared = false;        ///< with other processes
};

/// The device that was current in a thread, for a driver that keeps no stack of them.
struct Before {
    int device = 0;
    bool had_error = false;
};

/// A device driver, loaded at run time. Stays as long as the process. Thread-safe.
class Driver {
  public:
    Driver() = default;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    virtual ~Driver() = default;

    /// Whether the process has the library; `load`: loads it if the machine has it.
    [[nodiscard]] bool find(bool load);
    [[nodiscard]] bool is_found() const noexcept { return is_found_; }
    /// As device::device_of, for this driver's devices; null also for memory that nobody knows. `find()` was
    /// true.
    [[nodiscard]] Result<Device*> device_of(const std::byte* address, std::int64_t bytes);
    /// Initialises the driver. An error if it gives none although there may be some. `find()` was true.
    [[nodiscard]] Result<std::vector<Device*>> devices();

    [[nodiscard]] virtual std::string_view name() const = 0;  ///< "CUDA"
    [[nodiscard]] const Calls& calls() const noexcept { return calls_; }
    /// The Status of a driver's result: "<what>: <the driver's text>". Success where the result is 0.
    Status status_of(int result, std::string_view what) const;

    // The drivers differ in these. Results are the driver's numbers.

    /// Makes a device, or a stream's device, the current one of this thread; `leave` restores what was, and
    /// must follow success. Null and other names of a default stream mean that of `device`.
    [[nodiscard]] virtual int enter(int device, Before* before) = 0;
    [[nodiscard]] virtual int enter_stream(void* stream, int device, Before* before, int* stream_device) = 0;
    virtual void leave(const Before& before) = 0;
    [[nodiscard]] virtual int point(const void* address, Pointer* pointer) const = 0;
    /// `is_device`: of the sides, as in Rows.
    [[nodiscard]] virtual int copy(const Rows& rows, std::array<bool, 2> is_device, void* stream) const = 0;
    [[nodiscard]] virtual int max_pitch_attribute() const = 0;

    // Kernels, on the device that is current; a driver may have none.

    /// The one of copy_list.hpp, which stays; null where the driver cannot compile it.
    [[nodiscard]] virtual void* copy_kernel(int /*device*/) { return nullptr; }
    [[nodiscard]] virtual bool is_reached_by_kernels(const void* /*address*/) const { return false; }
    [[nodiscard]] virtual int launch(void* /*kernel*/, unsigned /*num_blocks*/, const void* /*argument*/,
                                     void* /*stream*/) const {
        return not_supported;
    }

  protected:
    /// The symbol's address, or null.
    template <class Function>
    void look_up(Function*& function, const char* symbol) const {
        function = reinterpret_cast<Function*>(symbol_address(symbol));
    }

  private:
    [[nodiscard]] virtual std::vector<const char*> libraries()
        const = 0;  ///< names for dlopen, the best first
    [[nodiscard]] virtual int needed_version() const = 0;
    [[nodiscard]] virtual std::string version_text(int version) const = 0;
    /// Looks all functions up. Returns one that is missing, or null.
    [[nodiscard]] virtual const char* resolve(Calls& calls, int* version) = 0;
    [[nodiscard]] virtual std::string error_text(int error) const = 0;
    [[nodiscard]] void* symbol_address(const char* symbol) const;
    Status make_devices();

    std::mutex mutex_;
    std::atomic<bool> is_found_ = false;
    void* library_ = nullptr;
    Calls calls_{};
    std::string refusal_;  // why the driver cannot be used, once it is found
    std::vector<std::unique_ptr<Device>> devices_;
    std::atomic<bool> has_devices_ = false;
};

/// The drivers, in the order in which they are asked.
[[nodiscard]] Driver& cuda_driver();
[[nodiscard]] Driver& hip_driver();

}  // namespace hakobi::device
