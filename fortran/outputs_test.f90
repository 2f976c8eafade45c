! Several outputs from one put, from Fortran: values that are read back, a run that goes on, what is refused.
program outputs_test
    use, intrinsic :: iso_c_binding, only: c_loc
    use, intrinsic :: iso_fortran_env, only: int64, real32, real64
    use mpi
    use hakobi
    use hakobi_input_module
    use hakobi_outputs_module
    implicit none
    integer, parameter :: nx = 6, ny = 5
    type(hakobi_comm) :: comm
    type(hakobi_block) :: block
    type(hakobi_outputs) :: outs
    type(hakobi_output) :: out
    type(hakobi_field_id) :: t
    real(real64), allocatable, target :: values(:, :), framed(:, :)
    real(real64) :: time
    logical :: is_resumed
    integer :: error, stat, num_wrong = 0
    character(len=500) :: text = ""

    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    block = hakobi_split([nx, ny], comm%size(), comm%rank())
    allocate (values(block%count(1), block%count(2)), framed(block%count(1) + 2, block%count(2) + 4))

    call outs%create(comm, "state", if_exists="never", stat=stat, errmsg=text)
    if (stat == 0 .or. index(text, "if_exists is 'never'") == 0) call wrong("if_exists: "//trim(text))
    call begin("replace")
    time = outs%resume_time(is_resumed)
    if (is_resumed .or. time /= 0) call wrong("a run that begins is resumed")
    call steps(0, 2)
    call outs%checkpoint()
    call steps(3, 3)
    call outs%close()
    call begin("resume", resume_at=1.0_real64)
    time = outs%resume_time(is_resumed)
    if (.not. is_resumed .or. time /= 1) call wrong("the time of the checkpoint")
    call steps(3, 6)
    if (index(outs%explain(), "every 1.5") == 0) call wrong("explain: "//outs%explain())
    call outs%close()
    call outs%close()

    ! Steps 1 to 3 are in the first interval, and 4 to 6 in the second one.
    call expect("raw", "t", 4_int64, 4.0_real64)
    call expect("some", "t_mean", 0_int64, 2.0_real64)
    call expect("some", "t_mean", 1_int64, 5.0_real64)
    call expect("some", "hottest", 1_int64, 6.0_real64)
    call expect_attribute("some", "hottest", "cell_methods", "time: maximum")
    call expect_attribute("some", "hottest", "comment", "of three steps")
    call expect_refused()

    call out%create(comm, "out", if_exists="replace", method="pipelined", asynchronous=.true.)
    t = out%define("t", "K", [nx, ny])
    call out%begin_step(0.0_real64)
    call out%put(t, block, values)
    call out%end_step()
    call out%flush()
    inquire (file="out_000000.nc", exist=is_resumed)
    if (.not. is_resumed) call wrong("flush leaves a step without its name")
    call out%close()
    call comm%free()
    call MPI_Finalize(error)
    if (num_wrong > 0) error stop "wrong"

contains

    subroutine begin(if_exists, resume_at)
        character(len=*), intent(in) :: if_exists
        real(real64), intent(in), optional :: resume_at
        call outs%create(comm, "state", time_units="hours since 2000-01-01", if_exists=if_exists, resume_at=resume_at)
        t = outs%define("t", "K", [nx, ny], fill_value=-1.0_real64)
        call outs%add("raw", "", [hakobi_derived("t")])
        call outs%add("some", "1.5", [hakobi_derived("t", "mean"), &
                                      hakobi_derived("t", "maximum", name="hottest", store_as="float32", &
                                                     attributes=[hakobi_attribute("comment", text="of three steps")])], &
                      method="pipelined", title="Means")
    end subroutine

    !> Every half an hour, from an array, a section and an address in turns.
    subroutine steps(first, last)
        integer, intent(in) :: first, last
        integer :: step
        do step = first, last
            values = step + comm%rank()*0.25_real64
            framed = -7
            framed(2:1 + block%count(1), 3:2 + block%count(2)) = values
            call outs%begin_step(0.5_real64*step)
            select case (mod(step, 3))
            case (0)
                call outs%put(t, block, values)
            case (1)
                call outs%put(t, block, framed(2:1 + block%count(1), 3:2 + block%count(2)))
            case (2)
                call outs%put(t, block, c_loc(framed), hakobi_float64, ghosts=[1, 2])
            end select
            call outs%end_step()
        end do
    end subroutine

    subroutine expect(prefix, name, step, least)
        character(len=*), intent(in) :: prefix, name
        integer(int64), intent(in) :: step
        real(real64), intent(in) :: least
        type(hakobi_input) :: in
        real(real64) :: found(block%count(1), block%count(2))
        call in%open(comm, prefix)
        call in%read(name, step, block, found)
        if (any(found /= least + comm%rank()*0.25_real64)) call wrong(prefix//": "//name)
        call in%close()
    end subroutine

    subroutine expect_attribute(prefix, field, name, words)
        character(len=*), intent(in) :: prefix, field, name, words
        type(hakobi_input) :: in
        type(hakobi_attribute) :: found
        call in%open(comm, prefix)
        found = in%attribute(field, name)
        if (.not. allocated(found%text)) then
            call wrong(name//" is missing")
        else if (found%text /= words) then
            call wrong(name//": "//found%text)
        end if
        call in%close()
    end subroutine

    subroutine expect_refused()
        real(real32), target :: single(nx + 1)
        type(hakobi_field_id) :: none
        call outs%create(comm, "other", if_exists="replace")
        none = outs%define("u", fill_value=1.0_real32, stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "field u: its fill value") /= 1) call wrong("fill value: "//trim(text))
        t = outs%define("t", "K", int([nx, ny], int64))
        call outs%add("u", "1h", [hakobi_derived("t", "mean")], hints="x", stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "hints: not name=value: x") /= 1) call wrong("hints: "//trim(text))
        call outs%add("u", "2 steps", [hakobi_derived("t", "mean")], stat=stat, errmsg=text)
        if (stat /= 0) call wrong("add: "//trim(text))
        call outs%begin_step(0.0_real64)
        call outs%put(t, block, single)
        call outs%end_step()
        call outs%begin_step(1.0_real64)
        call outs%put(t, block, values)
        call outs%end_step(stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "field t: ") /= 1) call wrong("another shape: "//trim(text))
        call outs%close()
    end subroutine

    subroutine wrong(what)
        character(len=*), intent(in) :: what
        print "(2a)", "wrong: ", what
        num_wrong = num_wrong + 1
    end subroutine

end program
