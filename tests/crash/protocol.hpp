#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "output/mesh_fixture.hpp"

namespace hakobi::test {

/// A way of writing steps whose crash states are tried. Folders below `root`: place, stage, and bucket.
struct Protocol {
    std::string name, format, method;
    bool is_hidden = false;
    bool has_stage = false;
    bool is_on_objects = false;  ///< over the stage
    bool is_synced = false;
    bool is_compressed = false;
    bool has_overview = false;
    bool has_static = false;  ///< a field that its first step has
    bool is_defined = false;  ///< fields are, in place of described with each step
    bool is_large = false;    ///< a step is put in parts
    std::int64_t steps_per_file = 1;
    Motion motion = Motion::fixed;
    int num_steps = 3;

    [[nodiscard]] bool has_mesh() const { return format == "vtkhdf"; }
    /// Input says of its pieces that they have to be gathered first.
    [[nodiscard]] bool is_shown_gathered() const {
        return (has_mesh() || is_compressed) && method == "per-process";
    }
    [[nodiscard]] std::string prefix_in(const std::string& root) const;
    /// A grid's.
    [[nodiscard]] const std::vector<TestField>& fields() const;
    /// The last of them, where one is static.
    [[nodiscard]] bool is_static(std::size_t field) const {
        return has_static && field + 1 == fields().size();
    }
    [[nodiscard]] OutputOptions options(const std::string& root) const;
    /// The options of a run that comes after it: on one rank, and over a stage where it must.
    [[nodiscard]] OutputOptions next_options(const std::string& root, IfExists if_exists) const;
    /// Notes what has returned. Collective.
    void run(const Comm& comm, const std::string& root) const;
};

/// Puts steps of a protocol into an output.
class StepWriter {
  public:
    StepWriter(const Protocol& protocol, Output& out, const Comm& comm)
        : protocol_(protocol), out_(out), comm_(comm) {}
    /// Collective over the output's ranks.
    void put_step(std::int64_t step);

  private:
    void put(const Field& field);
    void put_grid(std::int64_t step);
    void put_mesh(std::int64_t step);

    const Protocol& protocol_;
    Output& out_;
    const Comm& comm_;
    bool is_first_ = true;
    std::map<std::string, FieldId> ids_;
};

/// The steps that a reader finds.
struct Look {
    std::set<std::int64_t> steps;  ///< whose values are right
    std::string wrong;
    std::string why_none;  ///< what a reader is told where there are no steps
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
    bool is_refused = false;    ///< where there are steps, whole or to be completed
};
[[nodiscard]] const std::vector<Opener>& all_openers();
struct Opened {
    std::string words;            ///< what it says of steps beside stderr
    std::int64_t next_step = -1;  ///< that it has written
};
/// Throws its Error.
Opened open_by(const Opener& opener, const Protocol& protocol, const std::string& root, const Comm& alone);

}  // namespace hakobi::test
