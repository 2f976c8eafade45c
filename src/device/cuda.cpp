// CUDA by its driver's interface: cuda.h of CUDA 11.2 to 13.5, as far as we use it. Handles of streams,
// contexts and events are void*, CUdeviceptr is as wide as a pointer. The symbols are those that the header's
// macros give (cuMemAlloc_v2, ...).

#include <map>

#include "device/copy_list.hpp"
#include "device/driver.hpp"

namespace hakobi::device {

namespace {

/// CUDA_MEMCPY3D
struct Memcpy3d {
    struct Side {
        std::size_t x_bytes, y, z, lod;
        unsigned memory_type;
        const void* host;
        const void* device;
        void* array;
        void* reserved;
        std::size_t pitch_bytes, height;
    };
    Side from, to;
    std::size_t width_bytes, height, depth;
};
static_assert(sizeof(Memcpy3d) == 25 * 8);

enum : unsigned { memory_host = 1, memory_device = 2, memory_unified = 4 };  // CUmemorytype
enum : int { max_pitch = 11 };                                               // CUdevice_attribute
enum : int {
    memory_type = 2,
    device_pointer,
    is_managed = 8,
    ordinal,
    ipc_capable,
    range_start,
    range_size
};  // CUpointer_attribute

// An ordinal is also the device's CUdevice: cuDeviceGet gives nothing else.

class Cuda final : public Driver {
  public:
    [[nodiscard]] std::string_view name() const override { return "CUDA"; }

    int enter(int device, Before* /*before*/) override {
        void* context = nullptr;
        const int result = primary_context(device, &context);
        return result ? result : push_(context);
    }

    int enter_stream(void* stream, int device, Before* before, int* stream_device) override {
        void* context = nullptr;
        if (is_default_stream(stream)) {
            // A stream of the program's context, if that is on this device.
            *stream_device = device;
            int current_device = -1;
            if (current_device_(&current_device) || current_device != device) return enter(device, before);
            const int result = current_(&context);
            return result ? result : push_(context);
        }
        int result = stream_context_(stream, &context);
        if (!result) result = push_(context);
        if (result) return result;
        result = current_device_(stream_device);
        if (result) leave(*before);
        return result;
    }

    void leave(const Before& /*before*/) override {
        void* context = nullptr;
        pop_(&context);
    }

    int point(const void* address, Pointer* pointer) const override {
        if (!attributes_) return not_initialized;
        std::array<int, 6> attributes{memory_type, is_managed, ordinal, ipc_capable, range_start, range_size};
        std::array<std::uint64_t, 6> values{};  // wider than most: the byte order is little-endian
        std::array<void*, 6> places{};
        for (std::size_t i = 0; i < places.size(); ++i) places[i] = &values[i];
        const int result = attributes_(attributes.size(), attributes.data(), places.data(), address);
        if (result) return result;
        pointer->is_device = values[0] == memory_device || values[1] != 0;
        pointer->is_locked_host = values[0] == memory_host && !pointer->is_device;
        pointer->device = static_cast<int>(values[2]);
        pointer->can_be_shared = values[3] != 0;
        pointer->begin = reinterpret_cast<const std::byte*>(values[4]);
        pointer->size_bytes = static_cast<std::int64_t>(values[5]);
        return 0;
    }

    int copy(const Rows& rows, std::array<bool, 2> is_device, void* stream) const override {
        if (rows.num_rows == 1)  // and one plane
            return copy_(rows.to, rows.from, static_cast<std::size_t>(rows.row_bytes), stream);
        const auto side = [&](const void* address, int which) {
            return Memcpy3d::Side{.memory_type = is_device[which] ? memory_unified : memory_host,
                                  .host = address,
                                  .device = address,
                                  .pitch_bytes = static_cast<std::size_t>(rows.pitch_bytes[which]),
                                  .height = static_cast<std::size_t>(rows.height[which])};
        };
        const Memcpy3d all{.from = side(rows.from, 1),
                           .to = side(rows.to, 0),
                           .width_bytes = static_cast<std::size_t>(rows.row_bytes),
                           .height = static_cast<std::size_t>(rows.num_rows),
                           .depth = static_cast<std::size_t>(rows.num_planes)};
        return copy_3d_(&all, stream);
    }

    [[nodiscard]] int max_pitch_attribute() const override { return max_pitch; }

    [[nodiscard]] void* copy_kernel(int device) override {
        const std::lock_guard lock(contexts_mutex_);
        const auto [known, is_new] = kernels_.try_emplace(device, nullptr);
        void *&kernel = known->second, *module = nullptr;
        if (is_new && load_module_ && get_function_ && launch_ && attribute_ &&
            load_module_(&module, copy_kernel_ptx()) == 0 &&
            get_function_(&kernel, module, copy_kernel_name) != 0)
            kernel = nullptr;
        return kernel;
    }

    [[nodiscard]] bool is_reached_by_kernels(const void* address) const override {
        void* by_kernels = nullptr;
        return attribute_(&by_kernels, device_pointer, address) == 0 && by_kernels == address;
    }

