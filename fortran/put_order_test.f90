! A put without stat= goes on to end_step with a wrong field, and the program's end outside a step. It passes
! when it ends with the text of the last put: see CMakeLists.txt. Usage: put_order_test <wrong|right>
program put_order_test
    use, intrinsic :: iso_fortran_env, only: real64
    use mpi
    use hakobi
    implicit none
    type(hakobi_comm) :: comm
    type(hakobi_block) :: block, none
    type(hakobi_output) :: out
    real(real64), target :: eta(3, 2) = 0, other(2, 3) = 0, framed(5, 6) = 0
    character(len=1024) :: text = "", last
    integer :: error, stat

    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    block = hakobi_split([3, 2], 1, 0)

    call refuse_one("num_dims of its block is 0, not 1 to 8")
    call refuse_one("the array's shape is (2, 3), and not the block's (3, 2)")

    call out%create(comm, "put_order_test", method="none")
    call out%begin_step(0.0_real64)
    call out%put("eta", "m", block, eta)
    call out%put("framed", "m", block, framed(2:4, 3:4))
    call out%end_step()
    call out%put("eta", "m", block, eta, stat=stat, errmsg=text)
    if (stat == 0 .or. index(text, "put: no step is open") /= 1) call fail("with stat=: "//trim(text))
    call get_command_argument(1, last)
    if (last == "wrong") then
        call out%put("eta", "m", block, other)
    else
        call out%put("eta", "m", block, eta)
    end if
    call fail("a put outside a step was taken")

contains

    ! A field that cannot be lent, in a step: put goes on, end_step has the reason.
    subroutine refuse_one(reason)
        character(len=*), intent(in) :: reason
        call out%create(comm, "put_order_test", method="none")
        call out%begin_step(0.0_real64)
        if (index(reason, "num_dims") == 1) then
            call out%put("eta", "m", none, eta)
        else
            call out%put("eta", "m", block, other)
        end if
        call out%end_step(stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "field eta: "//reason) == 0) call fail("end_step: "//trim(text))
        call out%close()
    end subroutine

    subroutine fail(text)
        character(len=*), intent(in) :: text
        print "(2a)", "wrong: ", text
        stop 1
    end subroutine

end program
