#include <cstdio>
#include <exception>
#include <hakobi/comm.hpp>
#include <hakobi/error.hpp>

#include "options.hpp"
#include "run.hpp"

// Exit status: 0, 2 for an input that cannot be used, 1 for what went wrong on the way. Rank 0 says it in one
// line.
namespace {

int run_all(int argc, char** argv) {
    using namespace hakobi;
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const bool prints = comm.rank() == 0;
    const lattice::ParsedOptions parsed = lattice::parse_options(argc, argv, prints);
    int status = parsed.exit_status;
    if (parsed.options) {
        try {
            lattice::run(comm, *parsed.options);
        } catch (const lattice::InputError& error) {
            if (prints) std::fprintf(stderr, "hakobi-lattice: %s\n", error.text.c_str());
            status = 2;
        } catch (const Error& error) {
            if (prints) std::fprintf(stderr, "hakobi-lattice: %s\n", error.what());
            status = 1;
        }
    }
    comm.free();
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    int status = 1;
    try {
        status = run_all(argc, argv);
    } catch (const std::exception& error) {
        // Nothing that all ranks share (memory, say): the others may be waiting for this one.
        std::fprintf(stderr, "hakobi-lattice: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return status;
}
