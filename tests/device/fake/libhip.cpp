// libamdhip64.so.6 over the fake driver: what the library and the tests call of HIP, as hip_runtime_api.h
// declares it.

#include <algorithm>

#include "driver.hpp"

#define CALL extern "C" __attribute__((visibility("default"))) int

namespace {

thread_local int current_device = 0, last_error = 0;

/// Every result is the thread's last error.
int result(int error) {
    last_error = error;
    return error;
}
/// Every call initialises HIP.
int state() {
    if (fake::settings().num_hip_devices == 0) return fake::no_device;
    if (fake::state() == fake::not_initialized)
        if (const int error = fake::init(fake::settings().num_hip_devices)) return error;
    return fake::state();
}
bool is_device(int number) {
    return number >= 0 && number < fake::settings().num_hip_devices;
}

/// Does `call` if HIP is well.
template <class Call>
int in_hip(Call call) {
    const int error = state();
    return result(error ? error : call());
}
/// The same with a stream and, if asked, an event.
template <class Call>
int with_stream(void* name, Call call) {
    return in_hip([&]() -> int {
        fake::Stream* stream = fake::stream_of(name, current_device);
        return stream ? call(stream) : fake::context_is_destroyed;
    });
}
template <class Call>
int with_event(void* name, Call call) {
    return in_hip([&]() -> int {
        fake::Event* event = fake::event_of(name);
        return event ? call(event) : fake::invalid_handle;
    });
}

struct PointerAttribute {
    int type, device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned flags;
};

struct Pitched {
    char* memory;
    std::size_t pitch, xsize, ysize;
};
struct Memcpy3d {
    void* source_array;
    std::size_t source_position[3];
    Pitched source;
    void* destination_array;
    std::size_t destination_position[3];
    Pitched destination;
    std::size_t width, height, depth;
    int kind;
};

/// The sides by hipMemcpyKind.
std::array<fake::Side, 2> sides_of(int kind) {
    if (kind == 4) return {fake::Side::any, fake::Side::any};
    return {kind == 1 || kind == 3 ? fake::Side::device : fake::Side::host,
            kind == 2 || kind == 3 ? fake::Side::device : fake::Side::host};
}

}  // namespace

CALL hipInit(unsigned flags) {
    return result(flags ? int{fake::invalid_value} : state());
}
CALL hipDriverGetVersion(int* version) {
    *version = fake::settings().hip_version;
    return result(0);
}
extern "C" __attribute__((visibility("default"))) const char* hipGetErrorString(int error) {
    return fake::text_of(error);
}
CALL hipGetLastError() {
    const int error = last_error;
    last_error = 0;
    return error;
}
CALL hipPeekAtLastError() {
    return last_error;
}

CALL hipGetDeviceCount(int* num) {
    *num = fake::settings().num_hip_devices;
    return result(state());
}
CALL hipGetDevice(int* device) {
    return in_hip([&] {
        *device = current_device;
        return 0;
    });
}
CALL hipSetDevice(int device) {
    return in_hip([&]() -> int {
        if (!is_device(device)) return fake::invalid_device;
        current_device = device;
        return 0;
    });
}
CALL hipDeviceGetName(char* name, int size, int device) {
    return in_hip([&]() -> int {
        if (!is_device(device)) return fake::invalid_device;
        const std::string text = "fake";
        name[text.copy(name, static_cast<std::size_t>(size) - 1)] = 0;
        return 0;
    });
}
CALL hipDeviceGetUuid(char* uuid, int device) {
    return in_hip([&]() -> int {
        if (!is_device(device)) return fake::invalid_device;
        std::fill_n(uuid, 16, 'h');
        uuid[15] = static_cast<char>(device);
        return 0;
    });
}
CALL hipDeviceGetAttribute(int* value, int attribute, int device) {
    return in_hip([&]() -> int {
        if (!is_device(device)) return fake::invalid_device;
        *value = attribute == 58 ? 0x7fffffff : 1;  // hipDeviceAttributeMaxPitch
        return 0;
    });
}

CALL hipPointerGetAttributes(PointerAttribute* attribute, const void* address) {
    return in_hip([&]() -> int {
        if (!address) return fake::invalid_value;
        const fake::Known known = fake::find(address);
        const bool is_old = fake::settings().hip_version < 60'000'000;
        const bool is_known = known.is_device || known.is_registered;
        if (is_old && !is_known) return fake::invalid_value;
        // Since 6.0: 0 unregistered, 1 host, 2 device, 3 managed; before: 0 host, 1 device.
        const int type = known.is_device ? 2 : known.is_registered ? 1 : 0;
        *attribute = {.type = is_old             ? type - 1
                              : known.is_managed ? 3
                                                 : type,
                      .device = is_known ? known.device : -2,
                      .is_managed = known.is_managed};
        return 0;
    });
}
CALL hipMemGetAddressRange(void** begin, std::size_t* size, void* address) {
    return in_hip([&]() -> int {
        const fake::Known known = fake::find(address);
        if (!known.begin) return fake::not_found;
        *begin = known.begin;
        *size = known.bytes;
        return 0;
    });
}

