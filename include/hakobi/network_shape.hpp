#pragma once

#include <cstdint>
#include <hakobi/export.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// The network of a machine's nodes, as a user declares it. Nodes are numbered in C order, the last dimension
/// fastest, like the ranks of a Cartesian communicator.
struct NetworkShape {
    enum class Wiring {
        crossbars,  ///< "hypercrossbar:16,16,10": the nodes of each line along a dimension share a crossbar switch
        torus,  ///< "torus:16,16,10": each node has a link to its two neighbours in each dimension, periodic
        nodes,  ///< "nodes": one switch for all nodes; ranks of a node share memory. The communicator gives the extents
    };
    Wiring wiring = Wiring::nodes;
    std::vector<int> extents = {};  ///< nodes in each dimension, all at least 1; empty for `nodes`

    /// Reads one of the forms above. Local, pure. Throws invalid_argument, listing the valid forms.
    [[nodiscard]] HAKOBI_EXPORT static NetworkShape parse(std::string_view text);
    /// The form that `parse` reads.
    [[nodiscard]] HAKOBI_EXPORT std::string to_string() const;
    /// Product of the extents, the largest std::int64_t if it overflows; 0 for `nodes`.
    [[nodiscard]] HAKOBI_EXPORT std::int64_t num_nodes() const noexcept;
    friend bool operator==(const NetworkShape&, const NetworkShape&) = default;
};

}  // namespace v0
}  // namespace hakobi
