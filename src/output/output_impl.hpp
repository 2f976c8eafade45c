#pragma once

#include <deque>
#include <hakobi/output.hpp>
#include <optional>

#include "format/format.hpp"
#include "output/chunk_encoder.hpp"
#include "output/held_field.hpp"
#include "output/last_words.hpp"
#include "output/mesh.hpp"
#include "output/method.hpp"
#include "output/sidecar.hpp"
#include "series/resumed.hpp"
#include "series/series_view.hpp"
#include "series/unclosed.hpp"
#include "storage/lock_file.hpp"

namespace hakobi {

/// An output's state, for its own files: output.cpp (what users call), step_life.cpp (what happens to a step).
struct Output::Impl final : series::Unclosed {
    Comm comm;
    std::string prefix;
    OutputOptions options;
    output::Hiding hiding;
    double created_s = 0, created_cpu_s = 0;
    const output::MethodEntry* entry = nullptr;  // what `method` was made by
    const format::Format* format = nullptr;
    std::unique_ptr<output::Method> method;
    filter::Filters filters;                        // of fields that do not ask for others
    std::unique_ptr<output::ChunkEncoder> encoder;  // from the first step that needs one
    OutputTimes times;

    series::RunId run{};
    storage::LockFile lock;   // rank 0: nobody else writes the prefix
    series::Resumed resumed;  // rank 0: what the next step is compared with
    series::SeriesView view;  // rank 0: shows the steps as one data set
    std::int64_t next_step = 0;
    bool is_open = false;  // between begin_step and end_step
    bool is_closed = false;
    output::LastWords last_words;         // rank 0
    std::vector<std::string> parts_made;  // rank 0: the temporary files that are there
    bool is_behind = false;               // a step that was stored is being finished by `behind` of rank 0
    std::string part_behind;              // rank 0: its temporary file
    std::int64_t number_behind = 0;       // its number
    output::Behind behind;
    bool is_name_open = false;  // a stored step was named, and the ranks have not agreed on how that went
    Status named;               // rank 0: how it went
    Status failure;             // why the object is failed
    Status put_status;          // the first mistake in this step's puts
    series::Step step;          // the open step; its layout is kept from step to step
    std::vector<output::HeldField> held;  // one a field of it
    output::MeshState mesh;
    /// A step on its way: its names, and when end_step returned from it.
    struct Draining {
        series::Step names;
        double returned_s = 0;
    };
    std::deque<Draining> draining;
    double last_stored_s = 0;
    double returned_s = 0;                        // when the last end_step returned
    std::vector<std::pair<double, double>> gaps;  // since steps drain: when the program was in no end_step
    std::string waited_text;                      // what close has found, for explain
    std::vector<std::vector<Block>> blocks_before;
    std::vector<std::vector<Block>> uncovered;      // by those blocks, of fields with a fill value
    std::vector<std::vector<std::byte>> fill_rows;  // what `held` has of them
    std::vector<output::StaticField> statics;       // put so far, in the order of their first step
    std::optional<std::vector<format::FieldDescription>> fields_before;  // those that step.layout is for

    [[nodiscard]] const Comm& own_comm() const noexcept override { return comm; }
    [[nodiscard]] const std::string& own_prefix() const noexcept override { return prefix; }
    [[nodiscard]] bool has_pending() const noexcept override {
        return !draining.empty() || is_behind || method->has_work_at_close();
    }
    void finish() noexcept override;
    ~Impl() override;

    [[nodiscard]] bool is_rank_0() const { return comm.rank() == 0; }
    void throw_if_unusable(const char* call) const;
    /// What create's arguments name: format and entry.
    Status find_names();
    Status make_method();
    [[nodiscard]] Status check_filters(const filter::Filters& asked) const;
    /// On rank 0's stderr with HAKOBI_EXPLAIN=1.
    void say_how() const;
    /// Rank 0's part of create.
    Status claim();
    void discard_parts() noexcept;

    // Collective. noexcept: an exception here could only be a failed allocation between messages, and other
    // ranks would wait for ever; the program ends instead.
    mpi::Agreed run_step() noexcept;
    void begin_call() noexcept;
    /// Of a format with meshes: the mesh is agreed on, and written where it goes into a file of its own; then it and the fields
    /// on it get their places in the step.
    mpi::Agreed write_mesh() noexcept;
    mpi::Agreed write_mesh_file() noexcept;
    mpi::Agreed write_step() noexcept;
    /// Local: whether the open step can be written as it is described.
    Status check_fields() const;
    /// `status`: what went wrong on this rank before.
    mpi::Agreed lay_out(bool has_chunks, Status status) noexcept;
    /// Local: what put has found out of a field on the mesh; a block of this rank's elements alone.
    Result<output::HeldBlock> block_on_mesh(const Field& field) const;
    /// A field's first block, or another one.
    void add(format::FieldDescription field, output::HeldBlock block);
    /// Local: keeps the step's static fields, and adds those of earlier steps.
    Status add_statics();
    /// Local: this rank's share of what nobody put.
    void add_fill();
    void share_layout();
    /// Local: this rank's parts of the file.
    void place_fields();
    mpi::Agreed finish_step(const series::Step& finished) noexcept;
    /// Waits for steps, the oldest first, until at most `most_left` are on their way; not for those that all ranks have
    /// stored.
    mpi::Agreed finish_draining(int most_left) noexcept;
    mpi::Agreed finish_oldest() noexcept;
    /// Rank 0: a step's file has its name, which is shown now and then.
    void show(std::int64_t number) noexcept;
    /// Has rank 0 finish a stored step, whose overview takes time, while the ranks go on; after the one before it.
    mpi::Agreed finish_later(const series::Step& stored) noexcept;
    /// Local: rank 0 gives a stored step its name; how that went is agreed on later.
    void name_stored(const series::Step& stored) noexcept;
    /// Agrees on it, if nobody has yet.
    mpi::Agreed agree_on_names() noexcept;
    /// Waits for that, if it is under way.
    mpi::Agreed finish_behind() noexcept;
    /// Local: the names of the open step, and what its overview is made from if there is to be one.
    [[nodiscard]] series::Step names_of_step() const;
    mpi::Agreed run_close() noexcept;
    /// Local: rank 0 shows the steps and releases the prefix.
    void end_series() noexcept;
    void share_times() noexcept;
    /// Local, on every rank alike. Adds to the error which steps are lost that end_step had accepted.
    void fail(mpi::Agreed& agreed) noexcept;
    /// Rank 0: tells its last words of the steps that are on their way to a name.
    void note_unnamed() noexcept;
};

}  // namespace hakobi
