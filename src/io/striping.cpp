#include "io/striping.hpp"

#include <algorithm>

#include "io/policy.hpp"

namespace hakobi::io {
namespace {

int ceiling(int value, int by) {
    return (value + by - 1) / by;
}

}  // namespace

bool can_go_by_server(const FileStripes& stripes, std::int64_t cb_bytes) {
    return stripes.num_objects > 1 &&
           cycle_of_stripe(stripes.stripe_bytes, cb_bytes) >= policy().least_striped_cycle;
}

int aggregators_of(const FileStripes& stripes, int num_nodes, int largest_node) {
    const int wanted =
        ceiling(ceiling(stripes.servers(), num_nodes), static_cast<int>(policy().servers_of_aggregator));
    const int of_node =
        std::clamp(wanted, 1, std::min(largest_node, static_cast<int>(policy().most_aggregators_of_node)));
    const int count = std::min(num_nodes * of_node,
                               stripes.servers() * static_cast<int>(policy().most_aggregators_of_server));
    // With an odd number each would have a part of one server and a part of the next one: then too few of its
    // buffers are one server's.
    const int even = count / stripes.servers() * stripes.servers();
    return 4 * even >= 3 * count ? even : count;
}

int server_requests_of(const FileStripes& stripes, int num_aggregators, int asked) {
    if (asked == 0) return static_cast<int>(policy().server_requests);
    return std::max(1, asked / ceiling(num_aggregators, stripes.servers()));
}

int striped_threads_of(const FileStripes& stripes, int num_aggregators, int server_requests) {
    const int servers = most_objects_of_domain(stripes.servers(), num_aggregators);
    return std::clamp(servers * server_requests, 4, policy_limits::most_striped_threads);
}

StripedBuffers striped_buffers(const FileStripes& stripes, const NodeBuffers& buffers, int num_aggregators) {
    const std::int64_t cycle = cycle_of_stripe(stripes.stripe_bytes, buffers.cb_bytes);
    const int of_domain = most_objects_of_domain(stripes.num_objects, num_aggregators);
    StripedBuffers result;
    result.rings = buffers.divided(of_domain, cycle);
    // One object a domain: as many buffers as cycles of its size have room.
    result.plan = {stripes.stripe_bytes, stripes.num_objects, cycle, result.rings.num};
    result.staging_rings = buffers.divided(num_aggregators * result.rings.num, cycle);
    return result;
}

}  // namespace hakobi::io
