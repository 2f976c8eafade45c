! Two steps of a field that is split over the ranks, written by Hakobi from Fortran: see wave.cpp.
! Usage: wave <prefix> [method]
program wave
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, error_unit
    use mpi
    use hakobi
    implicit none
    integer, parameter :: nx = 53, ny = 37
    type(hakobi_comm) :: comm
    type(hakobi_block) :: block
    type(hakobi_output) :: out
    type(hakobi_axis) :: axes(2)
    type(hakobi_field_id) :: eta_id, cell_id, number_id, depth_id
    real(real64), allocatable, target :: eta(:, :)
    integer(int32), allocatable, target :: cell(:, :)
    real(real32), allocatable, target :: depth(:, :)
    integer(int64), target :: number
    character(len=1024) :: prefix, method, text
    integer :: error, stat, step, i, j
    integer(int64) :: x, y

    call MPI_Init(error)
    prefix = argument(1, "wave")
    method = argument(2, "auto")

    call comm%duplicate(MPI_COMM_WORLD)
    block = hakobi_split([nx, ny], comm%size(), comm%rank())
    axes(1) = hakobi_axis("lon", "degrees_east", [(140 + 0.5_real64*i, i=0, nx - 1)], "longitude")
    axes(2) = hakobi_axis("lat", "degrees_north", [(30 + 0.5_real64*j, j=0, ny - 1)], "latitude")
    call out%create(comm, prefix, method=method, axes=axes, title="a wave", &
                    time_units="seconds since 2011-03-11 05:46:24", if_exists="replace", &
                    attributes=[hakobi_attribute("institution", text="an example")], stat=stat, errmsg=text)
    if (stat /= 0) call leave(text)

    ! Once for all steps; an error here is one on every rank.
    eta_id = out%define("eta", "m", [nx, ny], standard_name="sea_surface_height", fill_value=-9999.0_real64, &
                        attributes=[hakobi_attribute("cell_methods", text="time: point"), &
                                    hakobi_attribute("valid_range", values=[0.0_real64, 1e6_real64])])
    cell_id = out%define("cell", "1", [nx, ny], hakobi_int32, long_name="number of the cell", &
                         attributes=[hakobi_attribute("valid_min", integers=[0_int64])])
    number_id = out%define("number", type=hakobi_int64)  ! a scalar
    depth_id = out%define("depth", "m", [nx, ny], hakobi_float32, is_static=.true.)

    allocate (eta(block%count(1), block%count(2)), cell(block%count(1), block%count(2)))
    allocate (depth(block%count(1), block%count(2)))
    do step = 0, 1
        do j = 1, size(eta, 2)
            do i = 1, size(eta, 1)
                x = block%start(1) + i - 2  ! from 0, as the other languages count
                y = block%start(2) + j - 2
                eta(i, j) = real(1000*y + x, real64) + 0.25_real64*step
                cell(i, j) = int(y*nx + x, int32)
                depth(i, j) = real(10*y, real32)
            end do
        end do
        call out%begin_step(60.0_real64*step)
        call out%put(eta_id, block, eta)
        call out%put(cell_id, block, cell)
        number = step
        call out%put(number_id, hakobi_block(), number)
        if (step == 0) call out%put(depth_id, block, depth)  ! in all files
        call out%end_step(stat=stat, errmsg=text)
        if (stat /= 0) call leave(text)
    end do
    call out%close()
    call comm%free()
    call MPI_Finalize(error)

contains

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
        write (error_unit, "(2a)") "wave: ", trim(text)
        call MPI_Finalize(error)
        stop 2, quiet=.true.
    end subroutine

end program
