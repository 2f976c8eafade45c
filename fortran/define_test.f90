! Fields that are defined once, from Fortran: what define and put refuse, and values that are read back.
program define_test
    use, intrinsic :: iso_c_binding, only: c_loc
    use, intrinsic :: iso_fortran_env, only: int16, int64, real32, real64
    use mpi
    use hakobi
    use hakobi_input_module
    implicit none
    integer, parameter :: nx = 6, ny = 5
    type(hakobi_comm) :: comm
    type(hakobi_block) :: block
    type(hakobi_output) :: out
    type(hakobi_input) :: in
    type(hakobi_field_id) :: eta_id, framed_id, count_id, sum_id, single_id, none
    real(real64), allocatable, target :: eta(:, :), framed(:, :)
    integer(int16), allocatable, target :: counts(:, :), found(:, :)
    real(real64), allocatable :: again(:, :)
    real(real64), target :: total
    integer :: error, stat, n, num_wrong = 0
    character(len=500) :: text = ""

    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    block = hakobi_split([nx, ny], comm%size(), comm%rank())
    allocate (eta(block%count(1), block%count(2)), framed(block%count(1) + 2, block%count(2) + 4))
    allocate (counts(block%count(1), block%count(2)), again(block%count(1), block%count(2)))
    allocate (found(block%count(1), block%count(2)))
    eta = comm%rank() + 0.5_real64
    counts = int(comm%rank(), int16)
    framed = -1
    framed(2:1 + block%count(1), 3:2 + block%count(2)) = eta

    call out%create(comm, "run", stage="/nowhere", stage_bytes=2_int64**30, stage_patience_s=0_int64, stat=stat, errmsg=text)
    if (stat == 0 .or. index(text, "stage /nowhere: there is no such folder") == 0) call wrong("stage: "//trim(text))
    call out%create(comm, "run", if_exists="replace")
    call expect_refused("its compression", compression="gzip")
    call expect_refused("its place", on="faces")
    call expect_refused("its fill value", fill_value=1.0_real32)
    call expect_refused("its dimensions", dims="x")
    call expect_refused("its extents", extents=[3_int64, 0_int64])

    eta_id = out%define("eta", "m", [nx, ny], dims="x,y", fill_value=-1.0_real64, &
                        attributes=[hakobi_attribute("comment", text="once")])
    framed_id = out%define("framed", "m", block%global(:2), dims="x,y", compression="none")
    count_id = out%define("count", type=hakobi_int16, dims="x,y")
    sum_id = out%define("sum", is_static=.true.)
    single_id = out%define("single", "m", [nx, ny], dims="x,y", store_as="float32")
    none = out%define("eta", stat=stat, errmsg=text)
    if (stat == 0 .or. index(text, "field eta: it is defined already") == 0) call wrong("twice: "//trim(text))

    call out%begin_step(1.0_real64)
    call out%put(eta_id, block, eta)
    call out%put(framed_id, block, c_loc(framed), hakobi_float64, ghosts=[1, 2])
    call out%put(count_id, block, counts)
    call out%put(single_id, block, eta)
    total = 7
    call out%put(sum_id, hakobi_block(), total)
    call out%end_step()
    call out%begin_step(2.0_real64)
    eta = eta + 1
    call out%put(framed_id, block, framed(2:1 + block%count(1), 3:2 + block%count(2)))
    call out%put(eta_id, block, eta)
    call out%end_step()
    call out%close()

    call in%open(comm, "run")
    call in%read("framed", 1_int64, block, again)
    if (any(again /= eta - 1)) call wrong("the section's values")
    call in%read("framed", 0_int64, block, again)
    if (any(again /= eta - 1)) call wrong("the values among ghosts")
    call in%read("eta", 1_int64, block, again)
    if (any(again /= eta)) call wrong("eta's values")
    if (comm%rank() == comm%size() - 1) then  ! the others do not take part
        again = 0
        call in%read_independent("eta", 0_int64, block, again)
        if (any(again /= eta - 1)) call wrong("eta's values, read independently")
        framed = -3
        call in%read_independent("framed", 1_int64, block, c_loc(framed), hakobi_float64, ghosts=[1, 2])
        if (any(framed(2:1 + block%count(1), 3:2 + block%count(2)) /= eta - 1)) call wrong("values among ghosts, independently")
        if (any(framed(1, :) /= -3)) call wrong("ghosts were changed")
        call in%read_independent("etta", 0_int64, block, again, stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "did you mean 'eta'?") == 0) call wrong("no such field: "//trim(text))
        call in%read_independent("eta", 0_int64, block, framed, stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "field eta: the array's extents") /= 1) call wrong("another shape: "//trim(text))
        call in%read_independent("eta", 0_int64, block, c_loc(framed), hakobi_float64, ghosts=[1], stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "field eta: ghosts= has not one") /= 1) call wrong("ghosts: "//trim(text))
    end if
    if (index(in%explain("eta"), "contiguous at byte") == 0) call wrong("explain: "//in%explain("eta"))
    call in%read("single", 0_int64, block, again)
    if (any(again /= eta - 1)) call wrong("values in single precision")
    call in%read("count", 0_int64, block, found)
    if (any(found /= counts)) call wrong("the counts")
    if (in%num_fields(1_int64) /= 3) call wrong("the static field is not in the second step")
    call in%close()

    call expect_long_names()
    call expect_bad_put(1, "field eta: its values are float, and it is defined as double")
    write (text, "(4(a, i0), a)") "the array's shape is (", size(framed, 1), ", ", size(framed, 2), "), and not the block's (", &
        block%count(1), ", ", block%count(2), ")"
    call expect_bad_put(2, trim(text))
    call expect_bad_put(3, "none that this output's define has returned")
    call expect_bad_put(4, "it has ghosts of 1 dimensions, not 2")
    call comm%free()
    call MPI_Finalize(error)
    if (num_wrong > 0) error stop "wrong"

contains

    subroutine expect_refused(what, compression, on, fill_value, dims, extents)
        character(len=*), intent(in) :: what
        character(len=*), intent(in), optional :: compression, on, dims
        real(real32), intent(in), optional, target :: fill_value
        integer(int64), intent(in), optional :: extents(:)
        integer(int64) :: global(2)
        global = [nx, ny]
        if (present(extents)) global = extents
        text = ""
        none = out%define("u", "m", global, compression=compression, on=on, fill_value=fill_value, dims=dims, &
                          stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, "field u") /= 1) call wrong(what//": "//trim(text))
    end subroutine

    !> Names, units and attributes of more than 128 characters are there as they were given.
    subroutine expect_long_names()
        character(len=200) :: long
        type(hakobi_axis) :: axes(2)
        type(hakobi_attribute) :: found
        long = repeat("n", 190)
        axes(1) = hakobi_axis(long, repeat("m ", 80)//"m", [(real(n, real64), n=1, nx)], "long_"//long, &
                              [hakobi_attribute("a"//long, text="of x  ")])
        axes(2)%name = "y"
        axes(2)%values = [(real(n, real64), n=1, ny)]
        call out%create(comm, "long", axes=axes, attributes=[hakobi_attribute("g"//long, text=repeat("t", 150))], &
                        if_exists="replace")
        eta_id = out%define("f"//long, repeat("s", 150), [nx, ny])
        call out%begin_step(0.0_real64)
        call out%put(eta_id, block, eta)
        call out%end_step()
        call out%close()
        call in%open(comm, "long")
        found = in%attribute("f"//trim(long), "units")
        if (found%text /= repeat("s", 150)) call wrong("a field's long units")
        if (.not. is_in_file(repeat("m ", 80)//"m")) call wrong("an axis's long units")
        if (.not. is_in_file("long_"//trim(long))) call wrong("an axis's long standard name")
        found = in%attribute(trim(long), "a"//trim(long))
        if (.not. allocated(found%text)) then
            call wrong("an axis's attribute of a long name")
        else if (len(found%text) /= 6) then
            call wrong("blanks at the end of a text")
        end if
        found = in%attribute("", "g"//trim(long))
        if (.not. allocated(found%text)) call wrong("a global attribute of a long name")
        call in%close()
    end subroutine

    logical function is_in_file(words)
        character(len=*), intent(in) :: words
        character(len=:), allocatable :: contents
        integer :: unit, length
        inquire (file="long_000000.nc", size=length)
        allocate (character(len=length) :: contents)
        open (newunit=unit, file="long_000000.nc", access="stream", action="read", status="old")
        read (unit) contents
        close (unit)
        is_in_file = index(contents, words) > 0
    end function

    !> One step with mistake `number`; its error has `words` in it.
    subroutine expect_bad_put(number, words)
        integer, intent(in) :: number
        character(len=*), intent(in) :: words
        real(real32), allocatable, target :: single(:, :)
        type(hakobi_field_id) :: field, no_field
        allocate (single(block%count(1), block%count(2)))
        single = 0
        call out%create(comm, "run", if_exists="replace")
        field = out%define("eta", "m", [nx, ny])
        call out%begin_step(0.0_real64)
        select case (number)
        case (1)
            call out%put(field, block, single)
        case (2)
            call out%put(field, block, framed)
        case (3)
            call out%put(no_field, block, eta, stat=stat)
        case (4)
            call out%put(field, block, c_loc(framed), hakobi_float64, ghosts=[1])
        end select
        text = ""
        call out%end_step(stat=stat, errmsg=text)
        if (stat == 0 .or. index(text, words) == 0) call wrong(words//": "//trim(text))
        call out%close()
    end subroutine

    subroutine wrong(what)
        character(len=*), intent(in) :: what
        print "(2a)", "wrong: ", what
        num_wrong = num_wrong + 1
    end subroutine

end program
