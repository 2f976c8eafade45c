!> Several outputs from one put a field and step: its values at some steps, and their means, extremes and
!> others over intervals (hakobi/outputs.hpp, docs/outputs.md).
!>
!>     type(hakobi_outputs) :: outs
!>     call outs%create(comm, "run.state", time_units="seconds since 2000-01-01")  ! collective
!>     t = outs%define("t", "K", [nx, ny])                               ! local; type(hakobi_field_id)
!>     call outs%add("hourly", "1h", [hakobi_derived("t")], axes=axes)   ! collective
!>     call outs%add("daily", "1 day", [hakobi_derived("t", "mean"), hakobi_derived("t", "maximum")])
!>     call outs%begin_step(time_s)
!>     call outs%put(t, block, values)                                   ! unchanged until end_step returns
!>     call outs%end_step()                                              ! collective
!>     call outs%close()                                                 ! collective
!>
!> Errors are reported as the module hakobi says. A copy of an object refers to the same outputs.
module hakobi_outputs_module
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real64
    use hakobi, only: hakobi_comm
    use hakobi_c
    use hakobi_values
    use hakobi_options
    implicit none
    private
    public :: hakobi_outputs, hakobi_derived

    !> A field of an output, made of the one called `of` that is put: hakobi_derived("t", "mean"). What is not
    !> allocated, or 0, is the field's; `name` is "t_mean" then. hakobi::DerivedField says more of each.
    type :: hakobi_derived
        character(len=:), allocatable :: of
        character(len=:), allocatable :: cell_method
        character(len=:), allocatable :: name
        character(len=:), allocatable :: long_name
        type(hakobi_attribute), allocatable :: attributes(:)
        character(len=:), allocatable :: compression
        integer :: significant_bits = 0
        character(len=:), allocatable :: store_as
    end type

    !> The outputs of a program. Each has its steps at the ends of its intervals.
    type :: hakobi_outputs
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: create => outputs_create
        generic :: define => outputs_define, outputs_define_int32
        procedure :: add => outputs_add
        procedure :: resume_time => outputs_resume_time
        procedure :: begin_step => outputs_begin_step
        generic :: put => outputs_put, outputs_put_at
        procedure :: end_step => outputs_end_step
        procedure :: checkpoint => outputs_checkpoint
        procedure :: close => outputs_close
        procedure :: explain => outputs_explain
        procedure, private :: outputs_define, outputs_define_int32, outputs_put, outputs_put_at
    end type

