! Conway's Game of Life on ranks, by Hakobi from Fortran: see life.cpp.
! Usage: life [path]
program life
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, error_unit
    use mpi
    use hakobi
    use hakobi_exchange
    implicit none
    integer, parameter :: nx = 53, ny = 37, num_steps = 20
    type(hakobi_comm) :: world, comm
    type(hakobi_topology) :: topology
    type(hakobi_block) :: block
    type(hakobi_halo_grid) :: grid
    type(hakobi_shared) :: memory
    type(hakobi_halo) :: halo
    integer(int32), pointer :: array(:, :), cells(:, :)
    integer(int32), allocatable :: next(:, :)
    integer, allocatable :: rank_at(:)
    integer :: dims(2), error, stat, step, i, j, around
    integer(int64) :: x, y
    character(len=200) :: path, text

    call MPI_Init(error)
    path = "auto"
    if (command_argument_count() > 0) call get_command_argument(1, path)
    call world%duplicate(MPI_COMM_WORLD)
    dims = hakobi_dims_of_ranks([nx, ny], world%size())
    call topology%discover(world)
    call topology%reorder(dims, rank_at, is_periodic=[.true., .true.])
    call world%reordered(rank_at, comm)
    call topology%free()
    block = hakobi_split([nx, ny], comm%size(), comm%rank())

    grid = hakobi_halo_grid(block%count(:2), [1, 1], dims, [.true., .true.])
    call memory%allocate(comm, grid%bytes(4_int64))
    call c_f_pointer(memory%address(), array, block%count(:2) + 2)
    cells(0:, 0:) => array
    do j = 1, int(block%count(2))
        do i = 1, int(block%count(1))
            x = block%start(1) + i - 2  ! from 0, as the other languages count
            y = block%start(2) + j - 2
            cells(i, j) = merge(1, 0, mod(7*y + 13*x + x*y, 5_int64) < 2)
        end do
    end do
    call halo%add(grid, array)
    call halo%plan(comm, grid, path=path, stat=stat, errmsg=text)
    if (stat /= 0) then  ! on every rank alike
        write (error_unit, "(2a)") "life: ", trim(text)
        call MPI_Finalize(error)
        stop 2, quiet=.true.
    end if
    allocate (next(block%count(1), block%count(2)))
    do step = 1, num_steps
        call halo%start()  ! what needs no ghosts would be computed between the two
        call halo%wait()
        do j = 1, size(next, 2)
            do i = 1, size(next, 1)
                around = sum(cells(i - 1:i + 1, j - 1:j + 1)) - cells(i, j)
                next(i, j) = merge(1, 0, around == 3 .or. (around == 2 .and. cells(i, j) == 1))
            end do
        end do
        cells(1:size(next, 1), 1:size(next, 2)) = next
    end do
    call print_whole
    call halo%free()
    call memory%free()
    call comm%free()
    call world%free()
    call MPI_Finalize(error)

contains

    ! Rank 0 gets the whole from lists of the others' columns.
    subroutine print_whole
        type(hakobi_buffer_arrays) :: arrays
        type(hakobi_buffer_array) :: own
        type(hakobi_buffer_array), allocatable :: parts(:)
        type(hakobi_block) :: part
        integer(int32), target, asynchronous :: whole(nx, ny)
        integer(int64) :: places
        integer :: rank, row
        call arrays%get(comm)
        call arrays%make(own)
        do row = 1, int(block%count(2))
            call own%append(c_loc(cells(1, row)), 4*block%count(1))
        end do
        call own%send(0)
        if (comm%rank() == 0) then
            allocate (parts(0:comm%size() - 1))
            do rank = 0, comm%size() - 1
                part = hakobi_split([nx, ny], comm%size(), rank)
                call arrays%make(parts(rank))
                do row = int(part%start(2)), int(part%start(2) + part%count(2)) - 1
                    call parts(rank)%append(c_loc(whole(part%start(1), row)), 4*part%count(1))
                end do
                call parts(rank)%receive(rank)
            end do
            do rank = 0, comm%size() - 1
                call parts(rank)%wait()
                call parts(rank)%free()
            end do
            places = 0
            do row = 1, ny
                do i = 1, nx
                    places = places + whole(i, row)*((row - 1)*nx + i - 1)
                end do
            end do
            print "(a, i0, a, i0, a, i0)", "life: ", sum(whole), " alive after ", num_steps, &
                " steps, sum of their places ", places
        end if
        call own%wait()
        call own%free()
        call arrays%free()
    end subroutine

end program
