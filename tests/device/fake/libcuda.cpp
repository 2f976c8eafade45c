// libcuda.so.1 over the fake driver: what the library and the tests call of CUDA's driver interface, as
// cuda.h declares it.

#include <algorithm>
#include <cstring>
#include <vector>

#include "device/copy_list.hpp"
#include "driver.hpp"

#define CALL extern "C" __attribute__((visibility("default"))) int

using fake::state;

namespace {

struct Context {
    int device;
};
/// A thread's current contexts, the last one on top. Without a destructor: static objects may end after the
/// thread's.
struct Stack {
    std::array<Context*, 64> contexts;
    std::size_t size;
    [[nodiscard]] Context* top() const { return size ? contexts.at(size - 1) : nullptr; }
    void push(Context* context) { contexts.at(size++) = context; }
};
thread_local Stack stack{};

Context* primary(int device) {
    static std::vector<Context*>& all = *new std::vector<Context*>([] {
        std::vector<Context*> made;
        for (int number = 0; number < fake::settings().num_devices; ++number)
            made.push_back(new Context{number});
        return made;
    }());
    return all[device];
}
bool is_device(int number) {
    return number >= 0 && number < fake::settings().num_devices;
}

/// A call that needs a context: its device, or an error.
struct Here {
    int error = state();
    int device = -1;
    Here() {
        if (error) return;
        if (!stack.top())
            error = fake::invalid_context;
        else
            device = stack.top()->device;
    }
};
/// The same with a stream.
struct Streamed : Here {
    fake::Stream* stream = nullptr;
    explicit Streamed(void* name) {
        if (error) return;
        stream = fake::stream_of(name, device);
        if (!stream) error = fake::invalid_handle;
    }
};

struct Side3d {
    std::size_t x, y, z, lod;
    unsigned type;
    char* host;
    char* device;
    void* array;
    void* reserved;
    std::size_t pitch, height;
};
struct Memcpy3d {
    Side3d src, dst;
    std::size_t width, height, depth;
};

}  // namespace

CALL cuInit(unsigned flags) {
    return flags ? int{fake::invalid_value} : fake::init(fake::settings().num_devices);
}
CALL cuDriverGetVersion(int* version) {
    *version = fake::settings().version;
    return 0;
}
CALL cuGetErrorString(int error, const char** text) {
    *text = fake::text_of(error);
    return 0;
}
CALL cuDeviceGetCount(int* num) {
    *num = fake::settings().num_devices;
    return state();
}
CALL cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return state() ? state() : is_device(ordinal) ? 0 : fake::invalid_device;
}
CALL cuDeviceGetName(char* name, int size, int device) {
    if (state()) return state();
    if (!is_device(device)) return fake::invalid_device;
    const std::string text = "fake";
    name[text.copy(name, static_cast<std::size_t>(size) - 1)] = 0;
    return 0;
}
CALL cuDeviceGetUuid_v2(char* uuid, int device) {
    if (state()) return state();
    if (!is_device(device)) return fake::invalid_device;
    std::fill_n(uuid, 16, 'f');
    uuid[15] = static_cast<char>(device);
    return 0;
}
CALL cuDeviceGetAttribute(int* value, int attribute, int device) {
    if (state()) return state();
    if (!is_device(device)) return fake::invalid_device;
    *value = attribute == 11 ? 0x7fffffff : 1;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH
    return 0;
}
CALL cuDevicePrimaryCtxRetain(Context** context, int device) {
    if (state()) return state();
    if (!is_device(device)) return fake::invalid_device;
    *context = primary(device);
    return 0;
}
CALL cuCtxPushCurrent_v2(Context* context) {
    if (state()) return state();
    if (!context) return fake::invalid_context;
    stack.push(context);
    return 0;
}
CALL cuCtxPopCurrent_v2(Context** context) {
    if (!stack.top()) return fake::invalid_context;
    *context = stack.contexts.at(--stack.size);
    return 0;
}
CALL cuCtxGetCurrent(Context** context) {
    *context = stack.top();
    return state();
}
CALL cuCtxSetCurrent(Context* context) {
    if (state()) return state();
    if (stack.top()) --stack.size;
    if (context) stack.push(context);
    return 0;
}
CALL cuCtxGetDevice(int* device) {
    const Here here;
    if (!here.error) *device = here.device;
    return here.error;
}

