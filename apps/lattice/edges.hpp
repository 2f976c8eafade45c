#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "exchange.hpp"
#include "geometry.hpp"
#include "kernel.hpp"

namespace hakobi::lattice {

/// The operator at a block's edge when half spinors travel: for results on the sites of one parity, or of
/// both (-1).
///
///  1. Each face's sites that the neighbour needs are projected into the buffer for it (`start`).
///  2. The buffers travel while the caller computes the sites inside.
///  3. The received half spinors (`wait`) take the ghosts' place for the sites at the edge (`compute`).
///
/// Sites of a face are in lexicographic order on both sides, so that place k in a buffer means the same on
/// both.
class Edges {
  public:
    /// Collective; all is lent.
    Edges(Exchange& exchange, const Geometry& geometry, int parity);

    /// Returns the seconds of step 1, which is computing and not communication.
    double start(const kernel::Hop& arguments);
    void wait() { halves_->wait(); }
    void compute(const kernel::Hop& arguments) const;

  private:
    struct Face {
        int mu, upper;
        std::vector<std::int32_t> sites;
    };
    std::vector<Face> faces_;
    std::vector<std::int32_t> sites_;    ///< at the edge
    std::vector<std::int32_t> entries_;  ///< eight for each of them, as kernel::hop_edges takes them
    std::unique_ptr<Halves> halves_;
};

}  // namespace hakobi::lattice
