#pragma once

#include <hakobi/comm.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "exchange/halo_record.hpp"

namespace hakobi::exchange {

/// How bytes go from one rank to another. The first five need a common node. Where a rank's fields are on a
/// device it goes `ipc`, `staged`, `aware`, `packed` or `parts`.
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

/// The paths that "auto" takes where memory is not shared: within a node, and between nodes.
struct HaloChoice {
    Path on_node = Path::staged;
    Path by_message = Path::parts;
    bool is_aware = true;  ///< messages of device memory where the MPI library takes them
};

class Notes;

/// By which path ranks reach each other: the same answer on both, and on every rank of their node. Local.
class PathRules {
  public:
    /// `places`: of all ranks.
    PathRules(const Comm& comm, const Wishes& wishes, const HaloChoice& choice, std::vector<Place> places);

    /// Whether any path through the node's memory may be taken: its ranks then leave notes.
    [[nodiscard]] bool meets_on_node() const;
    /// Whether devices may look at each other's memory by the driver.
    [[nodiscard]] bool may_open() const { return !wish_ || *wish_ == Path::ipc; }
    void set_notes(const Notes& notes) { notes_ = &notes; }

    [[nodiscard]] Path between(int sender, int receiver) const;
    /// -1: on another node.
    [[nodiscard]] int node_rank_of(int rank) const;

  private:
    [[nodiscard]] bool are_on_host(int sender, int receiver) const;
    /// Whether the MPI library takes the memory of those of the two that are on a device.
    [[nodiscard]] bool are_aware(int sender, int receiver) const;
    [[nodiscard]] Path message_between(int sender, int receiver) const;
    /// The path between two ranks of the node, by node rank; `by_message` where neither reaches the other's
    /// memory.
    [[nodiscard]] Path between_hosts(int sender, int receiver, Path by_message) const;
    [[nodiscard]] Path between_devices(int sender, int receiver, Path by_message) const;

    Comm comm_;
    std::optional<Path> wish_;  // none: "auto"
    HaloChoice choice_;
    std::vector<Place> places_;
    const Notes* notes_ = nullptr;
};

}  // namespace hakobi::exchange
