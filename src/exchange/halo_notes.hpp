#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <span>

#include "device/device.hpp"
#include "exchange/field_layout.hpp"
#include "exchange/node_channel.hpp"
#include "exchange/remote_copy.hpp"

namespace hakobi::exchange {

/// Where a rank's fields on a device are, for other processes.
struct OnDevice {
    bool is_shared = false;
    std::array<std::byte, 16> uuid{};
};

/// The messages of a node's ranks to each other, in NodeChannel's notes.
class Notes {
  public:
    Notes(const Comm& comm, const NodeChannel& channel, std::size_t num_fields)
        : node_size_(static_cast<std::size_t>(comm.node_size())),
          num_fields_(num_fields),
          channel_(channel) {}
    static std::int64_t bytes(int node_size, std::size_t num_fields) {
        return static_cast<std::int64_t>(head_bytes + num_fields * field_bytes) + 3 * node_size;
    }

    [[nodiscard]] Probe& probe(int node_rank) const {
        return *reinterpret_cast<Probe*>(channel_.note(node_rank));
    }
    [[nodiscard]] OnDevice& on_device(int node_rank) const {
        return *reinterpret_cast<OnDevice*>(channel_.note(node_rank) + sizeof(Probe));
    }
    [[nodiscard]] std::span<FieldLayout> layouts(int node_rank) const {
        return {reinterpret_cast<FieldLayout*>(channel_.note(node_rank) + head_bytes), num_fields_};
    }
    /// Handles of the fields' first own elements.
    [[nodiscard]] std::span<device::SharedHandle> handles(int node_rank) const {
        std::byte* const first = channel_.note(node_rank) + head_bytes + num_fields_ * sizeof(FieldLayout);
        return {reinterpret_cast<device::SharedHandle*>(first), num_fields_};
    }
    /// Whether `by` reaches the memory of `of`: through a mapping, through the kernel, by its device.
    [[nodiscard]] std::byte& maps(int by, int of) const { return flags(by)[of]; }
    [[nodiscard]] std::byte& reads(int by, int of) const {
        return flags(by)[static_cast<int>(node_size_) + of];
    }
    [[nodiscard]] std::byte& opens(int by, int of) const {
        return flags(by)[2 * static_cast<int>(node_size_) + of];
    }

  private:
    static constexpr std::size_t head_bytes = (sizeof(Probe) + sizeof(OnDevice) + 7) / 8 * 8,
                                 field_bytes = sizeof(FieldLayout) + sizeof(device::SharedHandle);
    [[nodiscard]] std::byte* flags(int node_rank) const {
        return channel_.note(node_rank) + head_bytes + num_fields_ * field_bytes;
    }
    std::size_t node_size_, num_fields_;
    const NodeChannel& channel_;
};

}  // namespace hakobi::exchange
