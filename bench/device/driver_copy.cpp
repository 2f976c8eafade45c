#include "driver_copy.hpp"

#include <string>

#include "device/driver.hpp"

namespace hakobi::bench {
namespace {

// As cuda.h has them: CUresult and CUdevice are int, a CUdeviceptr is an address, CUcontext and CUstream are
// pointers.
class CudaCopy final : public DriverCopy {
  public:
    static Result<std::unique_ptr<DriverCopy>> make(int number) {
        constexpr const char* library = cuda_library;
        auto* const get_device = driver_function<int(int*, int)>(library, "cuDeviceGet");
        auto* const retain = driver_function<int(void**, int)>(library, "cuDevicePrimaryCtxRetain");
        auto* const set = driver_function<int(void*)>(library, "cuCtxSetCurrent");
        auto copy = std::make_unique<CudaCopy>();
        copy->copy_ = driver_function<Copy>(library, "cuMemcpyAsync");
        copy->wait_ = driver_function<Wait>(library, "cuStreamSynchronize");
        if (get_device == nullptr || retain == nullptr || set == nullptr || copy->copy_ == nullptr ||
            copy->wait_ == nullptr) {
            return Status(ErrorCode::unsupported, "CUDA's driver has no cuMemcpyAsync");
        }
        int device = 0;
        void* context = nullptr;
        if (const int code = get_device(&device, number); code != 0)
            return driver_failure("cuDeviceGet", code);
        if (const int code = retain(&context, device); code != 0)
            return driver_failure("cuDevicePrimaryCtxRetain", code);
        if (const int code = set(context); code != 0) return driver_failure("cuCtxSetCurrent", code);
        return std::unique_ptr<DriverCopy>(std::move(copy));
    }
    Status copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
        const auto address = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); };
        const int code = copy_(address(to), address(from), static_cast<std::size_t>(bytes), nullptr);
        return code == 0 ? finish() : driver_failure("cuMemcpyAsync", code);
    }
    Status finish() override {
        const int code = wait_(nullptr);
        return code == 0 ? Status() : driver_failure("cuStreamSynchronize", code);
    }

  private:
    using Copy = int(std::uintptr_t to, std::uintptr_t from, std::size_t bytes, void* stream);
    using Wait = int(void* stream);
    Copy* copy_ = nullptr;
    Wait* wait_ = nullptr;
};

// As hip_runtime_api.h has them: hipError_t and hipMemcpyKind are int.
class HipCopy final : public DriverCopy {
  public:
    static Result<std::unique_ptr<DriverCopy>> make(int number) {
        auto copy = std::make_unique<HipCopy>();
        Set* set = nullptr;
        for (const char* library : device::hip_libraries) {
            set = driver_function<Set>(library, "hipSetDevice");
            copy->copy_ = driver_function<Copy>(library, "hipMemcpyAsync");
            copy->wait_ = driver_function<Wait>(library, "hipStreamSynchronize");
            if (set != nullptr) break;
        }
        if (set == nullptr || copy->copy_ == nullptr || copy->wait_ == nullptr)
            return Status(ErrorCode::unsupported, "HIP's library has no hipMemcpyAsync");
        if (const int code = set(number); code != 0) return driver_failure("hipSetDevice", code);
        return std::unique_ptr<DriverCopy>(std::move(copy));
    }
    Status copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
        constexpr int by_address = 4;  // hipMemcpyDefault
        const int code = copy_(to, from, static_cast<std::size_t>(bytes), by_address, nullptr);
        return code == 0 ? finish() : driver_failure("hipMemcpyAsync", code);
    }
    Status finish() override {
        const int code = wait_(nullptr);
        return code == 0 ? Status() : driver_failure("hipStreamSynchronize", code);
    }

  private:
    using Set = int(int number);
    using Copy = int(void* to, const void* from, std::size_t bytes, int kind, void* stream);
    using Wait = int(void* stream);
    Copy* copy_ = nullptr;
    Wait* wait_ = nullptr;
};

}  // namespace

Status driver_failure(const char* call, int code) {
    return {ErrorCode::io, std::string(call) + ": error " + std::to_string(code) + " of the driver"};
}

Result<std::unique_ptr<DriverCopy>> DriverCopy::of(const device::Device& device) {
    return device.driver() == "CUDA" ? CudaCopy::make(device.number()) : HipCopy::make(device.number());
}

}  // namespace hakobi::bench
