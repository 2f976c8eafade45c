#include "collectives/device_ends.hpp"

#include <hakobi/error.hpp>
#include <memory>
#include <string>
#include <utility>

#include "mpi/comm_state.hpp"

namespace hakobi::collectives {
namespace {

device::Device* device_of(const void* memory, std::int64_t bytes) {
    const auto found = device::device_of(memory, bytes);
    if (!found.ok())
        Status(found.status().code(), "CollectivePlan: " + found.status().text()).throw_if_error();
    return found.value();
}

[[noreturn]] void end_without_means(const std::string& why) {
    mpi::end_program("a collective plan's first operation with values on a device: " + why +
                     "; the other ranks wait in it for this one");
}

/// Makes it if it is not there.
std::byte* room(device::Buffer& buffer, device::Device& device, std::int64_t bytes) {
    if (buffer.data() == nullptr) {
        auto made = device::Buffer::locked(device, bytes);
        if (!made.ok()) end_without_means(made.status().text());
        buffer = std::move(made).value();
    }
    return buffer.data();
}

std::unique_ptr<device::Queue> queue_of(device::Device& device) {
    auto made = device.make_queue();
    if (!made.ok()) end_without_means(made.status().text());
    return std::move(made).value();
}

}  // namespace

Ends Ends::of(const void* input, void* output, const Lent& lent) {
    Ends ends{.input = input, .output = output};
    if (lent.input_bytes > 0) ends.input_device = device_of(input, lent.input_bytes);
    if (lent.output_bytes > 0) ends.output_device = device_of(output, lent.output_bytes);
    if (ends.input_device != nullptr && ends.output_device != nullptr &&
        ends.input_device != ends.output_device)
        throw Error(ErrorCode::unsupported, "CollectivePlan: input and output are on two devices, " +
                                                ends.input_device->text() + " and " +
                                                ends.output_device->text());
    return ends;
}

DeviceEnds::DeviceEnds(device::Device& device, const Lent& lent)
    : device_(device), lent_(lent), queue_(queue_of(device)) {}

void DeviceEnds::begin(const Ends& ends, DeviceStream stream) {
    const auto* const input = static_cast<const std::byte*>(ends.input);
    auto* const output = static_cast<std::byte*>(ends.output);
    const bool is_in_place = ends.input_device != nullptr && ends.output_device != nullptr &&
                             input >= output && input < output + lent_.output_bytes;
    std::byte* const host_output =
        ends.output_device != nullptr ? room(output_, device_, lent_.output_bytes) : output;
    std::byte* const copied_input = is_in_place                    ? host_output + (input - output)
                                    : ends.input_device != nullptr ? room(input_, device_, lent_.input_bytes)
                                                                   : nullptr;
    queue_.begin_after(stream).throw_if_error();
    ends_ = ends;
    host_input_ = copied_input != nullptr ? copied_input : input;
    host_output_ = host_output;
    if (copied_input != nullptr)
        queue_.give({.to = copied_input, .from = input, .length_bytes = lent_.input_bytes});
    if (ends.output_device != nullptr && ends.is_output_read)
        queue_.give({.to = host_output, .from = output, .length_bytes = lent_.output_bytes});
    loaded_ = queue_.mark();  // behind the output of the operation before, too
}

void DeviceEnds::take_output() {
    if (ends_.output_device == nullptr) return;
    auto* const output = static_cast<std::byte*>(ends_.output);
    queue_.give({.to = output, .from = host_output_, .length_bytes = lent_.output_bytes});
    landed_ = queue_.mark();
}

}  // namespace hakobi::collectives
