#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "machine.hpp"

namespace hakobi::bench::scale {

/// The servers of one file and the nodes' ways to them: each server serves what comes, one after the other. A
/// server moves a lock when the bytes that were written before those of a request, or behind them, are not
/// the same node's: locks grow until they meet another node's.
class Storage {
  public:
    Storage(const Machine& machine, const Layout& layout, int num_nodes);

    /// One thread's write of [begin, end) of the file, which begins at `now_s`: when it is over but for the
    /// request's latency. Calls come in the order of time.
    double write(int node, double now_s, std::int64_t begin_bytes, std::int64_t end_bytes);
    /// `num_writers` threads of a node that make `count` writes of `bytes` each, one after the other, spread
    /// over all servers; `moved_share` of them meet a lock that another node has.
    double write_small(int node, int num_writers, double count, double bytes, double moved_share);

    /// From now on everybody is idle again at time 0; locks stay where they are.
    void rest();
    /// Since the last rest.
    void add_to(Busy& busy) const;

  private:
    double serve(std::size_t server, int node, double now_s, std::int64_t at_bytes, double bytes);

    Machine machine_;
    Layout layout_;
    std::vector<double> free_s_, data_s_, locks_s_;      // by server
    std::vector<std::map<std::int64_t, int>> holders_;   // by server: nodes, by the begin of their bytes
    std::vector<double> client_free_s_, client_busy_s_;  // by node
};

}  // namespace hakobi::bench::scale
