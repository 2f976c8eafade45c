! MPI-IO from Fortran 2008: use mpi_f08, typed handles, no error arguments.
program fortran_f08
    use mpi_f08
    implicit none
    integer, parameter :: n = 25
    integer :: rank, num_ranks, i, num
    type(MPI_File) :: file
    type(MPI_Datatype) :: blocks, filetype
    type(MPI_Status) :: status
    integer(kind=MPI_OFFSET_KIND) :: offset
    integer :: a(n), b(n)
    character(len=200) :: path

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, num_ranks)
    call get_command_argument(1, path)
    call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file)
    call MPI_Type_create_indexed_block(n, 1, [(num_ranks * (i - 1) + rank, i = 1, n)], MPI_INTEGER, blocks)
    call MPI_Type_create_resized(blocks, 0_MPI_ADDRESS_KIND, int(4 * n * num_ranks, MPI_ADDRESS_KIND), filetype)
    call MPI_Type_commit(filetype)
    offset = 8
    call MPI_File_set_view(file, offset, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL)
    a = [(rank * 100 + i, i = 1, n)]
    b = 0
    call MPI_File_write_all(file, a, n, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, num)
    if (num /= n) call MPI_Abort(MPI_COMM_WORLD, 2)
    call MPI_File_write_all(file, a, n, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    offset = n
    call MPI_File_read_at_all(file, offset, b, n, MPI_INTEGER, status)
    if (any(a /= b)) call MPI_Abort(MPI_COMM_WORLD, 3)
    call MPI_File_get_position(file, offset)
    call MPI_File_close(file)
    if (rank == 0) print *, 'position', offset
    call MPI_Type_free(filetype)
    call MPI_Type_free(blocks)
    call MPI_Finalize()
end program
