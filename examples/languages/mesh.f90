! An unstructured mesh whose points move, written and read by Hakobi from Fortran: see mesh.cpp.
! Usage: mesh <prefix> [method]
program mesh
    use, intrinsic :: iso_fortran_env, only: int8, int64, real64, error_unit
    use mpi
    use hakobi
    use hakobi_input_module
    implicit none
    type(hakobi_comm) :: comm
    character(len=1024) :: prefix, method, text
    integer :: error, stat

    call MPI_Init(error)
    prefix = argument(1, "mesh")
    method = argument(2, "auto")
    call comm%duplicate(MPI_COMM_WORLD)
    call write_steps()
    call read_back()
    call comm%free()
    call MPI_Finalize(error)

contains

    ! Each rank's part: a column of hexahedra, on the last of several ranks nothing.
    subroutine write_steps()
        real(real64), parameter :: corners(2, 4) = reshape([0, 0, 1, 0, 1, 1, 0, 1], [2, 4])
        type(hakobi_output) :: out
        type(hakobi_field_id) :: p_id, velocity_id, temperature_id
        real(real64), allocatable, target :: points(:, :), p(:), velocity(:, :), temperature(:)
        integer, allocatable, target :: connectivity(:, :), offsets(:)
        integer(int8), allocatable, target :: types(:)
        integer :: rank, height, num_points, step, i

        rank = comm%rank()
        height = merge(0, 2 + rank, comm%size() > 1 .and. rank == comm%size() - 1)
        num_points = merge(4*(height + 1), 0, height > 0)
        allocate (points(3, num_points), temperature(num_points), connectivity(8, height), p(height), velocity(3, height))
        do i = 1, num_points
            points(1:2, i) = corners(:, mod(i - 1, 4) + 1) + [2*rank, 0]
            points(3, i) = (i - 1)/4
        end do
        do i = 1, height
            connectivity(:, i) = 4*(i - 1) + [1, 2, 3, 4, 5, 6, 7, 8]  ! from 1, as Fortran counts
        end do
        offsets = [(8*i, i=0, height)]
        types = [(12_int8, i=1, height)]  ! VTK's hexahedron

        call out%create(comm, prefix, method=method, format="vtkhdf", if_exists="replace", stat=stat, errmsg=text)
        if (stat /= 0) call leave(text)
        p_id = out%define("p", "Pa", on="cells")
        velocity_id = out%define("U", "m s-1", on="cells", components=3)
        temperature_id = out%define("T", "K", on="points")
        do step = 0, 1
            do i = 1, height
                p(i) = 100*rank + i - 1 + 0.5_real64*step
                velocity(:, i) = p(i) + [0.0_real64, 0.25_real64, 0.5_real64]
            end do
            temperature = [(273.0_real64 + i - 1 + step, i=1, num_points)]
            call out%begin_step(0.5_real64*step)
            if (step == 0) then
                call out%put_mesh(points, connectivity, offsets, types, motion="moves")
            else
                points(1, :) = points(1, :) + 0.125_real64
                call out%put_points(points)
            end if
            call out%put(p_id, hakobi_block(), p)
            call out%put(velocity_id, hakobi_block(), velocity)
            call out%put(temperature_id, hakobi_block(), temperature)
            call out%end_step(stat=stat, errmsg=text)
            if (stat /= 0) call leave(text)
        end do
        call out%close()
    end subroutine

    subroutine read_back()
        type(hakobi_input) :: in
        type(hakobi_input_mesh) :: found
        type(hakobi_mesh_part) :: part
        type(hakobi_block) :: block
        real(real64), allocatable :: p(:), velocity(:, :)
        real(real64) :: sum, total
        integer(int64) :: num_cells, i

        call in%open(comm, prefix, stat=stat, errmsg=text)
        if (stat /= 0) call leave(text)
        found = in%mesh()
        call in%read_mesh(part)
        num_cells = size(part%types, kind=int64)
        allocate (p(num_cells), velocity(3, num_cells))
        block%num_dims = 1
        block%global(1) = found%num_cells
        block%start(1) = part%first_cell
        block%count(1) = num_cells
        call in%read("p", -1_int64, block, p)
        block%num_dims = 2  ! the components before the cells
        block%global(:2) = [3_int64, found%num_cells]
        block%start(:2) = [1_int64, part%first_cell]
        block%count(:2) = [3_int64, num_cells]
        call in%read("U", -1_int64, block, velocity)
        sum = 0
        do i = 1, num_cells
            sum = sum + p(i)*part%points(1, part%connectivity(part%offsets(i + 1))) + velocity(3, i)
        end do
        call MPI_Reduce(sum, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
        if (comm%rank() == 0) print "(a,i0,a,i0,a,i0,a,f0.3)", "mesh: ", found%num_points, " points, ", &
            found%num_cells, " cells, ", found%num_pieces, " pieces: ", total
        call in%close()
    end subroutine

    function argument(index, otherwise) result(text)
        integer, intent(in) :: index
        character(len=*), intent(in) :: otherwise
        character(len=1024) :: text
        text = otherwise
        if (command_argument_count() >= index) call get_command_argument(index, text)
    end function

    ! A failed collective call fails on every rank alike, so that every rank may leave here.
    subroutine leave(text)
        character(len=*), intent(in) :: text
        write (error_unit, "(2a)") "mesh: ", trim(text)
        call MPI_Finalize(error)
        stop 2, quiet=.true.
    end subroutine

end program
