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
    return std::min(num_nodes * of_node,
                    stripes.servers() * static_cast<int>(policy().most_aggregators_of_server));
}

int server_requests_of(const FileStripes& stripes, std::int64_t cb_bytes, int num_aggregators, int asked) {
    const std::int64_t cycle = std::max<std::int64_t>(1, cycle_of_stripe(stripes.stripe_bytes, cb_bytes));
    const auto paying = static_cast<int>(std::clamp<std::int64_t>(policy().bytes_in_flight_of_server / cycle,
                                                                  policy().least_server_requests,
                                                                  policy().most_server_requests));
    const int of_all = asked > 0 ? asked : paying;
    return std::max(1, of_all / ceiling(num_aggregators, stripes.servers()));
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
