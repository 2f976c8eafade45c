// The data access functions as the front (front.c) looks them up: MPI_File_write_all is hakobi_File_write_all. Each is
// written once (entries_data.inc) and compiled for MPI's int counts and, where the MPI library has them, for large
// counts under the name with _c.
#include "mpiio/entry.hpp"

namespace hakobi::mpiio {
namespace {

Access reading(const char* call, void* buffer, std::int64_t count, MPI_Datatype type,
               std::optional<MPI_Offset> offset = {}) {
    return {.call = call, .offset = offset, .buffer = buffer, .count = count, .type = type};
}

Access writing(const char* call, const void* buffer, std::int64_t count, MPI_Datatype type,
               std::optional<MPI_Offset> offset = {}) {
    return {.call = call,
            .is_write = true,
            .offset = offset,
            .buffer = const_cast<void*>(buffer),
            .count = count,
            .type = type};
}

}  // namespace
}  // namespace hakobi::mpiio

extern "C" {

#define HAKOBI_ENTRY(name) HAKOBI_EXPORT int hakobi_##name
#define HAKOBI_LIBRARY(name) hakobi::mpiio::library.name
#define HAKOBI_COUNT int
#include "mpiio/entries_data.inc"
#undef HAKOBI_ENTRY
#undef HAKOBI_LIBRARY
#undef HAKOBI_COUNT

#if MPI_VERSION >= 4
#define HAKOBI_ENTRY(name) HAKOBI_EXPORT int hakobi_##name##_c
#define HAKOBI_LIBRARY(name) hakobi::mpiio::library.name##_c
#define HAKOBI_COUNT MPI_Count
#include "mpiio/entries_data.inc"
#endif

HAKOBI_EXPORT int hakobi_File_read_at_all_end(MPI_File file, void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    return split_end(file, status,
                     [&](MPI_File at) { return library.File_read_at_all_end(at, buffer, status); });
}

HAKOBI_EXPORT int hakobi_File_read_all_end(MPI_File file, void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    return split_end(file, status,
                     [&](MPI_File at) { return library.File_read_all_end(at, buffer, status); });
}

HAKOBI_EXPORT int hakobi_File_write_at_all_end(MPI_File file, const void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    return split_end(file, status,
                     [&](MPI_File at) { return library.File_write_at_all_end(at, buffer, status); });
}

HAKOBI_EXPORT int hakobi_File_write_all_end(MPI_File file, const void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    return split_end(file, status,
                     [&](MPI_File at) { return library.File_write_all_end(at, buffer, status); });
}

}  // extern "C"
