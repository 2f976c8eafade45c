// HIP by its runtime: hip_runtime_api.h and driver_types.h of ROCm 6.0 to 7.0, as far as we use them, and
// clr's sources of 6.2 where these say too little. Handles of streams and events are void*. Every call of HIP
// initialises it, also a question about an address: a program that has loaded this library is one that uses
// it.

#include "device/driver.hpp"

namespace hakobi::device {

namespace {

/// hipPointerAttribute_t
struct PointerAttribute {
    int type, device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned allocation_flags;
};
static_assert(sizeof(PointerAttribute) == 32);

/// hipMemcpy3DParms
struct HipMemcpy3d {
    struct Position {
        std::size_t x, y, z;
    };
    struct Pitched {
        void* memory;
        std::size_t pitch_bytes, width_bytes, height;
    };
    struct Side {
        void* array;
        Position position;
        Pitched pitched;
    };
    Side from, to;
    std::size_t width_bytes, height, depth;
    int kind;
};
static_assert(sizeof(HipMemcpy3d) == 20 * 8);

enum : int { hip_max_pitch = 58 };  // hipDeviceAttribute_t

/// hipMemcpyKind
int kind_of(std::array<bool, 2> is_device) {
    if (is_device[0]) return is_device[1] ? 3 : 1;
    return is_device[1] ? 2 : 0;
}

class Hip final : public Driver {
  public:
    [[nodiscard]] std::string_view name() const override { return "HIP"; }

    int enter(int device, Before* before) override {
        before->had_error = peek_error_() != 0;
        int result = get_device_(&before->device);
        if (!result) result = set_device_(device);
        if (result) forget_error(*before);
        return result;
    }

    int enter_stream(void* stream, int device, Before* before, int* stream_device) override {
        *stream_device = device;
        before->had_error = peek_error_() != 0;
        const int result = is_default_stream(stream) ? 0 : stream_device_(stream, stream_device);
        if (!result) return enter(*stream_device, before);
        forget_error(*before);
        return result;
    }

    void leave(const Before& before) override {
        set_device_(before.device);
        forget_error(before);
    }

    int point(const void* address, Pointer* pointer) const override {
        if (!attributes_) return not_initialized;
        const Before before{.had_error = peek_error_() != 0};
        PointerAttribute attribute{};
        int result = attributes_(&attribute, address);
        // hipMemoryType was another one before 6.0: the numbers of the host's and the device's were 0 and 1.
        const int device_type = version_ < 60'000'000 ? 1 : 2;
        const bool is_unmanaged = attribute.type == device_type;
        if (!result && (is_unmanaged || attribute.is_managed)) {
            void* begin = nullptr;
            std::size_t size = 0;
            result = range_(&begin, &size, const_cast<void*>(address));
            *pointer = {.is_device = true,
                        .device = attribute.device,
                        .begin = static_cast<std::byte*>(begin),
                        .size_bytes = static_cast<std::int64_t>(size),
                        .can_be_shared = is_unmanaged};
        } else if (!result) {
            *pointer = {.is_locked_host = attribute.type == device_type - 1};
        }
        if (result) forget_error(before);
        return result;
    }

    int copy(const Rows& rows, std::array<bool, 2> is_device, void* stream) const override {
        const int kind = kind_of(is_device);
        if (rows.num_rows == 1)  // and one plane
            return copy_(rows.to, rows.from, static_cast<std::size_t>(rows.row_bytes), kind, stream);
        const auto side = [&](const std::byte* address, int which) {
            return HipMemcpy3d::Side{
                .pitched = {.memory = const_cast<std::byte*>(address),
                            .pitch_bytes = static_cast<std::size_t>(rows.pitch_bytes[which]),
                            .width_bytes = static_cast<std::size_t>(rows.row_bytes),
                            .height = static_cast<std::size_t>(rows.height[which])}};
        };
        const HipMemcpy3d all{.from = side(rows.from, 1),
                              .to = side(rows.to, 0),
                              .width_bytes = static_cast<std::size_t>(rows.row_bytes),
                              .height = static_cast<std::size_t>(rows.num_rows),
                              .depth = static_cast<std::size_t>(rows.num_planes),
                              .kind = kind};
        return copy_3d_(&all, stream);
    }

