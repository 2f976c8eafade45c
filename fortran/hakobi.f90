!> Hakobi's Fortran interface: the calls of hakobi/output.hpp over the C ABI (hakobi.h).
!>
!>     type(hakobi_comm)   :: comm
!>     type(hakobi_block)  :: block
!>     type(hakobi_output) :: out
!>     call comm%duplicate(MPI_COMM_WORLD)                        ! collective; with mpi_f08: MPI_COMM_WORLD%MPI_VAL
!>     block = hakobi_split([nx, ny], comm%size(), comm%rank())   ! local
!>     call out%create(comm, "run", method="pipelined")           ! collective
!>     field = out%define("eta", "m", [nx, ny])                   ! collective; type(hakobi_field_id)
!>     call out%begin_step(time_s)
!>     call out%put(field, block, eta)                            ! eta(:,:), unchanged until end_step returns
!>     call out%end_step()                                        ! collective: same error on every rank, or none
!>     call out%close()                                           ! collective
!>
!> Dimensions are in Fortran's order, the fastest first: `[nx, ny]` for an array eta(nx, ny), the axes of
!> `create` too. The file has them as every NetCDF file does, the slowest first (ncdump shows eta(ny, nx)).
!> `start` counts from 1.
!>
!> Errors: a call with stat= sets it to 0 or a code (docs/errors.md), and errmsg= to the text if there is an
!> error. Without stat= all ranks end with the text and status 1. `put` is an exception: `end_step` reports
!> errors in a field, on every rank, so call it after a failed `put`. A `put` outside a step does stop the
!> program.
!>
!> Memory of a GPU is put and read as memory of the host is. An array inside `!$acc host_data use_device(eta)`
!> or `!$omp target data use_device_addr(eta)` goes like any other, and so does an address (acc_deviceptr,
!> omp_get_mapped_ptr, a type(c_ptr) of CUDA or HIP), which comes with its type: call out%put(field, block,
!> address, type=hakobi_float64, ghosts=[1, 1]).
!>
!> Objects hold a handle; a copy refers to the same object. Only explicit calls close or free an object.
module hakobi
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real64
    use hakobi_c
    use hakobi_values
    use hakobi_options
    implicit none
    private
    public :: hakobi_comm, hakobi_block, hakobi_axis, hakobi_attribute, hakobi_field_id, hakobi_output, hakobi_output_times
    public :: hakobi_float64, hakobi_float32, hakobi_int8, hakobi_int16, hakobi_int32, hakobi_int64
    !> steps_per_file of output_create: no limit.
    integer(int64), parameter, public :: hakobi_all_steps = huge(0_int64)
    public :: hakobi_split, hakobi_dims_of_ranks, hakobi_gather_pieces, hakobi_error_name, hakobi_version

    !> A private duplicate of a communicator. `free` is collective, after every object that uses it is closed.
    type :: hakobi_comm
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: duplicate => comm_duplicate
        procedure :: free => comm_free
        procedure :: rank => comm_rank
        procedure :: size => comm_size
        procedure :: num_nodes => comm_num_nodes
        procedure :: mpi_handle => comm_mpi_handle
        procedure :: reordered => comm_reordered
        procedure :: c_handle => comm_c_handle
    end type

    !> Writes time steps, one file per step: NetCDF-4, or with format="vtkhdf" an unstructured mesh and fields
    !> on it.
    type :: hakobi_output
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: create => output_create
        generic :: define => output_define, output_define_int32
        procedure :: begin_step => output_begin_step
        generic :: put => output_put_values, output_put_values_at, output_put, output_put_address
        procedure :: put_mesh => output_put_mesh
        procedure :: put_points => output_put_points
        procedure :: end_step => output_end_step
        procedure :: flush => output_flush
        procedure :: close => output_close
        procedure :: method => output_method
        procedure :: times => output_times
        procedure :: explain => output_explain
        procedure, private :: output_define, output_define_int32
        procedure, private :: output_put_values, output_put_values_at, output_put, output_put_address
    end type


    !> The block of `rank` when an array of `global` extents (fastest first) is split over `num_ranks`. Local.
    interface hakobi_split
        procedure :: split_int32, split_int64
    end interface

    interface hakobi_dims_of_ranks
        procedure :: dims_int32, dims_int64
    end interface

