#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "io/device_memory.hpp"
#include "output/chunk_encoder.hpp"
#include "output/definitions.hpp"
#include "output/held_field.hpp"
#include "output/mesh.hpp"
#include "output/own_series.hpp"
#include "output/setup.hpp"
#include "series/step.hpp"

namespace hakobi::output {

/// The step that is being put: its description, and where this rank has the values. All functions are local.
///
/// Invariant: `held` has one entry a field of the description, in its order. Mistakes of the caller do not
/// change that: the first one is kept for end_step, and a field that has one is there without values, so that
/// the ranks' descriptions still go together. The caller lends the held values until end_step returns, but
/// for static fields, fill values and the mesh's own arrays, which belong to the draft.
class StepDraft {
  public:
    explicit StepDraft(const Setup& setup) : setup_(setup), definitions_(setup) {}

    /// Takes what the options say of all steps. Once, before the first step.
    void describe();
    /// Opens the next step of the series, with nothing in it.
    void begin(const OwnSeries& series, double time);
    /// Adds a defined field, or another block of it.
    void put(FieldId id, const Block& block, Field::Data data, const MemoryLayout& layout);
    /// The same of one that is described with the step.
    void put(const Field& field);
    void put_mesh(const Mesh& mesh);
    void put_points(Mesh::Points points);
    /// Ends the putting: packs values, keeps the step's static fields, and adds those of earlier steps. The
    /// size of the values that this rank put in it, in bytes.
    std::int64_t end();
    /// The step has ended, well or not: what was lent for it is the program's again.
    void release() noexcept { device_.forget(); }
    /// Closes an open step, which is lost.
    void drop() noexcept { is_open_ = false; }

    [[nodiscard]] Definitions& definitions() noexcept { return definitions_; }
    [[nodiscard]] bool is_open() const noexcept { return is_open_; }
    [[nodiscard]] const Status& mistake() const noexcept { return mistake_; }
    void keep_mistake(Status status) { mistake_.keep_first(std::move(status)); }

    [[nodiscard]] series::Step& step() noexcept { return step_; }
    [[nodiscard]] const std::vector<format::FieldDescription>& fields() const noexcept {
        return step_.description.fields;
    }
    [[nodiscard]] std::span<const HeldField> held() const noexcept { return held_; }
    /// Null where the format holds none.
    [[nodiscard]] MeshState* mesh() noexcept { return mesh_ ? &*mesh_ : nullptr; }
    /// The device that had values put last; null: none ever had.
    [[nodiscard]] const device::Device* device() const noexcept { return device_.device(); }

    // A mesh that later steps share goes into a file of its own, which is written as a step:
    /// The parts of the step that are put aside meanwhile.
    struct Aside {
        Arrays arrays;
        std::string path, part_path;
    };
    /// The draft is the mesh's file, up to end_mesh_file.
    [[nodiscard]] Aside begin_mesh_file();
    void end_mesh_file(Aside aside);
    /// After the mesh has been agreed on: adds its arrays before the fields, and gives fields on it their
    /// places.
    void place_on_mesh();

    /// Adds this rank's share of the elements that nobody put (one list a field), with the fields' fill
    /// values.
    void add_fill(const std::vector<std::vector<Block>>& uncovered);
    /// Copies values on a device to the host, for fields that are stored in chunks or, with `all`, for any.
    /// The caller's memory is no longer needed for these.
    Status bring_to_host(bool all);
    /// Whether a static field that an earlier step has was put with other values in this one.
    [[nodiscard]] bool are_statics_new() const noexcept { return are_statics_new_; }
    /// The step's file takes several, and this one is its first, or has the static fields.
    void begin_steps_file();
    void leave_statics_out();
    /// Says where this rank's bytes are and where they go, by the layout. `encoder` has the chunked fields'
    /// bytes; it may be null where there are none.
    void place_fields(const ChunkEncoder* encoder);
    /// The step's names; with `is_whole` also what an overview is made from.
    [[nodiscard]] series::Step names(bool is_whole) const;

  private:
    [[nodiscard]] Result<HeldBlock> block_of(const Field& field) const;
    /// The same, and whether a device has it: then copies begin after what the field's stream holds now.
    [[nodiscard]] Result<HeldBlock> located_block_of(const Field& field);
    Result<bool> are_on_device(const Mesh::Points& points);
    void add(format::FieldDescription field, HeldBlock block, const std::optional<format::Packing>& packing);
    /// Packs what files have in another type than memory; what a device has comes to the host first.
    Status pack_values();
    Status bring_unpacked();
    Status keep_static(std::size_t field);
    Status add_statics();

    const Setup& setup_;
    Definitions definitions_;
    bool is_open_ = false;  // between begin_step and end_step
    Status mistake_;        // the first one
    series::Step step_;     // its layout is kept from step to step
    std::vector<HeldField> held_;
    struct Packed {
        std::vector<std::optional<format::Packing>> of_fields;  ///< until `end`
        std::unique_ptr<std::byte[]> values;  ///< in the files' types; kept from step to step
        std::int64_t size_bytes = 0;
    } packed_;
    std::optional<MeshState> mesh_;  // of a format that holds meshes
    io::DeviceMemory device_;
    std::vector<std::vector<std::byte>> fill_rows_;  // what `held_` has of fill values
    bool are_statics_new_ = false;
    std::vector<StaticField> statics_;  // put so far, in the order of their first step
};

}  // namespace hakobi::output
