#include "mpiio/side.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace hakobi::mpiio_test {

std::string name_of(const Call& call) {
    std::string name = call.kind == Kind::nonblocking || call.kind == Kind::nonblocking_collective ? "i" : "";
    name += call.is_write ? "write" : "read";
    if (call.has_offset) name += "_at";
    if (call.kind != Kind::independent && call.kind != Kind::nonblocking) name += "_all";
    return call.kind == Kind::split ? name + "_begin/end" : name;
}

const mpiio::Library& Side::through_drop_in() {
    static const mpiio::Library calls = [] {
        mpiio::Library found;
#define HAKOBI_FILE_FUNCTION(name) found.name = &::MPI_##name;
#include "mpiio/functions.def"
        return found;
    }();
    return calls;
}

const mpiio::Library& Side::underneath() {
    static const mpiio::Library& calls = []() -> const mpiio::Library& {
        Dl_info info;
        void* handle = nullptr;
        if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Init"), &info) != 0)
            handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (handle == nullptr) {
            std::fprintf(stderr, "conformance: the MPI library is not found: %s\n", dlerror());
            std::abort();
        }
        hakobi_mpiio_start(handle);
        return mpiio::library;
    }();
    return calls;
}

namespace {

int class_of(int error) {
    int error_class = MPI_SUCCESS;
    if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
    return error_class;
}

// Every function by kind: reading and writing, with and without an offset.
int make(Side& side, const Call& call, MPI_Offset offset, void* buffer, int count, MPI_Datatype type,
         MPI_Status* status) {
    const mpiio::Library& mpi = side.calls;
    MPI_File file = side.file;
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_SUCCESS;
    switch (call.kind) {
        case Kind::collective:
            if (call.is_write) {
                return call.has_offset ? mpi.File_write_at_all(file, offset, buffer, count, type, status)
                                       : mpi.File_write_all(file, buffer, count, type, status);
            }
            return call.has_offset ? mpi.File_read_at_all(file, offset, buffer, count, type, status)
                                   : mpi.File_read_all(file, buffer, count, type, status);
        case Kind::independent:
            if (call.is_write) {
                return call.has_offset ? mpi.File_write_at(file, offset, buffer, count, type, status)
                                       : mpi.File_write(file, buffer, count, type, status);
            }
            return call.has_offset ? mpi.File_read_at(file, offset, buffer, count, type, status)
                                   : mpi.File_read(file, buffer, count, type, status);
        case Kind::split:
            if (call.is_write) {
                error = call.has_offset ? mpi.File_write_at_all_begin(file, offset, buffer, count, type)
                                        : mpi.File_write_all_begin(file, buffer, count, type);
                if (error != MPI_SUCCESS) return error;
                return call.has_offset ? mpi.File_write_at_all_end(file, buffer, status)
                                       : mpi.File_write_all_end(file, buffer, status);
            }
            error = call.has_offset ? mpi.File_read_at_all_begin(file, offset, buffer, count, type)
                                    : mpi.File_read_all_begin(file, buffer, count, type);
            if (error != MPI_SUCCESS) return error;
            return call.has_offset ? mpi.File_read_at_all_end(file, buffer, status)
                                   : mpi.File_read_all_end(file, buffer, status);
        case Kind::nonblocking:
            if (call.is_write) {
                error = call.has_offset ? mpi.File_iwrite_at(file, offset, buffer, count, type, &request)
                                        : mpi.File_iwrite(file, buffer, count, type, &request);
            } else {
                error = call.has_offset ? mpi.File_iread_at(file, offset, buffer, count, type, &request)
                                        : mpi.File_iread(file, buffer, count, type, &request);
            }
            break;
        case Kind::nonblocking_collective:
            if (call.is_write) {
                error = call.has_offset ? mpi.File_iwrite_at_all(file, offset, buffer, count, type, &request)
                                        : mpi.File_iwrite_all(file, buffer, count, type, &request);
            } else {
                error = call.has_offset ? mpi.File_iread_at_all(file, offset, buffer, count, type, &request)
                                        : mpi.File_iread_all(file, buffer, count, type, &request);
            }
            break;
    }
    return error != MPI_SUCCESS ? error : MPI_Wait(&request, status);
}

}  // namespace

Answer access(Side& side, const Call& call, MPI_Offset offset, std::byte* buffer, int count,
              MPI_Datatype type) {
    MPI_Status status;
    Answer answer;
    answer.error_class = class_of(make(side, call, offset, buffer, count, type, &status));
    if (answer.error_class == MPI_SUCCESS) MPI_Get_elements_x(&status, MPI_BYTE, &answer.bytes);
    side.calls.File_get_position(side.file, &answer.position);
    return answer;
}

Answer access_packed(Side& side, const Call& call, MPI_Offset offset, std::byte* buffer, int count,
                     MPI_Datatype type) {
    MPI_Count size = 0;
    MPI_Type_size_x(type, &size);
    const int bytes = static_cast<int>(size) * count;
    std::vector<std::byte> packed(static_cast<std::size_t>(bytes) + 64);
    int position = 0;
    if (call.is_write)
        MPI_Pack(buffer, count, type, packed.data(), static_cast<int>(packed.size()), &position,
                 MPI_COMM_SELF);
    Answer answer = access(side, call, offset, packed.data(), bytes, MPI_BYTE);
    position = 0;
    if (!call.is_write) MPI_Unpack(packed.data(), bytes, &position, buffer, count, type, MPI_COMM_SELF);
    return answer;
}

}  // namespace hakobi::mpiio_test