CALL hipMalloc(void** memory, std::size_t bytes) {
    return in_hip([&] { return fake::allocate(current_device, bytes, false, memory); });
}
CALL hipMallocManaged(void** memory, std::size_t bytes, unsigned /*flags*/) {
    return in_hip([&] { return fake::allocate(current_device, bytes, true, memory); });
}
CALL hipFree(void* memory) {
    return in_hip([&] { return fake::release(memory); });
}
CALL hipHostRegister(void* memory, std::size_t bytes, unsigned /*flags*/) {
    return in_hip([&] { return fake::register_host(memory, bytes, current_device, true); });
}
CALL hipHostUnregister(void* memory) {
    return in_hip([&] { return fake::unregister_host(memory); });
}

CALL hipIpcGetMemHandle(fake::Handle* handle, void* memory) {
    return in_hip([&] { return fake::share(memory, handle); });
}
CALL hipIpcOpenMemHandle(void** memory, fake::Handle handle, unsigned flags) {
    return in_hip([&]() -> int {
        return flags == 1 ? fake::open_shared(current_device, handle, memory) : int{fake::invalid_value};
    });
}
CALL hipIpcCloseMemHandle(void* memory) {
    return in_hip([&] { return fake::close_shared(memory); });
}

CALL hipStreamCreateWithFlags(fake::Stream** stream, unsigned flags) {
    return in_hip([&] {
        *stream = fake::make_stream(current_device, flags == 0);
        return 0;
    });
}
CALL hipStreamCreateWithPriority(fake::Stream** stream, unsigned flags, int /*priority*/) {
    return hipStreamCreateWithFlags(stream, flags);
}
CALL hipStreamDestroy(void* name) {
    return with_stream(name, [](fake::Stream* stream) {
        fake::destroy(stream);
        return 0;
    });
}
CALL hipStreamSynchronize(void* name) {
    return with_stream(name, [](fake::Stream* stream) {
        fake::finish(stream);
        return fake::state();
    });
}
CALL hipStreamWaitEvent(void* name, void* event_name, unsigned /*flags*/) {
    return with_stream(name, [&](fake::Stream* stream) -> int {
        const fake::Event* event = fake::event_of(event_name);
        if (!event) return fake::invalid_handle;
        fake::wait(stream, event);
        return 0;
    });
}
CALL hipStreamGetDevice(void* name, int* device) {
    return with_stream(name, [&](const fake::Stream* stream) {
        *device = fake::device_of(stream);
        return 0;
    });
}
CALL hipStreamIsCapturing(void* name, int* status) {
    return with_stream(name, [&](fake::Stream* stream) {
        *status = fake::is_captured(stream);
        return 0;
    });
}
CALL hipStreamBeginCapture(void* name, int /*mode*/) {
    return with_stream(name, [](fake::Stream* stream) {
        fake::is_captured(stream) = true;
        return 0;
    });
}

CALL hipEventCreateWithFlags(fake::Event** event, unsigned /*flags*/) {
    return in_hip([&] {
        *event = fake::make_event(current_device);
        return 0;
    });
}
CALL hipEventRecord(void* event_name, void* name) {
    return with_stream(name, [&](fake::Stream* stream) -> int {
        fake::Event* event = fake::event_of(event_name);
        return event ? fake::record(event, stream) : int{fake::invalid_handle};
    });
}
CALL hipEventQuery(void* event_name) {
    return with_event(event_name, [](const fake::Event* event) -> int {
        return fake::is_over(event) ? fake::state() : int{fake::not_ready};
    });
}
CALL hipEventDestroy(void* event_name) {
    return with_event(event_name, [](fake::Event* event) {
        fake::destroy(event);
        return 0;
    });
}

CALL hipMemcpyAsync(char* to, char* from, std::size_t bytes, int kind, void* name) {
    return with_stream(name, [&](fake::Stream* stream) {
        return fake::copy({.begin = {to, from}, .width_bytes = bytes}, sides_of(kind), stream);
    });
}
CALL hipMemcpy3DAsync(const Memcpy3d* copy, void* name) {
    return with_stream(name, [&](fake::Stream* stream) -> int {
        const Pitched &to = copy->destination, &from = copy->source;
        if (to.pitch < to.xsize || from.pitch < from.xsize) return fake::invalid_value;
        if (to.pitch >= 0x7fffffff || from.pitch >= 0x7fffffff) return fake::invalid_value;
        const fake::Box box{.begin = {to.memory, from.memory},
                            .pitch_bytes = {to.pitch, from.pitch},
                            .height = {to.ysize, from.ysize},
                            .width_bytes = copy->width,
                            .num_rows = copy->height,
                            .num_planes = copy->depth};
        return fake::copy(box, sides_of(copy->kind), stream);
    });
}