contains

    !> Collective over `comm`; everything but stat and errmsg equal on all ranks. `prefix`: of the
    !> checkpoints. `begin_time`: when the run began, in time_units; without it that is its first step.
    !> `if_exists`: "fail", "replace" or "resume", of all outputs. `resume_at`: the time of a checkpoint;
    !> without it "resume" goes on from the newest one.
    subroutine outputs_create(self, comm, prefix, time_units, calendar, begin_time, if_exists, resume_at, stat, errmsg)
        class(hakobi_outputs), intent(inout) :: self
        type(hakobi_comm), intent(in) :: comm
        character(len=*), intent(in) :: prefix
        character(len=*), intent(in), optional :: time_units, calendar, if_exists
        real(real64), intent(in), optional :: begin_time, resume_at
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(outputs_options_c) :: options
        character(kind=c_char), allocatable, target :: c_time_units(:), c_calendar(:)
        character(len=:), allocatable :: refused

        refused = ""
        call lend_text(time_units, c_time_units, options%time_units)
        call lend_text(calendar, c_calendar, options%calendar)
        call lend_if_exists(if_exists, options%if_exists, refused)
        if (present(begin_time)) then
            options%has_begin_time = hakobi_yes
            options%begin_time = begin_time
        end if
        if (present(resume_at)) then
            options%has_resume_at = hakobi_yes
            options%resume_at = resume_at
        end if
        if (len(refused) > 0) then
            call report(c_comm_refuse(comm%c_handle(), c_text(refused)), stat, errmsg)
        else
            call report(c_outputs_create(comm%c_handle(), c_text(trim(prefix)), options, self%handle), stat, errmsg)
        end if
    end subroutine

    !> Defines a field that is put. Local, in the same order on all ranks; arguments as in the define of
    !> hakobi_output, without those of meshes. Derived fields that say no compression, significant_bits or
    !> store_as have these.
    function outputs_define(self, name, units, global, type, long_name, standard_name, dims, compression, significant_bits, &
                            attributes, fill_value, coordinates, is_static, store_as, stat, errmsg) result(field)
        class(hakobi_outputs), intent(in) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(in), optional :: units, long_name, standard_name, dims, compression, coordinates, store_as
        integer(int64), intent(in), optional :: global(:)
        integer(c_int), intent(in), optional :: type
        integer, intent(in), optional :: significant_bits
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        type(*), intent(in), optional, target :: fill_value(..)
        logical, intent(in), optional :: is_static
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(hakobi_field_id) :: field
        type(definition_for_c), target :: made
        character(len=:), allocatable :: refused
        call lend_definition(made, field, refused, name, units, global, type, long_name, standard_name, dims, compression, &
                             significant_bits, attributes, fill_value, coordinates, is_static, store_as=store_as)
        if (len(refused) > 0) then
            call report(c_refuse(c_text("field "//trim(name)//": "//refused)), stat, errmsg)
        else
            call report(c_outputs_define(self%handle, made%definition, field%number), stat, errmsg)
        end if
    end function

    function outputs_define_int32(self, name, units, global, type, long_name, standard_name, dims, compression, &
                                  significant_bits, attributes, fill_value, coordinates, is_static, store_as, stat, errmsg) &
        result(field)
        class(hakobi_outputs), intent(in) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(in), optional :: units, long_name, standard_name, dims, compression, coordinates, store_as
        integer(int32), intent(in) :: global(:)
        integer(c_int), intent(in), optional :: type
        integer, intent(in), optional :: significant_bits
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        type(*), intent(in), optional, target :: fill_value(..)
        logical, intent(in), optional :: is_static
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(hakobi_field_id) :: field
        field = outputs_define(self, name, units, int(global, int64), type, long_name, standard_name, dims, compression, &
                               significant_bits, attributes, fill_value, coordinates, is_static, store_as, stat, errmsg)
    end function

    !> Adds an output with these fields, which has a step at the end of each interval. Collective; everything
    !> but stat and errmsg equal on all ranks; before the first step. `every`: "" each step; "10 steps", "6h",
    !> "1 day", "month", "year", a number in time_units; "run": all of the run, written by close. The others
    !> are those of hakobi_output's create.
    subroutine outputs_add(self, prefix, every, fields, method, axes, title, sync, asynchronous, writer_stride, buffer_bytes, &
                           keep_pieces, hints, format, compression, significant_bits, asynchronous_bytes, attributes, overview, &
                           steps_per_file, stage, stage_bytes, stage_bytes_s, stage_patience_s, store_as, stat, errmsg)
        class(hakobi_outputs), intent(inout) :: self
        character(len=*), intent(in) :: prefix, every
        type(hakobi_derived), intent(in), target :: fields(:)
        character(len=*), intent(in), optional :: method, title, hints, format, compression, stage, store_as
        type(hakobi_axis), intent(in), optional, target :: axes(:)
        type(hakobi_attribute), intent(in), optional, target :: attributes(:)
        logical, intent(in), optional :: sync, asynchronous, keep_pieces, overview
        integer, intent(in), optional :: writer_stride, significant_bits
        integer(int64), intent(in), optional :: buffer_bytes, asynchronous_bytes, steps_per_file
        integer(int64), intent(in), optional :: stage_bytes, stage_bytes_s, stage_patience_s
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(output_options_for_c), target :: made
        type(derived_field_c) :: c_fields(size(fields))
        type(attributes_for_c), target :: c_attributes(size(fields))
        character(kind=c_char), allocatable, target :: texts(:)
        character(len=:), allocatable :: refused
        integer :: i, at

        call lend_output_options(made, refused, method, axes, title, sync=sync, asynchronous=asynchronous, &
                                 writer_stride=writer_stride, buffer_bytes=buffer_bytes, keep_pieces=keep_pieces, hints=hints, &
                                 format=format, compression=compression, significant_bits=significant_bits, &
                                 asynchronous_bytes=asynchronous_bytes, attributes=attributes, overview=overview, &
                                 steps_per_file=steps_per_file, stage=stage, stage_bytes=stage_bytes, &
                                 stage_bytes_s=stage_bytes_s, stage_patience_s=stage_patience_s, store_as=store_as)
        allocate (texts(sum([(room_of_derived(fields(i)), i=1, size(fields))])))
        at = 1
        do i = 1, size(fields)
            associate (from => fields(i), to => c_fields(i))
                call keep_text(from%of, texts, at, to%of)
                call keep_text(from%cell_method, texts, at, to%cell_method)
                call keep_text(from%name, texts, at, to%name)
                call keep_text(from%long_name, texts, at, to%long_name)
                call keep_text(from%compression, texts, at, to%compression)
                call keep_text(from%store_as, texts, at, to%store_as)
                to%significant_bits = int(from%significant_bits, c_int)
                if (allocated(from%attributes)) then
                    call put_attributes(from%attributes, c_attributes(i))
                    to%num_attributes = size(from%attributes, kind=c_int64_t)
                    if (size(from%attributes) > 0) to%attributes = c_loc(c_attributes(i)%entries)
                end if
            end associate
        end do
        if (len(refused) > 0) then
            call report(c_outputs_refuse_add(self%handle, c_text(refused)), stat, errmsg)
        else
            call report(c_outputs_add(self%handle, c_text(trim(prefix)), made%options, c_text(trim(every)), c_fields, &
                                      size(fields, kind=c_int64_t)), stat, errmsg)
        end if
    end subroutine

    !> Characters that the texts of a field take at most.
    pure integer function room_of_derived(field)
        type(hakobi_derived), intent(in) :: field
        room_of_derived = room_of(field%of) + room_of(field%cell_method) + room_of(field%name) + room_of(field%long_name) + &
                          room_of(field%compression) + room_of(field%store_as)
    end function

    !> The time of the checkpoint that the run goes on from, whose first step is a later one. Without one
    !> `is_resumed` is false, and the run begins. Local.
    function outputs_resume_time(self, is_resumed, stat, errmsg) result(time)
        class(hakobi_outputs), intent(in) :: self
        logical, intent(out) :: is_resumed
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        real(real64) :: time
        integer(c_int) :: found
        found = 0
        time = 0
        call report(c_outputs_resume_time(self%handle, found, time), stat, errmsg)
        is_resumed = found /= 0
    end function

    !> Opens a step at a time later than the one before. Every rank calls it; it does not communicate.
    subroutine outputs_begin_step(self, time, stat, errmsg)
        class(hakobi_outputs), intent(inout) :: self
        real(real64), intent(in) :: time
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_outputs_begin_step(self%handle, time), stat, errmsg)
    end subroutine

    !> Puts this rank's block of a field into the open step, or a further one, as the put of hakobi_output
    !> does. A field has the same blocks in each step.
    subroutine outputs_put(self, field, block, values, stream, stat, errmsg)
        class(hakobi_outputs), intent(inout) :: self
        type(hakobi_field_id), intent(in) :: field
        type(hakobi_block), intent(in) :: block
        type(*), intent(in), target :: values(..)
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(int64), target :: strides(max_rank)
        type(field_c) :: lent
        character(len=:), allocatable :: refused
        call lend_values(values, block, .false., lent, strides, refused)
        call put_lent(self, field, block, lent, refused, stream, stat, errmsg)
    end subroutine

    !> The same for the values at an address, of `type` (hakobi_float64), in an array of the block's extents
    !> with `ghosts` layers around it, one number a dimension.
    subroutine outputs_put_at(self, field, block, address, type, ghosts, stream, stat, errmsg)
        class(hakobi_outputs), intent(inout) :: self
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
        class(hakobi_outputs), intent(inout) :: self
        type(hakobi_field_id), intent(in) :: field
        type(hakobi_block), intent(in) :: block
        type(field_c), intent(in) :: lent
        character(len=*), intent(in) :: refused
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        character(len=:), allocatable :: text
        if (len(refused) > 0) then
            text = "field "//field%name//": "//refused
            call report_refused(c_outputs_refuse(self%handle, c_text(text)), text, stat, errmsg)
            return
        end if
        call report(c_outputs_put(self%handle, field%number, block_for_c(block), lent%data, layout_for_c(lent, stream)), &
                    stat, errmsg)
    end subroutine

    !> Adds the values to what they belong to, and writes the outputs that have a step here. Collective. A
    !> mistake in a step is an error where the next one is written.
    subroutine outputs_end_step(self, stat, errmsg)
        class(hakobi_outputs), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_outputs_end_step(self%handle), stat, errmsg)
    end subroutine

    !> Stores what has accumulated up to the last step: a run can go on from here. Collective.
    subroutine outputs_checkpoint(self, stat, errmsg)
        class(hakobi_outputs), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_outputs_checkpoint(self%handle), stat, errmsg)
    end subroutine

    !> Writes the outputs of "run", stores a checkpoint, closes all outputs and releases everything.
    !> Collective; a second call does nothing.
    subroutine outputs_close(self, stat, errmsg)
        class(hakobi_outputs), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(c_int) :: code
        code = 0
        if (c_associated(self%handle)) then
            code = c_outputs_close(self%handle)
            call c_outputs_free(self%handle)
            self%handle = c_null_ptr
        end if
        call report(code, stat, errmsg)
    end subroutine

    !> A text for people, a line an output; "" if there are none.
    function outputs_explain(self) result(text)
        class(hakobi_outputs), intent(in) :: self
        character(len=:), allocatable :: text
        text = text_of(c_outputs_explain(self%handle))
    end function

end module
