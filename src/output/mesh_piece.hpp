#pragma once

#include <cstdint>
#include <hakobi/mesh.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "output/held_field.hpp"

namespace hakobi::output {

/// The sizes of a rank's piece of a mesh, or of all pieces.
struct MeshCounts {
    std::int64_t points = 0, cells = 0, ids = 0;  ///< ids: numbers in the cells' connectivity
};

/// invalid_argument or unsupported, in words that follow "field x: ", where a field on a mesh has what only
/// those on a grid have. Pure.
Status check_on_mesh(const Field& field);

/// A rank's piece of an Output's mesh, as the program puts it: what was lent for this step, and how large the
/// piece is, which stays. All local.
class MeshPiece {
  public:
    void begin_step() noexcept;

    /// Looks at a mesh in one pass and keeps where it is. invalid_argument says what is wrong with it. Its
    /// points alone may be on a device: they are not looked at.
    Status put(const Mesh& mesh, bool are_points_on_device);
    Status put_points(Mesh::Points points, bool are_on_device);

    /// Where a field on the mesh has this rank's values: a block of this rank's elements alone.
    /// invalid_argument or unsupported, in words that follow "field x: ", where the field cannot be on it.
    [[nodiscard]] Result<HeldBlock> block_of(const Field& field) const;
    [[nodiscard]] std::int64_t bytes_put() const noexcept;  ///< in this step

    [[nodiscard]] bool is_set() const noexcept { return is_set_; }  ///< by a step before, or in this one
    [[nodiscard]] bool is_put() const noexcept { return is_put_; }  ///< in this step
    [[nodiscard]] bool are_points_put() const noexcept { return are_points_put_; }  ///< likewise
    [[nodiscard]] Motion motion() const noexcept { return motion_; }
    [[nodiscard]] const MeshCounts& counts() const noexcept { return counts_; }
    // These were lent, and are valid until the step has ended:
    [[nodiscard]] const Mesh& mesh() const noexcept { return mesh_; }
    [[nodiscard]] std::span<const std::byte> points() const noexcept;
    [[nodiscard]] bool are_points_on_device() const noexcept { return are_points_on_device_; }
    [[nodiscard]] std::span<const std::int64_t> connectivity() const noexcept { return connectivity_.values; }
    [[nodiscard]] std::span<const std::int64_t> offsets() const noexcept { return offsets_.values; }

  private:
    /// Numbers as the file has them: of 64 bits, counted from 0.
    struct Numbers {
        std::span<const std::int64_t> values;  // where they were put, or `own`
        std::vector<std::int64_t> own;
        void take(const Mesh::Numbers& numbers, std::int64_t first_number);
        void clear() noexcept;  // keeps the memory
    };

    bool is_set_ = false, is_put_ = false, are_points_put_ = false;
    Motion motion_ = Motion::fixed;
    MeshCounts counts_;
    Mesh mesh_;
    bool are_points_on_device_ = false;
    Numbers connectivity_, offsets_;
};

/// invalid_argument: "the mesh: …".
[[nodiscard]] Status bad_mesh(std::string text);
/// Points are put, and no mesh is there.
[[nodiscard]] Status no_mesh_for_points();

}  // namespace hakobi::output
