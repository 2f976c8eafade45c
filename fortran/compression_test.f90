! Compressed fields from Fortran: exact where all bits are kept, within the bound where they are rounded, and
! small.
program compression_test
    use, intrinsic :: iso_fortran_env, only: real64, int64
    use mpi
    use hakobi
    use hakobi_input_module
    implicit none
    integer, parameter :: nx = 300, ny = 200
    type(hakobi_comm) :: comm
    type(hakobi_block) :: block
    type(hakobi_output) :: out
    type(hakobi_input) :: in
    real(real64), allocatable, target :: eta(:, :), exact(:, :), rounded(:, :)
    integer :: error, i, j, stat, bytes
    character(len=1024) :: text = ""

    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    block = hakobi_split([nx, ny], comm%size(), comm%rank())
    allocate (eta(block%count(1), block%count(2)), exact(block%count(1), block%count(2)), rounded(block%count(1), block%count(2)))
    do j = 1, size(eta, 2)
        do i = 1, size(eta, 1)
            eta(i, j) = 1/real(block%start(1) + i + nx*(block%start(2) + j), real64)
        end do
    end do

    call out%create(comm, "run", compression="gzip", stat=stat, errmsg=text)
    if (stat == 0 .or. index(text, "unknown compression 'gzip'") == 0) call fail("create: "//trim(text))
    call out%create(comm, "run", compression="deflate", significant_bits=8, if_exists="replace", &
                    time_units="days since 2000-01-01", calendar="noleap")
    call out%begin_step(0.0_real64)
    call out%put("rounded", "m", block, eta)
    call out%put("exact", "m", block, eta, compression="zstd:5", significant_bits=52)
    call out%end_step()
    call out%close()

    call in%open(comm, "run")
    if (in%calendar() /= "noleap") call fail("calendar: "//in%calendar())
    call in%read("exact", -1_int64, block, exact)
    call in%read("rounded", -1_int64, block, rounded)
    call in%close()
    if (any(exact /= eta)) call fail("exact values differ")
    if (any(abs(rounded - eta) > abs(eta)*2.0_real64**(-9))) call fail("rounded values are out of their bound")
    if (all(rounded == eta)) call fail("nothing was rounded")
    inquire (file="run_000000.nc", size=bytes)
    if (bytes > 2*8*nx*ny*3/4) call fail("nothing was compressed")
    call comm%free()
    call MPI_Finalize(error)

contains

    subroutine fail(text)
        character(len=*), intent(in) :: text
        print "(2a)", "wrong: ", text
        call MPI_Abort(MPI_COMM_WORLD, 1, error)
    end subroutine

end program
