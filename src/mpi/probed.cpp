#include "mpi/probed.hpp"

#include <cassert>
#include <climits>
#include <utility>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {

void ProbedMessage::open_context(const Comm& comm) {
    CommState& state = comm.state();
    if (state.buffers != MPI_COMM_NULL) return;
    check(MPI_Comm_dup(state.internal, &state.buffers), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(state.buffers, MPI_ERRORS_RETURN);
}

ProbedMessage ProbedMessage::send(const Comm& comm, std::span<const std::byte> bytes, int to, int tag) {
    assert(bytes.size() <= INT_MAX);
    ProbedMessage message;
    check(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, comm.state().buffers,
                    &message.request_),
          "MPI_Isend");
    return message;
}

ProbedMessage ProbedMessage::receive(const Comm& comm, std::span<std::byte> bytes, int from, int tag) {
    assert(bytes.size() <= INT_MAX);
    ProbedMessage message;
    check(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag, comm.state().buffers,
                    &message.request_),
          "MPI_Irecv");
    return message;
}

std::int64_t ProbedMessage::probe(const Comm& comm, int from, int tag) {
    int has_come = 0, bytes = 0;
    MPI_Status status;
    check(MPI_Iprobe(from, tag, comm.state().buffers, &has_come, &status), "MPI_Iprobe");
    if (has_come == 0) return -1;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    return bytes;
}

ProbedMessage::ProbedMessage(ProbedMessage&& other) noexcept
    : request_(std::exchange(other.request_, MPI_REQUEST_NULL)) {}

ProbedMessage& ProbedMessage::operator=(ProbedMessage&& other) noexcept {
    std::swap(request_, other.request_);
    return *this;
}

bool ProbedMessage::test() {
    if (request_ == MPI_REQUEST_NULL) return true;
    int is_complete = 0;
    check(MPI_Test(&request_, &is_complete, MPI_STATUS_IGNORE), "MPI_Test");
    return is_complete != 0;
}

}  // namespace hakobi::mpi