CALL cuPointerGetAttributes(unsigned num, int* attributes, void** values, char* address) {
    if (state()) return state();
    const fake::Known known = fake::find(address);
    const bool is_known = known.is_device || known.is_registered;
    for (unsigned i = 0; i < num; ++i) {
        const auto set = [&](auto value) { *static_cast<decltype(value)*>(values[i]) = value; };
        switch (attributes[i]) {
            case 1:  // CONTEXT
                set(is_known ? primary(known.device) : nullptr);
                break;
            case 2:  // MEMORY_TYPE
                set(known.is_device ? 2U : known.is_registered ? 1U : 0U);
                break;
            case 8:  // IS_MANAGED
                set(known.is_managed);
                break;
            case 9:  // DEVICE_ORDINAL
                set(is_known ? known.device : -2);
                break;
            case 10:  // IS_LEGACY_CUDA_IPC_CAPABLE
                set(known.is_device && !known.is_managed && !known.is_opened);
                break;
            case 11:  // RANGE_START_ADDR
                set(known.begin);
                break;
            case 12:  // RANGE_SIZE
                set(known.bytes);
                break;
            default:
                return fake::invalid_value;
        }
    }
    return 0;
}

CALL cuPointerGetAttribute(void* value, int attribute, char* address) {
    const Here here;
    if (here.error) return here.error;
    const fake::Known known = fake::find(address);
    const bool is_reached = known.is_device || known.is_mapped;
    if (attribute != 3 || !is_reached) return fake::invalid_value;  // DEVICE_POINTER
    *static_cast<char**>(value) = address;
    return 0;
}

CALL cuMemAlloc_v2(void** memory, std::size_t bytes) {
    const Here here;
    return here.error ? here.error : fake::allocate(here.device, bytes, false, memory);
}
CALL cuMemAllocManaged(void** memory, std::size_t bytes, unsigned /*flags*/) {
    const Here here;
    return here.error ? here.error : fake::allocate(here.device, bytes, true, memory);
}
CALL cuMemFree_v2(void* memory) {
    const Here here;
    return here.error ? here.error : fake::release(memory);
}
CALL cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
    const Here here;
    return here.error ? here.error : fake::register_host(memory, bytes, here.device, (flags & 2) != 0);
}
CALL cuMemHostUnregister(void* memory) {
    const Here here;
    return here.error ? here.error : fake::unregister_host(memory);
}

CALL cuIpcGetMemHandle(fake::Handle* handle, void* memory) {
    const Here here;
    return here.error ? here.error : fake::share(memory, handle);
}
CALL cuIpcOpenMemHandle_v2(void** memory, fake::Handle handle, unsigned flags) {
    const Here here;
    if (here.error) return here.error;
    return flags == 1 ? fake::open_shared(here.device, handle, memory) : fake::invalid_value;
}
CALL cuIpcCloseMemHandle(void* memory) {
    const Here here;
    return here.error ? here.error : fake::close_shared(memory);
}

CALL cuStreamCreate(fake::Stream** stream, unsigned flags) {
    const Here here;
    if (!here.error) *stream = fake::make_stream(here.device, flags == 0);
    return here.error;
}
CALL cuStreamCreateWithPriority(fake::Stream** stream, unsigned flags, int /*priority*/) {
    return cuStreamCreate(stream, flags);
}
CALL cuStreamDestroy_v2(void* name) {
    const Streamed here(name);
    if (!here.error) fake::destroy(here.stream);
    return here.error;
}
CALL cuStreamSynchronize(void* name) {
    const Streamed here(name);
    if (!here.error) fake::finish(here.stream);
    return here.error ? here.error : state();
}
CALL cuStreamWaitEvent(void* name, void* event, unsigned /*flags*/) {
    const Streamed here(name);
    if (here.error) return here.error;
    if (!fake::event_of(event)) return fake::invalid_handle;
    fake::wait(here.stream, fake::event_of(event));
    return 0;
}
CALL cuStreamGetCtx(void* name, Context** context) {
    if (state()) return state();
    if (reinterpret_cast<std::uintptr_t>(name) <= 2) {
        const Here here;
        if (!here.error) *context = stack.top();
        return here.error;
    }
    const fake::Stream* stream = fake::stream_of(name, 0);
    if (!stream) return fake::invalid_handle;
    *context = primary(fake::device_of(stream));
    return 0;
}
CALL cuStreamIsCapturing(void* name, int* status) {
    const Streamed here(name);
    if (!here.error) *status = fake::is_captured(here.stream);
    return here.error;
}
CALL cuStreamBeginCapture_v2(void* name, int /*mode*/) {
    const Streamed here(name);
    if (!here.error) fake::is_captured(here.stream) = true;
    return here.error;
}

