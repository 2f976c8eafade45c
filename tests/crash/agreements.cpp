// Notes each agreement of all ranks. The linker has calls of the library's agree and all_max come here first
// (CMakeLists.txt).
#include "mpi/agree.hpp"
#include "mpi/messages.hpp"
#include "recorder.hpp"

namespace hakobi::test {
namespace {

void note_agreement(const Comm& comm) {
    int num_ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    if (num_ranks > 1 && comm.size() == num_ranks) note(Kind::agreement);
}

}  // namespace
}  // namespace hakobi::test

// The names are those of the Itanium C++ ABI.
hakobi::mpi::Agreed real_agree(const hakobi::Comm& comm, const hakobi::Status& local) asm(
    "__real__ZN6hakobi3mpi5agreeERKNS_2v04CommERKNS_6StatusE");
hakobi::mpi::Agreed wrap_agree(const hakobi::Comm& comm, const hakobi::Status& local) asm(
    "__wrap__ZN6hakobi3mpi5agreeERKNS_2v04CommERKNS_6StatusE");
hakobi::mpi::Agreed wrap_agree(const hakobi::Comm& comm, const hakobi::Status& local) {
    hakobi::mpi::Agreed agreed = real_agree(comm, local);
    hakobi::test::note_agreement(comm);
    return agreed;
}

void real_all_max(const hakobi::Comm& comm, std::span<std::int64_t> values) asm(
    "__real__ZN6hakobi3mpi7all_maxERKNS_2v04CommESt4spanIlLm18446744073709551615EE");
void wrap_all_max(const hakobi::Comm& comm, std::span<std::int64_t> values) asm(
    "__wrap__ZN6hakobi3mpi7all_maxERKNS_2v04CommESt4spanIlLm18446744073709551615EE");
void wrap_all_max(const hakobi::Comm& comm, std::span<std::int64_t> values) {
    real_all_max(comm, values);
    hakobi::test::note_agreement(comm);
}
