#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace hakobi::device_test {

/// A program's own use of a GPU by the driver: it chooses the device of its thread, allocates, and gives work
/// to streams of its own. Fails the process where a call fails.
class Program {
  public:
    /// Loads CUDA's driver (HIP's), initialises it and makes `device` the current one of this thread.
    explicit Program(int device = 0, bool is_hip = false) : is_hip_(is_hip) {
        library_ = ::dlopen(is_hip ? "libamdhip64.so.6" : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library_) fail("no driver");
        check(call<int(unsigned)>("cuInit", "hipInit")(0));
        use(device);
    }

    void use(int device) const {
        if (is_hip_) return check(call<int(int)>("", "hipSetDevice")(device));
        void* context = nullptr;
        check(call<int(void**, int)>("cuDevicePrimaryCtxRetain", "")(&context, device));
        check(call<int(void*)>("cuCtxSetCurrent", "")(context));
    }
    /// The context of CUDA, the device of HIP.
    [[nodiscard]] std::uintptr_t current() const {
        if (is_hip_) {
            int device = -1;
            check(call<int(int*)>("", "hipGetDevice")(&device));
            return static_cast<std::uintptr_t>(device);
        }
        void* context = nullptr;
        check(call<int(void**)>("cuCtxGetCurrent", "")(&context));
        return reinterpret_cast<std::uintptr_t>(context);
    }

    template <class T>
    [[nodiscard]] T* allocate(std::size_t num) const {
        void* memory = nullptr;
        check(call<int(void**, std::size_t)>("cuMemAlloc_v2", "hipMalloc")(&memory, num * sizeof(T)));
        return static_cast<T*>(memory);
    }
    template <class T>
    [[nodiscard]] T* allocate_managed(std::size_t num) const {
        void* memory = nullptr;
        check(call<int(void**, std::size_t, unsigned)>("cuMemAllocManaged", "hipMallocManaged")(
            &memory, num * sizeof(T), 1));
        return static_cast<T*>(memory);
    }
    void release(void* memory) const { check(call<int(void*)>("cuMemFree_v2", "hipFree")(memory)); }

    [[nodiscard]] DeviceStream make_stream() const {
        void* stream = nullptr;
        check(call<int(void**, unsigned)>("cuStreamCreate", "hipStreamCreateWithFlags")(&stream, 1));
        return stream;
    }
    void destroy(DeviceStream stream) const {
        check(call<int(void*)>("cuStreamDestroy_v2", "hipStreamDestroy")(stream));
    }
    void capture(DeviceStream stream) const {
        check(call<int(void*, int)>("cuStreamBeginCapture_v2", "hipStreamBeginCapture")(
            stream, 2));  // relaxed: other streams go on
    }
    void finish(DeviceStream stream) const {
        check(call<int(void*)>("cuStreamSynchronize", "hipStreamSynchronize")(stream));
    }
    /// Gives the stream a copy, as a kernel that makes values at its end. Host memory must be `lock`ed to be
    /// copied later.
    void copy(void* to, const void* from, std::size_t bytes, DeviceStream stream) const {
        if (is_hip_)
            check(call<int(void*, const void*, std::size_t, int, void*)>("", "hipMemcpyAsync")(
                to, from, bytes, 4, stream));
        else
            check(call<int(void*, const void*, std::size_t, void*)>("cuMemcpyAsync", "")(to, from, bytes,
                                                                                         stream));
    }
    void lock(void* memory, std::size_t bytes) const {
        check(call<int(void*, std::size_t, unsigned)>("cuMemHostRegister_v2", "hipHostRegister")(memory,
                                                                                                 bytes, 1));
    }
    /// How often the host has waited for this process's devices, as the fake driver counts; a real one does
    /// not.
    [[nodiscard]] std::int64_t num_waits() const {
        void* const count = ::dlsym(library_, "hakobi_fake_num_waits");
        return count ? reinterpret_cast<std::int64_t (*)()>(count)() : 0;
    }
    /// How often a kernel was launched, as the fake driver of CUDA counts; -1: nobody does.
    [[nodiscard]] std::int64_t num_launches() const {
        void* const count = ::dlsym(library_, "hakobi_fake_num_launches");
        return count ? reinterpret_cast<std::int64_t (*)()>(count)() : -1;
    }
    void unlock(void* memory) const {
        check(call<int(void*)>("cuMemHostUnregister", "hipHostUnregister")(memory));
    }

  private:
    template <class Function>
    [[nodiscard]] Function* call(const char* cuda, const char* hip) const {
        void* address = ::dlsym(library_, is_hip_ ? hip : cuda);
        if (!address) fail(std::string("no ") + (is_hip_ ? hip : cuda));
        return reinterpret_cast<Function*>(address);
    }
    static void check(int error) {
        if (error) fail("error " + std::to_string(error));
    }
    [[noreturn]] static void fail(const std::string& text) {
        std::fprintf(stderr, "a program with a device: %s\n", text.c_str());
        std::abort();
    }

    bool is_hip_;
    void* library_;
};

/// An array on a device, by Hakobi's own means: for tests that need no program.
template <class T>
class Array {
  public:
    explicit Array(const std::vector<T>& values, device::Device& device = *device::all_devices().at(0))
        : device_(device), num_(values.size()) {
        auto memory = device.allocate(bytes());
        memory.status().throw_if_error();
        data_ = reinterpret_cast<T*>(memory.value());
        set(values);
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    ~Array() { device_.release(reinterpret_cast<std::byte*>(data_)); }

    [[nodiscard]] T* data() const { return data_; }  ///< no access on the host
    [[nodiscard]] std::size_t size() const { return num_; }
    [[nodiscard]] device::Device& device() const { return device_; }
    [[nodiscard]] std::vector<T> values() const {
        std::vector<T> values(num_);
        move(values.data(), data_);
        return values;
    }
    void set(const std::vector<T>& values) { move(data_, values.data()); }

  private:
    [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(num_ * sizeof(T)); }
    void move(T* to, const T* from) const {
        auto queue = device_.make_queue();
        queue.status().throw_if_error();
        queue.value()
            ->start({.to = reinterpret_cast<std::byte*>(to),
                     .from = reinterpret_cast<const std::byte*>(from),
                     .length_bytes = bytes()})
            .throw_if_error();
        queue.value()->finish().throw_if_error();
    }

    device::Device& device_;
    std::size_t num_;
    T* data_ = nullptr;
};

}  // namespace hakobi::device_test