CALL cuEventCreate(fake::Event** event, unsigned /*flags*/) {
    const Here here;
    if (!here.error) *event = fake::make_event(here.device);
    return here.error;
}
CALL cuEventRecord(void* event, void* name) {
    const Streamed here(name);
    if (here.error) return here.error;
    return fake::event_of(event) ? fake::record(fake::event_of(event), here.stream) : fake::invalid_handle;
}
CALL cuEventQuery(void* event) {
    if (state()) return state();
    if (!fake::event_of(event)) return fake::invalid_handle;
    if (!fake::is_over(fake::event_of(event))) return fake::not_ready;
    return state();
}
CALL cuEventDestroy_v2(void* event) {
    const Here here;
    if (here.error) return here.error;
    if (!fake::event_of(event)) return fake::invalid_handle;
    fake::destroy(fake::event_of(event));
    return 0;
}

CALL cuMemcpyAsync(char* to, char* from, std::size_t bytes, void* name) {
    const Streamed here(name);
    if (here.error) return here.error;
    return fake::copy({.begin = {to, from}, .width_bytes = bytes}, {fake::Side::any, fake::Side::any},
                      here.stream);
}
CALL cuMemcpy3DAsync_v2(const Memcpy3d* copy, void* name) {
    const Streamed here(name);
    if (here.error) return here.error;
    const auto begin = [](const Side3d& side) {
        return (side.type == 1 ? side.host : side.device) + (side.z * side.height + side.y) * side.pitch +
               side.x;
    };
    const auto kind = [](const Side3d& side) {
        return side.type == 1 ? fake::Side::host : side.type == 2 ? fake::Side::device : fake::Side::any;
    };
    const fake::Box box{.begin = {begin(copy->dst), begin(copy->src)},
                        .pitch_bytes = {copy->dst.pitch, copy->src.pitch},
                        .height = {copy->dst.height, copy->src.height},
                        .width_bytes = copy->width,
                        .num_rows = copy->height,
                        .num_planes = copy->depth};
    if (copy->dst.pitch > 0x7fffffff || copy->src.pitch > 0x7fffffff) return fake::invalid_value;
    return fake::copy(box, {kind(copy->dst), kind(copy->src)}, here.stream);
}

// The one program that is compiled, and its kernel, have the name of the kernel for a handle.
CALL cuModuleLoadData(void** module, const char* image) {
    const Here here;
    if (here.error) return here.error;
    const bool is_ours = std::strcmp(image, hakobi::device::copy_kernel_ptx()) == 0;
    if (!is_ours || here.device >= fake::settings().num_compiling) return fake::invalid_program;
    *module = const_cast<char*>(hakobi::device::copy_kernel_name);
    return 0;
}
CALL cuModuleGetFunction(void** function, void* module, const char* name) {
    const Here here;
    if (here.error) return here.error;
    if (std::strcmp(name, static_cast<const char*>(module)) != 0) return fake::not_found;
    *function = module;
    return 0;
}
CALL cuLaunchKernel(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                    unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned /*shared_bytes*/,
                    void* stream, void** arguments, void** extra) {
    const Streamed here(stream);
    if (here.error) return here.error;
    const bool is_flat = blocks_y == 1 && blocks_z == 1 && threads_y == 1 && threads_z == 1;
    if (!is_flat || threads_x == 0 || threads_x > 1024 || extra) return fake::invalid_value;
    if (function != hakobi::device::copy_kernel_name) return fake::invalid_handle;
    return fake::launch(*static_cast<void**>(arguments[0]), blocks_x, here.stream);
}
