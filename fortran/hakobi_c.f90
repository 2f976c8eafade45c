!> hakobi.h as Fortran sees it: the interoperable types and the C functions. For the module hakobi, not for users.
module hakobi_c
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64, real64
    implicit none

    integer, parameter :: max_dims = 8
    integer(c_int), parameter :: type_double = 0, type_float = 1, type_int32 = 2, type_int64 = 3

    type, bind(c) :: block_c
        integer(c_int) :: num_dims = 0
        integer(c_int64_t) :: global(max_dims) = 0
        integer(c_int64_t) :: start(max_dims) = 0
        integer(c_int64_t) :: count(max_dims) = 0
    end type

    !> hakobi_attribute of hakobi.h.
    type, bind(c) :: attribute_c
        type(c_ptr) :: name = c_null_ptr
        type(c_ptr) :: text = c_null_ptr
        type(c_ptr) :: doubles = c_null_ptr
        type(c_ptr) :: integers = c_null_ptr
        integer(c_int64_t) :: num_values = 0
        type(c_ptr) :: reserved(4) = c_null_ptr
    end type

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

    type, bind(c) :: field_c
        type(c_ptr) :: name = c_null_ptr
        type(c_ptr) :: units = c_null_ptr
        type(c_ptr) :: long_name = c_null_ptr
        type(c_ptr) :: standard_name = c_null_ptr
        type(block_c) :: block
        integer(c_int) :: type = type_double
        type(c_ptr) :: values = c_null_ptr
        integer(c_int64_t) :: num_values = 0
        type(c_ptr) :: dims = c_null_ptr
        type(c_ptr) :: ghosts = c_null_ptr
        type(c_ptr) :: strides = c_null_ptr
        type(c_ptr) :: compression = c_null_ptr
        integer(c_int) :: significant_bits = 0
        type(c_ptr) :: attributes = c_null_ptr
        integer(c_int64_t) :: num_attributes = 0
        type(c_ptr) :: fill_value = c_null_ptr
        type(c_ptr) :: coordinates = c_null_ptr
        integer(c_int64_t) :: is_static = 0
        integer(c_int) :: on = 0
        integer(c_int) :: num_components = 0
        type(c_ptr) :: reserved(3) = c_null_ptr
    end type

    !> Seconds that this rank has spent in the phases of output, and the bytes that it put (hakobi::OutputTimes).
    type, bind(c) :: hakobi_output_times
        real(c_double) :: layout_s = 0
        real(c_double) :: values_s = 0
        real(c_double) :: finish_s = 0
        real(c_double) :: gather_s = 0
        integer(c_int64_t) :: bytes = 0
        real(c_double) :: encode_s = 0
        real(c_double) :: hidden_s = 0
        real(c_double) :: run_s = 0
        real(c_double) :: cpu_s = 0
        real(c_double) :: reserved(4) = 0
    end type

    interface
        type(c_ptr) function c_error_text() bind(c, name="hakobi_error_text")
            import :: c_ptr
        end function
        type(c_ptr) function c_error_name(code) bind(c, name="hakobi_error_name")
            import :: c_ptr, c_int
            integer(c_int), value :: code
        end function
        type(c_ptr) function c_version() bind(c, name="hakobi_version")
            import :: c_ptr
        end function

        integer(c_int) function c_comm_duplicate_f(fortran_comm, comm) bind(c, name="hakobi_comm_duplicate_f")
            import :: c_ptr, c_int
            integer(c_int), value :: fortran_comm
            type(c_ptr), intent(out) :: comm
        end function
        integer(c_int) function c_comm_free(comm) bind(c, name="hakobi_comm_free")
            import :: c_ptr, c_int
            type(c_ptr), value :: comm
        end function
        integer(c_int) function c_comm_rank(comm) bind(c, name="hakobi_comm_rank")
            import :: c_ptr, c_int
            type(c_ptr), value :: comm
        end function
        integer(c_int) function c_comm_size(comm) bind(c, name="hakobi_comm_size")
            import :: c_ptr, c_int
            type(c_ptr), value :: comm
        end function
        integer(c_int) function c_comm_num_nodes(comm) bind(c, name="hakobi_comm_num_nodes")
            import :: c_ptr, c_int
            type(c_ptr), value :: comm
        end function
        integer(c_int) function c_comm_handle_f(comm) bind(c, name="hakobi_comm_handle_f")
            import :: c_ptr, c_int
            type(c_ptr), value :: comm
        end function
        integer(c_int) function c_comm_reordered(comm, num_ranks, rank_at, reordered) bind(c, name="hakobi_comm_reordered")
            import :: c_ptr, c_int
            type(c_ptr), value :: comm
            integer(c_int), value :: num_ranks
            integer(c_int), intent(in) :: rank_at(*)
            type(c_ptr), intent(out) :: reordered
        end function
        integer(c_int) function c_dims_of_ranks(num_dims, global, num_ranks, dims) bind(c, name="hakobi_dims_of_ranks")
            import :: c_int, c_int64_t
            integer(c_int), value :: num_dims, num_ranks
            integer(c_int64_t), intent(in) :: global(*)
            integer(c_int), intent(inout) :: dims(*)
        end function
        integer(c_int) function c_split(num_dims, global, num_ranks, rank, block) bind(c, name="hakobi_split")
            import :: c_int, c_int64_t, block_c
            integer(c_int), value :: num_dims, num_ranks, rank
            integer(c_int64_t), intent(in) :: global(*)
            type(block_c), intent(inout) :: block
        end function

        integer(c_int) function c_options_create(options) bind(c, name="hakobi_options_create")
            import :: c_ptr, c_int
            type(c_ptr), intent(out) :: options
        end function
        integer(c_int) function c_options_set(options, name, value) bind(c, name="hakobi_options_set")
            import :: c_ptr, c_int, c_char
            type(c_ptr), value :: options
            character(kind=c_char), intent(in) :: name(*), value(*)
        end function
        integer(c_int) function c_options_set_hint(options, name, value) bind(c, name="hakobi_options_set_hint")
            import :: c_ptr, c_int, c_char
            type(c_ptr), value :: options
            character(kind=c_char), intent(in) :: name(*), value(*)
        end function
        integer(c_int) function c_options_add_axis(options, name, units, standard_name, values, num_values) &
            bind(c, name="hakobi_options_add_axis")
            import :: c_ptr, c_int, c_char, c_double, c_int64_t
            type(c_ptr), value :: options
            character(kind=c_char), intent(in) :: name(*), units(*), standard_name(*)
            real(c_double), intent(in) :: values(*)
            integer(c_int64_t), value :: num_values
        end function
        integer(c_int) function c_options_set_attribute(options, axis, attribute) bind(c, name="hakobi_options_set_attribute")
            import :: c_ptr, c_int, attribute_c
            type(c_ptr), value :: options, axis
            type(attribute_c), intent(in) :: attribute
        end function
        integer(c_int) function c_options_refuse(options, text) bind(c, name="hakobi_options_refuse")
            import :: c_ptr, c_int, c_char
            type(c_ptr), value :: options
            character(kind=c_char), intent(in) :: text(*)
        end function
        subroutine c_options_free(options) bind(c, name="hakobi_options_free")
            import :: c_ptr
            type(c_ptr), value :: options
        end subroutine

        integer(c_int) function c_output_create(comm, prefix, options, out) bind(c, name="hakobi_output_create")
            import :: c_ptr, c_int, c_char
            type(c_ptr), value :: comm, options
            character(kind=c_char), intent(in) :: prefix(*)
            type(c_ptr), intent(out) :: out
        end function
        integer(c_int) function c_output_begin_step(out, time) bind(c, name="hakobi_output_begin_step")
            import :: c_ptr, c_int, c_double
            type(c_ptr), value :: out
            real(c_double), value :: time
        end function
        integer(c_int) function c_output_put(out, field) bind(c, name="hakobi_output_put")
            import :: c_ptr, c_int, field_c
            type(c_ptr), value :: out
            type(field_c), intent(in) :: field
        end function
        !> 0, or 1 for a section with strides, 2 for one that runs backwards or inside a derived type, 3 for another type.
        integer(c_int) function c_describe(values, field, strides, extents) bind(c, name="hakobi_fortran_describe")
            import :: c_int, c_int64_t, field_c
            type(*), intent(in) :: values(..)
            type(field_c), intent(inout) :: field
            integer(c_int64_t), intent(out) :: strides(*), extents(*)
        end function
        !> `first`: what the connectivity calls the first point.
        integer(c_int) function c_output_put_mesh(out, points, connectivity, offsets, types, ghosts, motion, first) &
            bind(c, name="hakobi_fortran_put_mesh")
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: out
            type(*), intent(in) :: points(..), connectivity(..), offsets(..), types(..)
            type(*), intent(in), optional :: ghosts(..)
            character(kind=c_char), intent(in) :: motion(*)
            integer(c_int64_t), value :: first
        end function
        integer(c_int) function c_output_put_points(out, points) bind(c, name="hakobi_fortran_put_points")
            import :: c_int, c_ptr
            type(c_ptr), value :: out
            type(*), intent(in) :: points(..)
        end function
        integer(c_int) function c_output_refuse(out, text) bind(c, name="hakobi_output_refuse")
            import :: c_ptr, c_int, c_char
            type(c_ptr), value :: out
            character(kind=c_char), intent(in) :: text(*)
        end function
        integer(c_int) function c_output_end_step(out) bind(c, name="hakobi_output_end_step")
            import :: c_ptr, c_int
            type(c_ptr), value :: out
        end function
        integer(c_int) function c_output_close(out) bind(c, name="hakobi_output_close")
            import :: c_ptr, c_int
            type(c_ptr), value :: out
        end function
        subroutine c_output_free(out) bind(c, name="hakobi_output_free")
            import :: c_ptr
            type(c_ptr), value :: out
        end subroutine
        type(c_ptr) function c_output_method(out) bind(c, name="hakobi_output_method")
            import :: c_ptr
            type(c_ptr), value :: out
        end function
        type(c_ptr) function c_output_explain(out) bind(c, name="hakobi_output_explain")
            import :: c_ptr
            type(c_ptr), value :: out
        end function
        integer(c_int) function c_output_get_times(out, times) bind(c, name="hakobi_output_get_times")
            import :: c_ptr, c_int, hakobi_output_times
            type(c_ptr), value :: out
            type(hakobi_output_times), intent(inout) :: times
        end function

        integer(c_int) function c_gather_pieces(path, result) bind(c, name="hakobi_gather_pieces")
            import :: c_ptr, c_int, c_char
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: result
        end function
        type(c_ptr) function c_gather_result_file(result, index) bind(c, name="hakobi_gather_result_file")
            import :: c_ptr, c_int
            type(c_ptr), value :: result
            integer(c_int), value :: index
        end function
        type(c_ptr) function c_gather_result_incomplete(result, index) bind(c, name="hakobi_gather_result_incomplete")
            import :: c_ptr, c_int
            type(c_ptr), value :: result
            integer(c_int), value :: index
        end function
        subroutine c_gather_result_free(result) bind(c, name="hakobi_gather_result_free")
            import :: c_ptr
            type(c_ptr), value :: result
        end subroutine

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
        if (.not. present(stat)) error stop "hakobi: "//text_of(c_error_text())
    end subroutine
end module
