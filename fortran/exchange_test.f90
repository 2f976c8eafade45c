! Halos, buffer arrays, where ranks are, and what is refused, by the module hakobi_exchange.
program exchange_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64, real32, real64
    use mpi
    use hakobi
    use hakobi_exchange
    implicit none
    integer, parameter :: nx = 4, ny = 3
    type(hakobi_comm) :: comm, backwards
    integer :: error, me, num, above, below

    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    me = comm%rank()
    num = comm%size()
    above = mod(me + 1, num)
    below = mod(me + num - 1, num)
    call exchange_fields("auto")
    call exchange_fields("packed")
    call send_lists
    call place_ranks
    call refuse_alike
    call comm%free()
    call MPI_Finalize(error)

contains

    ! Ranks follow each other along y, the slower dimension. Three arrays: shared, own with components first,
    ! and last.
    subroutine exchange_fields(path)
        character(len=*), intent(in) :: path
        type(hakobi_halo_grid) :: grid
        type(hakobi_shared) :: memory
        type(hakobi_halo) :: halo
        real(real64), pointer :: eta(:, :)
        real(real32), target :: wind(2, nx + 2, 0:ny + 1), tracer(nx + 2, 0:ny + 1, 2)
        integer :: i, j
        grid = hakobi_halo_grid([nx, ny], [1, 1], [1, num], [.true., .true.])
        call memory%allocate(comm, grid%bytes(8_int64))
        call c_f_pointer(memory%address(), eta, [nx + 2, ny + 2])
        do j = 1, ny
            do i = 1, nx
                eta(i + 1, j + 1) = value_at(me, i, j)
                wind(:, i + 1, j) = real([value_at(me, i, j), -value_at(me, i, j)], real32)
                tracer(i + 1, j, :) = wind(:, i + 1, j)
            end do
        end do
        call halo%add(grid, eta)
        call halo%add(grid, wind)
        call halo%add(grid, tracer, components_last=.true.)
        call halo%plan(comm, grid, path=path)
        if (len(halo%explain()) == 0) error stop "wrong: no explanation"
        call halo%start()
        call halo%wait()
        do i = 1, nx + 2
            call expect(eta(i, 1), value_at(below, around(i), ny))
            call expect(eta(i, ny + 2), value_at(above, around(i), 1))
            call expect(real(wind(2, i, 0), real64), -value_at(below, around(i), ny))
            call expect(real(wind(1, i, ny + 1), real64), value_at(above, around(i), 1))
            call expect(real(tracer(i, 0, 1), real64), value_at(below, around(i), ny))
            call expect(real(tracer(i, ny + 1, 2), real64), -value_at(above, around(i), 1))
        end do
        call halo%free()
        call memory%free()
    end subroutine

    pure integer function around(i)
        integer, intent(in) :: i
        around = modulo(i - 2, nx) + 1
    end function

    pure real(real64) function value_at(rank, i, j)
        integer, intent(in) :: rank, i, j
        value_at = real(10000*(rank + 1) + 100*j + i, real64)
    end function

    subroutine expect(found, wanted)
        real(real64), intent(in) :: found, wanted
        if (found /= wanted) error stop "wrong: a ghost"
    end subroutine

    subroutine send_lists
        type(hakobi_buffer_arrays) :: arrays
        type(hakobi_buffer_array) :: out, in
        integer, target, asynchronous :: sent(3000), received(3000)
        logical :: is_done
        integer :: i, stat
        sent = [(3000*me + i, i=1, 3000)]
        received = 0
        call arrays%get(comm)
        call arrays%make(out)
        call arrays%make(in)
        call out%append(c_loc(sent(1)), 8000_int64)
        call out%append(c_loc(sent(2001)), 4000_int64)
        do i = 0, 2
            call in%append(c_loc(received(1000*i + 1)), 4000_int64)
        end do
        if (in%bytes() /= out%bytes()) error stop "wrong: bytes"
        call out%send(above, tag=3)
        call in%receive(below, tag=3)
        is_done = .false.
        do while (.not. is_done)
            call in%done(is_done)
        end do
        call out%wait()
        if (any(received /= [(3000*below + i, i=1, 3000)])) error stop "wrong: the list"
        call out%send(num, stat=stat)
        if (stat == 0) error stop "wrong: a rank that is none is taken"
        call in%release()
        if (in%bytes() /= 0) error stop "wrong: released"
        if (len(arrays%path_to(num)) /= 0 .or. len(arrays%path_to(0)) == 0) error stop "wrong: path"
        call out%free()
        call in%free()
        call arrays%free()
    end subroutine

    subroutine place_ranks
        type(hakobi_topology) :: topology
        type(hakobi_traffic) :: traffic
        integer, allocatable :: rank_at(:)
        integer :: i, there
        call topology%declare([0, 1, 0, 1, 0, 1, 0, 1])
        call topology%reorder([4, 2], rank_at, traffic=traffic)
        if (traffic%between_nodes_before /= 12 .or. traffic%between_nodes_after /= 4) error stop "wrong: traffic"
        if (topology%node_of(rank_at(1)) /= topology%node_of(rank_at(2))) error stop "wrong: places"
        call topology%free()
        call topology%discover(comm)
        if (topology%num_nodes() /= 1 .or. topology%node_of(num) /= -1) error stop "wrong: the machine"
        call topology%free()
        call comm%reordered([(num - 1 - i, i=0, num - 1)], backwards)
        call MPI_Comm_rank(backwards%mpi_handle(), there, error)
        if (there /= num - 1 - me .or. backwards%rank() /= there) error stop "wrong: numbers"
        call backwards%free()
        if (any(hakobi_dims_of_ranks([100, 10], 2) /= [2, 1])) error stop "wrong: dims"
    end subroutine

    subroutine refuse_alike
        type(hakobi_halo_grid) :: grid
        type(hakobi_halo) :: halo
        real(real64), target :: right(nx + 2, ny + 2), wrong(nx, ny)
        character(len=200) :: text
        integer :: stat
        grid = hakobi_halo_grid([nx, ny], [1, 1], [1, num])
        if (me == 0) call halo%add(grid, wrong)
        if (me /= 0) call halo%add(grid, right)
        call halo%plan(comm, grid, stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "another shape") == 0) error stop "wrong: a shape is taken"
        grid = hakobi_halo_grid([nx, ny], [1, 1], [2, num])
        call halo%add(grid, right)
        call halo%plan(comm, grid, stat=stat, errmsg=text)
        if (stat == 0) error stop "wrong: ranks that do not form the grid are taken"
        grid = hakobi_halo_grid([nx, ny], [1], [1, num])
        call halo%plan(comm, grid, stat=stat)
        if (stat == 0) error stop "wrong: ghosts for one dimension of two are taken"
    end subroutine

end program
