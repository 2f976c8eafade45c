#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hakobi {

/// Layers of ghost elements below and above a block in one dimension.
struct GhostWidths {
    std::int64_t low = 0, high = 0;
    friend bool operator==(const GhostWidths&, const GhostWidths&) = default;
};

/// A grid of 1 to 5 dimensions that ranks divide among them, slowest dimension first: one entry a dimension in each.
struct HaloGrid {
    std::vector<std::int64_t> extents;  ///< this rank's own elements, without ghosts
    std::vector<GhostWidths> ghosts;    ///< equal on all ranks; 0: nothing is exchanged on that side
    std::vector<int> ranks;  ///< how many in each dimension; they count in C order, as hakobi::split has them
    std::vector<bool> is_periodic;  ///< none: not periodic. Ghosts beyond an edge that is not are left alone
};

/// Where one field's values lie. Rank's fields may be laid out differently, as long as sizes and components agree.
struct HaloField {
    void* data = nullptr;  ///< the first own element: ghosts lie before and after it
    std::int64_t element_bytes = 8;
    std::vector<std::int64_t> strides_bytes;  ///< from one element to the next, one entry a dimension
    std::int64_t num_components = 1;
    std::int64_t component_stride_bytes = 0;

    enum class Components { last, first };
    /// An array without gaps whose extents are the grid's with ghosts, in C order; components vary fastest (`last`: an
    /// array of structures) or slowest (`first`: one array after the other). `array` is its very first byte.
    [[nodiscard]] HAKOBI_EXPORT static HaloField dense(void* array, const HaloGrid& grid,
                                                       std::int64_t element_bytes,
                                                       std::int64_t num_components = 1,
                                                       Components components = Components::last);
    /// What such an array takes in bytes.
    [[nodiscard]] HAKOBI_EXPORT static std::int64_t dense_bytes(const HaloGrid& grid,
                                                                std::int64_t element_bytes,
                                                                std::int64_t num_components = 1);
};

/// What Halo::plan takes beside the grid; equal on every rank.
struct HaloOptions {
    /// Diagonal neighbours too, so that edges and corners of the ghost layers are filled; false: faces only.
    bool corners = true;
    /// How bytes reach a neighbour: "auto", or one of halo_paths(). A path that a neighbour cannot be reached by gives
    /// way to "packed" there, as Halo::explain says. HAKOBI_HALO_PATH overrides "auto".
    std::string path = "auto";
    /// Longest wait for a neighbour before the program is ended with a message; 0: as long as it takes (what a rank's
    /// death does is then the MPI library's matter). HAKOBI_HALO_TIMEOUT_S overrides 0.
    double timeout_s = 0;
};

/// Exchanges the ghost layers of fields between the ranks of a Cartesian grid: planned once, carried out many times.
///
///     auto halo = hakobi::Halo::plan(comm, grid, fields);
///     halo.start();  compute_inside();  halo.wait();  compute_at_the_edges();
///
/// All directions are under way at once, with one message a neighbour at most. Neighbours on the same node whose fields
/// come from hakobi::allocate_shared get them by one copy from memory to memory, without a message.
///
/// Errors: `plan` throws the same Error on every rank or none. `start` and `wait` throw invalid_argument when they are
/// called out of turn; what fails in them beyond that is communication, which ends the program.
class HAKOBI_EXPORT Halo {
  public:
    /// Collective over `comm`. `grid` without `extents`, `options`, and each field's element size and components are
    /// equal on all ranks; extents are equal among the ranks that share a place in that dimension. The fields' memory is
    /// lent until the Halo is gone; values are only touched between `start` and `wait`. invalid_argument when ranks
    /// differ, do not form the grid, or have fewer elements than their neighbours have ghosts.
    [[nodiscard]] static Halo plan(const Comm& comm, const HaloGrid& grid, std::span<const HaloField> fields,
                                   const HaloOptions& options = {});
    Halo(Halo&&) noexcept;
    Halo& operator=(Halo&&) noexcept;
    /// Never communicates. An exchange under way is a bug of the caller: what lies in flight must be waited for.
    ~Halo();

    /// Begins an exchange: own elements that are ghosts elsewhere must not be written, ghosts neither read nor written,
    /// until `wait` has returned. Every rank calls it, in the same order among its halos. Does not wait for others.
    void start();
    /// Ends it: ghosts hold the neighbours' values, and all neighbours have what they need of this rank's.
    void wait();
    void exchange() {
        start();
        wait();
    }

    /// One line a neighbour: rank, path, bytes, pieces; and what was measured where the plan had a choice. Local.
    [[nodiscard]] std::string explain() const;
    /// Bytes that one exchange brings to this rank, and the part of them that comes from other ranks. Local.
    [[nodiscard]] std::int64_t bytes() const noexcept;
    [[nodiscard]] std::int64_t bytes_from_others() const noexcept;

  private:
    struct Impl;
    explicit Halo(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// The names that HaloOptions::path takes beside "auto".
[[nodiscard]] HAKOBI_EXPORT std::span<const std::string_view> halo_paths();

}  // namespace hakobi
