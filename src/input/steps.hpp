#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <string>
#include <vector>

#include "format/found_step.hpp"
#include "mpi/agree.hpp"

namespace hakobi::input {

/// The whole steps of a prefix, in order, as every rank knows them. Steps that say the same of themselves,
/// but for their time, share one description.
struct Steps {
    std::vector<std::int64_t> numbers;
    std::vector<double> times;
    std::vector<std::string> paths;           ///< a file, or a folder of pieces
    std::vector<char> are_pieces;             ///< one a step
    std::vector<std::int64_t> steps_in_file;  ///< which of its file's steps each is, from 0
    std::vector<std::int64_t> descriptions;   ///< index into `found`, one a step
    std::vector<format::FoundStep> found;
};

/// Finds the steps of `prefix`, each read by one rank. Collective over `comm`; with an empty one this process
/// does it all. not_found, naming the nearest prefix of the folder, where there is none.
mpi::Agreed find_steps(const Comm& comm, const std::string& prefix, Steps& steps) noexcept;

/// mpi::agree, or with an empty `comm` what `local` is.
mpi::Agreed agree(const Comm& comm, const Status& local);

}  // namespace hakobi::input
