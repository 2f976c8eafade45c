// CUDA's driver API, as cuda.h has it: CUresult and CUdevice are int, a CUdeviceptr is an address, the others
// are pointers.
#include <dlfcn.h>

#include <array>
#include <type_traits>

#include "driver.hpp"

namespace hakobi::apps {
namespace {

struct CudaFunctions {
    int (*init)(unsigned flags);
    int (*count)(int* num);
    int (*device)(int* device, int number);
    int (*name)(char* text, int size, int device);
    int (*retain)(void** context, int device);
    int (*set)(void* context);
    int (*make_stream)(void** stream, unsigned flags);
    int (*free_stream)(void* stream);
    int (*wait)(void* stream);
    int (*allocate)(std::uintptr_t* memory, std::size_t bytes);
    int (*release)(std::uintptr_t memory);
    int (*copy)(std::uintptr_t to, std::uintptr_t from, std::size_t bytes, void* stream);
    bool are_all = true;

    explicit CudaFunctions(void* library) {
        const auto load = [&](auto& function, const char* symbol) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(function_of(library, symbol));
            are_all = are_all && function != nullptr;
        };
        load(init, "cuInit");
        load(count, "cuDeviceGetCount");
        load(device, "cuDeviceGet");
        load(name, "cuDeviceGetName");
        load(retain, "cuDevicePrimaryCtxRetain");
        load(set, "cuCtxSetCurrent");
        load(make_stream, "cuStreamCreate");
        load(free_stream, "cuStreamDestroy_v2");
        load(wait, "cuStreamSynchronize");
        load(allocate, "cuMemAlloc_v2");
        load(release, "cuMemFree_v2");
        load(copy, "cuMemcpyAsync");
    }
};

class Cuda final : public Gpu {
  public:
    Cuda(const CudaFunctions& functions, int device) : functions_(functions) {
        constexpr unsigned non_blocking = 1;
        void* context = nullptr;
        must("cuDevicePrimaryCtxRetain", functions_.retain(&context, device));
        must("cuCtxSetCurrent", functions_.set(context));
        must("cuStreamCreate", functions_.make_stream(&stream_, non_blocking));
        std::array<char, 128> text{};
        must("cuDeviceGetName", functions_.name(text.data(), static_cast<int>(text.size()), device));
        name_ = text.data();
    }
    ~Cuda() override { functions_.free_stream(stream_); }

    std::string name() const override { return name_; }
    DeviceStream stream() const override { return stream_; }
    void copy(void* to, const void* from, std::int64_t bytes) override {
        must("cuMemcpyAsync",
             functions_.copy(reinterpret_cast<std::uintptr_t>(to), reinterpret_cast<std::uintptr_t>(from),
                             static_cast<std::size_t>(bytes), stream_));
    }
    void synchronize() override { must("cuStreamSynchronize", functions_.wait(stream_)); }

  private:
    std::byte* try_allocate(std::int64_t bytes) noexcept override {
        std::uintptr_t memory = 0;
        const int code = functions_.allocate(&memory, static_cast<std::size_t>(bytes));
        return code == 0 ? reinterpret_cast<std::byte*>(memory) : nullptr;
    }
    void release(std::byte* memory) noexcept override {
        functions_.release(reinterpret_cast<std::uintptr_t>(memory));
    }

    CudaFunctions functions_;
    DeviceStream stream_ = nullptr;
    std::string name_;
};

}  // namespace

std::shared_ptr<Gpu> open_cuda(int place) {
    const CudaFunctions functions(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL));
    int num = 0, device = 0;
    if (!functions.are_all || functions.init(0) != 0 || functions.count(&num) != 0 || num == 0)
        return nullptr;
    if (functions.device(&device, place % num) != 0) return nullptr;
    return std::make_shared<Cuda>(functions, device);
}

}  // namespace hakobi::apps
