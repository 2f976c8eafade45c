#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

// The core of the drivers that tests use in place of CUDA's and HIP's (libcuda.cpp and libhip.cpp name its
// functions as they do).
//
// 1. A device's memory is a file in memory that is mapped twice: where programs see it, without access, so
//    that a plain load or store is a fault, and for the driver's own use. Allocations are pages with a page
//    that belongs to nobody between them.
// 2. A stream is a thread. A copy is done there, later, not before HAKOBI_FAKE_DEVICE_DELAY_S, and at
//    HAKOBI_FAKE_DEVICE_BYTES_S for all copies of one direction together if one side is the host's.
// 3. As on a real device, a copy with host memory that is not registered has been done when the call returns.
// 4. An IPC handle names the file by the process that shares it (/proc/PID/fd). Opened memory has no access
//    either.
// 5. Once the process ends, calls return `deinitialized`.
// 6. CUDA's driver compiles no program but the library's own kernel, and that on the first
//    HAKOBI_FAKE_NUM_COMPILING devices. Its launch copies what its table says, as a kernel does: from and to
//    memory of devices and registered memory that is mapped.
// 7. From copy (launch) HAKOBI_FAKE_DEVICE_FAILS_AT on (the first is 1) the device is broken, as after a
//    kernel's illegal access.
namespace fake {

/// As in CUDA and HIP.
enum Error : int {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    deinitialized = 4,
    no_device = 100,
    invalid_device = 101,
    invalid_context = 201,
    map_failed = 205,
    invalid_handle = 400,
    invalid_program = 218,
    not_found = 500,
    not_ready = 600,
    illegal_address = 700,
    misaligned_address = 716,
    context_is_destroyed = 709,
    already_registered = 712,
    not_registered = 713,
};
[[nodiscard]] const char* text_of(int error);

struct Settings {
    int num_devices = 1, num_hip_devices = 0;
    std::int64_t memory_bytes = std::int64_t{1} << 30;
    double delay_s = 0, bytes_s = 0;
    int version = 12040, hip_version = 60'241'133;
    std::int64_t fails_at = 0;
    int num_compiling = 1'000'000;
};
/// The settings in the environment; CONTRIBUTING.md lists them.
[[nodiscard]] const Settings& settings();

[[nodiscard]] int init(int num_devices);
/// not_initialized, deinitialized, illegal_address, or success.
[[nodiscard]] int state();

/// The driver's knowledge of an address.
struct Known {
    bool is_device = false, is_managed = false, is_registered = false, is_mapped = false, is_opened = false;
    int device = 0;
    char* begin = nullptr;
    std::size_t bytes = 0;
};
[[nodiscard]] Known find(const void* address);

[[nodiscard]] int allocate(int device, std::size_t bytes, bool is_managed, void** memory);
[[nodiscard]] int release(void* memory);
[[nodiscard]] int register_host(void* memory, std::size_t bytes, int device, bool is_mapped);
[[nodiscard]] int unregister_host(void* memory);

using Handle = std::array<char, 64>;
[[nodiscard]] int share(const void* memory, Handle* handle);
[[nodiscard]] int open_shared(int device, const Handle& handle, void** memory);
[[nodiscard]] int close_shared(void* memory);

struct Stream;
struct Event;
/// `name` may be that of a default stream (null, 1, 2) of the device.
[[nodiscard]] Stream* stream_of(void* name, int device);  ///< null: there is none
[[nodiscard]] int device_of(const Stream* stream);
[[nodiscard]] bool& is_captured(Stream* stream);
[[nodiscard]] Stream* make_stream(int device, bool waits_for_default);
void destroy(Stream* stream);
void finish(Stream* stream);
[[nodiscard]] Event* make_event(int device);
[[nodiscard]] Event* event_of(void* name);  ///< null: there is none
void destroy(Event* event);
[[nodiscard]] int record(Event* event, Stream* stream);
[[nodiscard]] bool is_over(const Event* event);
void wait(Stream* stream, const Event* event);

/// Rows and planes of them; side 0 is written.
struct Box {
    std::array<char*, 2> begin{};
    std::array<std::size_t, 2> pitch_bytes{}, height{};
    std::size_t width_bytes = 0, num_rows = 1, num_planes = 1;
};
enum class Side { host, device, any };
[[nodiscard]] int copy(const Box& box, std::array<Side, 2> sides, Stream* stream);

/// The library's kernel: a block takes one of the tiles, which are on the device.
[[nodiscard]] int launch(const void* tiles, std::size_t num_tiles, Stream* stream);

}  // namespace fake

/// How often the host has waited for a stream, or for a copy with memory that is not registered: for tests
/// that ask for it by name.
extern "C" std::int64_t hakobi_fake_num_waits();
/// How often a kernel was launched.
extern "C" std::int64_t hakobi_fake_num_launches();
