// A declared network as a platform of SimGrid: it loads this library and calls `load_platform`. An XML
// description with shortest paths took minutes for 2,560 nodes; here the way of a message is computed:
// through the dimensions in their order, on a torus the shorter way round. The nodes between pass it on as
// fast as their links are, without their processors. HAKOBI_SIMULATED_NETWORK holds "TOPOLOGY
// BANDWIDTH_BYTES_S LATENCY_S".
#include <cstdlib>
#include <hakobi/network_shape.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using simgrid::kernel::resource::StandardLinkImpl;
using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::routing::Route;

/// A node's link in one dimension. Crossbars: `up` to the switch of its line, `down` from it. Torus: `up` to
/// the next node, `down` from there back.
struct Link {
    StandardLinkImpl* up = nullptr;
    StandardLinkImpl* down = nullptr;
};

constexpr double loop_bandwidth_bytes_s = 1e12;

class DeclaredZone final : public simgrid::kernel::routing::NetZoneImpl {
  public:
    DeclaredZone(hakobi::NetworkShape shape, double latency_s)
        : NetZoneImpl("network"), shape_(std::move(shape)), latency_s_(latency_s) {}

    void make(double bandwidth_bytes_s) {
        const auto num_nodes = static_cast<int>(shape_.num_nodes());
        const std::size_t num_dims = shape_.extents.size();
        const double each_s = is_torus() ? latency_s_ : latency_s_ / 2;
        for (int node = 0; node < num_nodes; ++node)
            get_iface()->create_host("node" + std::to_string(node), 1e9)->seal();
        for (std::size_t i = 0; i < static_cast<std::size_t>(num_nodes) * num_dims; ++i) {
            const auto make_link = [&](const char* way) {
                return get_iface()
                    ->create_link(way + std::to_string(i), bandwidth_bytes_s)
                    ->set_latency(each_s)
                    ->seal()
                    ->get_impl();
            };
            links_.push_back({make_link("up"), make_link("down")});
        }
        // A node's messages to itself cost next to nothing.
        for (int node = 0; node < num_nodes; ++node) {
            auto* loop = get_iface()->create_link("loop" + std::to_string(node), loop_bandwidth_bytes_s);
            loops_.push_back(loop->set_latency(0)->seal()->get_impl());
        }
        get_iface()->seal();
    }

    void get_local_route(const NetPoint* from, const NetPoint* to, Route* into, double* latency) override {
        int node = static_cast<int>(from->id());
        const int target = static_cast<int>(to->id());
        if (node == target) into->link_list_.push_back(loops_[from->id()]);
        int stride = static_cast<int>(shape_.num_nodes());
        for (std::size_t dim = 0; dim < shape_.extents.size(); ++dim) {
            const int extent = shape_.extents[dim];
            stride /= extent;
            const int here = node / stride % extent, there = target / stride % extent;
            if (here == there) continue;
            const int after = node + (there - here) * stride;
            if (is_torus()) {
                go_round(node, dim, here, there, stride, into, latency);
            } else {
                into->link_list_.push_back(link(node, dim).up);
                into->link_list_.push_back(link(after, dim).down);
                if (latency != nullptr) *latency += latency_s_;
            }
            node = after;
        }
    }
    void get_graph(const s_xbt_graph_t*, std::map<std::string, xbt_node_t, std::less<>>*,
                   std::map<std::string, xbt_edge_t, std::less<>>*) override {}

  private:
    [[nodiscard]] bool is_torus() const { return shape_.wiring == hakobi::NetworkShape::Wiring::torus; }
    [[nodiscard]] const Link& link(int node, std::size_t dim) const {
        return links_[static_cast<std::size_t>(node) * shape_.extents.size() + dim];
    }

    void go_round(int node, std::size_t dim, int here, int there, int stride, Route* into,
                  double* latency) const {
        const int extent = shape_.extents[dim], first = node - here * stride;
        const int ahead = (there - here + extent) % extent;
        const bool is_up = 2 * ahead <= extent;
        for (int digit = here; digit != there;) {
            const int next = (digit + (is_up ? 1 : extent - 1)) % extent;
            into->link_list_.push_back(is_up ? link(first + digit * stride, dim).up
                                             : link(first + next * stride, dim).down);
            if (latency != nullptr) *latency += latency_s_;
            digit = next;
        }
    }

    hakobi::NetworkShape shape_;
    double latency_s_;
    std::vector<Link> links_;
    std::vector<StandardLinkImpl*> loops_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void load_platform(const simgrid::s4u::Engine& /*engine*/) {
    const char* text = std::getenv("HAKOBI_SIMULATED_NETWORK");
    std::istringstream words(text != nullptr ? text : "");
    std::string topology;
    double bandwidth_bytes_s = 0, latency_s = 0;
    if (!(words >> topology >> bandwidth_bytes_s >> latency_s))
        throw std::invalid_argument("HAKOBI_SIMULATED_NETWORK is not TOPOLOGY BANDWIDTH_BYTES_S LATENCY_S");
    // The engine owns and frees it.
    (new DeclaredZone(hakobi::NetworkShape::parse(topology), latency_s))->make(bandwidth_bytes_s);
}