    [[nodiscard]] int max_pitch_attribute() const override { return hip_max_pitch; }

  private:
    [[nodiscard]] std::vector<const char*> libraries() const override {
        return {hip_libraries.begin(), hip_libraries.end()};
    }
    [[nodiscard]] int needed_version() const override { return 60'000'000; }
    [[nodiscard]] std::string version_text(int version) const override {
        return std::to_string(version / 10'000'000) + '.' + std::to_string(version % 10'000'000 / 100'000);
    }
    [[nodiscard]] std::string error_text(int error) const override {
        return error_string_ ? error_string_(error) : "error " + std::to_string(error);
    }

    const char* resolve(Calls& calls, int* version) override {
        const char* missing = nullptr;
        const auto need = [&](auto*& function, const char* symbol) {
            look_up(function, symbol);
            if (!function) missing = symbol;
        };
        int (*driver_version)(int*) = nullptr;
        need(driver_version, "hipDriverGetVersion");
        if (driver_version) driver_version(&version_);
        *version = version_;
        need(error_string_, "hipGetErrorString");
        need(calls.init, "hipInit");
        need(calls.device_count, "hipGetDeviceCount");
        need(calls.device_name, "hipDeviceGetName");
        need(calls.device_uuid, "hipDeviceGetUuid");
        need(calls.device_attribute, "hipDeviceGetAttribute");
        need(calls.memory_alloc, "hipMalloc");
        need(calls.memory_free, "hipFree");
        need(calls.host_register, "hipHostRegister");
        need(calls.host_unregister, "hipHostUnregister");
        need(calls.ipc_get, "hipIpcGetMemHandle");
        need(calls.ipc_open, "hipIpcOpenMemHandle");
        need(calls.ipc_close, "hipIpcCloseMemHandle");
        need(calls.stream_create, "hipStreamCreateWithPriority");
        need(calls.stream_destroy, "hipStreamDestroy");
        need(calls.stream_synchronize, "hipStreamSynchronize");
        need(calls.stream_wait_event, "hipStreamWaitEvent");
        need(calls.stream_is_capturing, "hipStreamIsCapturing");
        need(calls.event_create, "hipEventCreateWithFlags");
        need(calls.event_record, "hipEventRecord");
        need(calls.event_query, "hipEventQuery");
        need(calls.event_destroy, "hipEventDestroy");
        need(get_device_, "hipGetDevice");
        need(set_device_, "hipSetDevice");
        need(stream_device_, "hipStreamGetDevice");
        need(copy_, "hipMemcpyAsync");
        need(copy_3d_, "hipMemcpy3DAsync");
        need(attributes_, "hipPointerGetAttributes");
        need(range_, "hipMemGetAddressRange");
        need(peek_error_, "hipPeekAtLastError");
        need(last_error_, "hipGetLastError");
        if (!range_ || !peek_error_ || !last_error_)
            attributes_ = nullptr;  // no question without all of these
        return missing;
    }

    /// HIP keeps a thread's last error for the program, which is not to find ours there.
    void forget_error(const Before& before) const {
        if (!before.had_error) static_cast<void>(last_error_());
    }

    int version_ = 0;
    const char* (*error_string_)(int error) = nullptr;
    int (*get_device_)(int* device) = nullptr;
    int (*set_device_)(int device) = nullptr;
    int (*stream_device_)(void* stream, int* device) = nullptr;
    int (*attributes_)(PointerAttribute* attribute, const void* address) = nullptr;
    int (*range_)(void** begin, std::size_t* size, void* address) = nullptr;
    int (*copy_)(void* to, const void* from, std::size_t bytes, int kind, void* stream) = nullptr;
    int (*copy_3d_)(const HipMemcpy3d* copy, void* stream) = nullptr;
    int (*peek_error_)() = nullptr;
    int (*last_error_)() = nullptr;
};

}  // namespace

Driver& hip_driver() {
    static Driver& driver = *new Hip;  // not destroyed: queues and marks may end later than static objects
    return driver;
}

}  // namespace hakobi::device
