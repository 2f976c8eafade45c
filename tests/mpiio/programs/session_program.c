// A communicator of a session, without MPI_Init or (second argument "init") beside it: two files, each
// written and read collectively. Status 77 where the MPI library opens no file in a session (MPICH's ROMIO
// wants MPI_Init).
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { num = 1000 };

static int write_and_read(MPI_Comm comm, const char* name) {
    MPI_File file;
    if (MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return 77;
    int rank = 0, values[num], read[num];
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < num; ++i) values[i] = rank * num + i;
    const MPI_Offset at = (MPI_Offset)rank * (MPI_Offset)sizeof values;
    int error = MPI_File_write_at_all(file, at, values, num, MPI_INT, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS) error = MPI_File_read_at_all(file, at, read, num, MPI_INT, MPI_STATUS_IGNORE);
    if (MPI_File_close(&file) != MPI_SUCCESS || error != MPI_SUCCESS) return 1;
    return memcmp(values, read, sizeof values) == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
    const int has_init = argc > 2 && strcmp(argv[2], "init") == 0;
    if (has_init) MPI_Init(&argc, &argv);
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 77;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    if (MPI_Comm_create_from_group(group, "hakobi", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) != MPI_SUCCESS)
        return 77;
    int status = write_and_read(comm, argv[1]);
    if (status == 0) status = write_and_read(comm, "second.dat");
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    if (has_init) MPI_Finalize();
    return status;
}