contains

    !> The name of an error code: "no_space".
    function hakobi_error_name(code) result(name)
        integer, intent(in) :: code
        character(len=:), allocatable :: name
        name = text_of(c_error_name(int(code, c_int)))
    end function

    function hakobi_version() result(version)
        character(len=:), allocatable :: version
        version = text_of(c_version())
    end function

    !> Duplicates the communicator with the handle `mpi_comm` (mpif.h, use mpi; %MPI_VAL of mpi_f08).
    !> Collective.
    subroutine comm_duplicate(self, mpi_comm, stat, errmsg)
        class(hakobi_comm), intent(inout) :: self
        integer, intent(in) :: mpi_comm
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_comm_duplicate_f(int(mpi_comm, c_int), self%handle), stat, errmsg)
    end subroutine

    subroutine comm_free(self, stat, errmsg)
        class(hakobi_comm), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(c_ptr) :: handle
        handle = self%handle
        self%handle = c_null_ptr
        call report(c_comm_free(handle), stat, errmsg)
    end subroutine

    integer function comm_rank(self)
        class(hakobi_comm), intent(in) :: self
        comm_rank = c_comm_rank(self%handle)
    end function

    integer function comm_size(self)
        class(hakobi_comm), intent(in) :: self
        comm_size = c_comm_size(self%handle)
    end function

    integer function comm_num_nodes(self)
        class(hakobi_comm), intent(in) :: self
        comm_num_nodes = c_comm_num_nodes(self%handle)
    end function

    !> The duplicate's handle, for the program's own messages.
    integer function comm_mpi_handle(self)
        class(hakobi_comm), intent(in) :: self
        comm_mpi_handle = int(c_comm_handle_f(self%handle))
    end function

    !> The same processes, renumbered by `rank_at` of hakobi_topology%reorder so that the ranks form the grid.
    !> Collective; `rank_at` equal on every rank.
    subroutine comm_reordered(self, rank_at, made, stat, errmsg)
        class(hakobi_comm), intent(in) :: self
        integer, intent(in) :: rank_at(:)
        type(hakobi_comm), intent(out) :: made
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_comm_reordered(self%handle, int(size(rank_at), c_int), int(rank_at, c_int), made%handle), stat, errmsg)
    end subroutine

    !> The C interface's handle of this communicator, for the other modules of Hakobi.
    type(c_ptr) function comm_c_handle(self)
        class(hakobi_comm), intent(in) :: self
        comm_c_handle = self%handle
    end function

    function split_int64(global, num_ranks, rank, stat, errmsg) result(block)
        integer(int64), intent(in) :: global(:)
        integer, intent(in) :: num_ranks, rank
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(hakobi_block) :: block
        type(block_c) :: found
        integer(int64) :: extents(size(global))
        integer :: n
        n = size(global)
        extents = global(n:1:-1)
        call report(c_split(int(n, c_int), extents, int(num_ranks, c_int), int(rank, c_int), found), stat, errmsg)
        if (found%num_dims /= n) return  ! refused: the block stays empty
        block%num_dims = n
        block%global(:n) = found%global(n:1:-1)
        block%start(:n) = found%start(n:1:-1) + 1
        block%count(:n) = found%count(n:1:-1)
    end function

    function split_int32(global, num_ranks, rank, stat, errmsg) result(block)
        integer(int32), intent(in) :: global(:)
        integer, intent(in) :: num_ranks, rank
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(hakobi_block) :: block
        block = split_int64(int(global, int64), num_ranks, rank, stat, errmsg)
    end function

    !> The number of ranks in each dimension of hakobi_split, the fastest first. Local.
    function dims_int64(global, num_ranks, stat, errmsg) result(dims)
        integer(int64), intent(in) :: global(:)
        integer, intent(in) :: num_ranks
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer :: dims(size(global))
        integer(c_int) :: found(size(global))
        integer :: n
        n = size(global)
        found = 0
        call report(c_dims_of_ranks(int(n, c_int), global(n:1:-1), int(num_ranks, c_int), found), stat, errmsg)
        dims = int(found(n:1:-1))
    end function

    function dims_int32(global, num_ranks, stat, errmsg) result(dims)
        integer(int32), intent(in) :: global(:)
        integer, intent(in) :: num_ranks
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer :: dims(size(global))
        dims = dims_int64(int(global, int64), num_ranks, stat, errmsg)
    end function

    !> Collective over `comm`; everything but stat and errmsg equal on all ranks. `axes`: the fastest
    !> dimension first. `steps_per_file`: hakobi_all_steps has no limit. `if_exists`: "fail", "replace" or
    !> "resume". `hints`: "name=value;name=value". The others are the fields of hakobi::OutputOptions, with
    !> the same defaults.
    subroutine output_create(self, comm, prefix, method, axes, title, time_units, sync, asynchronous, writer_stride, &
                             buffer_bytes, keep_pieces, hints, if_exists, format, compression, significant_bits, &
                             asynchronous_bytes, attributes, overview, calendar, steps_per_file, stage, stage_bytes, &
                             stage_bytes_s, stage_patience_s, store_as, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        type(hakobi_comm), intent(in) :: comm
        character(len=*), intent(in) :: prefix
        character(len=*), intent(in), optional :: method, title, time_units, calendar, hints, if_exists, format, compression
        character(len=*), intent(in), optional :: stage, store_as
        type(hakobi_axis), intent(in), optional, target :: axes(:)
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        logical, intent(in), optional :: sync, asynchronous, keep_pieces, overview
        integer, intent(in), optional :: writer_stride, significant_bits
        integer(int64), intent(in), optional :: buffer_bytes, asynchronous_bytes, steps_per_file
        integer(int64), intent(in), optional :: stage_bytes, stage_bytes_s, stage_patience_s
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(output_options_for_c), target :: made
        character(len=:), allocatable :: refused
        call lend_output_options(made, refused, method, axes, title, time_units, sync, asynchronous, writer_stride, &
                                 buffer_bytes, keep_pieces, hints, if_exists, format, compression, significant_bits, &
                                 asynchronous_bytes, attributes, overview, calendar, steps_per_file, stage, stage_bytes, &
                                 stage_bytes_s, stage_patience_s, store_as)
        if (len(refused) > 0) then
            call report(c_comm_refuse(comm%handle, c_text(refused)), stat, errmsg)
        else
            call report(c_output_create(comm%handle, c_text(trim(prefix)), made%options, self%handle), stat, errmsg)
        end if
    end subroutine

    subroutine output_begin_step(self, time, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        real(real64), intent(in) :: time
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_output_begin_step(self%handle, time), stat, errmsg)
    end subroutine

    !> Defines a field of this output's steps, once for all of them. Collective; everything but stat and
    !> errmsg equal on all ranks. `global`: the array's extents, the fastest first; without them those of each
    !> step's blocks, also for scalars and fields on the mesh. `type`: hakobi_float64, without it, or another
    !> one. `dims`, `coordinates`: "lon,lat". `fill_value`: a scalar of that type. `on`: "points" or "cells"
    !> of the mesh, with `components` values each. `store_as`: the type in files, "float32",
    !> "int16:range=180..330". With stat= an error leaves the output as it was.
    function output_define(self, name, units, global, type, long_name, standard_name, dims, compression, significant_bits, &
                           attributes, fill_value, coordinates, is_static, on, components, store_as, stat, errmsg) &
        result(field)
        class(hakobi_output), intent(in) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(in), optional :: units, long_name, standard_name, dims, compression, coordinates, on, store_as
        integer(int64), intent(in), optional :: global(:)
        integer(c_int), intent(in), optional :: type
        integer, intent(in), optional :: significant_bits, components
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        type(*), intent(in), optional, target :: fill_value(..)
        logical, intent(in), optional :: is_static
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(hakobi_field_id) :: field
        type(definition_for_c), target :: made
        character(len=:), allocatable :: refused
        call lend_definition(made, field, refused, name, units, global, type, long_name, standard_name, dims, compression, &
                             significant_bits, attributes, fill_value, coordinates, is_static, on, components, store_as)
        if (len(refused) > 0) then
            call report(c_output_refuse_define(self%handle, c_text("field "//trim(name)//": "//refused)), stat, errmsg)
        else
            call report(c_output_define(self%handle, made%definition, field%number), stat, errmsg)
        end if
    end function

    function output_define_int32(self, name, units, global, type, long_name, standard_name, dims, compression, &
                                 significant_bits, attributes, fill_value, coordinates, is_static, on, components, store_as, &
                                 stat, errmsg) result(field)
        class(hakobi_output), intent(in) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(in), optional :: units, long_name, standard_name, dims, compression, coordinates, on, store_as
        integer(int32), intent(in) :: global(:)
        integer(c_int), intent(in), optional :: type
        integer, intent(in), optional :: significant_bits, components
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        type(*), intent(in), optional, target :: fill_value(..)
        logical, intent(in), optional :: is_static
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(hakobi_field_id) :: field
        field = output_define(self, name, units, int(global, int64), type, long_name, standard_name, dims, compression, &
                              significant_bits, attributes, fill_value, coordinates, is_static, on, components, store_as, &
                              stat, errmsg)
    end function

    !> Puts this rank's block of a defined field into the open step, or a further one. `values`: of the
    !> field's type, an array or an array section (eta(1:nx, 1:ny) of an array with ghosts) with the block's
    !> extents, or all values in a one-dimensional array. Do not change them before end_step returns, and give
    !> the array the TARGET attribute. The block is hakobi_block() for a scalar, of which rank 0's value is
    !> written, and for a field on the mesh, whose `values` have an element per point or cell, with their
    !> components in the dimensions before: U(3, num_cells). `stream`: of a GPU; what it holds now makes the
    !> values. Without it that is the default stream.
    subroutine output_put_values(self, field, block, values, stream, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        type(hakobi_field_id), intent(in) :: field
        type(hakobi_block), intent(in) :: block
        type(*), intent(in), target :: values(..)
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(int64), target :: strides(max_rank)
        type(field_c) :: lent
        character(len=:), allocatable :: refused
        call lend_values(values, block, field%is_on_mesh, lent, strides, refused)
        call put_lent(self, field, block, lent, refused, stream, stat, errmsg)
    end subroutine

    !> The same for the values at an address, of `type` (hakobi_float64), in an array of the block's extents
    !> with `ghosts` layers around it, one number a dimension.
    subroutine output_put_values_at(self, field, block, address, type, ghosts, stream, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        type(hakobi_field_id), intent(in) :: field
        type(hakobi_block), intent(in) :: block
        type(c_ptr), intent(in) :: address
        integer(c_int), intent(in) :: type
        integer, intent(in), optional :: ghosts(:)
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(int64), target :: layers(max_dims)
        type(field_c) :: lent
        character(len=:), allocatable :: refused
        call lend_address(address, block, lent, layers, refused, ghosts)
        lent%type = type
        call put_lent(self, field, block, lent, refused, stream, stat, errmsg)
    end subroutine

    !> `lent` has the values. `refused`: why they cannot be put, or "".
    subroutine put_lent(self, field, block, lent, refused, stream, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        type(hakobi_field_id), intent(in) :: field
        type(hakobi_block), intent(in) :: block
        type(field_c), intent(in) :: lent
        character(len=*), intent(in) :: refused
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        if (len(refused) > 0) then
            call refuse_put(self, "field "//field%name//": "//refused, stat, errmsg)
            return
        end if
        call report(c_output_put_values(self%handle, field%number, block_for_c(block), lent%data, layout_for_c(lent, stream)), &
                    stat, errmsg)
    end subroutine

    !> The older form: a field, or a further block of it, described with each step, as `define` and `put` say.
    subroutine output_put(self, name, units, block, values, long_name, standard_name, dims, compression, significant_bits, &
                          attributes, fill_value, coordinates, is_static, on, stream, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        character(len=*), intent(in) :: name, units
        type(hakobi_block), intent(in) :: block
        type(*), intent(in), target :: values(..)
        character(len=*), intent(in), optional :: long_name, standard_name, dims, compression, coordinates, on
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        type(*), intent(in), optional, target :: fill_value(..)
        logical, intent(in), optional :: is_static
        integer, intent(in), optional :: significant_bits
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(int64), target :: strides(max_rank)
        type(field_c) :: field
        character(len=:), allocatable :: refused

        call lend_values(values, block, present(on), field, strides, refused)
        if (present(on) .and. len(refused) == 0) then
            field%on = findloc([character(len=6) :: "points", "cells"], on, dim=1)
            if (field%on == 0) refused = not_on_mesh
        end if
        call put_field(self, name, units, block, field, refused, long_name, standard_name, dims, compression, &
                       significant_bits, attributes, fill_value, coordinates, is_static, stream, stat, errmsg)
    end subroutine

    !> The same for the values at an address, of `type` (hakobi_float64).
    subroutine output_put_address(self, name, units, block, address, type, ghosts, long_name, standard_name, dims, compression, &
                                  significant_bits, attributes, fill_value, coordinates, is_static, stream, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        character(len=*), intent(in) :: name, units
        type(hakobi_block), intent(in) :: block
        type(c_ptr), intent(in) :: address
        integer(c_int), intent(in) :: type
        integer, intent(in), optional :: ghosts(:)
        character(len=*), intent(in), optional :: long_name, standard_name, dims, compression, coordinates
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        type(*), intent(in), optional, target :: fill_value(..)
        logical, intent(in), optional :: is_static
        integer, intent(in), optional :: significant_bits
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(int64), target :: layers(max_dims)
        type(field_c) :: field
        character(len=:), allocatable :: refused

        call lend_address(address, block, field, layers, refused, ghosts)
        field%type = type
        call put_field(self, name, units, block, field, refused, long_name, standard_name, dims, compression, &
                       significant_bits, attributes, fill_value, coordinates, is_static, stream, stat, errmsg)
    end subroutine

    !> `field` has the values; the rest is as in `put`. `refused`: why they cannot be put, or "".
    subroutine put_field(self, name, units, block, field, refused, long_name, standard_name, dims, compression, &
                         significant_bits, attributes, fill_value, coordinates, is_static, stream, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        character(len=*), intent(in) :: name, units
        character(len=:), allocatable, intent(inout) :: refused
        type(hakobi_block), intent(in) :: block
        type(field_c), intent(inout) :: field
        character(len=*), intent(in), optional :: long_name, standard_name, dims, compression, coordinates
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        type(*), intent(in), optional, target :: fill_value(..)
        logical, intent(in), optional :: is_static
        integer, intent(in), optional :: significant_bits
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(texts_for_c), target :: texts

        if (present(fill_value) .and. len(refused) == 0) call lend_fill(fill_value, field%type, field%fill_value, refused)
        if (len(refused) > 0) then
            call refuse_put(self, "field "//trim(name)//": "//refused, stat, errmsg)
            return
        end if
        if (present(stream)) field%stream = stream
        if (present(significant_bits)) field%significant_bits = int(significant_bits, c_int)
        field%is_static = yes_or_no(is_static)
        call lend_texts(texts, name, units, long_name, standard_name, dims, compression, coordinates, attributes)
        field%name = texts%name_at
        field%units = texts%units_at
        field%long_name = texts%long_name_at
        field%standard_name = texts%standard_name_at
        field%dims = texts%dims_at
        field%compression = texts%compression_at
        field%coordinates = texts%coordinates_at
        field%attributes = texts%attributes_at
        field%num_attributes = texts%num_attributes
        field%block = block_for_c(block)
        ! end_step reports wrong values, without a code here: this one says that nothing was recorded.
        call report(c_output_put(self%handle, field), stat, errmsg)
    end subroutine

    !> end_step reports `text`, on every rank.
    subroutine refuse_put(self, text, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        character(len=*), intent(in) :: text
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report_refused(c_output_refuse(self%handle, c_text(text)), text, stat, errmsg)
    end subroutine

    !> Sets the open step's mesh, before its first field; format "vtkhdf" only. Every rank puts its own part;
    !> without cells its arrays are empty. `points`: (3, num_points) reals. `connectivity`: the points of each
    !> cell in VTK's order, numbered from 1, or from `first_number`, on each rank. `offsets`: the number of
    !> entries of `connectivity` before each cell, and their total number: num_cells + 1 entries, the first
    !> one 0. Both are integers of 32 or 64 bits. `types`: VTK's, 8 bits. `ghosts`: 8 bits, 1 for a copy of
    !> another rank's cell. `motion`: "fixed", "moves" or "changes". All arrays are contiguous and unchanged
    !> until end_step returns, which reports errors in them.
    subroutine output_put_mesh(self, points, connectivity, offsets, types, ghosts, motion, first_number, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        type(*), intent(in), target :: points(..), connectivity(..), offsets(..), types(..)
        type(*), intent(in), optional, target :: ghosts(..)
        character(len=*), intent(in), optional :: motion
        integer, intent(in), optional :: first_number
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        character(kind=c_char), allocatable :: c_motion(:)
        integer(c_int64_t) :: first
        c_motion = c_text("fixed")
        if (present(motion)) c_motion = c_text(trim(motion))
        first = 1
        if (present(first_number)) first = first_number
        call report_mesh(c_fortran_put_mesh(self%handle, points, connectivity, offsets, types, ghosts, c_motion, first), &
                         stat, errmsg)
    end subroutine

    !> New coordinates of a moving mesh's points, (3, num_points), in every step after the one with put_mesh.
    subroutine output_put_points(self, points, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        type(*), intent(in), target :: points(..)
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report_mesh(c_fortran_put_points(self%handle, points), stat, errmsg)
    end subroutine

    !> Without stat= an error in a mesh does not stop the program here: end_step reports it on every rank.
    subroutine report_mesh(code, stat, errmsg)
        integer(c_int), intent(in) :: code
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        if (code /= 0 .and. .not. present(stat)) then
            if (index(text_of(c_error_text()), "the mesh: ") == 1) return
        end if
        call report(code, stat, errmsg)
    end subroutine

    !> Writes the step. Collective. Once ended it is whole, completed later or named as lost, however the
    !> program ends: without `close` MPI_Finalize completes it.
    subroutine output_end_step(self, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_output_end_step(self%handle), stat, errmsg)
    end subroutine

    !> Returns when every step that end_step has accepted has its final name. Collective, between steps.
    subroutine output_flush(self, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_output_flush(self%handle), stat, errmsg)
    end subroutine

    !> Completes pending work and releases everything. Collective; a second call does nothing.
    subroutine output_close(self, stat, errmsg)
        class(hakobi_output), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(c_int) :: code
        code = 0
        if (c_associated(self%handle)) then
            code = c_output_close(self%handle)
            call c_output_free(self%handle)
            self%handle = c_null_ptr
        end if
        call report(code, stat, errmsg)
    end subroutine

    !> The current method, never "auto"; "" if there is no output.
    function output_method(self) result(method)
        class(hakobi_output), intent(in) :: self
        character(len=:), allocatable :: method
        method = text_of(c_output_method(self%handle))
    end function

    !> How the steps are written and why, for people; "" if there is no output.
    function output_explain(self) result(text)
        class(hakobi_output), intent(in) :: self
        character(len=:), allocatable :: text
        text = text_of(c_output_explain(self%handle))
    end function

    function output_times(self) result(times)
        class(hakobi_output), intent(in) :: self
        type(hakobi_output_times) :: times
        call report(c_output_get_times(self%handle, times))
    end function

    !> Assembles files from the pieces that per-process left in `path`, a folder or a prefix, and completes
    !> the steps that a killed run had stored there. Local: no MPI.
    subroutine hakobi_gather_pieces(path, num_files, num_incomplete, stat, errmsg)
        character(len=*), intent(in) :: path
        integer, intent(out), optional :: num_files, num_incomplete
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(c_ptr) :: result
        integer(c_int) :: code
        if (present(num_files)) num_files = 0
        if (present(num_incomplete)) num_incomplete = 0
        code = c_gather_pieces(c_text(trim(path)), result)
        if (code == 0) then
            if (present(num_files)) then
                do while (c_associated(c_gather_result_file(result, int(num_files, c_int))))
                    num_files = num_files + 1
                end do
            end if
            if (present(num_incomplete)) then
                do while (c_associated(c_gather_result_incomplete(result, int(num_incomplete, c_int))))
                    num_incomplete = num_incomplete + 1
                end do
            end if
            call c_gather_result_free(result)
        end if
        call report(code, stat, errmsg)
    end subroutine

end module
