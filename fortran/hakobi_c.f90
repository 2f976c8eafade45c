!> What the modules share beside hakobi_c_interface: C's texts and attributes, errors, and what takes arrays as they are.
!> For the module hakobi, not for users.
module hakobi_c
    use, intrinsic :: iso_fortran_env, only: int64, output_unit, real64
    use hakobi_c_interface, hakobi_output_times => output_times_c
    implicit none

    integer(c_int), parameter :: type_double = 0, type_float = 1, type_int32 = 2, type_int64 = 3

    !> An attribute, of which one is allocated: hakobi_attribute("comment", text="..."), or values=[...] of reals, or
    !> integers=[...].
    type :: hakobi_attribute
        character(len=128) :: name = ""
        character(len=:), allocatable :: text
        real(real64), allocatable :: values(:)
        integer(int64), allocatable :: integers(:)
    end type

    !> Attributes as C takes them; the texts stay where they are as long as this is there.
    type :: attributes_for_c
        type(attribute_c), allocatable :: entries(:)
        character(kind=c_char), allocatable :: texts(:)
    end type

    interface
        !> 0, or 1 for a section with strides, 2 for one that runs backwards or inside a derived type, 3 for another type.
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
        integer :: i, length, at
        length = 0
        do i = 1, size(attributes)
            length = length + len_trim(attributes(i)%name) + 2
            if (allocated(attributes(i)%text)) length = length + len(attributes(i)%text)
        end do
        allocate (made%entries(size(attributes)), made%texts(length))
        at = 1
        do i = 1, size(attributes)
            associate (from => attributes(i), to => made%entries(i))
                call keep(trim(from%name), to%name)
                if (allocated(from%text)) call keep(from%text, to%text)
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
    contains
        subroutine keep(text, pointer)
            character(len=*), intent(in) :: text
            type(c_ptr), intent(out) :: pointer
            made%texts(at:at + len(text)) = c_text(text)
            pointer = c_loc(made%texts(at))
            at = at + len(text) + 1
        end subroutine
    end subroutine

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
end module
