// HIP's API, as hip_runtime_api.h has it: hipError_t and hipMemcpyKind are int, a hipStream_t is a pointer.
#include <dlfcn.h>

#include <array>
#include <type_traits>

#include "driver.hpp"

namespace hakobi::apps {
namespace {

struct HipFunctions {
    int (*count)(int* num);
    int (*set)(int number);
    int (*name)(char* text, int size, int number);
    int (*make_stream)(void** stream, unsigned flags);
    int (*free_stream)(void* stream);
    int (*wait)(void* stream);
    int (*allocate)(void** memory, std::size_t bytes);
    int (*release)(void* memory);
    int (*copy)(void* to, const void* from, std::size_t bytes, int kind, void* stream);
    bool are_all = true;

    explicit HipFunctions(void* library) {
        const auto load = [&](auto& function, const char* symbol) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(function_of(library, symbol));
            are_all = are_all && function != nullptr;
        };
        load(count, "hipGetDeviceCount");
        load(set, "hipSetDevice");
        load(name, "hipDeviceGetName");
        load(make_stream, "hipStreamCreateWithFlags");
        load(free_stream, "hipStreamDestroy");
        load(wait, "hipStreamSynchronize");
        load(allocate, "hipMalloc");
        load(release, "hipFree");
        load(copy, "hipMemcpyAsync");
    }
};

class Hip final : public Gpu {
  public:
    Hip(const HipFunctions& functions, int number) : functions_(functions) {
        constexpr unsigned non_blocking = 1;
        must("hipSetDevice", functions_.set(number));
        must("hipStreamCreateWithFlags", functions_.make_stream(&stream_, non_blocking));
        std::array<char, 128> text{};
        must("hipDeviceGetName", functions_.name(text.data(), static_cast<int>(text.size()), number));
        name_ = text.data();
    }
    ~Hip() override { functions_.free_stream(stream_); }

    std::string name() const override { return name_; }
    DeviceStream stream() const override { return stream_; }
    void copy(void* to, const void* from, std::int64_t bytes) override {
        constexpr int by_address = 4;  // hipMemcpyDefault
        must("hipMemcpyAsync",
             functions_.copy(to, from, static_cast<std::size_t>(bytes), by_address, stream_));
    }
    void synchronize() override { must("hipStreamSynchronize", functions_.wait(stream_)); }

  private:
    std::byte* try_allocate(std::int64_t bytes) noexcept override {
        void* memory = nullptr;
        const int code = functions_.allocate(&memory, static_cast<std::size_t>(bytes));
        return code == 0 ? static_cast<std::byte*>(memory) : nullptr;
    }
    void release(std::byte* memory) noexcept override { functions_.release(memory); }

    HipFunctions functions_;
    DeviceStream stream_ = nullptr;
    std::string name_;
};

}  // namespace

std::shared_ptr<Gpu> open_hip(int place) {
    void* library = nullptr;
    for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
        if (library == nullptr) library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    }
    const HipFunctions functions(library);
    int num = 0;
    if (!functions.are_all || functions.count(&num) != 0 || num == 0) return nullptr;
    return std::make_shared<Hip>(functions, place % num);
}

}  // namespace hakobi::apps
