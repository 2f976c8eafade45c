#include "mpi/agree.hpp"

#include <span>

#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"

namespace hakobi::mpi {

Agreed agree(const Comm& comm, const Status& local) {
    const CommState& state = comm.state();
    // Code above, rank below: the maximum picks the most severe code, and of those the lowest rank.
    const std::int64_t code = static_cast<int>(local.code());
    std::int64_t worst = local.ok() ? 0 : (code << 32) | (0x7fffffff - state.rank);
    all_max(comm, std::span(&worst, 1));
    if (worst == 0) return {};
    Agreed agreed;
    agreed.rank = 0x7fffffff - static_cast<int>(worst & 0xffffffff);
    int length = state.rank == agreed.rank ? static_cast<int>(local.text().size()) : 0;
    check(MPI_Bcast(&length, 1, MPI_INT, agreed.rank, state.internal), "MPI_Bcast");
    std::string text =
        state.rank == agreed.rank ? local.text() : std::string(static_cast<std::size_t>(length), ' ');
    check(MPI_Bcast(text.data(), length, MPI_CHAR, agreed.rank, state.internal), "MPI_Bcast");
    agreed.status = Status(static_cast<ErrorCode>(worst >> 32), std::move(text));
    return agreed;
}

}  // namespace hakobi::mpi
