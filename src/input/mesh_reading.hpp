#pragma once

#include <functional>
#include <hakobi/input.hpp>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "format/found_step.hpp"

namespace hakobi::input {

/// Returns a step's mesh; not_found where it has none, format where its arrays do not fit each other.
Result<InputMesh> mesh_of(const format::FoundStep& step, const std::string& path);

/// A rank's way through a mesh: who reads which pieces is decided by the pieces' sizes alone, which every
/// rank reads (three numbers a piece), and the pieces' own numbering becomes one. The caller reads, and may
/// throw.
class MeshReading {
  public:
    using Read = std::function<void(std::string_view name, FieldRead::Data data, Block block)>;

    /// `path`: the step's file, for errors.
    MeshReading(const format::FoundStep& step, InputMesh mesh, std::string path, int rank, int num_ranks);
    void read_counts(const Read& read);
    /// Determines this rank's pieces; format where the pieces' sizes are not the arrays'.
    Status share();
    void read_arrays(const Read& read);
    /// One numbering; format where a piece names points that it has not.
    Status join();
    [[nodiscard]] MeshPart take() { return std::move(part_); }

  private:
    [[nodiscard]] Status bad(const std::string& text) const;

    InputMesh mesh_;
    std::string path_;
    int rank_, num_ranks_;
    struct Pieces {
        std::vector<std::int64_t> points, cells, ids;  // one a piece
    } pieces_;
    std::int64_t num_ids_ = 0;
    /// This rank's pieces.
    struct Share {
        std::int64_t points = 0, cells = 0, ids = 0, first_id = 0;
    } share_;
    std::vector<std::int64_t> stored_offsets_;
    std::vector<float> narrow_points_;  // where the file's are float
    MeshPart part_;
};

}  // namespace hakobi::input
