! Memory of a GPU from Fortran, as an address and as an array at that address: what `!$acc host_data
! use_device` and `!$omp target data use_device_addr` make of one. The driver is the tests' own: a look at the
! memory from here ends the program.
program device_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use mpi
    use hakobi
    use hakobi_exchange
    use hakobi_input_module
    implicit none

    interface
        integer(c_int) function cuInit(flags) bind(c, name="cuInit")
            import :: c_int
            integer(c_int), value :: flags
        end function
        integer(c_int) function cuDevicePrimaryCtxRetain(context, device) bind(c, name="cuDevicePrimaryCtxRetain")
            import :: c_int, c_ptr
            type(c_ptr), intent(out) :: context
            integer(c_int), value :: device
        end function
        integer(c_int) function cuCtxSetCurrent(context) bind(c, name="cuCtxSetCurrent")
            import :: c_int, c_ptr
            type(c_ptr), value :: context
        end function
        integer(c_int) function cuMemAlloc(address, bytes) bind(c, name="cuMemAlloc_v2")
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), intent(out) :: address
            integer(c_size_t), value :: bytes
        end function
        !> So that copies of it happen later, as those of a kernel's values.
        integer(c_int) function cuMemHostRegister(memory, bytes, flags) bind(c, name="cuMemHostRegister_v2")
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: memory
            integer(c_size_t), value :: bytes
            integer(c_int), value :: flags
        end function
        integer(c_int) function cuMemHostUnregister(memory) bind(c, name="cuMemHostUnregister")
            import :: c_int, c_ptr
            type(c_ptr), value :: memory
        end function
        integer(c_int) function cuMemFree(address) bind(c, name="cuMemFree_v2")
            import :: c_int, c_ptr
            type(c_ptr), value :: address
        end function
        integer(c_int) function cuStreamCreate(stream, flags) bind(c, name="cuStreamCreate")
            import :: c_int, c_ptr
            type(c_ptr), intent(out) :: stream
            integer(c_int), value :: flags
        end function
        integer(c_int) function cuStreamSynchronize(stream) bind(c, name="cuStreamSynchronize")
            import :: c_int, c_ptr
            type(c_ptr), value :: stream
        end function
        integer(c_int) function cuMemcpyAsync(to, from, bytes, stream) bind(c, name="cuMemcpyAsync")
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: to, from, stream
            integer(c_size_t), value :: bytes
        end function
    end interface

    integer, parameter :: nx = 20, ny = 6, non_blocking = 1
    type(hakobi_comm) :: comm
    type(hakobi_block) :: block
    real(real64), allocatable, target :: eta(:, :), found(:, :)
    real(real64), pointer :: there(:, :)
    type(c_ptr) :: context, stream, address
    character(len=1024) :: text = ""
    integer(c_size_t) :: bytes
    integer :: error, i, j, mx, my, stat

    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    call must(cuInit(0))
    call must(cuDevicePrimaryCtxRetain(context, 0))
    call must(cuCtxSetCurrent(context))
    call must(cuStreamCreate(stream, non_blocking))

    block = hakobi_split([nx, ny], comm%size(), comm%rank())
    mx = int(block%count(1))
    my = int(block%count(2))
    allocate (eta(0:mx + 1, 0:my + 1), found(0:mx + 1, 0:my + 1))
    bytes = storage_size(eta)/8*size(eta, kind=c_size_t)
    call must(cuMemHostRegister(c_loc(eta), bytes, 0))
    call must(cuMemAlloc(address, bytes))
    call c_f_pointer(address, there, [mx + 2, my + 2])
    call fill(-1.0_real64)

    call write_step
    call read_step
    call refuse
    call exchange

    call must(cuMemFree(address))
    call must(cuMemHostUnregister(c_loc(eta)))
    call comm%free()
    call MPI_Finalize(error)

