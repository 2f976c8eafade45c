#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/thread.hpp"
#include "io/node_buffers.hpp"
#include "io/pipeline.hpp"
#include "mpi/comm_state.hpp"
#include "node/node_window.hpp"
#include "node/team.hpp"

namespace hakobi::io {

/// The ranks that access a file for the others, one a file domain, as one rank sees them. Equal options make
/// equal ones.
struct Aggregators {
    std::vector<int> ranks;        ///< of each domain
    std::vector<int> local_index;  ///< of each domain: its aggregator's index on this node, or -1
    int num_local = 0;             ///< on this node
    int most_of_a_node = 1;        ///< equal on all ranks
    int my_domain = -1;            ///< this rank's; -1: it is none of them

    /// `count` and `per_node` as of choose_aggregators. Pure.
    [[nodiscard]] static Aggregators choose(const Comm& comm, int count, int per_node);
};

/// Resources that the ranks of a communicator keep for all files that they open on it, one after another or
/// several at once: collective buffers in memory that a node shares, and each aggregator's pipeline with its
/// threads. A file's engine sets it up before its first shuffle and finds it ready from then on, while files
/// want the same of it.
///
/// A rank's calls come from one thread, in the same order on all ranks, as MPI asks of a communicator.
class Crew final : public mpi::Attachment {
  public:
    /// The Comm's own: made by the first call, freed by Comm::free. Local, but in the same order on all ranks
    /// among what else is attached.
    [[nodiscard]] static Crew& of(const Comm& comm);
    Crew();
    ~Crew() override;
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// The resources that a file wants; equal on all ranks.
    struct Wishes {
        std::vector<int> aggregators;  ///< ranks
        std::int64_t cb_bytes = 0;
        int depth = 0;  ///< at least: a crew that has more serves those who want less
        std::string access;
        int io_threads = 0;
    };
    /// Makes the crew what `wishes` say; at once where it is. Else collective over `comm`: waits for what the
    /// old buffers still hold, and returns the same on every rank. `cores`: where any rank of the node may
    /// run.
    Status set_up(const Comm& comm, const Wishes& wishes, const Aggregators& aggregators,
                  const CoreSet& cores);
    [[nodiscard]] bool is_set_up() const { return window_.data() != nullptr; }

    /// Before a phase, by all ranks of the node: divides the buffers so, once what they hold is stored, and
    /// numbers turns from 0 again where that is new or the numbers come to their end.
    void prepare_turns(const Comm& comm, node::Team& team, const Rings& rings, const Rings& staging_rings);
    /// The next turn of each local aggregator's lanes. Equal on the node's ranks.
    [[nodiscard]] std::vector<std::uint32_t>& next_turns() { return next_turns_; }
    /// The staging buffers' turns begin with the phase. The leader's, while the node's ranks meet.
    void reset_staging();
    /// This aggregator's phase begins.
    [[nodiscard]] std::shared_ptr<Phase> begin(const Comm& comm, PhaseTask task);
    /// How the storage of a file serves this aggregator's accesses.
    [[nodiscard]] Service service_of(storage::File& file) const;

    [[nodiscard]] const NodeBuffers& buffers() const { return buffers_; }

    /// Leaves what accesses use that may never end, and makes it anew for the next file. By all ranks alike.
    void abandon();

    void free() override;

  private:
    Status start_pipeline();
    void free_window();
    [[nodiscard]] storage::AccessOptions access_options() const;
    /// Ends the threads of all crews of the process when MPI_Finalize begins: it may take memory away that
    /// MPI has given. Local.
    class EndAtFinalize;

    // The pipeline's threads use the memory until they end: it goes last.
    node::NodeWindow window_;
    PageLocks locks_;  // in it
    NodeBuffers buffers_;
    Wishes wishes_;
    CoreSet cores_ = {};
    std::vector<std::uint32_t> next_turns_;
    std::size_t local_ = 0;  // this rank's index among the node's aggregators, where it has a pipeline
    std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace hakobi::io
