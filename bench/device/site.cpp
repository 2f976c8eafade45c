#include "site.hpp"

namespace hakobi::bench {

DeviceSite DeviceSite::make(const Comm& comm) {
    device::Device& device = own_device(comm);
    auto queue = agreed(comm, device.make_queue());
    auto driver = agreed(comm, DriverCopy::of(device));
    return {comm, device, std::move(queue), std::move(driver)};
}

}  // namespace hakobi::bench
