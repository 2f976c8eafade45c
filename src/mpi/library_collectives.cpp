#include "mpi/library_collectives.hpp"

#include <limits>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

MPI_Datatype datatype_of(ElementType type) {
    switch (type) {
        case ElementType::float64:
            return MPI_DOUBLE;
        case ElementType::float32:
            return MPI_FLOAT;
        case ElementType::int32:
            return MPI_INT32_T;
        case ElementType::int64:
            return MPI_INT64_T;
        case ElementType::complex128:
            return MPI_C_DOUBLE_COMPLEX;
        case ElementType::complex64:
            return MPI_C_FLOAT_COMPLEX;
    }
    return MPI_DATATYPE_NULL;
}

MPI_Op op_of(Reduction reduction) {
    switch (reduction) {
        case Reduction::sum:
            return MPI_SUM;
        case Reduction::product:
            return MPI_PROD;
        case Reduction::minimum:
            return MPI_MIN;
        case Reduction::maximum:
            return MPI_MAX;
    }
    return MPI_OP_NULL;
}

/// The input argument for MPI; MPI_IN_PLACE where the caller gave one memory for both.
const void* or_in_place(const void* input, bool is_in_place) {
    return is_in_place ? MPI_IN_PLACE : input;
}

const void* own_block(const void* output, MPI_Comm comm, std::int64_t bytes) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return static_cast<const std::byte*>(output) + rank * bytes;
}

}  // namespace

bool LibraryCollective::fits(const Arguments& arguments) {
    return arguments.count <= std::numeric_limits<int>::max();
}

void LibraryCollective::execute(const void* input, void* output) const {
    const Arguments& a = arguments_;
    const int count = static_cast<int>(a.count);
    const MPI_Comm comm = context_.handle();
    switch (a.kind) {
        case Kind::allreduce:
            check(MPI_Allreduce(or_in_place(input, input == output), output, count, datatype_of(a.type),
                                op_of(a.reduction), comm),
                  "MPI_Allreduce");
            break;
        case Kind::alltoall:
            check(MPI_Alltoall(or_in_place(input, input == output), count, MPI_BYTE, output, count, MPI_BYTE,
                               comm),
                  "MPI_Alltoall");
            break;
        case Kind::allgather:
            check(MPI_Allgather(or_in_place(input, input == own_block(output, comm, a.count)), count,
                                MPI_BYTE, output, count, MPI_BYTE, comm),
                  "MPI_Allgather");
            break;
        case Kind::broadcast:
            check(MPI_Bcast(output, count, MPI_BYTE, a.root, comm), "MPI_Bcast");
            break;
    }
}

void LibraryCollective::start(const void* input, void* output) {
    const Arguments& a = arguments_;
    const int count = static_cast<int>(a.count);
    const MPI_Comm comm = context_.handle();
    switch (a.kind) {
        case Kind::allreduce:
            check(MPI_Iallreduce(or_in_place(input, input == output), output, count, datatype_of(a.type),
                                 op_of(a.reduction), comm, &request_),
                  "MPI_Iallreduce");
            break;
        case Kind::alltoall:
            check(MPI_Ialltoall(or_in_place(input, input == output), count, MPI_BYTE, output, count, MPI_BYTE,
                                comm, &request_),
                  "MPI_Ialltoall");
            break;
        case Kind::allgather:
            check(MPI_Iallgather(or_in_place(input, input == own_block(output, comm, a.count)), count,
                                 MPI_BYTE, output, count, MPI_BYTE, comm, &request_),
                  "MPI_Iallgather");
            break;
        case Kind::broadcast:
            check(MPI_Ibcast(output, count, MPI_BYTE, a.root, comm, &request_), "MPI_Ibcast");
            break;
    }
}

bool LibraryCollective::test() {
    int done = 0;
    check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
}

void LibraryCollective::wait() {
    check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
}

}  // namespace hakobi::mpi
