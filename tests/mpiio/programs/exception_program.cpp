// A C++ program whose error handler throws: through the MPI library, which calls it, and the drop-in, which
// was called.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <string>

extern "C" void fail(MPI_File* /*file*/, int* error, ...) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(*error, &error_class);
    throw std::runtime_error(error_class == MPI_ERR_READ_ONLY ? "READ_ONLY" : "another");
}

namespace {

constexpr int count = 1000;

// Returns the exception thrown while all ranks write to the file.
std::string write_all(MPI_File file, int rank, bool is_split) {
    int values[count];
    for (int i = 0; i < count; ++i) values[i] = rank * count + i;
    const MPI_Offset offset_bytes = static_cast<MPI_Offset>(rank) * count * sizeof(int);
    try {
        if (is_split) {
            MPI_File_write_at_all_begin(file, offset_bytes, values, count, MPI_INT);
            MPI_File_write_at_all_end(file, values, MPI_STATUS_IGNORE);
        } else {
            MPI_File_write_at_all(file, offset_bytes, values, count, MPI_INT, MPI_STATUS_IGNORE);
        }
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "nothing";
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const char* const name = argc > 1 ? argv[1] : "exception.dat";
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Errhandler thrower;
    MPI_File_create_errhandler(fail, &thrower);
    for (const int mode : {int{MPI_MODE_CREATE | MPI_MODE_WRONLY}, int{MPI_MODE_RDONLY}}) {
        MPI_File file;
        MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file);
        MPI_File_set_errhandler(file, thrower);
        for (const bool is_split : {false, true}) {
            const std::string thrown = write_all(file, rank, is_split);
            const bool is_right = thrown == (mode == MPI_MODE_RDONLY ? "READ_ONLY" : "nothing");
            int is_right_everywhere = is_right;
            MPI_Allreduce(MPI_IN_PLACE, &is_right_everywhere, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
            if (rank == 0) std::printf("mode %d: thrown: %s\n", mode == MPI_MODE_RDONLY, thrown.c_str());
            if (!is_right_everywhere) MPI_Abort(MPI_COMM_WORLD, 1);
        }
        MPI_File_close(&file);
    }
    MPI_Errhandler_free(&thrower);
    MPI_Finalize();
    return 0;
}
