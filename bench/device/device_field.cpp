#include "device_field.hpp"

#include "mpi/comm_state.hpp"

namespace hakobi::bench {
namespace {

constexpr std::int64_t field_value_bytes = sizeof(double);

}  // namespace

Runs runs_of(const HaloCase& made, const Subarray& part) {
    const std::vector<int> sizes = made.sizes();
    const std::array<std::int64_t, 3> strides{std::int64_t{sizes[1]} * sizes[2], sizes[2], 1};
    Runs runs{
        .length = part.sizes[2], .num = {part.sizes[0], part.sizes[1]}, .strides = {strides[0], strides[1]}};
    for (std::size_t d = 0; d < 3; ++d) runs.offset += part.starts[d] * strides[d];
    return runs;
}

Runs packed(const Runs& part, std::int64_t offset) {
    return {.offset = offset,
            .length = part.length,
            .num = part.num,
            .strides = {part.num[1] * part.length, part.length}};
}

device::Copy copy_of(double* to, const Runs& into, const double* from, const Runs& out) {
    const auto bytes = [](const std::array<std::int64_t, 2>& values) {
        return std::array{values[0] * field_value_bytes, values[1] * field_value_bytes};
    };
    return {.to = reinterpret_cast<std::byte*>(to + into.offset),
            .from = reinterpret_cast<const std::byte*>(from + out.offset),
            .length_bytes = out.length * field_value_bytes,
            .num = out.num,
            .to_strides_bytes = bytes(into.strides),
            .from_strides_bytes = bytes(out.strides)};
}

OnDevice::OnDevice(DeviceSite& site, const HaloCase& made)
    : site_(site),
      case_(made),
      host_(static_cast<std::size_t>(made.num_values())),
      field_(agreed(site.comm, device::Buffer::on(site.device, bytes()))) {
    fill(0);
}

void OnDevice::fill(int round) {
    bench::fill(case_, site_.comm.rank(), round, host_.data());
    site_.copy(field_.data(), host_.data(), bytes());
    mpi::check(MPI_Barrier(site_.comm.state().internal), "MPI_Barrier");
}

std::int64_t OnDevice::count_wrong(int round) {
    site_.copy(host_.data(), field_.data(), bytes());
    return bench::count_wrong(case_, site_.comm.rank(), round, host_.data());
}

std::int64_t OnDevice::bytes() const {
    return case_.num_values() * field_value_bytes;
}

}  // namespace hakobi::bench