contains

    !> On the device: the values inside, and `around` in the ghosts, when the stream has come to it.
    subroutine fill(around)
        real(real64), intent(in) :: around
        call must(cuStreamSynchronize(stream))
        eta = around
        do j = 1, my
            do i = 1, mx
                eta(i, j) = real(block%start(1) + i + nx*(block%start(2) + j), real64)
            end do
        end do
        call must(cuMemcpyAsync(address, c_loc(eta), bytes, stream))
    end subroutine

    subroutine write_step
        type(hakobi_output) :: out
        call out%create(comm, "run", if_exists="replace")
        call out%begin_step(0.0_real64)
        call out%put("by_address", "m", block, address, type=hakobi_float64, ghosts=[1, 1], stream=stream)
        call out%put("by_array", "m", block, there(2:mx + 1, 2:my + 1), stream=stream)
        call out%end_step()
        call out%close()
    end subroutine

    subroutine read_step
        type(hakobi_input) :: in
        real(real64), target :: inside(mx, my)
        call in%open(comm, "run")
        call in%read("by_address", -1_int64, block, inside)
        if (any(inside /= eta(1:mx, 1:my))) call fail("the values put by address")
        call in%read("by_array", -1_int64, block, inside)
        if (any(inside /= eta(1:mx, 1:my))) call fail("the values put by array")

        call clear
        call in%read("by_array", -1_int64, block, address, type=hakobi_float64, ghosts=[1, 1], stream=stream)
        call expect_eta("read by address")
        call clear
        call in%read("by_address", -1_int64, block, there(2:mx + 1, 2:my + 1), stream=stream)
        call expect_eta("read by array")

        call in%read("by_array", -1_int64, block, address, stat=stat, errmsg=text)
        if (stat == 0) call fail("an address without a type is read into")
        call in%read("by_array", -1_int64, block, address, type=hakobi_float64, ghosts=[1], stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "one number a dimension") == 0) call fail("ghosts of one dimension: "//trim(text))
        call in%close()
    end subroutine

    subroutine clear
        found = -1
        call must(cuMemcpyAsync(address, c_loc(found), bytes, stream))
    end subroutine

    subroutine expect_eta(what)
        character(len=*), intent(in) :: what
        found = -2
        call must(cuMemcpyAsync(c_loc(found), address, bytes, stream))
        call must(cuStreamSynchronize(stream))
        if (any(found /= eta)) call fail(what)
    end subroutine

    subroutine refuse
        type(hakobi_output) :: out
        call out%create(comm, "refused", if_exists="replace")
        call out%begin_step(0.0_real64)
        call out%put("eta", "m", block, address)
        call out%end_step(stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "an address without type=") == 0) call fail("no type: "//trim(text))
        call out%close(stat=stat)
        call out%create(comm, "refused", if_exists="replace")
        call out%begin_step(0.0_real64)
        call out%put("eta", "m", block, address, type=hakobi_float64, ghosts=[1])
        call out%end_step(stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "ghosts of 1 dimensions, not 2") == 0) call fail("one ghost: "//trim(text))
        call out%close(stat=stat)
    end subroutine

    !> Periodic in both dimensions: the ghosts hold what is on the other side.
    subroutine exchange
        type(hakobi_halo_grid) :: grid
        type(hakobi_halo) :: halo
        integer :: turn, x, y
        grid = hakobi_halo_grid([mx, my], [1, 1], hakobi_dims_of_ranks([nx, ny], comm%size()), [.true., .true.])
        do turn = 1, 2
            call fill(-1.0_real64)
            call must(cuStreamSynchronize(stream))
            if (turn == 1) call halo%add(grid, there)
            if (turn == 2) call halo%add(grid, address, 8_int64)
            call halo%plan(comm, grid)
            call halo%start(stream=stream)
            call halo%wait(stream=stream)
            do j = 0, my + 1
                do i = 0, mx + 1
                    x = modulo(int(block%start(1)) + i - 2, nx) + 2
                    y = modulo(int(block%start(2)) + j - 2, ny) + 2
                    eta(i, j) = real(x + nx*y, real64)
                end do
            end do
            call expect_eta("the ghosts")
            call halo%free()
        end do
    end subroutine

    subroutine must(code)
        integer(c_int), intent(in) :: code
        if (code /= 0) call fail("the driver")
    end subroutine

    subroutine fail(text)
        character(len=*), intent(in) :: text
        print "(2a)", "wrong: ", text
        call MPI_Abort(MPI_COMM_WORLD, 1, error)
    end subroutine

end program
