#include "mpi/persistent.hpp"

#include <cassert>
#include <climits>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {

PersistentMessages::~PersistentMessages() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized != 0) return;
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
}

int PersistentMessages::add(MPI_Request request) {
    requests_.push_back(request);
    completed_.resize(requests_.size());
    return static_cast<int>(requests_.size()) - 1;
}

int PersistentMessages::add_send(std::span<const std::byte> bytes, int to) {
    assert(bytes.size() <= INT_MAX);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Send_init(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag_, context_.handle(),
                        &request),
          "MPI_Send_init");
    return add(request);
}

int PersistentMessages::add_receive(std::span<std::byte> bytes, int from) {
    assert(bytes.size() <= INT_MAX);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Recv_init(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag_, context_.handle(),
                        &request),
          "MPI_Recv_init");
    return add(request);
}

int PersistentMessages::add_send(std::span<const Pieces> pieces, int to) {
    MPI_Datatype type = type_of(pieces);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Send_init(MPI_BOTTOM, 1, type, to, tag_, context_.handle(), &request), "MPI_Send_init");
    MPI_Type_free(&type);
    return add(request);
}

int PersistentMessages::add_receive(std::span<const Pieces> pieces, int from) {
    MPI_Datatype type = type_of(pieces);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Recv_init(MPI_BOTTOM, 1, type, from, tag_, context_.handle(), &request), "MPI_Recv_init");
    MPI_Type_free(&type);
    return add(request);
}

// Absolute addresses: one type for pieces of several arrays.
MPI_Datatype PersistentMessages::type_of(std::span<const Pieces> pieces) {
    std::vector<MPI_Datatype> types;
    std::vector<MPI_Aint> addresses;
    for (const Pieces& part : pieces) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        check(MPI_Type_contiguous(static_cast<int>(part.piece_bytes), MPI_BYTE, &type),
              "MPI_Type_contiguous");
        for (std::size_t d = part.dims.size(); d-- > 0;) {
            MPI_Datatype outer = MPI_DATATYPE_NULL;
            check(MPI_Type_create_hvector(static_cast<int>(part.dims[d].count), 1,
                                          static_cast<MPI_Aint>(part.dims[d].stride_bytes), type, &outer),
                  "MPI_Type_create_hvector");
            MPI_Type_free(&type);
            type = outer;
        }
        types.push_back(type);
        MPI_Aint address = 0;
        check(MPI_Get_address(part.first, &address), "MPI_Get_address");
        addresses.push_back(address);
    }
    const std::vector<int> lengths(pieces.size(), 1);
    MPI_Datatype whole = MPI_DATATYPE_NULL;
    check(MPI_Type_create_struct(static_cast<int>(pieces.size()), lengths.data(), addresses.data(),
                                 types.data(), &whole),
          "MPI_Type_create_struct");
    check(MPI_Type_commit(&whole), "MPI_Type_commit");
    for (MPI_Datatype& type : types) MPI_Type_free(&type);
    return whole;
}

void PersistentMessages::start(int message) {
    check(MPI_Start(&requests_[static_cast<std::size_t>(message)]), "MPI_Start");
}

std::span<const int> PersistentMessages::test() {
    int num = 0;
    check(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &num, completed_.data(),
                       MPI_STATUSES_IGNORE),
          "MPI_Testsome");
    if (num == MPI_UNDEFINED) num = 0;
    return std::span(completed_).first(static_cast<std::size_t>(num));
}

}  // namespace hakobi::mpi
