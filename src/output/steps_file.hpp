#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/growing_file.hpp"
#include "output/own_series.hpp"
#include "output/setup.hpp"
#include "output/step_draft.hpp"

namespace hakobi::output {

/// The file that an Output's steps go to, where a file takes several.
///
/// Invariant: equal on all ranks, but `growing_`, which is rank 0's; the file has its final name on all ranks
/// alike, when its first step has. A step begins a new file where the one that is open is full, or has other
/// fields, or static ones with other values.
class StepsFile {
  public:
    /// A file takes at most so many.
    explicit StepsFile(std::int64_t most_steps) : most_steps_(most_steps) { assert(most_steps > 1); }

    /// Says to which file the step goes, and whether it is its first: the step's names. `local`: what has
    /// gone wrong on this rank, before and here. Collective in the first step of a run that resumes, else
    /// local.
    mpi::Agreed choose(const Setup& setup, const OwnSeries& series, StepDraft& draft, bool are_statics_new,
                       Status& local) noexcept;
    /// Rank 0's: GrowingFile::append.
    [[nodiscard]] Result<format::Layout> append(const series::Step& step,
                                                std::span<const std::vector<format::StoredChunk>> chunks) {
        assert(growing_ != nullptr);
        return growing_->append(step.description, chunks);
    }
    /// The step is part of its file. Local, on all ranks.
    void has_step(const series::Step& step) noexcept;

  private:
    Status resume(const Setup& setup, const series::Step& step);
    static void say_new(const Setup& setup, const series::Step& step, const std::string& why);
    mpi::Agreed compare_statics(const Setup& setup, StepDraft& draft) noexcept;
    Status begin(const Setup& setup, const series::Step& step);

    std::int64_t most_steps_;
    std::unique_ptr<format::GrowingFile> growing_;
    std::int64_t num_steps_ = 0;  // appended to the open file; 0: none is open
    std::string path_, part_path_;
    bool has_name_ = false;
    bool is_resumed_ = false;  // the file of an earlier run was looked at
    std::vector<format::FieldDescription> fields_;
};

}  // namespace hakobi::output
