#include "pack_kernel.hpp"

#include <array>
#include <string>

namespace hakobi::bench {
namespace {

// PTX, which the driver compiles for the device that it has. A column of blocks takes a region, each thread
// every so-manieth of its values: number i lies in row i / row_length of all planes together, and at i in the
// buffer.
std::string kernel(const std::string& name, const std::string& move) {
    return ".visible .entry " + name + "(.param .u64 regions, .param .u64 field, .param .u64 buffer)\n" + R"({
    .reg .pred %done;
    .reg .b32 %r<20>;
    .reg .b64 %a<8>;
    .reg .f64 %value;
    ld.param.u64 %a1, [regions];
    ld.param.u64 %a2, [field];
    ld.param.u64 %a3, [buffer];
    cvta.to.global.u64 %a1, %a1;
    cvta.to.global.u64 %a2, %a2;
    cvta.to.global.u64 %a3, %a3;
    mov.u32 %r1, %ctaid.y;
    mul.wide.u32 %a4, %r1, 32;
    add.s64 %a5, %a1, %a4;
    ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%a5];     // offset, in_buffer, num_values, row_length
    ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%a5+16];  // num_rows, row_stride, plane_stride
    mov.u32 %r10, %ctaid.x;
    mov.u32 %r11, %ntid.x;
    mov.u32 %r12, %tid.x;
    mad.lo.u32 %r13, %r10, %r11, %r12;  // i
    mov.u32 %r14, %nctaid.x;
    mul.lo.u32 %r14, %r14, %r11;
next:
    setp.ge.u32 %done, %r13, %r4;
    @%done bra end;
    div.u32 %r15, %r13, %r5;  // row
    mul.lo.u32 %r16, %r15, %r5;
    sub.u32 %r16, %r13, %r16;
    div.u32 %r17, %r15, %r6;  // plane
    mul.lo.u32 %r18, %r17, %r6;
    sub.u32 %r18, %r15, %r18;
    mad.lo.u32 %r16, %r18, %r7, %r16;
    mad.lo.u32 %r16, %r17, %r8, %r16;
    add.u32 %r16, %r16, %r2;
    add.u32 %r19, %r13, %r3;
    mul.wide.u32 %a6, %r16, 8;
    add.s64 %a6, %a2, %a6;  // in the field
    mul.wide.u32 %a7, %r19, 8;
    add.s64 %a7, %a3, %a7;  // in the buffer
    )" + move +
           R"(
    add.u32 %r13, %r13, %r14;
    bra next;
end:
    ret;
}
)";
}

std::string program() {
    return ".version 6.0\n.target sm_50\n.address_size 64\n" +
           kernel("pack", "ld.global.f64 %value, [%a6];\n    st.global.f64 [%a7], %value;") +
           kernel("unpack", "ld.global.f64 %value, [%a7];\n    st.global.f64 [%a6], %value;");
}

}  // namespace

Result<std::unique_ptr<PackKernel>> PackKernel::make(DeviceSite& site,
                                                     const std::vector<PackRegion>& regions) {
    const auto bytes = static_cast<std::int64_t>(regions.size() * sizeof(PackRegion));
    auto memory = device::Buffer::on(site.device, std::max<std::int64_t>(bytes, 1));
    if (!memory.ok()) return memory.status();
    if (Status status = site.driver->copy(memory.value().data(),
                                          reinterpret_cast<const std::byte*>(regions.data()), bytes);
        !status.ok())
        return status;
    std::unique_ptr<PackKernel> made(
        new PackKernel(std::move(memory).value(), static_cast<unsigned>(regions.size())));
    auto* const load = driver_function<int(void**, const void*)>(cuda_library, "cuModuleLoadData");
    auto* const find = driver_function<int(void**, void*, const char*)>(cuda_library, "cuModuleGetFunction");
    made->launch_ = driver_function<Launch>(cuda_library, "cuLaunchKernel");
    void* module = nullptr;  // stays loaded
    if (load == nullptr || find == nullptr || made->launch_ == nullptr ||
        load(&module, program().c_str()) != 0 || find(&made->pack_, module, "pack") != 0 ||
        find(&made->unpack_, module, "unpack") != 0) {
        return Status(ErrorCode::unsupported, "the driver compiles no kernels of CUDA");
    }
    return made;
}

Status PackKernel::launch(void* kernel, double* field, double* buffer) {
    constexpr unsigned blocks = 64, threads = 256;
    void* regions = regions_.data();
    std::array<void*, 3> arguments{&regions, &field, &buffer};
    const int code =
        launch_(kernel, blocks, num_regions_, 1, threads, 1, 1, 0, nullptr, arguments.data(), nullptr);
    return code == 0 ? Status() : driver_failure("cuLaunchKernel", code);
}

}  // namespace hakobi::bench
