!> A series of steps read back in Fortran: the calls of hakobi/input.hpp over the C interface (hakobi.h).
!>
!>     type(hakobi_input) :: in
!>     call in%open(comm, "run")                                    ! collective; in%open_alone("run") for one process
!>     block = hakobi_split(in%shape("eta"), comm%size(), comm%rank())
!>     allocate (eta(0:block%count(1) + 1, 0:block%count(2) + 1))
!>     call in%read("eta", 3_int64, block, eta(1:block%count(1), 1:block%count(2)))   ! collective: ghosts stay as they are
!>     call in%close()                                              ! collective
!>
!> Dimensions are in Fortran's order, the fastest first, and `start` counts from 1, as in the module hakobi.
!> Steps are the numbers in the files' names, from 0; -1 is the last. Errors as there: with stat= the code is
!> there and the text in errmsg=, without it the program stops. An input can be used on after an error.
module hakobi_input_module
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int8, int64, real64
    use hakobi_c
    use hakobi_values, only: block_for_c
    use hakobi, only: hakobi_attribute, hakobi_block, hakobi_comm
    implicit none
    private
    public :: hakobi_input, hakobi_input_mesh, hakobi_mesh_part

    !> The whole steps that are there when it is opened. A copy names the same object; nothing is closed
    !> without `close`.
    type :: hakobi_input
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: open => input_open
        procedure :: open_alone => input_open_alone
        procedure :: steps => input_steps
        procedure :: times => input_times
        procedure :: time_units => input_time_units
        procedure :: calendar => input_calendar
        procedure :: num_fields => input_num_fields
        procedure :: field_name => input_field_name
        procedure :: type_name => input_type_name
        procedure :: shape => input_shape
        procedure :: attribute => input_attribute
        generic :: read => input_read, input_read_address
        generic :: read_independent => input_read_independent, input_read_independent_address
        procedure :: mesh => input_mesh
        procedure :: read_mesh => input_read_mesh
        procedure :: explain => input_explain
        procedure :: close => input_close
        procedure, private :: input_read, input_read_address, input_read_independent, input_read_independent_address
    end type

    !> How large the mesh of a step is, in pieces of which each rank that wrote it made one.
    type :: hakobi_input_mesh
        integer(int64) :: num_points = 0, num_cells = 0, num_pieces = 0
        logical :: has_ghosts = .false.
    end type

    !> A rank's share of a mesh that was read: whole pieces, whose points are numbered from 1. A field on
    !> cells is read with the block of one dimension that has num_cells of the mesh as its extent, and starts
    !> at first_cell; components come before it.
    type :: hakobi_mesh_part
        integer(int64) :: first_point = 1, first_cell = 1  !< where it stands among all points and cells
        integer(int64) :: first_piece = 1, num_pieces = 0
        real(real64), allocatable :: points(:, :)  !< (3, num_points)
        integer(int64), allocatable :: connectivity(:)
        integer(int64), allocatable :: offsets(:)  !< how many of these stand before each cell's: num_cells + 1
        integer(int8), allocatable :: types(:)  !< VTK's
        integer(int8), allocatable :: ghosts(:)  !< one a cell where the mesh has them
    end type

    interface
        integer(c_int) function c_fortran_input_read(in, name, step, block, values, stream) &
            bind(c, name="hakobi_fortran_input_read")
            import :: block_c, c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: in
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int64_t), value :: step
            type(block_c), intent(in) :: block
            type(*), intent(inout) :: values(..)
            type(c_ptr), value :: stream
        end function
        integer(c_int) function c_fortran_input_read_independent(in, name, step, block, values, stream) &
            bind(c, name="hakobi_fortran_input_read_independent")
            import :: block_c, c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: in
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int64_t), value :: step
            type(block_c), intent(in) :: block
            type(*), intent(inout) :: values(..)
            type(c_ptr), value :: stream
        end function
    end interface

