! Reads the two steps of wave.f90 back, into the inside of an array with ghosts: see sums.cpp. Usage: sums
! <prefix>
program sums
    use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
    use mpi
    use hakobi
    use hakobi_input_module
    implicit none
    type(hakobi_comm) :: comm
    type(hakobi_block) :: block
    type(hakobi_input) :: in
    real(real64), allocatable :: eta(:, :), times(:)
    integer(int64), allocatable :: steps(:)
    integer(int64) :: nx, ny, j, k, place
    real(real64) :: sum, total
    type(hakobi_attribute) :: missing
    character(len=1024) :: prefix, text
    integer :: error, stat, i

    call MPI_Init(error)
    prefix = "wave"
    if (command_argument_count() >= 1) call get_command_argument(1, prefix)
    call comm%duplicate(MPI_COMM_WORLD)
    call in%open(comm, prefix, stat=stat, errmsg=text)
    if (stat /= 0) call leave(text)

    block = hakobi_split(in%shape("eta"), comm%size(), comm%size() - 1 - comm%rank())
    missing = in%attribute("eta", "_FillValue")
    if (comm%rank() == 0) print "(a,i0)", "missing: ", nint(missing%values(1))
    nx = block%count(1)
    ny = block%count(2)
    allocate (eta(0:nx + 1, 0:ny + 1))
    eta = -1
    steps = in%steps()
    times = in%times()
    do i = 1, size(steps)
        call in%read("eta", steps(i), block, eta(1:nx, 1:ny), stat=stat, errmsg=text)
        if (stat /= 0) call leave(text)
        if (any(eta(0, :) /= -1) .or. any(eta(:, ny + 1) /= -1)) call leave("a ghost was written")
        sum = 0
        do j = 1, ny
            do k = 1, nx
                place = (block%start(2) + j - 2)*block%global(1) + block%start(1) + k - 2  ! from 0
                sum = sum + real(mod(place, 7_int64) + 1, real64)*eta(k, j)
            end do
        end do
        call MPI_Reduce(sum, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
        if (comm%rank() == 0) print "(a,i0,a,i0,a,f0.2)", "step ", steps(i), " at ", nint(times(i)), " s: ", total
    end do
    call in%close()
    call comm%free()
    call MPI_Finalize(error)

contains

    ! A failed collective call fails on every rank alike, so that every rank may leave here.
    subroutine leave(text)
        character(len=*), intent(in) :: text
        write (error_unit, "(2a)") "sums: ", trim(text)
        call MPI_Finalize(error)
        stop 2, quiet=.true.
    end subroutine

end program
