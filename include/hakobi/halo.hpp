#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/device.hpp>
#include <hakobi/export.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// Layers of ghost elements below and above a block in one dimension.
struct GhostWidths {
    std::int64_t low = 0, high = 0;
    friend bool operator==(const GhostWidths&, const GhostWidths&) = default;
};

/// A grid of 1 to 5 dimensions that is divided among ranks; each vector has one entry per dimension, slowest
/// first.
struct HaloGrid {
    std::vector<std::int64_t> extents;  ///< this rank's own elements, without ghosts
    std::vector<GhostWidths> ghosts;    ///< equal on all ranks; 0: nothing is exchanged on that side
    std::vector<int> ranks;  ///< number in each dimension; ranks are numbered in C order, as in hakobi::split
    std::vector<bool>
        is_periodic;  ///< empty: not periodic. Ghosts beyond a non-periodic edge are not changed
};

/// Memory layout of one field. It may differ between ranks; element size and number of components may not.
struct HaloField {
    void* data = nullptr;  ///< the first own element: ghosts lie before and after it
    std::int64_t element_bytes = 8;
    std::vector<std::int64_t>
        strides_bytes;  ///< distance between neighbouring elements, one entry per dimension
    std::int64_t num_components = 1;
    std::int64_t component_stride_bytes = 0;
    /// Where the array is, ghosts included. All fields of a rank are on the host, or on one device; ranks may
    /// differ.
    Memory memory = Memory::automatic;

    enum class Components { last, first };
    /// An array without gaps whose extents are the grid's with ghosts, in C order; components vary fastest
    /// (`last`: an array of structures) or slowest (`first`: one array after the other). `array` is its first
    /// byte.
    [[nodiscard]] HAKOBI_EXPORT static HaloField dense(void* array, const HaloGrid& grid,
                                                       std::int64_t element_bytes,
                                                       std::int64_t num_components = 1,
                                                       Components components = Components::last);
    /// Size of such an array in bytes; the largest std::int64_t if it overflows, which Halo::plan refuses.
    [[nodiscard]] HAKOBI_EXPORT static std::int64_t dense_bytes(const HaloGrid& grid,
                                                                std::int64_t element_bytes,
                                                                std::int64_t num_components = 1);
};

/// Options of Halo::plan; equal on every rank.
struct HaloOptions {
    /// Also exchange with diagonal neighbours, which fills edges and corners of the ghost layers. false:
    /// faces only.
    bool corners = true;
    /// How data reaches a neighbour: "auto", or one of halo_paths(). If a neighbour cannot be reached by that
    /// path, "packed" is used for it (see Halo::explain). HAKOBI_HALO_PATH overrides "auto".
    std::string path = "auto";
    /// Longest wait for a neighbour before the program is aborted with a message. 0: no limit; the MPI
    /// library then decides what happens when a rank dies. HAKOBI_HALO_TIMEOUT_S overrides 0.
    double timeout_s = 0;
};

/// Exchanges the ghost layers of fields between the ranks of a Cartesian grid; planned once, executed many
/// times.
///
///     auto halo = hakobi::Halo::plan(comm, grid, fields);
///     halo.start();  compute_inside();  halo.wait();  compute_at_the_edges();
///
/// All directions are exchanged at the same time, with at most one message per neighbour. Between neighbours
/// on one node whose fields are in memory of hakobi::allocate_shared, data is copied once, from memory to
/// memory, without a message. The same holds for fields on devices, where the driver shares their memory
/// between processes.
///
/// Errors: `plan` throws the same Error on every rank or on none. `start` and `wait` throw invalid_argument
/// when called out of order, or for a stream of another device; a failure of MPI communication or of the
/// device in them aborts the program.
class HAKOBI_EXPORT Halo {
  public:
    /// Collective over `comm`. `options`, `grid` except for its extents, and each field's element size and
    /// components are equal on all ranks. Ranks at the same position of a dimension have the same extent in
    /// it. The fields' memory must stay valid as long as the Halo; it is accessed only between `start` and
    /// `wait`, and here: on a device, what its streams do with the fields is over. Throws invalid_argument if
    /// these arguments differ, if the ranks do not form the grid, if a rank has fewer elements than a
    /// neighbour has ghosts, or for memory that lies only partly on a device; unsupported if a rank's fields
    /// are not all on the host or on one device; out_of_memory.
    [[nodiscard]] static Halo plan(const Comm& comm, const HaloGrid& grid, std::span<const HaloField> fields,
                                   const HaloOptions& options = {});
    Halo(Halo&&) noexcept;
    Halo& operator=(Halo&&) noexcept;
    /// Never communicates. The caller must have waited for an exchange that was started.
    ~Halo();

    /// Begins an exchange. Until `wait` returns, do not write own elements that are ghosts of a neighbour,
    /// and neither read nor write ghosts. Every rank calls it, in the same order for several halos; ranks may
    /// wait for them in any order. Does not wait for other ranks. Fields on a device are read when what the
    /// default stream holds is done.
    void start();
    /// Completes it: the ghosts hold the neighbours' values, and this rank's own elements may be written
    /// again.
    void wait();
    void exchange() {
        start();
        wait();
    }

    /// The same for fields on a device, in the order of a stream; fields on the host take them as `start()`
    /// and `wait()`. The exchange begins when all that `stream` holds is done. Returns at once.
    void start(DeviceStream stream);
    /// Returns when everything from other ranks has come and no rank reads another's memory any more, without
    /// waiting for the copies to the ghosts: what `stream` is given from here on begins when these hold the
    /// values.
    void wait(DeviceStream stream);
    void exchange(DeviceStream stream) {
        start(stream);
        wait(stream);
    }

    /// One line per neighbour: rank, path, bytes, pieces, and the measured times if the plan had a choice.
    /// Local.
    [[nodiscard]] std::string explain() const;
    /// Bytes that this rank receives in one exchange, and how many of them come from other ranks. Local.
    [[nodiscard]] std::int64_t bytes() const noexcept;
    [[nodiscard]] std::int64_t bytes_from_others() const noexcept;

  private:
    struct Impl;
    explicit Halo(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// The names for HaloOptions::path besides "auto".
[[nodiscard]] HAKOBI_EXPORT std::span<const std::string_view> halo_paths();

}  // namespace v0
}  // namespace hakobi
