#pragma once

#include <cstdint>
#include <hakobi/input.hpp>
#include <hakobi/output.hpp>
#include <optional>
#include <vector>

#include "simulation.hpp"

namespace hakobi::tsunami {

/// The model time of a step that the series has. Local.
[[nodiscard]] double time_of(const Input& input, std::int64_t step);

/// All that a run needs to go on from a step as if it had never ended: surface, momenta, floor and highest
/// surface of every cell, what has left through the region's edge, and the number of time steps, as 64-bit
/// fields called state_… in the step's own file, so that whoever has the step has its state.
class State {
  public:
    /// `simulation` stays where it is; nothing is copied.
    explicit State(Simulation& simulation) : simulation_(simulation) {}

    /// The state's fields, before `put`. Collective.
    void define(Output& output);
    /// Puts the state into the open step; all of it is lent until end_step.
    void put(Output& output);

    /// The last step that has a state. Local.
    [[nodiscard]] static std::optional<std::int64_t> last_step(const Input& input);
    /// Sets the simulation, as new, to a step's state, which any number of ranks may have written.
    /// Collective. Throws invalid_argument for a state of another grid, and what Input::read throws.
    void restore(Input& input, std::int64_t step);

  private:
    Simulation& simulation_;
    std::int64_t num_steps_ = 0;
    std::vector<FieldId> ids_;  ///< in the order in which they are put
};

}  // namespace hakobi::tsunami
