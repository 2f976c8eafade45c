!> Procedures that the modules share beside hakobi_c_interface: C's texts and attributes, errors, and arrays
!> taken as they are. For the module hakobi, not for users.
module hakobi_c
    use, intrinsic :: iso_fortran_env, only: int64, output_unit, real64
    use hakobi_c_interface, hakobi_output_times => output_times_c
    implicit none

    !> An attribute, of which one is allocated: hakobi_attribute("comment", text="..."), or values=[...] of
    !> reals, or integers=[...].
    type :: hakobi_attribute
        character(len=:), allocatable :: name
        character(len=:), allocatable :: text
        real(real64), allocatable :: values(:)
        integer(int64), allocatable :: integers(:)
    end type

    !> A rank's rectangular part of a global array; the first num_dims entries count, the fastest dimension
    !> first.
    type :: hakobi_block
        integer :: num_dims = 0
        integer(int64) :: global(max_dims) = 0
        integer(int64) :: start(max_dims) = 1
        integer(int64) :: count(max_dims) = 0
    end type

    !> A field that `define` has defined, of use to its output alone.
    type :: hakobi_field_id
        integer(int64) :: number = 0
        logical :: is_on_mesh = .false.
        character(len=:), allocatable :: name
    end type

    !> Attributes as C takes them; the texts stay where they are as long as this is there.
    type :: attributes_for_c
        type(attribute_c), allocatable :: entries(:)
        character(kind=c_char), allocatable :: texts(:)
    end type

    !> A dimension's axis, complete and equal on every rank: hakobi_axis("lon", "degrees_east", lon). Units
    !> that are not allocated are "1".
    type :: hakobi_axis
        character(len=:), allocatable :: name
        character(len=:), allocatable :: units
        real(real64), allocatable :: values(:)
        character(len=:), allocatable :: standard_name
        type(hakobi_attribute), allocatable :: attributes(:)
    end type

    !> Axes as C takes them, the slowest dimension first.
    type :: axes_for_c
        type(axis_c), allocatable :: entries(:)
        character(kind=c_char), allocatable :: texts(:)
        type(attributes_for_c), allocatable :: attributes(:)
    end type

    !> Hints as C takes them.
    type :: hints_for_c
        type(hint_c), allocatable :: entries(:)
        character(kind=c_char), allocatable :: texts(:)
    end type

    interface
        !> 0, or 1 for a section with strides, 2 for one that runs backwards or inside a derived type, 3 for
        !> another type.
        integer(c_int) function c_fortran_describe(values, field, strides, extents) bind(c, name="hakobi_fortran_describe")
            import :: c_int, c_int64_t, field_c
            type(*), intent(in) :: values(..)
            type(field_c), intent(inout) :: field
            integer(c_int64_t), intent(out) :: strides(*), extents(*)
        end function
        !> `first`: what the connectivity calls the first point.
        integer(c_int) function c_fortran_put_mesh(out, points, connectivity, offsets, types, ghosts, motion, first) &
            bind(c, name="hakobi_fortran_put_mesh")
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: out
            type(*), intent(in) :: points(..), connectivity(..), offsets(..), types(..)
            type(*), intent(in), optional :: ghosts(..)
            character(kind=c_char), intent(in) :: motion(*)
            integer(c_int64_t), value :: first
        end function
        integer(c_int) function c_fortran_put_points(out, points) bind(c, name="hakobi_fortran_put_points")
            import :: c_int, c_ptr
            type(c_ptr), value :: out
            type(*), intent(in) :: points(..)
        end function

        integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
        end function
    end interface

