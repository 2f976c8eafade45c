#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/halo.hpp>
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "exchange/halo_device.hpp"
#include "exchange/halo_geometry.hpp"
#include "exchange/halo_paths.hpp"
#include "exchange/node_channel.hpp"
#include "exchange/strided_copy.hpp"
#include "mpi/persistent.hpp"
#include "node/node_window.hpp"

namespace hakobi::exchange {

/// One rank's transfers with another in every exchange.
struct HaloPeer {
    int rank = -1, node_rank = -1;  ///< the latter -1 on other nodes
    Path in = Path::packed, out = Path::packed;
    std::int64_t bytes_in = 0, bytes_out = 0, pieces_in = 0;

    std::vector<Work> stage;      ///< before this rank is ready
    std::vector<Work> copies;     ///< once the peer is ready; then it is told so
    bool waits_for_peer = false;  ///< the peer copies from or to this rank's memory
    struct Remote;
    std::shared_ptr<Remote> remote;  ///< `cma`: done with the copies

    std::vector<std::byte> send_buffer, receive_buffer;  ///< of fields on the host
    std::vector<Work> pack, unpack;
    /// All of these as a device is given them.
    struct Prepared {
        std::unique_ptr<device::CopyList> stage, copies, pack, unpack;
    } prepared;
    /// Numbers of messages, one after the other.
    struct Messages {
        int first = 0, num = 0;
        [[nodiscard]] bool contains(int message) const { return message >= first && message < first + num; }
    };
    Messages sends, receives;
};

/// A halo's parts on one rank, ready to be used.
struct HaloPlan {
    Comm comm;
    HaloGeometry geometry;
    std::vector<HaloField> fields;
    std::vector<HaloPeer> peers;  ///< ascending ranks
    NodeChannel channel;
    bool has_channel = false;  ///< some peer is reached through it
    node::NodeWindow staging;
    std::unique_ptr<mpi::PersistentMessages> messages;
    std::vector<std::int64_t> shared_ids;  ///< allocations of the fields
    double timeout_s = 0;
    std::unique_ptr<HaloDevice> device;  ///< none: the fields are on the host

    /// Collective over `comm`; throws the same Error on all ranks.
    static std::unique_ptr<HaloPlan> make(const Comm& comm, const HaloGrid& grid,
                                          std::span<const HaloField> fields, const HaloOptions& options,
                                          const HaloChoice& choice = {});
    /// Whether this rank has a neighbour for whom another choice would be another path. Local.
    [[nodiscard]] bool has_choice() const;
    /// How this rank reaches its neighbours, in and out: plans of one grid with equal paths on all ranks do
    /// the same. Local.
    [[nodiscard]] std::vector<Path> paths() const;
    bool is_auto = false;
};

/// The kernel's copy between processes, as a plan made it; false when it refuses.
[[nodiscard]] bool run_remote(const HaloPeer::Remote& remote);

}  // namespace hakobi::exchange
