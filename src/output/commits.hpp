#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "output/setup.hpp"
#include "series/step.hpp"

namespace hakobi::output {

/// Makes stored steps part of the files that take several (pending_commit.hpp). All local, rank 0's.
///
/// Invariant: `left_` are the commits that are there for the case of a kill; a file is never cut to less than
/// the steps that were committed to it.
class Commits {
  public:
    /// `setup` outlives it.
    explicit Commits(const Setup& setup) : setup_(setup) {}

    /// Whether the next opener can carry out the step's commit: it is hidden, and its storage has files.
    [[nodiscard]] bool is_left(const series::Step& step) const;
    /// Leaves the commit of a step that is laid out, where it is hidden.
    Status leave(const series::Step& step);
    /// Makes a stored step part of its file, which gets its name with the first.
    Status commit(const series::Step& step);
    /// The next opener carries out the step's commit: neither that nor the step's values are given up.
    void keep(const series::Step& step);
    /// Gives up what is not committed: removes commits that are not kept, and cuts the values off.
    void discard() noexcept;

  private:
    const Setup& setup_;
    std::vector<std::string> left_;
    /// The file that a step was committed to last: how it begins since then, and its size.
    struct Committed {
        std::string path;
        std::vector<std::byte> begins;
        std::int64_t file_bytes = 0;
    } committed_;
    /// How that file begins when the step is committed that was laid out last.
    struct LaidOut {
        std::string path;
        std::vector<std::byte> begins;
    } laid_out_;
};

}  // namespace hakobi::output
