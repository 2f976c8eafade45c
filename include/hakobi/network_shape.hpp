#pragma once

#include <cstdint>
#include <hakobi/export.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi {

/// How the nodes of a machine are wired, as a user declares it: a value. Nodes count through the dimensions in C order,
/// the last one fastest, as the ranks of a Cartesian communicator do.
struct NetworkShape {
    enum class Wiring {
        crossbars,  ///< "hypercrossbar:16,16,10": each line of nodes along a dimension shares one crossbar switch
        torus,  ///< "torus:16,16,10": each node has a link to its two neighbours in each dimension, periodic
        nodes,  ///< "nodes": one switch for all; ranks of a node share memory. Extents come from the communicator
    };
    Wiring wiring = Wiring::nodes;
    std::vector<int> extents = {};  ///< nodes in each dimension, all at least 1; empty for `nodes`

    /// Reads one of the forms above. Local, pure. Throws invalid_argument, saying what it takes.
    [[nodiscard]] HAKOBI_EXPORT static NetworkShape parse(std::string_view text);
    /// The form that `parse` reads.
    [[nodiscard]] HAKOBI_EXPORT std::string to_string() const;
    /// Product of the extents; 0 where they come from the communicator.
    [[nodiscard]] HAKOBI_EXPORT std::int64_t num_nodes() const noexcept;
    friend bool operator==(const NetworkShape&, const NetworkShape&) = default;
};

}  // namespace hakobi