contains

    ! A Fortran text as C takes it.
    pure function c_text(text) result(chars)
        character(len=*), intent(in) :: text
        character(kind=c_char) :: chars(len(text) + 1)
        integer :: i
        do i = 1, len(text)
            chars(i) = text(i:i)
        end do
        chars(len(text) + 1) = c_null_char
    end function

    !> `attributes` and `made` stay while C looks at it.
    subroutine put_attributes(attributes, made)
        type(hakobi_attribute), intent(in), target :: attributes(:)
        type(attributes_for_c), intent(inout), target :: made
        integer :: i, at
        allocate (made%entries(size(attributes)))
        allocate (made%texts(sum([(room_of(attributes(i)%name) + room_of(attributes(i)%text), i=1, size(attributes))])))
        at = 1
        do i = 1, size(attributes)
            associate (from => attributes(i), to => made%entries(i))
                call keep_text(from%name, made%texts, at, to%name)
                call keep_text(from%text, made%texts, at, to%text, is_whole=.true.)
                if (allocated(from%values)) then
                    if (size(from%values) > 0) to%doubles = c_loc(from%values)
                    to%num_values = size(from%values, kind=c_int64_t)
                end if
                if (allocated(from%integers)) then
                    if (size(from%integers) > 0) to%integers = c_loc(from%integers)
                    to%num_values = size(from%integers, kind=c_int64_t)
                end if
            end associate
        end do
    end subroutine

    !> The axes, the slowest dimension first; `axes` and `made` stay while C looks at it.
    subroutine put_axes(axes, made)
        type(hakobi_axis), intent(in), target :: axes(:)
        type(axes_for_c), intent(inout), target :: made
        integer :: i, at
        allocate (made%entries(size(axes)), made%attributes(size(axes)))
        allocate (made%texts(sum([(room_of(axes(i)%name) + room_of(axes(i)%units) + room_of(axes(i)%standard_name), &
                                   i=1, size(axes))])))
        at = 1
        do i = 1, size(axes)
            associate (from => axes(size(axes) + 1 - i), to => made%entries(i))
                call keep_text(from%name, made%texts, at, to%name)
                call keep_text(from%units, made%texts, at, to%units)
                call keep_text(from%standard_name, made%texts, at, to%standard_name)
                if (allocated(from%values)) then
                    to%num_values = size(from%values, kind=c_int64_t)
                    if (size(from%values) > 0) to%values = c_loc(from%values)
                end if
                if (allocated(from%attributes)) then
                    call put_attributes(from%attributes, made%attributes(i))
                    to%num_attributes = size(from%attributes, kind=c_int64_t)
                    if (size(from%attributes) > 0) to%attributes = c_loc(made%attributes(i)%entries)
                end if
            end associate
        end do
    end subroutine

    !> Characters that keep_text takes at most.
    pure integer function room_of(text)
        character(len=:), allocatable, intent(in) :: text
        room_of = 0
        if (allocated(text)) room_of = len(text) + 1
    end function

    !> A text that may be missing goes to texts(at:), for C; `at` moves behind it. NULL where it is missing.
    !> `is_whole`: with the blanks at its end, which a name has none of.
    subroutine keep_text(text, texts, at, pointer, is_whole)
        character(len=:), allocatable, intent(in) :: text
        character(kind=c_char), intent(inout), target :: texts(:)
        integer, intent(inout) :: at
        type(c_ptr), intent(inout) :: pointer
        logical, intent(in), optional :: is_whole
        integer :: length
        if (.not. allocated(text)) return
        length = len_trim(text)
        if (present(is_whole)) length = len(text)
        texts(at:at + length) = c_text(text(:length))
        pointer = c_loc(texts(at))
        at = at + length + 1
    end subroutine

    !> "name=value;name=value" taken apart; `made` stays while C looks at it. `refused`: why it cannot be.
    subroutine put_hints(list, made, refused)
        character(len=*), intent(in) :: list
        type(hints_for_c), intent(inout), target :: made
        character(len=:), allocatable, intent(inout) :: refused
        integer :: first, last, equals, at, n
        ! Each hint's texts need no more than it has characters, and two ends.
        allocate (made%texts(2*len(list) + 2))
        allocate (made%entries(count([(list(first:first) == ";", first=1, len(list))]) + 1))
        n = 0
        at = 1
        first = 1
        do while (first <= len_trim(list))
            last = index(list(first:)//";", ";") + first - 2
            equals = index(list(first:last), "=")
            if (equals < 2) then
                refused = "hints: not name=value: "//list(first:last)
                exit
            end if
            n = n + 1
            call keep(trim(adjustl(list(first:first + equals - 2))), made%entries(n)%name)
            call keep(trim(adjustl(list(first + equals:last))), made%entries(n)%value)
            first = last + 2
        end do
        made%entries = made%entries(:n)
    contains
        subroutine keep(text, pointer)
            character(len=*), intent(in) :: text
            type(c_ptr), intent(out) :: pointer
            made%texts(at:at + len(text)) = c_text(text)
            pointer = c_loc(made%texts(at))
            at = at + len(text) + 1
        end subroutine
    end subroutine

    !> A text that may be left out, for C: `chars` holds it. NULL where it is.
    subroutine lend_text(text, chars, pointer)
        character(len=*), intent(in), optional :: text
        character(kind=c_char), allocatable, target, intent(inout) :: chars(:)
        type(c_ptr), intent(inout) :: pointer
        if (.not. present(text)) return
        chars = c_text(trim(text))
        pointer = c_loc(chars)
    end subroutine

    !> An option that may be left out, for C.
    pure integer(c_int) function yes_or_no(is_wanted)
        logical, intent(in), optional :: is_wanted
        yes_or_no = 0
        if (present(is_wanted)) yes_or_no = merge(hakobi_yes, hakobi_no, is_wanted)
    end function

    ! A copy of a C text; "" for NULL.
    function text_of(pointer) result(text)
        type(c_ptr), intent(in) :: pointer
        character(len=:), allocatable :: text
        character(kind=c_char), contiguous, pointer :: chars(:)
        integer :: i
        if (.not. c_associated(pointer)) then
            text = ""
            return
        end if
        call c_f_pointer(pointer, chars, [c_strlen(pointer)])
        allocate (character(len=size(chars)) :: text)
        do i = 1, size(chars)
            text(i:i) = chars(i)
        end do
    end function

    pure function decimal(number) result(text)
        integer(int64), intent(in) :: number
        character(len=:), allocatable :: text
        character(len=20) :: digits
        write (digits, "(i0)") number
        text = trim(digits)
    end function

    !> A failed call gives stat and errmsg, or without stat ends the program.
    subroutine report(code, stat, errmsg)
        integer(c_int), intent(in) :: code
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        if (present(stat)) stat = code
        if (code == 0) return
        if (present(errmsg)) errmsg = text_of(c_error_text())
        if (present(stat)) return
        flush (output_unit)
        call c_end_with_error(text_of(c_error_text())//c_null_char, c_error_rank())
    end subroutine

    !> The same of a put that was refused with `text`, which end_step reports on every rank.
    subroutine report_refused(code, text, stat, errmsg)
        integer(c_int), intent(in) :: code
        character(len=*), intent(in) :: text
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        character(len=:), allocatable :: told
        told = text_of(c_error_text())
        ! Another text than ours (C may have cut it) is why end_step does not get it: no step is open, say.
        if (present(stat) .or. index(text, told) /= 1) call report(code, stat, errmsg)
    end subroutine
end module