contains

    !> Collective over `comm`; `prefix` equal on all ranks.
    subroutine input_open(self, comm, prefix, stat, errmsg)
        class(hakobi_input), intent(inout) :: self
        type(hakobi_comm), intent(in) :: comm
        character(len=*), intent(in) :: prefix
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_input_open(comm%c_handle(), c_text(trim(prefix)), c_null_ptr, self%handle), stat, errmsg)
    end subroutine

    !> For this process alone: nothing of MPI is called, and no call on it is collective.
    subroutine input_open_alone(self, prefix, stat, errmsg)
        class(hakobi_input), intent(inout) :: self
        character(len=*), intent(in) :: prefix
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_input_open_alone(c_text(trim(prefix)), self%handle), stat, errmsg)
    end subroutine

    !> The steps' numbers, ascending.
    function input_steps(self) result(steps)
        class(hakobi_input), intent(in) :: self
        integer(int64), allocatable :: steps(:)
        integer(c_int64_t), pointer :: numbers(:)
        allocate (steps(c_input_num_steps(self%handle)))
        if (size(steps) == 0) return
        call c_f_pointer(c_input_steps(self%handle), numbers, [size(steps)])
        steps = numbers
    end function

    !> Their times, in time_units.
    function input_times(self) result(times)
        class(hakobi_input), intent(in) :: self
        real(real64), allocatable :: times(:)
        real(c_double), pointer :: numbers(:)
        allocate (times(c_input_num_steps(self%handle)))
        if (size(times) == 0) return
        call c_f_pointer(c_input_times(self%handle), numbers, [size(times)])
        times = numbers
    end function

    function input_time_units(self) result(text)
        class(hakobi_input), intent(in) :: self
        character(len=:), allocatable :: text
        text = text_of(c_input_time_units(self%handle))
    end function

    !> "standard" if the file names none; empty if times do not count from a date.
    function input_calendar(self) result(text)
        class(hakobi_input), intent(in) :: self
        character(len=:), allocatable :: text
        text = text_of(c_input_calendar(self%handle))
    end function

    !> The number of fields of a step; of the last step without `step`.
    integer function input_num_fields(self, step)
        class(hakobi_input), intent(in) :: self
        integer(int64), intent(in), optional :: step
        input_num_fields = 0
        do while (c_associated(c_input_field_name(self%handle, step_or_last(step), int(input_num_fields, c_int))))
            input_num_fields = input_num_fields + 1
        end do
    end function

    !> The name of field `index`, from 1; "" behind the last.
    function input_field_name(self, index, step) result(name)
        class(hakobi_input), intent(in) :: self
        integer, intent(in) :: index
        integer(int64), intent(in), optional :: step
        character(len=:), allocatable :: name
        name = text_of(c_input_field_name(self%handle, step_or_last(step), int(index - 1, c_int)))
    end function

    !> The type of a field as ncdump calls it: "double".
    function input_type_name(self, name, step, stat, errmsg) result(text)
        class(hakobi_input), intent(in) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in), optional :: step
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        character(len=:), allocatable :: text
        type(input_field_c) :: field
        call report(c_input_get_field(self%handle, step_or_last(step), c_text(trim(name)), field), stat, errmsg)
        text = text_of(field%type_name)
    end function

    !> A field's extents, the fastest first; none where there is no such field.
    function input_shape(self, name, step, stat, errmsg) result(shape)
        class(hakobi_input), intent(in) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in), optional :: step
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(int64), allocatable :: shape(:)
        type(input_field_c) :: field
        call report(c_input_get_field(self%handle, step_or_last(step), c_text(trim(name)), field), stat, errmsg)
        shape = field%shape(field%num_dims:1:-1)
    end function

    !> The attribute `name` of a field or an axis, or with `field` "" of the step; nothing in it is allocated
    !> where there is none.
    function input_attribute(self, field, name, step) result(found)
        class(hakobi_input), intent(in) :: self
        character(len=*), intent(in) :: field, name
        integer(int64), intent(in), optional :: step
        type(hakobi_attribute) :: found
        type(attribute_c) :: attribute
        character(kind=c_char), allocatable, target :: c_field(:)
        type(c_ptr) :: of
        real(real64), pointer :: reals(:)
        integer(int64), pointer :: integers(:)
        integer(c_int) :: i
        of = c_null_ptr
        c_field = c_text(trim(field))
        if (field /= "") of = c_loc(c_field)
        found%name = name
        i = 0
        do while (c_input_get_attribute(self%handle, step_or_last(step), of, i, attribute) == 0)
            i = i + 1
            if (text_of(attribute%name) /= name) cycle
            if (c_associated(attribute%text)) found%text = text_of(attribute%text)
            if (c_associated(attribute%doubles)) then
                call c_f_pointer(attribute%doubles, reals, [attribute%num_values])
                found%values = reals
            else if (c_associated(attribute%integers)) then
                call c_f_pointer(attribute%integers, integers, [attribute%num_values])
                found%integers = integers
            end if
            return
        end do
    end function

    !> Reads this rank's block of a field into `values`: an array or a section of one, of the field's type and
    !> the block's extents. Collective; `name` and `step` equal on all ranks. `stream`: of a GPU, whose memory
    !> is written after what it holds now, before this returns. Without it that is the default stream.
    subroutine input_read(self, name, step, block, values, stream, stat, errmsg)
        class(hakobi_input), intent(in) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: step
        type(hakobi_block), intent(in) :: block
        type(*), intent(inout) :: values(..)
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(c_ptr) :: on
        on = c_null_ptr
        if (present(stream)) on = stream
        call report(c_fortran_input_read(self%handle, c_text(trim(name)), step, block_for_c(block), values, on), stat, errmsg)
    end subroutine

    !> The same to an address, of values of `type` (hakobi_float64), in an array of the block's extents with
    !> `ghosts` layers around it, one number a dimension; these are not changed.
    subroutine input_read_address(self, name, step, block, address, type, ghosts, stream, stat, errmsg)
        class(hakobi_input), intent(in) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: step
        type(hakobi_block), intent(in) :: block
        type(c_ptr), intent(in) :: address
        integer(c_int), intent(in) :: type
        integer, intent(in), optional :: ghosts(:)
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        character(kind=c_char), allocatable, target :: c_name(:)
        character(len=:), allocatable :: refused
        type(field_read_c) :: read
        c_name = c_text(trim(name))
        call describe_address(read, refused, step, block, address, type, ghosts, stream)
        read%name = c_loc(c_name)
        if (len(refused) > 0) then
            call report(c_input_refuse(self%handle, c_text("field "//trim(name)//": "//refused)), stat, errmsg)
        else
            call report(c_input_read(self%handle, read), stat, errmsg)
        end if
    end subroutine

    !> The same for this rank alone: local, the others need not read, and the error is this rank's. Where all
    !> ranks read, `read` is faster.
    subroutine input_read_independent(self, name, step, block, values, stream, stat, errmsg)
        class(hakobi_input), intent(in) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: step
        type(hakobi_block), intent(in) :: block
        type(*), intent(inout) :: values(..)
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(c_ptr) :: on
        on = c_null_ptr
        if (present(stream)) on = stream
        call report(c_fortran_input_read_independent(self%handle, c_text(trim(name)), step, block_for_c(block), values, on), &
                    stat, errmsg)
    end subroutine

    subroutine input_read_independent_address(self, name, step, block, address, type, ghosts, stream, stat, errmsg)
        class(hakobi_input), intent(in) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: step
        type(hakobi_block), intent(in) :: block
        type(c_ptr), intent(in) :: address
        integer(c_int), intent(in) :: type
        integer, intent(in), optional :: ghosts(:)
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        character(kind=c_char), allocatable, target :: c_name(:)
        character(len=:), allocatable :: refused
        type(field_read_c) :: read
        c_name = c_text(trim(name))
        call describe_address(read, refused, step, block, address, type, ghosts, stream)
        read%name = c_loc(c_name)
        if (len(refused) > 0) then
            call report(c_refuse(c_text("field "//trim(name)//": "//refused)), stat, errmsg)
        else
            call report(c_input_read_independent(self%handle, read), stat, errmsg)
        end if
    end subroutine

    !> A read to an address, for C, but for its name. `refused`: why it cannot be asked for, or "".
    subroutine describe_address(read, refused, step, block, address, type, ghosts, stream)
        type(field_read_c), intent(inout) :: read
        character(len=:), allocatable, intent(out) :: refused
        integer(int64), intent(in) :: step
        type(hakobi_block), intent(in) :: block
        type(c_ptr), intent(in) :: address
        integer(c_int), intent(in) :: type
        integer, intent(in), optional :: ghosts(:)
        type(c_ptr), intent(in), optional :: stream
        integer :: n
        refused = ""
        n = block%num_dims
        if (present(ghosts)) then
            if (size(ghosts) == n .and. n <= max_dims) then
                read%ghosts(:n) = ghosts(n:1:-1)
            else
                refused = "ghosts= has not one number a dimension of the block"
            end if
        end if
        read%step = step
        read%block = block_for_c(block)
        read%type = type
        read%data = address
        if (present(stream)) read%stream = stream
    end subroutine

    !> How large a step's mesh is. Local.
    function input_mesh(self, step, stat, errmsg) result(mesh)
        class(hakobi_input), intent(in) :: self
        integer(int64), intent(in), optional :: step
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(hakobi_input_mesh) :: mesh
        type(input_mesh_c) :: found
        call report(c_input_get_mesh(self%handle, step_or_last(step), found), stat, errmsg)
        mesh = hakobi_input_mesh(found%num_points, found%num_cells, found%num_pieces, found%has_ghosts /= 0)
    end function

    !> Reads this rank's share of a step's mesh: pieces that follow each other, about as many cells for each
    !> rank as whole pieces allow. Collective; `step` equal on all ranks. The number of ranks need not be the
    !> writers'.
    subroutine input_read_mesh(self, part, step, stat, errmsg)
        class(hakobi_input), intent(in) :: self
        type(hakobi_mesh_part), intent(out) :: part
        integer(int64), intent(in), optional :: step
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(mesh_part_c) :: found
        real(real64), pointer :: points(:, :)
        integer(int64), pointer :: numbers(:)
        integer(int8), pointer :: bytes(:)
        integer(c_int) :: code
        code = c_input_read_mesh(self%handle, step_or_last(step), found)
        if (code == 0) then
            part%first_point = found%first_point + 1
            part%first_cell = found%first_cell + 1
            part%first_piece = found%first_piece + 1
            part%num_pieces = found%num_pieces
            allocate (part%points(3, found%num_points), part%connectivity(found%num_connectivity))
            allocate (part%offsets(found%num_cells + 1), part%types(found%num_cells))
            if (found%num_points > 0) then
                call c_f_pointer(found%points, points, [3_int64, found%num_points])
                part%points = points
            end if
            if (found%num_connectivity > 0) then
                call c_f_pointer(found%connectivity, numbers, [found%num_connectivity])
                part%connectivity = numbers + 1
            end if
            call c_f_pointer(found%offsets, numbers, [found%num_cells + 1])
            part%offsets = numbers
            if (found%num_cells > 0) then
                call c_f_pointer(found%types, bytes, [found%num_cells])
                part%types = bytes
                if (c_associated(found%ghosts)) then
                    call c_f_pointer(found%ghosts, bytes, [found%num_cells])
                    part%ghosts = bytes
                end if
            end if
            call c_mesh_part_free(found)
        end if
        call report(code, stat, errmsg)
    end subroutine

    !> How a field is read, in one line; "" if there is no such field.
    function input_explain(self, name, step) result(text)
        class(hakobi_input), intent(in) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in), optional :: step
        character(len=:), allocatable :: text
        text = text_of(c_input_explain(self%handle, step_or_last(step), c_text(trim(name))))
    end function

    !> Releases everything. Collective; a second call does nothing.
    subroutine input_close(self, stat, errmsg)
        class(hakobi_input), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(c_int) :: code
        code = 0
        if (c_associated(self%handle)) then
            code = c_input_close(self%handle)
            call c_input_free(self%handle)
            self%handle = c_null_ptr
        end if
        call report(code, stat, errmsg)
    end subroutine

    integer(c_int64_t) function step_or_last(step)
        integer(int64), intent(in), optional :: step
        step_or_last = -1
        if (present(step)) step_or_last = step
    end function
end module
