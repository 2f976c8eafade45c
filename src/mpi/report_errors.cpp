#include "mpi/report_errors.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <hakobi/report_errors.hpp>
#include <string>
#include <thread>

#include "mpi/comm_state.hpp"

namespace hakobi {
namespace {

std::terminate_handler before = nullptr;

/// One rank reports an error that all ranks of a communicator have. The lowest of the world goes first, and
/// its MPI_Abort ends the others while they wait; where it is none of them, the next one speaks.
void let_lower_ranks_speak(int world_rank) {
    if (world_rank == 0) return;
    std::this_thread::sleep_for(std::chrono::seconds(1) +
                                std::min(world_rank, 200) * std::chrono::milliseconds(50));
}

void on_terminate() {
    if (const std::exception_ptr thrown = std::current_exception()) {
        try {
            std::rethrow_exception(thrown);
        } catch (const Error& error) {
            mpi::end_with(error);
        } catch (...) {  // is not ours to report
        }
    }
    if (before != nullptr) before();
    std::abort();
}

}  // namespace

void mpi::end_with(const Error& error) {
    std::fflush(nullptr);
    int is_initialized = 0, is_finalized = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    if (is_initialized == 0 || is_finalized != 0) {
        std::fprintf(stderr, "hakobi: %s\n", error.what());
        std::_Exit(EXIT_FAILURE);
    }
    int world_rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    const bool is_everybodys = error.rank() >= 0;
    if (is_everybodys) let_lower_ranks_speak(world_rank);
    const std::string place = is_everybodys ? "" : "rank " + std::to_string(world_rank) + ": ";
    mpi::abort_all("hakobi: " + place + error.what());
}

void v0::report_errors() noexcept {
    if (std::get_terminate() != on_terminate) before = std::set_terminate(on_terminate);
}

}  // namespace hakobi
