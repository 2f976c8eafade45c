#pragma once

#include <cstdint>
#include <string>

namespace hakobi::bench::scale {

/// The costs of a machine, from a machine file (docs/measure.md, "At more ranks than there are"). Rates are
/// bytes per second; 0 where nothing limits.
struct Machine {
    int ranks_per_node = 1;
    int cores = 0;           ///< of a node; 0: as many as are used
    double core_rate = 0;    ///< at which one process copies
    double piece_s = 0;      ///< of a process for each piece that it copies
    double memory_rate = 0;  ///< at which all of a node's do

    double network_rate = 0;       ///< of a node, in each direction
    double rank_rate = 0;          ///< of one of its ranks
    double network_latency_s = 0;  ///< of a message
    double message_s = 0;          ///< processor time of a message, on each side
    std::int64_t highest_tag = 0;  ///< MPI_TAG_UB

    int num_servers = 1;
    double server_rate = 0;
    double storage_latency_s = 0;  ///< of a request
    double client_rate = 0;        ///< of a node to one file
    double files_rate = 0;         ///< of a node to files that no other node writes
    double stream_rate = 0;        ///< of one thread that waits for each of its requests
    double byte_cpu_s = 0;         ///< processor time of a node for a byte that it stores
    double lock_s = 0;             ///< a server's, when a file's lock there moves to another node

    bool is_aggregated_by_stripe = false;  ///< the MPI library knows stripes (ROMIO's driver for Lustre)
};

/// How a file lies on the servers.
struct Layout {
    int num_stripes = 1;
    std::int64_t stripe_bytes = 1 << 20;
};

/// The job that is simulated.
struct Job {
    int num_ranks = 1;
    int ranks_per_node = 1;
    [[nodiscard]] int num_nodes() const { return (num_ranks - 1) / ranks_per_node + 1; }
    [[nodiscard]] int node_of(int rank) const { return rank / ranks_per_node; }
};

/// Seconds that `bytes` take at a rate of 0 (nothing) or more.
[[nodiscard]] inline double seconds(double bytes, double rate) {
    return rate > 0 ? bytes / rate : 0;
}
/// The seconds of one process for a copy in or out of pieces of `piece_bytes`.
[[nodiscard]] inline double copy_s(const Machine& machine, double bytes, std::int64_t piece_bytes) {
    return seconds(bytes, machine.core_rate) +
           seconds(bytes, static_cast<double>(piece_bytes)) * machine.piece_s;
}

/// For how long the busiest of each kind was busy, and what every rank waits for: whichever is nearest to the
/// whole time limits it.
struct Busy {
    double servers_s = 0, locks_s = 0;  ///< one server, with data and with locks
    double client_s = 0;                ///< one node's access to the file, or that of a writer's only thread
    double network_s = 0;               ///< one node's
    double memory_s = 0;                ///< copies, of one process or one node
    double cores_s = 0;                 ///< processor time of one node, over its cores
    double aggregator_s = 0;            ///< one rank's messages and copies as aggregator, or its I/O threads
    double descriptions_s = 0;          ///< telling aggregators who has what, and looking it up
    double latency_s = 0;               ///< meetings, and requests one after the other

    Busy& operator+=(const Busy& other);
    [[nodiscard]] Busy times(double factor) const;
    /// Its name: "servers", "locks", "client", "network", "memory", "cores", "aggregator", "descriptions",
    /// "latency".
    [[nodiscard]] std::string longest() const;
};

/// One collective write of the pattern.
struct Outcome {
    double time_s = 0;
    Busy busy;
    int num_aggregators = 1;
    Layout layout;
    std::int64_t num_phases = 1;  ///< or rounds
    double mean_words_sent = 0;   ///< by a rank, of descriptions
    double most_words_sent = 0;
    double most_words_held = 0;  ///< by an aggregator at a time
    double mean_messages = 0;    ///< of descriptions, by a rank
    double memory_of_rank =
        0;  ///< bytes beside the data: its share of the node's buffers, and what it is told
};

}  // namespace hakobi::bench::scale
