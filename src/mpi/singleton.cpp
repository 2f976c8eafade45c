#include "mpi/singleton.hpp"

#include <array>
#include <charconv>
#include <cstring>

namespace hakobi::mpi {
namespace {

struct LauncherWords {
    const char *size, *rank;
    const char* told = size;  ///< what users know of it
};
/// A launcher below another one comes first: mpirun in a step of srun. A batch script, which is one process,
/// has SLURM_NTASKS, but is no step.
constexpr std::array launchers_words{
    LauncherWords{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    LauncherWords{"PMI_SIZE", "PMI_RANK"},
    LauncherWords{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_NTASKS"},
};

int number_in(const char* text) {
    int number = -1;
    if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
    return number;
}

}  // namespace

std::string words_of_singletons(int world_size, const char* (*variable)(const char* name)) {
    if (world_size != 1) return {};
    for (const LauncherWords& launcher : launchers_words) {
        const int size = number_in(variable(launcher.size));
        if (size < 0) continue;
        if (size == 1 || number_in(variable(launcher.rank)) != 0) return {};
        return std::string(launcher.told) + " is " + std::to_string(size) +
               ", but MPI says 1 rank: each process is alone. Start them by the launcher of their MPI "
               "library, or by srun "
               "with the --mpi that it knows (pmix, pmi2)";
    }
    return {};
}

}  // namespace hakobi::mpi
