#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mpiio/library.hpp"

namespace hakobi::mpiio_test {

/// How a data access is called.
enum class Kind { collective, split, nonblocking_collective, independent, nonblocking };

struct Call {
    Kind kind = Kind::collective;
    bool is_write = false;
    bool has_offset = false;  ///< else at the individual pointer
};

/// "write_at_all_begin", "iread", …
std::string name_of(const Call& call);

/// One of the two that are compared: the functions that the program's linker finds (the drop-in's), or the
/// MPI library's own; and a file open through them.
struct Side {
    const mpiio::Library& calls;
    MPI_File file = MPI_FILE_NULL;
    std::string path;

    static const mpiio::Library& through_drop_in();
    static const mpiio::Library& underneath();
};

/// The result of a data access for its caller.
struct Answer {
    int error_class = MPI_SUCCESS;
    MPI_Count bytes = -1;  ///< by the status
    MPI_Offset position = -1;
    bool operator==(const Answer&) const = default;
};

/// Makes the access and asks for the pointer after it. `buffer` is the address that MPI is given.
Answer access(Side& side, const Call& call, MPI_Offset offset, std::byte* buffer, int count,
              MPI_Datatype type);

/// The same, of the data packed to bytes in contiguous memory.
Answer access_packed(Side& side, const Call& call, MPI_Offset offset, std::byte* buffer, int count,
                     MPI_Datatype type);

}  // namespace hakobi::mpiio_test