    [[nodiscard]] int launch(void* kernel, unsigned num_blocks, const void* argument,
                             void* stream) const override {
        std::array<void*, 1> arguments{&argument};
        return launch_(kernel, num_blocks, 1, 1, tile_threads, 1, 1, 0, stream, arguments.data(), nullptr);
    }

  private:
    [[nodiscard]] std::vector<const char*> libraries() const override { return {"libcuda.so.1"}; }
    [[nodiscard]] int needed_version() const override { return 11020; }
    [[nodiscard]] std::string version_text(int version) const override {
        return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
    }
    [[nodiscard]] std::string error_text(int error) const override {
        const char* text = nullptr;
        if (error_string_) error_string_(error, &text);
        return text ? text : "error " + std::to_string(error);
    }

    const char* resolve(Calls& calls, int* version) override {
        const char* missing = nullptr;
        const auto need = [&](auto*& function, const char* symbol) {
            look_up(function, symbol);
            if (!function && !missing) missing = symbol;
        };
        int (*driver_version)(int*) = nullptr;
        need(driver_version, "cuDriverGetVersion");
        if (driver_version) driver_version(version);
        need(error_string_, "cuGetErrorString");
        need(attributes_, "cuPointerGetAttributes");
        need(calls.init, "cuInit");
        need(calls.device_count, "cuDeviceGetCount");
        need(calls.device_name, "cuDeviceGetName");
        look_up(calls.device_uuid, "cuDeviceGetUuid_v2");  // since 11.4: that of a part of a device, too
        if (!calls.device_uuid) need(calls.device_uuid, "cuDeviceGetUuid");
        need(calls.device_attribute, "cuDeviceGetAttribute");
        need(calls.memory_alloc, "cuMemAlloc_v2");
        need(calls.memory_free, "cuMemFree_v2");
        need(calls.host_register, "cuMemHostRegister_v2");
        need(calls.host_unregister, "cuMemHostUnregister");
        need(calls.ipc_get, "cuIpcGetMemHandle");
        need(calls.ipc_open, "cuIpcOpenMemHandle_v2");
        need(calls.ipc_close, "cuIpcCloseMemHandle");
        need(calls.stream_create, "cuStreamCreateWithPriority");
        need(calls.stream_destroy, "cuStreamDestroy_v2");
        need(calls.stream_synchronize, "cuStreamSynchronize");
        need(calls.stream_wait_event, "cuStreamWaitEvent");
        need(calls.stream_is_capturing, "cuStreamIsCapturing");
        need(calls.event_create, "cuEventCreate");
        need(calls.event_record, "cuEventRecord");
        need(calls.event_query, "cuEventQuery");
        need(calls.event_destroy, "cuEventDestroy_v2");
        need(retain_, "cuDevicePrimaryCtxRetain");
        need(push_, "cuCtxPushCurrent_v2");
        need(pop_, "cuCtxPopCurrent_v2");
        need(current_, "cuCtxGetCurrent");
        need(current_device_, "cuCtxGetDevice");
        need(stream_context_, "cuStreamGetCtx");
        need(copy_, "cuMemcpyAsync");
        need(copy_3d_, "cuMemcpy3DAsync_v2");
        look_up(attribute_, "cuPointerGetAttribute");
        look_up(load_module_, "cuModuleLoadData");
        look_up(get_function_, "cuModuleGetFunction");
        look_up(launch_, "cuLaunchKernel");
        return missing;
    }

    /// The context that CUDA's runtime uses. It is kept until the process ends.
    int primary_context(int device, void** context) {
        const std::lock_guard lock(contexts_mutex_);
        void*& known = contexts_[device];
        const int result = known ? 0 : retain_(&known, device);
        *context = known;
        return result;
    }

    int (*error_string_)(int error, const char** text) = nullptr;
    int (*attributes_)(unsigned num, int* attributes, void** values, const void* address) = nullptr;
    int (*retain_)(void** context, int device) = nullptr;
    int (*push_)(void* context) = nullptr;
    int (*pop_)(void** context) = nullptr;
    int (*current_)(void** context) = nullptr;
    int (*current_device_)(int* device) = nullptr;
    int (*stream_context_)(void* stream, void** context) = nullptr;
    int (*copy_)(void* to, const void* from, std::size_t bytes, void* stream) = nullptr;
    int (*copy_3d_)(const Memcpy3d* copy, void* stream) = nullptr;
    int (*attribute_)(void* value, int attribute, const void* address) = nullptr;
    int (*load_module_)(void** module, const void* image) = nullptr;
    int (*get_function_)(void** function, void* module, const char* name) = nullptr;
    int (*launch_)(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                   unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                   void* stream, void** arguments, void** extra) = nullptr;

    std::mutex contexts_mutex_;
    std::map<int, void*> contexts_, kernels_;  // by device
};

}  // namespace

Driver& cuda_driver() {
    static Driver& driver = *new Cuda;  // not destroyed: queues and marks may end later than static objects
    return driver;
}

}  // namespace hakobi::device
