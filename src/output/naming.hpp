#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "mpi/agree.hpp"
#include "output/commits.hpp"
#include "output/hidden_work.hpp"
#include "output/own_series.hpp"
#include "output/setup.hpp"
#include "series/step.hpp"

namespace hakobi::output {

/// Gives steps' files their names. Rank 0 does it, in one of three ways:
///
///   finish             at once, agreed on at once: a step that is not hidden
///   name               at once, agreed on in a later call: a hidden step
///   start_finishing    in a thread, agreed on in a later call: a hidden step with an overview, whose making takes time
///
/// A step whose values are stored is never given up for what happens after that: one whose overview fails
/// gets its name without it, which stderr says; one whose own name fails keeps its file, and is named in the
/// error (`settle`).
///
/// Invariant: steps get their names in their order, and none does after one whose name has failed;
/// is_name_open, is_finishing and `stored` are equal on all ranks; `parts` are rank 0's temporary files that
/// are there. Methods that write no step's file make this do nothing.
class Naming {
  public:
    /// `setup` and `series` outlive it.
    Naming(const Setup& setup, OwnSeries& series) : setup_(setup), series_(series), commits_(setup) {}

    /// Makes the file of a step that is laid out, under its temporary name. exists where anything has one of
    /// its names. Local, rank 0's.
    Status make_file(const series::Step& step);

    /// Gives a step whose values all ranks have stored its overview and its name. Collective; nothing is
    /// being finished.
    mpi::Agreed finish(const series::Step& step) noexcept;
    /// The same without overview, and without agreement: see agree_on_names. Local.
    void name(const series::Step& stored) noexcept;
    /// Starts doing so with the overview, and returns. Local; nothing is being finished.
    void start_finishing(const series::Step& stored) noexcept;

    /// Ends what start_finishing started, if anything. Collective then.
    mpi::Agreed end_finishing() noexcept;
    /// Agrees on what `name` has done since the last agreement, if anything. Collective then.
    mpi::Agreed agree_on_names() noexcept;
    /// How that went, for another agreement that carries it; where that is of success, agreed_on_taken
    /// follows. Local.
    [[nodiscard]] Status take_unagreed() noexcept;
    void agreed_on_taken() noexcept;

    /// After an agreed failure: ends what is under way, tries once more to give stored steps their names, and
    /// tells all ranks which have none. Collective.
    void settle() noexcept;
    /// Those steps: of files that stay, which the next opener completes, or of files that go with `discard`.
    /// Equal on all ranks.
    struct Unnamed {
        std::string kept, lost;
    };
    [[nodiscard]] Unnamed unnamed() const;

    [[nodiscard]] bool is_finishing() const noexcept { return is_finishing_; }
    [[nodiscard]] bool is_name_open() const noexcept { return is_name_open_; }
    [[nodiscard]] std::int64_t finishing_number() const noexcept {
        assert(is_finishing_);
        return stored_.back().step.number;
    }
    /// How this rank's naming has gone. Local.
    [[nodiscard]] const Status& status() const noexcept { return named_; }
    /// Removes the files that have no name yet but those that `unnamed` says are kept, after what is under
    /// way. Local.
    void discard() noexcept;

  private:
    /// A step that all ranks have stored, and rank 0: where its file stands.
    struct Stored {
        series::Step step;
        series::FileState state = series::FileState::stored;
        [[nodiscard]] bool has_name() const noexcept { return state == series::FileState::named; }
    };
    Status finish_file(const series::Step& step, series::FileState& state, bool was_hidden);
    /// Brings its file to its name from where it stands.
    Status go_on(const series::Step& step, series::FileState& state);
    void write_overview(const series::Step& step, const std::string& source);
    void has_name(const series::Step& step) noexcept;
    void drop_oldest(std::size_t num) noexcept;
    /// Rank 0: of the oldest of `stored_`.
    [[nodiscard]] std::size_t num_named() const noexcept;
    [[nodiscard]] bool keeps(const series::Step& step) const;
    /// Rank 0's: goes on with names from the first that has failed, up to one that fails again.
    void name_again() noexcept;

    const Setup& setup_;
    OwnSeries& series_;
    Commits commits_;  // rank 0's, to files of several steps
    std::vector<std::string> parts_;
    std::deque<Stored> stored_;  // by all ranks, and not agreed to have their names; the oldest first
    std::size_t num_taken_ = 0;  // of the oldest of these: take_unagreed returned how they went
    bool is_finishing_ = false;  // the youngest of them
    HiddenWork work_;            // rank 0: its finishing
    bool is_name_open_ = false;
    bool is_refused_ = false;  // after `settle`: by the format's store, which will not take it later either
    Status named_;             // rank 0: how `name` went
    bool is_warned_ = false;   // of overviews
};

}  // namespace hakobi::output
