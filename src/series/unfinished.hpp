#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "series/series.hpp"

namespace hakobi::series {

/// The outcome for the steps that an ended run left under temporary names.
struct Unfinished {
    std::vector<Series::Entry> completed;   ///< whole ones, which have their names now; in their order
    std::vector<std::string> lost;          ///< of each other one a sentence that names it
    std::size_t num_told = 0;               ///< of these, the first: said already
    std::int64_t first_lost = -1;           ///< the step of the first that is not whole; -1: none
    bool has_gap = false;                   ///< some of these are whole, but not one before them
    std::vector<std::string> staying = {};  ///< of each that did not come from its stage a sentence

    [[nodiscard]] bool keeps_whole() const noexcept { return has_gap || !staying.empty(); }
};

/// Steps that are whole behind one that is not: a run that goes on behind them never fills the gap.
enum class Gaps { none, left };

/// Gives each step among `series.parts` that is whole its name; with Gaps::none only up to the first that is
/// not. All others stay as they are. Local: the caller holds the prefix's lock and has found `series` since.
/// An error is of a step that is whole and could not be given its name.
Result<Unfinished> complete_steps(const std::string& prefix, const Series& series, Gaps gaps);

/// Says it on stderr, but what was told. `becomes`: what happens to the others ("is removed").
void tell(const std::string& prefix, const Unfinished& unfinished, const char* becomes);
/// The same of the lost alone, before what is left of them goes: who is killed behind that has named them.
void tell_lost(const std::string& prefix, Unfinished& unfinished, const char* becomes);

/// For who is going to read the prefix: completes its steps, without gaps, where no run writes it and this
/// process may, and says what it did and what is not whole. Local.
void complete_for_reading(const std::string& prefix) noexcept;

/// For the same: says of steps in pieces that are not whole why not, where no run writes the prefix. Local.
void tell_of_pieces(const std::string& prefix, const std::map<std::int64_t, std::string>& left_out) noexcept;

}  // namespace hakobi::series
