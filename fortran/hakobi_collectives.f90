!> Collective operations that know the network's shape (hakobi/collectives.hpp), from Fortran.
!>
!>     use hakobi; use hakobi_collectives
!>     type(hakobi_collective_group) :: group
!>     type(hakobi_collective_plan)  :: dot
!>     call group%create(comm, "hypercrossbar:16,16,10")                         ! collective
!>     call group%allreduce(dot, hakobi_complex128, hakobi_sum, 1_int64)         ! collective: planning
!>     call dot%execute(c_loc(local), c_loc(global))                             ! collective, many times
!>     call dot%free(); call group%free()                                        ! free of the group: collective
!>
!> Memory is given by c_loc, since plans take arrays of every type and rank: it must be contiguous (and have
!> the target attribute), and has the sizes that hakobi.h states. It may be a GPU's: it is used when what
!> `stream` holds at `start` is done, and what that is given after `wait` begins when the output is there.
!> Without `stream` it is the default one, and `wait` waits itself. Errors are those of the module hakobi:
!> stat= and errmsg=.
module hakobi_collectives
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64
    use hakobi_c_interface
    use hakobi_c, only: lend_text, report, text_of, yes_or_no
    use hakobi, only: hakobi_comm
    implicit none
    private
    public :: hakobi_collective_group, hakobi_collective_plan

    public :: hakobi_float64, hakobi_float32, hakobi_int32, hakobi_int64, hakobi_complex128, hakobi_complex64
    public :: hakobi_sum, hakobi_product, hakobi_minimum, hakobi_maximum

    !> A planned operation. A copy names the same plan; `free` does not communicate.
    type :: hakobi_collective_plan
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: execute => plan_execute
        procedure :: start => plan_start
        procedure :: wait => plan_wait
        procedure :: explain => plan_explain
        procedure :: free => plan_free
    end type

    !> The operations of one communicator on a declared network (hakobi::Collectives).
    type :: hakobi_collective_group
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: create => group_create
        procedure :: allreduce => group_allreduce
        procedure :: alltoall => group_alltoall
        procedure :: allgather => group_allgather
        procedure :: broadcast => group_broadcast
        procedure :: free => group_free
    end type

contains

    !> Collective over `comm`; all arguments equal on all ranks. `method`: auto, model or mpi.
    subroutine group_create(self, comm, topology, method, reproducible, stat, errmsg)
        class(hakobi_collective_group), intent(inout) :: self
        type(hakobi_comm), intent(in) :: comm
        character(len=*), intent(in), optional :: topology, method
        logical, intent(in), optional :: reproducible
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(collectives_options_c) :: options
        character(kind=c_char), allocatable, target :: c_topology(:), c_method(:)
        call lend_text(topology, c_topology, options%topology)
        call lend_text(method, c_method, options%method)
        options%is_reproducible = yes_or_no(reproducible)
        call report(c_collectives_create(comm%c_handle(), options, self%handle), stat, errmsg)
    end subroutine

    subroutine group_allreduce(self, plan, type, reduction, count, stat, errmsg)
        class(hakobi_collective_group), intent(in) :: self
        class(hakobi_collective_plan), intent(inout) :: plan
        integer(c_int), intent(in) :: type, reduction
        integer(int64), intent(in) :: count
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_collectives_allreduce(self%handle, type, reduction, count, plan%handle), stat, errmsg)
    end subroutine

    subroutine group_alltoall(self, plan, block_bytes, stat, errmsg)
        class(hakobi_collective_group), intent(in) :: self
        class(hakobi_collective_plan), intent(inout) :: plan
        integer(int64), intent(in) :: block_bytes
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_collectives_alltoall(self%handle, block_bytes, plan%handle), stat, errmsg)
    end subroutine

    subroutine group_allgather(self, plan, block_bytes, stat, errmsg)
        class(hakobi_collective_group), intent(in) :: self
        class(hakobi_collective_plan), intent(inout) :: plan
        integer(int64), intent(in) :: block_bytes
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_collectives_allgather(self%handle, block_bytes, plan%handle), stat, errmsg)
    end subroutine

    subroutine group_broadcast(self, plan, bytes, root, stat, errmsg)
        class(hakobi_collective_group), intent(in) :: self
        class(hakobi_collective_plan), intent(inout) :: plan
        integer(int64), intent(in) :: bytes
        integer, intent(in) :: root
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_collectives_broadcast(self%handle, bytes, int(root, c_int), plan%handle), stat, errmsg)
    end subroutine

    subroutine group_free(self, stat, errmsg)
        class(hakobi_collective_group), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(c_ptr) :: handle
        handle = self%handle
        self%handle = c_null_ptr
        call report(c_collectives_free(handle), stat, errmsg)
    end subroutine

    !> Collective. `input` may be `output`; a broadcast takes c_null_ptr.
    subroutine plan_execute(self, input, output, stat, errmsg)
        class(hakobi_collective_plan), intent(in) :: self
        type(c_ptr), intent(in) :: input, output
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_collective_plan_execute(self%handle, input, output), stat, errmsg)
    end subroutine

    !> The memory is lent until `wait` returns; give it the asynchronous attribute.
    subroutine plan_start(self, input, output, stream, stat, errmsg)
        class(hakobi_collective_plan), intent(in) :: self
        type(c_ptr), intent(in) :: input, output
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        if (present(stream)) then
            call report(c_collective_plan_start_on(self%handle, input, output, stream), stat, errmsg)
        else
            call report(c_collective_plan_start(self%handle, input, output), stat, errmsg)
        end if
    end subroutine

    subroutine plan_wait(self, stream, stat, errmsg)
        class(hakobi_collective_plan), intent(in) :: self
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        if (present(stream)) then
            call report(c_collective_plan_wait_on(self%handle, stream), stat, errmsg)
        else
            call report(c_collective_plan_wait(self%handle), stat, errmsg)
        end if
    end subroutine

    function plan_explain(self) result(text)
        class(hakobi_collective_plan), intent(in) :: self
        character(len=:), allocatable :: text
        text = text_of(c_collective_plan_explain(self%handle))
    end function

    subroutine plan_free(self)
        class(hakobi_collective_plan), intent(inout) :: self
        call c_collective_plan_free(self%handle)
        self%handle = c_null_ptr
    end subroutine

end module
