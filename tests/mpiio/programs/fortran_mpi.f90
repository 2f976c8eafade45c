! MPI-IO from Fortran 90: use mpi.
program fortran_mpi
    use mpi
    implicit none
    integer, parameter :: n = 30
    integer :: ierr, rank, num_ranks, file, vector, filetype, i, num, error
    integer :: status(MPI_STATUS_SIZE)
    integer(kind=MPI_OFFSET_KIND) :: displacement, offset
    real :: a(n), b(n)
    character(len=200) :: path

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, num_ranks, ierr)
    call get_command_argument(1, path)
    call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
    if (ierr /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    call MPI_Type_vector(n / 3, 3, 3 * num_ranks, MPI_REAL, vector, ierr)
    call MPI_Type_create_resized(vector, 0_MPI_ADDRESS_KIND, int(4 * n * num_ranks, MPI_ADDRESS_KIND), filetype, ierr)
    call MPI_Type_commit(filetype, ierr)
    displacement = 12 * rank
    call MPI_File_set_view(file, displacement, MPI_REAL, filetype, 'native', MPI_INFO_NULL, ierr)
    a = [(real(rank * 1000 + i), i = 1, n)]
    b = 0
    call MPI_File_write_all_begin(file, a, n, MPI_REAL, ierr)
    call MPI_File_write_all_end(file, a, status, ierr)
    call MPI_Get_count(status, MPI_REAL, num, ierr)
    if (num /= n) call MPI_Abort(MPI_COMM_WORLD, 2, error)
    call MPI_File_sync(file, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    offset = 0
    call MPI_File_read_at_all(file, offset, b, n, MPI_REAL, status, ierr)
    if (any(a /= b)) call MPI_Abort(MPI_COMM_WORLD, 3, error)
    call MPI_File_write(file, a, 3, MPI_REAL, status, ierr)
    call MPI_File_get_position(file, offset, ierr)
    if (offset /= n + 3) call MPI_Abort(MPI_COMM_WORLD, 4, error)
    call MPI_File_close(file, ierr)
    if (rank == 0) print *, 'position', offset
    call MPI_Type_free(filetype, ierr)
    call MPI_Type_free(vector, ierr)
    call MPI_Finalize(ierr)
end program
