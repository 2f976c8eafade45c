#pragma once

#include <hakobi/output.hpp>
#include <optional>

#include "format/format.hpp"
#include "output/chunk_encoder.hpp"
#include "output/held_field.hpp"
#include "output/method.hpp"
#include "output/resumed.hpp"
#include "storage/lock_file.hpp"

namespace hakobi {

/// An output's state, for its own files: output.cpp (what users call), step_life.cpp (what happens to a step).
struct Output::Impl {
    Comm comm;
    std::string prefix;
    OutputOptions options;
    std::string_view method_name;
    const format::Format* format = nullptr;
    std::unique_ptr<output::Method> method;
    filter::Filters filters;                        // of fields that do not ask for others
    std::unique_ptr<output::ChunkEncoder> encoder;  // from the first step that needs one
    OutputTimes times;

    output::RunId run{};
    storage::LockFile lock;   // rank 0: nobody else writes the prefix
    output::Resumed resumed;  // rank 0: what the next step is compared with
    std::int64_t next_step = 0;
    bool is_open = false;      // between begin_step and end_step
    bool is_draining = false;  // the step before was started and not finished
    bool is_closed = false;
    std::string part_made;                // rank 0: the temporary file that is there
    Status failure;                       // why the object is failed
    Status put_status;                    // the first mistake in this step's puts
    output::Step step;                    // the open step; its layout is kept from step to step
    std::vector<output::HeldField> held;  // one a field of it
    output::Step draining;                // names of the one under way
    std::vector<std::vector<Block>> blocks_before;
    std::optional<std::vector<format::FieldDescription>> fields_before;  // those that step.layout is for

    [[nodiscard]] bool is_rank_0() const { return comm.rank() == 0; }
    void throw_if_unusable(const char* call) const;
    Status make_method();
    [[nodiscard]] Status check_filters(const filter::Filters& asked) const;
    /// Rank 0's part of create.
    Status claim();
    void discard_part() noexcept;

    // Collective. noexcept: an exception here could only be a failed allocation between messages, and other
    // ranks would wait for ever; the program ends instead.
    mpi::Agreed run_step() noexcept;
    mpi::Agreed lay_out(bool has_chunks) noexcept;
    /// A field's first block, or another one.
    void add(format::FieldDescription field, output::HeldBlock block);
    void share_layout();
    /// Local: this rank's parts of the file.
    void place_fields();
    mpi::Agreed finish(const output::Step& finished) noexcept;
    mpi::Agreed finish_draining() noexcept;
    mpi::Agreed run_close() noexcept;
    /// Local, on every rank alike.
    void fail(const mpi::Agreed& agreed, const output::Step& failed) noexcept;
};

}  // namespace hakobi
