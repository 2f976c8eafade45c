#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "mpi/agree.hpp"
#include "output/setup.hpp"
#include "output/staging.hpp"
#include "series/resumed.hpp"
#include "series/series_view.hpp"
#include "series/step.hpp"
#include "storage/lock_file.hpp"

namespace hakobi::output {

/// The series that an Output writes.
///
/// Invariant: run and next step are equal on all ranks; from `claim` to `end` rank 0 holds the prefix's lock,
/// and nobody else writes the prefix. Functions marked as rank 0's do nothing on other ranks.
class OwnSeries {
  public:
    /// Rank 0 claims the prefix as the options say (series::claim_series), where the method writes; then all
    /// ranks learn the run and its first step. `local`: what has gone wrong on this rank before. Collective
    /// over the Output's communicator.
    mpi::Agreed claim(const Setup& setup, Status local) noexcept;

    /// Gives a step its number and the names of a file of its own. Local.
    void name_next(series::Step& step) const;
    /// The first step of the last file that the run resumes after, where that may take more of several; -1:
    /// there is none. Equal on all ranks.
    [[nodiscard]] std::int64_t last_file() const noexcept { return last_file_; }
    /// The step of that number is accepted. Local.
    void count_step() noexcept { ++next_step_; }

    // Rank 0's:
    /// invalid_argument where the first step that is put does not go with those that the run resumes after,
    /// or any with those in its format's store.
    Status check(const format::StepDescription& step);
    /// A step is on its way to its name.
    void expect(const series::Step& step);
    /// Waits for room on the stage, where there is one (Staging::make_room). Progresses MPI.
    Status make_room(const Comm& comm, const series::Step& step);
    /// It has its name. Shows it now and then; on a stage, carries it, and shows those that have arrived.
    void show(const series::Step& step, bool sync) noexcept;
    /// Why steps do not arrive any more, if so.
    [[nodiscard]] Status carrying() const noexcept;
    /// The first step on the stage that has not arrived; -1: none. Rank 0's.
    [[nodiscard]] std::int64_t first_staged() const noexcept;
    [[nodiscard]] std::int64_t last_staged() const noexcept;
    [[nodiscard]] std::string text() const;
    /// Waits until all steps on the stage have arrived. Collective where there is a stage.
    mpi::Agreed arrive(const Setup& setup) noexcept;

    /// Shows all whole steps and releases the prefix. Local.
    void end(const Setup& setup) noexcept;

  private:
    /// Says once that a step is of an earlier time than the one before it.
    void watch_time(double time);
    Status claim_here(const Setup& setup);
    Status claim_steps(const Setup& setup, series::Holding holding);
    Status make_stage(const Setup& setup);
    void give_stage_up() noexcept;
    void show_arrived(bool sync) noexcept;

    std::string prefix_;
    const format::Format* format_ = nullptr;
    bool is_rank_0_ = false;
    series::RunId run_{};
    std::int64_t next_step_ = 0;
    std::int64_t last_file_ = -1;
    struct Times {
        double last = -std::numeric_limits<double>::infinity();
        bool are_told = false;  // that they go back
    } times_;                   // rank 0's
    storage::LockFile lock_;
    /// The series before this run, with which steps are compared.
    struct Before {
        series::Resumed resumed;                       // the first one
        std::unique_ptr<format::StoredFields> stored;  // of a format's store: all
    } before_;
    series::SeriesView view_;  // shows the steps as one data set
    /// The names of the files that are written: on the stage, or where they stay.
    struct Written {
        std::string prefix;
        storage::PlacePtr place;
    } written_;
    std::unique_ptr<Staging> staging_;  // rank 0's, with a stage
};

}  // namespace hakobi::output
