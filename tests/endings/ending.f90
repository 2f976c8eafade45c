! The same as ending.cpp, from Fortran, where an output is closed or forgotten: "drop" and "exception" forget
! it.
program ending
    use, intrinsic :: iso_fortran_env, only: real64
    use, intrinsic :: iso_c_binding, only: c_int
    use mpi
    use hakobi
    implicit none
    interface
        integer(c_int) function c_raise(signal) bind(c, name="raise")
            import :: c_int
            integer(c_int), value :: signal
        end function
        integer(c_int) function c_sleep(seconds) bind(c, name="sleep")
            import :: c_int
            integer(c_int), value :: seconds
        end function
    end interface
    integer, parameter :: sigkill = 9, sigterm = 15
    type(hakobi_comm) :: comm
    type(hakobi_block) :: block
    type(hakobi_output) :: out
    real(real64), allocatable, target :: eta(:, :)
    character(len=1024) :: prefix, method, how
    integer :: error, step, unit
    integer(c_int) :: ignored

    call get_command_argument(1, prefix)
    call get_command_argument(2, method)
    call get_command_argument(3, how)
    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    block = hakobi_split([512, 256], comm%size(), comm%rank())
    call out%create(comm, trim(prefix), method=trim(method))
    allocate (eta(block%count(1), block%count(2)))
    do step = 0, 4
        eta = step + 0.5_real64
        call out%begin_step(real(step, real64))
        call out%put("eta", "1", block, eta)
        call out%end_step()
        if (comm%rank() == 0) then
            open (newunit=unit, file=trim(prefix)//".accepted", position="append")
            write (unit, "(i0)") step
            close (unit)
        end if
    end do
    if (how == "close") call out%close()
    if (how == "exit") stop 3
    if (comm%rank() == comm%size() - 1) then
        if (how == "abort") call MPI_Abort(MPI_COMM_WORLD, 3, error)
        if (how == "terminate") ignored = c_raise(sigterm)
        if (how == "kill") ignored = c_raise(sigkill)
    end if
    if (how == "abort" .or. how == "terminate" .or. how == "kill") ignored = c_sleep(30)
    call MPI_Finalize(error)
end program
