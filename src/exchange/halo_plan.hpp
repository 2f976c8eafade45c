#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/halo.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "exchange/halo_device.hpp"
#include "exchange/halo_geometry.hpp"
#include "exchange/node_channel.hpp"
#include "exchange/strided_copy.hpp"
#include "mpi/persistent.hpp"
#include "node/node_window.hpp"

namespace hakobi::exchange {

/// How bytes go from one rank to another. The first five need a common node. Where a rank's fields are on a device it goes
/// `ipc`, `staged`, `aware`, `packed` or `parts`.
enum class Path {
    direct,   ///< the receiver copies from the sender's memory, which both have mapped
    deposit,  ///< the sender copies into the receiver's memory
    cma,      ///< the receiver has the kernel copy from the sender's memory (process_vm_readv)
    ipc,      ///< the receiver's device copies from the sender's, whose memory the driver shares
    staged,   ///< the sender packs into memory that both have mapped, the receiver unpacks
    aware,    ///< a message of packed bytes in a device's memory, which the MPI library takes
    packed,   ///< a message of packed bytes
    parts,  ///< packed bytes in messages so short that the MPI library sends them without asking the receiver
    datatype,  ///< a message of an MPI datatype
    self,      ///< within one rank: a copy
};
[[nodiscard]] std::string_view to_string(Path path);
/// The names that a caller may ask for, in the order of the enum.
[[nodiscard]] std::span<const std::string_view> path_names();

/// What one rank has to do with another in every exchange.
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
    /// Numbers of messages, one after the other.
    struct Messages {
        int first = 0, num = 0;
        [[nodiscard]] bool contains(int message) const { return message >= first && message < first + num; }
    };
    Messages sends, receives;
};

/// What "auto" takes where memory is not shared: within a node, and between nodes.
struct HaloChoice {
    Path on_node = Path::staged;
    Path by_message = Path::parts;
    bool is_aware = true;  ///< messages of device memory where the MPI library takes them
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
    std::string measured;                ///< for explain
    std::unique_ptr<HaloDevice> device;  ///< none: the fields are on the host

    /// Collective over `comm`; throws the same Error on all ranks.
    static std::unique_ptr<HaloPlan> make(const Comm& comm, const HaloGrid& grid,
                                          std::span<const HaloField> fields, const HaloOptions& options,
                                          const HaloChoice& choice = {});
    /// Whether this rank has a neighbour for whom another choice would be another path. Local.
    [[nodiscard]] bool has_choice() const;
    /// How this rank reaches its neighbours, in and out: plans of one grid with equal paths on all ranks do the same. Local.
    [[nodiscard]] std::vector<Path> paths() const;
    bool is_auto = false;
};

/// The kernel's copy between processes, as a plan made it; false when it refuses.
[[nodiscard]] bool run_remote(const HaloPeer::Remote& remote);

}  // namespace hakobi::exchange
