#include "state.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace hakobi::tsunami {
namespace {

struct CellName {
    const char *name, *units;
    CellField Solver::*field;
};
constexpr std::array cell_names = {
    CellName{"state_eta", "m", &Solver::eta}, CellName{"state_momentum_x", "m2 s-1", &Solver::momentum_x},
    CellName{"state_momentum_y", "m2 s-1", &Solver::momentum_y}, CellName{"state_bed", "m", &Solver::bed},
    CellName{"state_eta_max", "m", &Solver::eta_max}};

constexpr std::array<const char*, 4> outflow_names = {"state_outflow_west", "state_outflow_east",
                                                      "state_outflow_south", "state_outflow_north"};
static_assert(Edges::west == 0 && Edges::east == 1 && Edges::south == 2 && Edges::north == 3);

constexpr const char* num_steps_name = "state_num_steps";

/// A block's cells from `first` on, without the ghosts around them.
std::span<double> cells_of(const CellField& field, double* first) {
    const std::int64_t size = (field.num_rows() - 1) * field.pitch() + field.num_columns();
    return {first, static_cast<std::size_t>(size)};
}

/// This rank's part of one side of the region; none where the block does not touch it.
Block side_of(const Block& block, int side, std::size_t size) {
    const std::size_t d = side <= Edges::east ? 0 : 1;
    return {{block.global[d]}, {block.start[d]}, {static_cast<std::int64_t>(size)}};
}

Block one_value(bool is_mine) {
    return {{1}, {0}, {is_mine ? 1 : 0}};
}

}  // namespace

double time_of(const Input& input, std::int64_t step) {
    const auto at = std::ranges::find(input.steps(), step) - input.steps().begin();
    return input.times()[static_cast<std::size_t>(at)];
}

void State::define(Output& output) {
    const Block& block = simulation_.block();
    for (const CellName& cell : cell_names)
        ids_.push_back(output.define(
            {.name = cell.name, .units = cell.units, .global = block.global, .dims = {"lat", "lon"}}));
    for (const int side : {Edges::west, Edges::east, Edges::south, Edges::north}) {
        const std::size_t d = side <= Edges::east ? 0 : 1;
        ids_.push_back(output.define({.name = outflow_names[static_cast<std::size_t>(side)],
                                      .units = "m3",
                                      .global = {block.global[d]},
                                      .dims = {d == 0 ? "lat" : "lon"}}));
    }
    ids_.push_back(output.define(
        {.name = num_steps_name, .type = ValueType::int64, .global = {1}, .dims = {"state_one"}}));
}

void State::put(Output& output) {
    Solver& solver = simulation_.solver();
    const Block& block = simulation_.block();
    auto id = ids_.begin();
    for (const CellName& cell : cell_names) {
        CellField& field = solver.*cell.field;
        field.to_gpu();
        output.put(*id++, block, std::span<const double>(cells_of(field, field.shown())),
                   {.strides = {field.pitch(), 1}, .memory = field.shown_memory(), .stream = field.stream()});
    }
    for (const int side : {Edges::west, Edges::east, Edges::south, Edges::north}) {
        const std::vector<double>& outflow = solver.outflow_m3()[static_cast<std::size_t>(side)];
        output.put(*id++, side_of(block, side, outflow.size()), outflow);
    }
    num_steps_ = simulation_.num_steps();
    const bool is_mine = block.start[0] == 0 && block.start[1] == 0;
    output.put(*id, one_value(is_mine), std::span<const std::int64_t>(&num_steps_, is_mine ? 1 : 0));
}

std::optional<std::int64_t> State::last_step(const Input& input) {
    for (std::size_t i = input.steps().size(); i-- > 0;) {
        const std::int64_t step = input.steps()[i];
        const auto& fields = input.fields(step);
        if (std::ranges::find(fields, cell_names[0].name, &InputField::name) != fields.end()) return step;
    }
    return std::nullopt;
}

void State::restore(Input& input, std::int64_t step) {
    Solver& solver = simulation_.solver();
    const Block& block = simulation_.block();
    for (const CellName& cell : cell_names) {
        CellField& field = solver.*cell.field;
        input.read({.name = cell.name,
                    .step = step,
                    .block = block,
                    .data = cells_of(field, field.row(0)),
                    .strides = {field.pitch(), 1}});
    }
    for (const int side : {Edges::west, Edges::east, Edges::south, Edges::north}) {
        const auto at = static_cast<std::size_t>(side);
        std::vector<double>& outflow = solver.outflow_m3()[at];
        input.read({.name = outflow_names[at],
                    .step = step,
                    .block = side_of(block, side, outflow.size()),
                    .data = std::span(outflow)});
    }
    input.read(
        {.name = num_steps_name, .step = step, .block = one_value(true), .data = std::span(&num_steps_, 1)});
    simulation_.go_on(time_of(input, step), num_steps_);
}

}  // namespace hakobi::tsunami
