#include "mpiio/nonblocking.hpp"

#include "mpiio/library_call.hpp"
#include "region/region.hpp"

namespace hakobi::mpiio {
namespace {

/// The bytes of an access; INT64_MAX where that does not hold them, 0 where there is no type.
std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
    MPI_Count type_bytes = 0;
    std::int64_t bytes = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &type_bytes) != MPI_SUCCESS) return 0;
    return __builtin_mul_overflow(count, type_bytes, &bytes) ? INT64_MAX : bytes;
}

}  // namespace

bool fits_one_transfer(std::int64_t count, MPI_Datatype type) {
    constexpr std::int64_t most_bytes = 0x7ffff000;  // read(2), write(2)
    return bytes_of(count, type) <= most_bytes;
}

bool may_never_end(OpenFile& file, const Access& access) {
    if (!reads_may_never_end()) return false;
    file.engine_side.wait_for_left_calls();
    const std::optional<Region> asked = asked_for(file, access);
    const std::int64_t stored_bytes = file.facts.size_bytes();
    return asked && !asked->empty() && stored_bytes >= 0 && asked->end_bytes() > stored_bytes;
}

int completed_request(const MPI_Status& status, MPI_Request* request) {
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    auto* const moved = new std::int64_t(bytes);
    const auto query = [](void* state, MPI_Status* of_request) -> int {
        set_status(of_request, *static_cast<std::int64_t*>(state));
        of_request->MPI_SOURCE = MPI_UNDEFINED;
        of_request->MPI_TAG = MPI_UNDEFINED;
        return MPI_SUCCESS;
    };
    const auto release = [](void* state) -> int {
        delete static_cast<std::int64_t*>(state);
        return MPI_SUCCESS;
    };
    const auto cancel = [](void*, int) -> int { return MPI_SUCCESS; };
    const int error = PMPI_Grequest_start(query, release, cancel, moved, request);
    if (error == MPI_SUCCESS) return PMPI_Grequest_complete(*request);
    delete moved;
    return error;
}

}  // namespace hakobi::mpiio
