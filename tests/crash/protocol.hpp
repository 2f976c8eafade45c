#pragma once

#include <set>
#include <string>
#include <vector>

#include "output/mesh_fixture.hpp"

namespace hakobi::test {

/// A way of writing steps whose crash states are tried. Folders below `root`: place, and stage.
struct Protocol {
    std::string name, format, method;
    bool is_hidden = false;
    bool has_stage = false;
    bool is_synced = false;
    std::int64_t steps_per_file = 1;
    Motion motion = Motion::fixed;
    int num_steps = 3;

    [[nodiscard]] bool has_mesh() const { return format == "vtkhdf"; }
    /// Input says of its pieces that they have to be gathered first.
    [[nodiscard]] bool is_shown_gathered() const { return has_mesh() && method == "per-process"; }
    [[nodiscard]] OutputOptions options(const std::string& root) const;
    /// The options of a run that comes after it: on one rank, and without a stage.
    [[nodiscard]] OutputOptions next_options(IfExists if_exists) const;
    /// Notes what has returned. Collective.
    void run(const Comm& comm, const std::string& root) const;
    void put_step(Output& out, const Comm& comm, std::int64_t step) const;
};
[[nodiscard]] std::string prefix_in(const std::string& root);

/// The steps that a reader finds.
struct Look {
    std::set<std::int64_t> steps;  ///< whose values are right
    std::string wrong;
};
/// Looks at the steps that are there now; changes nothing. `num_ranks`: of the ranks that wrote the steps
/// before `first_alone`, one those from there on.
[[nodiscard]] Look look_at(const Protocol& protocol, const std::string& root, int num_ranks,
                           std::int64_t first_alone);

/// Who finds the steps of a run that was killed.
struct Opener {
    std::string name;
    bool replaces = false;      ///< removes the steps
    bool goes_on = false;       ///< writes a step more
    bool leaves_parts = false;  ///< of steps that are not whole
};
[[nodiscard]] const std::vector<Opener>& all_openers();
struct Opened {
    std::string words;            ///< what it says of steps beside stderr
    std::int64_t next_step = -1;  ///< that it has written
};
/// Throws its Error.
Opened open_by(const Opener& opener, const Protocol& protocol, const std::string& root, const Comm& alone);

}  // namespace hakobi::test
