!> Exchange between the ranks of a grid (hakobi/halo.hpp, buffer_array.hpp, topology.hpp), from Fortran.
!>
!>     use hakobi; use hakobi_exchange
!>     type(hakobi_halo_grid) :: grid
!>     type(hakobi_halo)      :: halo
!>     grid = hakobi_halo_grid(extents=[nx, ny], ghosts=[1, 1], ranks=[1, 2], is_periodic=[.true., .true.])
!>     call memory%allocate(comm, grid%bytes(8_int64))                        ! collective; or any array of yours
!>     call c_f_pointer(memory%address(), eta, int([nx + 2, ny + 2]))
!>     call halo%add(grid, eta)                                               ! local, a call for each field
!>     call halo%plan(comm, grid)                                             ! collective
!>     call halo%start(); ...; call halo%wait()                               ! many times
!>
!> Dimensions are in Fortran's order, the fastest first, as in hakobi_split. A field is a contiguous array of
!> the grid's extents with its ghosts, with the target attribute; one dimension more holds components: the
!> first (eta(3, nx, ny)), or the last with components_last=.true. (eta(nx, ny, 3)). Ranks count from 0, the
!> first dimension varying fastest.
!>
!> Fields and pieces may be in memory of a GPU, as for the module hakobi; `add` takes an address, too, with
!> the bytes of an element. They are used when what `stream` holds at `start` is done, and what that is given
!> after `wait` begins when the ghosts are there. Without `stream` it is the default one, and `wait` waits
!> itself.
!>
!> Errors are those of the module hakobi: stat= and errmsg=. `plan` reports on every rank what `add` refuses.
!> Objects hold a handle: a copy names the same object; nothing is freed without a call that says so.
module hakobi_exchange
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
    use hakobi_c, only: c_text, decimal, lend_text, report, text_of, yes_or_no
    use hakobi_c_interface, hakobi_traffic => traffic_c
    use hakobi, only: hakobi_comm
    implicit none
    private
    public :: hakobi_halo_grid, hakobi_halo, hakobi_shared, hakobi_buffer_arrays, hakobi_buffer_array
    public :: hakobi_topology, hakobi_traffic

    !> A grid of 1 to 5 dimensions that ranks divide among them; the first num_dims entries count.
    type :: hakobi_halo_grid
        integer :: num_dims = 0
        integer(int64) :: extents(max_halo_dims) = 0  !< this rank's own elements, without ghosts
        integer(int64) :: ghosts_low(max_halo_dims) = 0, ghosts_high(max_halo_dims) = 0
        integer :: ranks(max_halo_dims) = 1
        logical :: is_periodic(max_halo_dims) = .false.
    contains
        !> The bytes of a field with its ghosts.
        procedure :: bytes => grid_bytes
    end type

    !> hakobi_halo_grid(extents, ghosts, ranks, is_periodic): as many ghosts above as below. Local.
    interface hakobi_halo_grid
        procedure :: make_grid_int32, make_grid_int64
    end interface

    !> Memory that the ranks of a node share: halos exchange it by one copy.
    type :: hakobi_shared
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: allocate => shared_allocate
        procedure :: address => shared_address
        procedure :: free => shared_free
    end type

    !> Ghost layers of fields, exchanged between the ranks of a grid.
    type :: hakobi_halo
        private
        type(c_ptr) :: handle = c_null_ptr
        type(halo_field_c), allocatable :: fields(:)
        character(len=:), allocatable :: refused
    contains
        generic :: add => add_real64, add_real32, add_int32, add_int64, add_address
        procedure :: plan => halo_plan
        procedure :: start => halo_start
        procedure :: wait => halo_wait
        procedure :: explain => halo_explain
        procedure :: free => halo_free
        procedure, private :: add_real64, add_real32, add_int32, add_int64, add_address
    end type

    !> Where a communicator's buffer arrays come from.
    type :: hakobi_buffer_arrays
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: get => arrays_get
        procedure :: make => arrays_make
        procedure :: path_to => arrays_path_to
        procedure :: free => arrays_free
    end type

    !> A list of pieces of memory that is sent or received as one.
    type :: hakobi_buffer_array
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: append => list_append
        procedure :: release => list_release
        procedure :: bytes => list_bytes
        procedure :: send => list_send
        procedure :: receive => list_receive
        procedure :: done => list_done
        procedure :: wait => list_wait
        procedure :: free => list_free
    end type

    !> The node, and the socket of it, that each rank is on.
    type :: hakobi_topology
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: discover => topology_discover
        procedure :: declare => topology_declare
        procedure :: num_nodes => topology_num_nodes
        procedure :: node_of => topology_node_of
        procedure :: reorder => topology_reorder
        procedure :: free => topology_free
    end type

