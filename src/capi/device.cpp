#include "device/device.hpp"

#include <hakobi/bindings.h>

#include <string>
#include <vector>

#include "capi/guard.hpp"
#include "mpi/gpu_aware.hpp"

namespace {

/// Text number `index` of a list that `make` gives once; null after the last one, and where memory is short.
template <class Make>
const char* text_of(int index, Make make) {
    const char* text = nullptr;
    hakobi::capi::guarded([&] {
        static const std::vector<std::string> texts = make();
        if (index >= 0 && index < std::ssize(texts)) text = texts[static_cast<std::size_t>(index)].c_str();
    });
    return text;
}

}  // namespace

const char* hakobi_device_text(int index) {
    return text_of(index, [] {
        std::vector<std::string> texts;
        for (const hakobi::device::Device* device : hakobi::device::all_devices())
            texts.push_back(device->text());
        return texts;
    });
}

const char* hakobi_device_refused(int index) {
    return text_of(index, hakobi::device::refused_drivers);
}

int hakobi_mpi_takes_device_memory(int index) {
    int answer = HAKOBI_NO;
    hakobi::capi::guarded([&] {
        const auto devices = hakobi::device::all_devices();
        if (index < 0 || index >= std::ssize(devices)) return;
        if (hakobi::mpi::takes_memory_of(*devices[static_cast<std::size_t>(index)])) answer = HAKOBI_YES;
    });
    return answer;
}
