#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "mpi/agree.hpp"
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
    Naming(const Setup& setup, OwnSeries& series) : setup_(setup), series_(series) {}

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
    [[nodiscard]] std::int64_t finishing_number() const noexcept { return stored_.back().number; }
    /// How this rank's naming has gone. Local.
    [[nodiscard]] const Status& status() const noexcept { return named_; }
    /// Removes the files that have no name yet but those that `unnamed` says are kept, after what is under
    /// way. Local.
    void discard() noexcept;

  private:
    /// Rank 0: of a hidden step in a file of several.
    Status leave_commit(const series::Step& step);
    Status finish_file(const series::Step& step, bool was_hidden);
    /// The same of a step in a file of several.
    Status commit(const series::Step& step);
    void write_overview(const series::Step& step, const std::string& source);
    void has_name(const series::Step& step) noexcept;
    void drop_oldest(std::size_t num) noexcept;
    [[nodiscard]] bool keeps(const series::Step& step) const;
    /// Rank 0's: goes on with names from the first that has failed, up to one that fails again.
    void name_again() noexcept;

    const Setup& setup_;
    OwnSeries& series_;
    std::vector<std::string> parts_;
    /// Rank 0: the file of several steps that one was committed to last: how it begins since then, and its
    /// size.
    struct Committed {
        std::string path;
        std::vector<std::byte> begins;
        std::int64_t file_bytes = 0;
    } committed_;
    /// Rank 0: how that file begins when the step is committed that was laid out last.
    struct LaidOut {
        std::string path;
        std::vector<std::byte> begins;
    } laid_out_;
    std::deque<series::Step> stored_;  // by all ranks, and not agreed to have their names; the oldest first
    /// Counts of the oldest of these: rank 0's that have their names, and those that take_unagreed returned.
    struct Counts {
        std::size_t named = 0, taken = 0;
    } num_;
    bool is_finishing_ = false;  // the youngest of them
    HiddenWork work_;            // rank 0: its finishing
    bool is_name_open_ = false;
    Status named_;            // rank 0: how `name` went
    bool is_warned_ = false;  // of overviews
};

}  // namespace hakobi::output