contains

    pure function make_grid_int64(extents, ghosts, ranks, is_periodic) result(grid)
        integer(int64), intent(in) :: extents(:)
        integer, intent(in) :: ghosts(:), ranks(:)
        logical, intent(in), optional :: is_periodic(:)
        type(hakobi_halo_grid) :: grid
        integer :: n
        grid%num_dims = size(extents)
        n = min(size(extents), max_halo_dims)
        if (size(ghosts) /= n .or. size(ranks) /= n) then
            grid%num_dims = -1  ! `plan` refuses it, on every rank
            return
        end if
        grid%extents(:n) = extents(:n)
        grid%ghosts_low(:n) = ghosts
        grid%ghosts_high(:n) = ghosts
        grid%ranks(:n) = ranks
        if (present(is_periodic)) grid%is_periodic(:n) = is_periodic(:n)
    end function

    pure function make_grid_int32(extents, ghosts, ranks, is_periodic) result(grid)
        integer(int32), intent(in) :: extents(:)
        integer, intent(in) :: ghosts(:), ranks(:)
        logical, intent(in), optional :: is_periodic(:)
        type(hakobi_halo_grid) :: grid
        grid = make_grid_int64(int(extents, int64), ghosts, ranks, is_periodic)
    end function

    pure function grid_shape(grid) result(shape)
        type(hakobi_halo_grid), intent(in) :: grid
        integer(int64), allocatable :: shape(:)
        integer :: n
        n = grid%num_dims
        shape = grid%extents(:n) + grid%ghosts_low(:n) + grid%ghosts_high(:n)
    end function

    pure integer(int64) function grid_bytes(self, element_bytes) result(bytes)
        class(hakobi_halo_grid), intent(in) :: self
        integer(int64), intent(in) :: element_bytes
        bytes = element_bytes*product(grid_shape(self))
    end function

    !> Collective over `comm`; sizes may differ. Zeros at first.
    subroutine shared_allocate(self, comm, bytes, stat, errmsg)
        class(hakobi_shared), intent(inout) :: self
        type(hakobi_comm), intent(in) :: comm
        integer(int64), intent(in) :: bytes
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_shared_allocate(comm%c_handle(), bytes, self%handle), stat, errmsg)
    end subroutine

    !> For c_f_pointer.
    function shared_address(self) result(address)
        class(hakobi_shared), intent(in) :: self
        type(c_ptr) :: address
        address = c_shared_data(self%handle)
    end function

    !> Never communicates.
    subroutine shared_free(self)
        class(hakobi_shared), intent(inout) :: self
        call c_shared_free(self%handle)
        self%handle = c_null_ptr
    end subroutine

    subroutine add_real64(self, grid, values, components_last)
        class(hakobi_halo), intent(inout) :: self
        type(hakobi_halo_grid), intent(in) :: grid
        real(real64), intent(in), target :: values(..)
        logical, intent(in), optional :: components_last
        integer :: d
        call add(self, grid, address_of(is_contiguous(values), c_loc(values)), 8_int64, &
                 [(size(values, d, int64), d=1, rank(values))], components_last)
    end subroutine

    subroutine add_real32(self, grid, values, components_last)
        class(hakobi_halo), intent(inout) :: self
        type(hakobi_halo_grid), intent(in) :: grid
        real(real32), intent(in), target :: values(..)
        logical, intent(in), optional :: components_last
        integer :: d
        call add(self, grid, address_of(is_contiguous(values), c_loc(values)), 4_int64, &
                 [(size(values, d, int64), d=1, rank(values))], components_last)
    end subroutine

    subroutine add_int32(self, grid, values, components_last)
        class(hakobi_halo), intent(inout) :: self
        type(hakobi_halo_grid), intent(in) :: grid
        integer(int32), intent(in), target :: values(..)
        logical, intent(in), optional :: components_last
        integer :: d
        call add(self, grid, address_of(is_contiguous(values), c_loc(values)), 4_int64, &
                 [(size(values, d, int64), d=1, rank(values))], components_last)
    end subroutine

    subroutine add_int64(self, grid, values, components_last)
        class(hakobi_halo), intent(inout) :: self
        type(hakobi_halo_grid), intent(in) :: grid
        integer(int64), intent(in), target :: values(..)
        logical, intent(in), optional :: components_last
        integer :: d
        call add(self, grid, address_of(is_contiguous(values), c_loc(values)), 8_int64, &
                 [(size(values, d, int64), d=1, rank(values))], components_last)
    end subroutine

    subroutine add_address(self, grid, address, element_bytes, num_components, components_last)
        class(hakobi_halo), intent(inout) :: self
        type(hakobi_halo_grid), intent(in) :: grid
        type(c_ptr), intent(in) :: address
        integer(int64), intent(in) :: element_bytes
        integer, intent(in), optional :: num_components
        logical, intent(in), optional :: components_last
        integer(int64), allocatable :: shape(:)
        logical :: is_last
        is_last = .false.
        if (present(components_last)) is_last = components_last
        shape = grid_shape(grid)
        if (present(num_components)) then
            if (is_last) shape = [shape, int(num_components, int64)]
            if (.not. is_last) shape = [int(num_components, int64), shape]
        end if
        call add(self, grid, address, element_bytes, shape, components_last)
    end subroutine

    function address_of(is_contiguous, address) result(found)
        logical, intent(in) :: is_contiguous
        type(c_ptr), intent(in) :: address
        type(c_ptr) :: found
        found = c_null_ptr
        if (is_contiguous) found = address
    end function

    subroutine add(self, grid, address, element_bytes, shape, components_last)
        type(hakobi_halo), intent(inout) :: self
        type(hakobi_halo_grid), intent(in) :: grid
        type(c_ptr), intent(in) :: address
        integer(int64), intent(in) :: element_bytes, shape(:)
        logical, intent(in), optional :: components_last
        type(halo_field_c) :: field
        integer(int64), allocatable :: dims(:)
        integer(int64) :: stride, first
        integer :: n, d
        logical :: is_last
        if (.not. allocated(self%fields)) allocate (self%fields(0))
        n = grid%num_dims
        if (n < 1 .or. n > max_halo_dims) return  ! `plan` refuses the grid
        is_last = .false.
        if (present(components_last)) is_last = components_last
        dims = shape
        field%element_bytes = element_bytes
        field%component_stride_bytes = element_bytes
        stride = element_bytes
        if (size(shape) == n + 1) then
            dims = merge(shape(:n), shape(2:), is_last)
            field%num_components = merge(shape(n + 1), shape(1), is_last)
            if (is_last) field%component_stride_bytes = element_bytes*product(dims)
            if (.not. is_last) stride = element_bytes*field%num_components
        end if
        if (.not. c_associated(address)) then
            call refuse(self, "is no contiguous array")
            return
        else if (size(dims) /= n) then
            call refuse(self, "has "//decimal(int(size(shape), int64))//" dimensions, the grid "//decimal(int(n, int64)))
            return
        else if (any(dims /= grid_shape(grid))) then
            call refuse(self, "has another shape than the grid with its ghosts")
            return
        end if
        first = 0
        do d = 1, n
            field%strides_bytes(n + 1 - d) = stride  ! C has the slowest dimension first
            first = first + grid%ghosts_low(d)*stride
            stride = stride*dims(d)
        end do
        field%data = transfer(transfer(address, 0_c_intptr_t) + int(first, c_intptr_t), address)
        self%fields = [self%fields, field]
    end subroutine

    subroutine refuse(self, text)
        type(hakobi_halo), intent(inout) :: self
        character(len=*), intent(in) :: text
        if (.not. allocated(self%refused)) &
            self%refused = "field "//decimal(int(size(self%fields) + 1, int64))//" "//text
    end subroutine

    !> Collective over `comm`. `grid` without its extents, the options and the fields' kinds and components
    !> are equal on all ranks. The fields' memory is lent until `free`. path: auto, direct, deposit, cma,
    !> staged, packed, parts, datatype.
    subroutine halo_plan(self, comm, grid, corners, path, timeout_s, stat, errmsg)
        class(hakobi_halo), intent(inout) :: self
        type(hakobi_comm), intent(in) :: comm
        type(hakobi_halo_grid), intent(in) :: grid
        logical, intent(in), optional :: corners
        character(len=*), intent(in), optional :: path
        real(real64), intent(in), optional :: timeout_s
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(halo_grid_c) :: c_grid
        type(halo_options_c) :: options
        character(kind=c_char), allocatable, target :: c_path(:)
        integer(c_int) :: code
        integer :: n
        n = grid%num_dims
        c_grid%num_dims = n
        if (n >= 1 .and. n <= max_halo_dims) then
            c_grid%extents(:n) = grid%extents(n:1:-1)
            c_grid%ghosts_low(:n) = grid%ghosts_low(n:1:-1)
            c_grid%ghosts_high(:n) = grid%ghosts_high(n:1:-1)
            c_grid%ranks(:n) = grid%ranks(n:1:-1)
            c_grid%is_periodic(:n) = merge(1_c_int, 0_c_int, grid%is_periodic(n:1:-1))
        end if
        if (.not. allocated(self%fields)) allocate (self%fields(0))
        call lend_text(path, c_path, options%path)
        options%corners = yes_or_no(corners)
        if (present(timeout_s)) options%timeout_s = timeout_s
        if (allocated(self%refused)) then
            code = c_comm_refuse(comm%c_handle(), c_text("Halo::plan: "//self%refused))
            deallocate (self%refused)
        else
            code = c_halo_plan(comm%c_handle(), c_grid, int(size(self%fields), c_int), self%fields, options, self%handle)
        end if
        deallocate (self%fields)
        call report(code, stat, errmsg)
    end subroutine

    !> Until `wait` has returned, ghosts are neither read nor written, own elements that are ghosts elsewhere
    !> not written.
    subroutine halo_start(self, stream, stat, errmsg)
        class(hakobi_halo), intent(in) :: self
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        if (present(stream)) then
            call report(c_halo_start_on(self%handle, stream), stat, errmsg)
        else
            call report(c_halo_start(self%handle), stat, errmsg)
        end if
    end subroutine

    subroutine halo_wait(self, stream, stat, errmsg)
        class(hakobi_halo), intent(in) :: self
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        if (present(stream)) then
            call report(c_halo_wait_on(self%handle, stream), stat, errmsg)
        else
            call report(c_halo_wait(self%handle), stat, errmsg)
        end if
    end subroutine

    function halo_explain(self) result(text)
        class(hakobi_halo), intent(in) :: self
        character(len=:), allocatable :: text
        text = text_of(c_halo_explain(self%handle))
    end function

    !> Never communicates.
    subroutine halo_free(self)
        class(hakobi_halo), intent(inout) :: self
        call c_halo_free(self%handle)
        self%handle = c_null_ptr
    end subroutine

    !> Collective over `comm`; the options are equal on all ranks. path: auto, cma or packed.
    subroutine arrays_get(self, comm, path, pack_bytes, stat, errmsg)
        class(hakobi_buffer_arrays), intent(inout) :: self
        type(hakobi_comm), intent(in) :: comm
        character(len=*), intent(in), optional :: path
        integer(int64), intent(in), optional :: pack_bytes
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        type(buffer_arrays_options_c) :: options
        character(kind=c_char), allocatable, target :: c_path(:)
        call lend_text(path, c_path, options%path)
        if (present(pack_bytes)) options%pack_bytes = pack_bytes
        call report(c_buffer_arrays_get(comm%c_handle(), options, self%handle), stat, errmsg)
    end subroutine

    !> An empty list. Local.
    subroutine arrays_make(self, list, stat, errmsg)
        class(hakobi_buffer_arrays), intent(in) :: self
        class(hakobi_buffer_array), intent(inout) :: list
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_buffer_array_make(self%handle, list%handle), stat, errmsg)
    end subroutine

    !> "cma" or "packed"; "" where there is no such rank. Local.
    function arrays_path_to(self, rank) result(text)
        class(hakobi_buffer_arrays), intent(in) :: self
        integer, intent(in) :: rank
        character(len=:), allocatable :: text
        text = text_of(c_buffer_arrays_path_to(self%handle, int(rank, c_int)))
    end function

    subroutine arrays_free(self)
        class(hakobi_buffer_arrays), intent(inout) :: self
        call c_buffer_arrays_free(self%handle)
        self%handle = c_null_ptr
    end subroutine

    !> A piece by c_loc, as lists take arrays of every type: lent while an operation is under way. Local.
    subroutine list_append(self, address, bytes, stat, errmsg)
        class(hakobi_buffer_array), intent(in) :: self
        type(c_ptr), intent(in) :: address
        integer(int64), intent(in) :: bytes
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_buffer_array_append(self%handle, address, bytes), stat, errmsg)
    end subroutine

    subroutine list_release(self, stat, errmsg)
        class(hakobi_buffer_array), intent(in) :: self
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_buffer_array_release(self%handle), stat, errmsg)
    end subroutine

    integer(int64) function list_bytes(self) result(bytes)
        class(hakobi_buffer_array), intent(in) :: self
        bytes = c_buffer_array_bytes(self%handle)
    end function

    !> Begin and return at once; tags go from 0 to 10,000. Give the pieces the asynchronous attribute.
    subroutine list_send(self, to, tag, stream, stat, errmsg)
        class(hakobi_buffer_array), intent(in) :: self
        integer, intent(in) :: to
        integer, intent(in), optional :: tag
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        if (present(stream)) then
            call report(c_buffer_array_send_on(self%handle, int(to, c_int), tag_of(tag), stream), stat, errmsg)
        else
            call report(c_buffer_array_send(self%handle, int(to, c_int), tag_of(tag)), stat, errmsg)
        end if
    end subroutine

    subroutine list_receive(self, from, tag, stream, stat, errmsg)
        class(hakobi_buffer_array), intent(in) :: self
        integer, intent(in) :: from
        integer, intent(in), optional :: tag
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        if (present(stream)) then
            call report(c_buffer_array_receive_on(self%handle, int(from, c_int), tag_of(tag), stream), stat, errmsg)
        else
            call report(c_buffer_array_receive(self%handle, int(from, c_int), tag_of(tag)), stat, errmsg)
        end if
    end subroutine

    pure integer(c_int) function tag_of(tag)
        integer, intent(in), optional :: tag
        tag_of = 0
        if (present(tag)) tag_of = int(tag, c_int)
    end function

    !> Whether the operation is over; moves it on.
    subroutine list_done(self, is_done, stat, errmsg)
        class(hakobi_buffer_array), intent(in) :: self
        logical, intent(out) :: is_done
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(c_int) :: code, done
        code = c_buffer_array_done(self%handle, done)
        is_done = done /= 0
        call report(code, stat, errmsg)
    end subroutine

    subroutine list_wait(self, stream, stat, errmsg)
        class(hakobi_buffer_array), intent(in) :: self
        type(c_ptr), intent(in), optional :: stream
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        if (present(stream)) then
            call report(c_buffer_array_wait_on(self%handle, stream), stat, errmsg)
        else
            call report(c_buffer_array_wait(self%handle), stat, errmsg)
        end if
    end subroutine

    subroutine list_free(self)
        class(hakobi_buffer_array), intent(inout) :: self
        call c_buffer_array_free(self%handle)
        self%handle = c_null_ptr
    end subroutine

    !> Asks the machine. Collective over `comm`.
    subroutine topology_discover(self, comm, stat, errmsg)
        class(hakobi_topology), intent(inout) :: self
        type(hakobi_comm), intent(in) :: comm
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        call report(c_topology_discover(comm%c_handle(), self%handle), stat, errmsg)
    end subroutine

    !> A node for each rank, from 0, and a socket for each, or none. Local.
    subroutine topology_declare(self, node_of_rank, socket_of_rank, stat, errmsg)
        class(hakobi_topology), intent(inout) :: self
        integer, intent(in) :: node_of_rank(:)
        integer, intent(in), optional :: socket_of_rank(:)
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(c_int), allocatable, target :: nodes(:), sockets(:)
        type(c_ptr) :: socket_list
        nodes = int(node_of_rank, c_int)
        socket_list = c_null_ptr
        if (present(socket_of_rank)) then
            allocate (sockets(size(nodes)), source=-1_c_int)  ! one that is missing is refused
            sockets(:min(size(nodes), size(socket_of_rank))) = &
                int(socket_of_rank(:min(size(nodes), size(socket_of_rank))), c_int)
            socket_list = c_loc(sockets)
        end if
        call report(c_topology_declare(int(size(nodes), c_int), nodes, socket_list, self%handle), stat, errmsg)
    end subroutine

    integer function topology_num_nodes(self) result(num)
        class(hakobi_topology), intent(in) :: self
        num = c_topology_num_nodes(self%handle)
    end function

    !> Counted from 0; -1 where there is no such rank.
    integer function topology_node_of(self, rank) result(node)
        class(hakobi_topology), intent(in) :: self
        integer, intent(in) :: rank
        node = c_topology_node_of(self%handle, int(rank, c_int))
    end function

    !> rank_at(:): which rank takes which place of the grid, the first dimension's places following each
    !> other, for comm%reordered. weights: bytes of a face normal to each dimension. Local; equal where
    !> topologies are equal.
    subroutine topology_reorder(self, ranks, rank_at, weights, is_periodic, traffic, stat, errmsg)
        class(hakobi_topology), intent(in) :: self
        integer, intent(in) :: ranks(:)
        integer, allocatable, intent(out) :: rank_at(:)
        integer(int64), intent(in), optional :: weights(:)
        logical, intent(in), optional :: is_periodic(:)
        type(hakobi_traffic), intent(out), optional :: traffic
        integer, intent(out), optional :: stat
        character(len=*), intent(inout), optional :: errmsg
        integer(c_int) :: grid(size(ranks)), code
        integer(c_int), target :: periodic(size(ranks))
        integer(c_int64_t), target :: face_bytes(size(ranks))
        integer(c_int), allocatable :: found(:)
        type(hakobi_traffic) :: moved
        integer :: n
        n = size(ranks)
        grid = int(ranks(n:1:-1), c_int)
        periodic = 0
        if (present(is_periodic)) periodic = merge(1_c_int, 0_c_int, is_periodic(n:1:-1))
        face_bytes = 1
        if (present(weights)) face_bytes = weights(n:1:-1)
        allocate (found(c_topology_num_ranks(self%handle)), source=0_c_int)
        code = c_topology_reorder(self%handle, int(n, c_int), grid, c_loc(face_bytes), c_loc(periodic), found, moved)
        rank_at = int(found)
        if (present(traffic)) traffic = moved
        call report(code, stat, errmsg)
    end subroutine

    subroutine topology_free(self)
        class(hakobi_topology), intent(inout) :: self
        call c_topology_free(self%handle)
        self%handle = c_null_ptr
    end subroutine

end module
