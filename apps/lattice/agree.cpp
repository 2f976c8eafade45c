#include "agree.hpp"

namespace hakobi::lattice {

void throw_if_any_failed(const Comm& comm, const Failure& failure) {
    struct {
        int code, rank;
    } worst{static_cast<int>(failure.code), comm.rank()};
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_2INT, MPI_MAXLOC, comm.handle());
    if (worst.code == 0) return;
    int length = static_cast<int>(failure.text.size());
    MPI_Bcast(&length, 1, MPI_INT, worst.rank, comm.handle());
    std::string text = failure.text;
    text.resize(static_cast<std::size_t>(length));
    MPI_Bcast(text.data(), length, MPI_CHAR, worst.rank, comm.handle());
    throw Error(static_cast<ErrorCode>(worst.code), text, worst.rank);
}

}  // namespace hakobi::lattice
