#include "exchange/saved_ghosts.hpp"

#include "exchange/field_layout.hpp"

namespace hakobi::exchange {

SavedGhosts::SavedGhosts(const HaloPlan& plan) {
    if (plan.device) device_ = std::make_unique<HaloDevice>(plan.device->device());
    const std::size_t num_dims = plan.geometry.num_dims();
    const std::vector<Transfer> received = plan.geometry.received_by(plan.comm.rank());
    std::int64_t bytes = 0;
    for (const HaloField& field : plan.fields)
        for (const Transfer& transfer : received)
            bytes += bytes_of(layout_of(field), transfer.ghost, num_dims);
    if (!device_) on_host_.resize(static_cast<std::size_t>(bytes));
    std::byte* const saved = device_ ? device_->device_memory(bytes) : on_host_.data();
    std::vector<Work> save;
    std::int64_t at = 0;
    for (const HaloField& field : plan.fields) {
        const FieldLayout layout = layout_of(field);
        const Order order = order_of(layout, num_dims);
        auto* const data = static_cast<std::byte*>(field.data);
        for (const Transfer& transfer : received) {
            save.push_back({copy_to_packed(layout, transfer.ghost, num_dims, order, at), data, saved});
            restore_.push_back({copy_from_packed(layout, transfer.ghost, num_dims, order, at), saved, data});
            at += bytes_of(layout, transfer.ghost, num_dims);
        }
    }
    run(save);
}

void SavedGhosts::run(const std::vector<Work>& works) {
    if (!device_) {
        for (const Work& work : works) work();
        return;
    }
    const auto list = device_->prepare(works);
    device_->give(HaloDevice::Way::in, *list);
    device_->finish();
}

}  // namespace hakobi::exchange
