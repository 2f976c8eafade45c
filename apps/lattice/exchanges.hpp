#pragma once

#include <hakobi/halo.hpp>

#include "exchange.hpp"

namespace hakobi::lattice {

/// Plain MPI, what a program does without Hakobi: nonblocking messages of subarray datatypes, which the
/// library packs, or half spinors in buffers that the program has packed.
[[nodiscard]] std::unique_ptr<Exchange> make_mpi_exchange(const Comm& comm, const Geometry& geometry,
                                                          bool sends_halves);

/// hakobi::Halo on memory that the ranks of a node share: one copy from field to field, or from buffer to
/// buffer, there, without a message.
[[nodiscard]] std::unique_ptr<Exchange> make_hakobi_exchange(const Comm& comm, const Geometry& geometry,
                                                             bool sends_halves);

/// hakobi::Halo on copies of the fields in a GPU's memory. Collective; throws not_found where a rank has no
/// GPU.
[[nodiscard]] std::unique_ptr<Exchange> make_device_exchange(const Comm& comm, const Geometry& geometry,
                                                             bool sends_halves);

/// The lattice as Halo sees it: t is the slowest dimension.
[[nodiscard]] HaloGrid halo_grid_of(const Geometry& geometry);

}  // namespace hakobi::lattice
