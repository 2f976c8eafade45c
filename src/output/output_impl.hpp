#pragma once

#include <hakobi/output.hpp>
#include <memory>
#include <optional>
#include <string>

#include "output/chunk_encoder.hpp"
#include "output/hidden_steps.hpp"
#include "output/known.hpp"
#include "output/last_words.hpp"
#include "output/naming.hpp"
#include "output/own_series.hpp"
#include "output/setup.hpp"
#include "output/step_draft.hpp"
#include "output/steps_file.hpp"
#include "output/timing.hpp"
#include "series/series.hpp"
#include "series/unclosed.hpp"

namespace hakobi {

/// An Output. output.cpp has what users call; output_impl.cpp what happens to a step, in the order in which
/// it happens.
///
/// Functions called collective are so over the Output's communicator, and return the same on all ranks. They
/// are noexcept: an exception could only be a failed allocation between messages, and other ranks would wait
/// for ever; the program ends instead.
struct HAKOBI_HIDDEN Output::Impl final : series::Unclosed {
    output::Setup setup;
    output::OwnSeries own_series;
    std::optional<output::StepsFile> steps_file;  // where a file takes several
    output::StepDraft draft{setup};
    output::Known known;
    std::unique_ptr<output::ChunkEncoder> encoder;  // from the first step that needs one
    output::HiddenSteps hidden;
    output::Naming naming{setup, own_series};
    output::Timing timing;
    output::LastWords last_words;  // rank 0: of the steps that have no name yet
    Status failure;                // why the object is failed
    bool is_closed = false;

    explicit Impl(output::Setup given) : setup(std::move(given)) {}
    ~Impl() override;

    [[nodiscard]] const Comm& own_comm() const noexcept override { return setup.comm; }
    [[nodiscard]] const std::string& own_prefix() const noexcept override { return setup.prefix; }
    [[nodiscard]] bool has_pending() const noexcept override {
        return !hidden.empty() || naming.is_finishing() || naming.is_name_open() ||
               setup.method->has_work_at_close() || setup.stage;
    }
    void finish() noexcept override;

    /// Implements Output::create. Collective; throws the same Error on all ranks.
    void create();
    /// Throws where the object is closed or failed; with `needs_step` also where no step is open. Local.
    void throw_if_unusable(const char* call, bool needs_step = false) const;
    /// How output is written, for people. Local.
    [[nodiscard]] std::string text() const;
    /// On rank 0's stderr with HAKOBI_EXPLAIN=1. Local.
    void say_how() const;

    /// Writes the open step. Collective.
    mpi::Agreed run_step() noexcept;
    /// Waits until all accepted steps have their names. Collective.
    mpi::Agreed run_flush() noexcept;
    /// Ends what is pending and releases everything. Collective.
    mpi::Agreed run_close() noexcept;
    /// Gives everything up that is not stored, and adds to the error which accepted steps are lost with it,
    /// and which have no name. Collective.
    void fail(mpi::Agreed& agreed) noexcept;

  private:
    // The parts of run_step; collective.
    /// 0: a mesh that later steps share is written, and the draft's fields are placed on the mesh.
    mpi::Agreed write_mesh(output::MeshState& mesh) noexcept;
    mpi::Agreed write_mesh_file() noexcept;
    /// 1 to 6 of what the draft says. `several`: the file of several steps that it goes to; null: it gets one
    /// of its own.
    mpi::Agreed write_step(output::StepsFile* several) noexcept;
    /// 1 and 2; `are_blocks_new` and `are_statics_new` become whether any rank's have changed.
    mpi::Agreed agree_on_draft(bool& are_blocks_new, bool& are_statics_new) noexcept;
    /// Says which file of several takes this step, and leaves out what that has of it. `local` as in lay_out.
    mpi::Agreed choose_file(output::StepsFile& several, bool are_statics_new, Status& local) noexcept;
    mpi::Agreed encode(bool are_blocks_new) noexcept;
    /// `local`: what went wrong on this rank before.
    mpi::Agreed lay_out(output::StepsFile* several, bool has_chunks, Status local) noexcept;
    /// Rank 0's part of it: the layout, where that is a new one, and the file. Local.
    Result<format::Layout> new_layout(output::StepsFile* several, bool has_chunks);
    Status make_file();

    // For hidden steps; collective.
    /// Finishes the oldest ones: those that all ranks have stored, and as many more as leave `most_left`,
    /// which are waited for.
    mpi::Agreed finish_hidden(int most_left) noexcept;
    /// So that the method can take one more. Asked for each: `auto` takes one at a time before it changes.
    mpi::Agreed make_place() noexcept;
    mpi::Agreed finish_oldest() noexcept;
    /// Waits for the step that is being finished in a thread, if there is one.
    mpi::Agreed end_finishing() noexcept;
    /// All of that, and agrees on the names.
    mpi::Agreed finish_all() noexcept;

    /// Tells rank 0's last words of the steps that are on their way to a name. Local.
    void note_unnamed() noexcept;
    /// Shows the steps and releases the prefix. Local.
    void end_series() noexcept;
};

}  // namespace hakobi
