#include "mpi/probed.hpp"

#include <cassert>
#include <climits>
#include <utility>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {

ProbedMessage ProbedMessage::send(const MessageContext& context, std::span<const std::byte> bytes, int to,
                                  int tag) {
    assert(bytes.size() <= INT_MAX);
    ProbedMessage message;
    check(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, context.handle(),
                    &message.request_),
          "MPI_Isend");
    return message;
}

ProbedMessage ProbedMessage::receive(const MessageContext& context, std::span<std::byte> bytes, int from,
                                     int tag) {
    assert(bytes.size() <= INT_MAX);
    ProbedMessage message;
    check(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag, context.handle(),
                    &message.request_),
          "MPI_Irecv");
    return message;
}

std::int64_t ProbedMessage::probe(const MessageContext& context, int from, int tag) {
    int has_come = 0, bytes = 0;
    MPI_Status status;
    check(MPI_Iprobe(from, tag, context.handle(), &has_come, &status), "MPI_Iprobe");
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
