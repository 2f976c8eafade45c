!> Fields and their values as C takes them: what a call lends of the program's arrays and texts. For the
!> modules hakobi and hakobi_input_module, not for users.
module hakobi_values
    use, intrinsic :: iso_fortran_env, only: int64
    use hakobi_c
    implicit none

    integer, parameter :: max_rank = 15  ! of Fortran's arrays
    character(len=*), parameter :: not_on_mesh = "a field on points or cells has an array, and hakobi_block() for a block"

    !> A field's texts and attributes, as C takes them: NULL where they are left out.
    type :: texts_for_c
        character(kind=c_char), allocatable :: name(:), units(:), long_name(:), standard_name(:), dims(:), compression(:)
        character(kind=c_char), allocatable :: coordinates(:)
        type(attributes_for_c) :: attributes
        type(c_ptr) :: name_at = c_null_ptr, units_at = c_null_ptr, long_name_at = c_null_ptr, standard_name_at = c_null_ptr
        type(c_ptr) :: dims_at = c_null_ptr, compression_at = c_null_ptr, coordinates_at = c_null_ptr
        type(c_ptr) :: attributes_at = c_null_ptr
        integer(c_int64_t) :: num_attributes = 0
    end type

contains

    !> `made` stays while C looks at it. `dims`: the fastest first.
    subroutine lend_texts(made, name, units, long_name, standard_name, dims, compression, coordinates, attributes)
        type(texts_for_c), intent(inout), target :: made
        character(len=*), intent(in) :: name
        character(len=*), intent(in), optional :: units, long_name, standard_name, dims, compression, coordinates
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        call lend_text(name, made%name, made%name_at)
        call lend_text(units, made%units, made%units_at)
        call lend_text(long_name, made%long_name, made%long_name_at)
        call lend_text(standard_name, made%standard_name, made%standard_name_at)
        if (present(dims)) call lend_text(reversed(dims), made%dims, made%dims_at)
        call lend_text(compression, made%compression, made%compression_at)
        call lend_text(coordinates, made%coordinates, made%coordinates_at)
        if (.not. present(attributes)) return
        call put_attributes(attributes, made%attributes)
        made%num_attributes = size(attributes, kind=c_int64_t)
        if (size(attributes) > 0) made%attributes_at = c_loc(made%attributes%entries)
    end subroutine

    !> "lon,lat" as "lat,lon".
    recursive function reversed(list) result(text)
        character(len=*), intent(in) :: list
        character(len=:), allocatable :: text
        integer :: comma
        comma = index(list, ",")
        if (comma == 0) then
            text = trim(adjustl(list))
        else
            text = reversed(list(comma + 1:))//","//trim(adjustl(list(:comma - 1)))
        end if
    end function

    !> Has `field` say where the values are, their type and components. `refused`: why they cannot be put, or
    !> "".
    subroutine lend_values(values, block, is_on_mesh, field, strides, refused)
        type(*), intent(in), target :: values(..)
        type(hakobi_block), intent(in) :: block
        logical, intent(in) :: is_on_mesh
        type(field_c), intent(inout) :: field
        integer(int64), intent(out), target :: strides(max_rank)
        character(len=:), allocatable, intent(out) :: refused
        integer, parameter :: is_strided = 1, is_backwards = 2, is_of_no_type = 3
        integer(int64) :: extents(max_rank)
        integer :: form, n
        n = block%num_dims
        refused = bad_num_dims(n, merge(0, 1, rank(values) == 0 .or. is_on_mesh))
        if (len(refused) > 0) return
        form = c_fortran_describe(values, field, strides, extents)
        if (form == is_of_no_type) then
            refused = "the array is of a type that no field has, or an address without type="
            return
        end if
        if (is_on_mesh) then
            if (n > 0 .or. rank(values) == 0) then
                refused = not_on_mesh
                return
            end if
            field%num_components = product(extents(:rank(values) - 1))
            n = rank(values)
            if (n > 2 .and. form == is_strided) form = is_backwards  ! components have one stride
        else if (rank(values) /= 1 .and. .not. same_extents(extents(:rank(values)), block%count(:n))) then
            ! A rank-1 array may hold the block's values in order; any other has the block's own shape.
            refused = "the array's shape is "//shape_text(extents(:rank(values)))//", and not the block's "// &
                shape_text(block%count(:n))
            return
        end if
        if (form == is_backwards .or. (form == is_strided .and. rank(values) /= n)) &
            refused = "the array runs backwards, is a part of a derived type, or a section of another rank"
        if (form == is_strided) field%strides = c_loc(strides)
    end subroutine

    !> The same of values at an address, but for their type.
    subroutine lend_address(address, block, field, layers, refused, ghosts)
        type(c_ptr), intent(in) :: address
        type(hakobi_block), intent(in) :: block
        type(field_c), intent(inout) :: field
        integer(int64), intent(out), target :: layers(max_dims)
        character(len=:), allocatable, intent(out) :: refused
        integer, intent(in), optional :: ghosts(:)
        integer :: n
        n = block%num_dims
        refused = bad_num_dims(n, 0)
        field%data = address
        if (n == 0) field%num_values = 1
        if (.not. present(ghosts) .or. len(refused) > 0) return
        if (size(ghosts) == n) then
            layers(:n) = ghosts(n:1:-1)
            field%ghosts = c_loc(layers)
        else
            refused = "it has ghosts of "//decimal(size(ghosts, kind=int64))//" dimensions, not "//decimal(int(n, int64))
        end if
    end subroutine

    !> How values that were lent lie in memory. `stream`: of a GPU.
    function layout_for_c(lent, stream) result(layout)
        type(field_c), intent(in) :: lent
        type(c_ptr), intent(in), optional :: stream
        type(memory_layout_c) :: layout
        layout%ghosts = lent%ghosts
        layout%strides = lent%strides
        layout%num_values = lent%num_values
        layout%type = lent%type
        if (present(stream)) layout%stream = stream
    end function

    !> A fill value for C, or why it is none for values of `type`.
    subroutine lend_fill(fill_value, type, pointer, refused)
        type(*), intent(in), target :: fill_value(..)
        integer(c_int), intent(in) :: type
        type(c_ptr), intent(inout) :: pointer
        character(len=:), allocatable, intent(inout) :: refused
        integer, parameter :: is_of_no_type = 3
        integer(int64) :: strides(max_rank), extents(max_rank)
        type(field_c) :: fill
        if (c_fortran_describe(fill_value, fill, strides, extents) == is_of_no_type .or. rank(fill_value) /= 0 .or. &
            fill%type /= type) refused = "its fill value is no scalar of its values' type"
        pointer = fill%data
    end subroutine

    function bad_num_dims(num_dims, least) result(refused)
        integer, intent(in) :: num_dims, least
        character(len=:), allocatable :: refused
        refused = ""
        if (num_dims < least .or. num_dims > max_dims) &
            refused = "num_dims of its block is "//decimal(int(num_dims, int64))//", not 1 to "//decimal(int(max_dims, int64))
    end function

    !> "(5, 4)", the fastest first.
    function shape_text(extents) result(text)
        integer(int64), intent(in) :: extents(:)
        character(len=:), allocatable :: text
        integer :: d
        text = "("
        do d = 1, size(extents)
            if (d > 1) text = text//", "
            text = text//decimal(extents(d))
        end do
        text = text//")"
    end function

    pure logical function same_extents(a, b)
        integer(int64), intent(in) :: a(:), b(:)
        same_extents = size(a) == size(b)
        if (same_extents) same_extents = all(a == b)
    end function

    !> The slowest dimension first, from 0. C refuses a block of more dimensions than there are.
    pure function block_for_c(block) result(made)
        type(hakobi_block), intent(in) :: block
        type(block_c) :: made
        integer :: n
        n = block%num_dims
        made%num_dims = int(n, c_int)
        if (n < 1 .or. n > max_dims) return
        made%global(:n) = block%global(n:1:-1)
        made%start(:n) = block%start(n:1:-1) - 1
        made%count(:n) = block%count(n:1:-1)
    end function
end module
