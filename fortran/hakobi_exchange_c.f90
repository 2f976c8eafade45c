!> The exchange part of hakobi.h as Fortran sees it. For the module hakobi_exchange, not for users.
module hakobi_exchange_c
    use, intrinsic :: iso_c_binding
    implicit none

    integer, parameter :: max_halo_dims = 5

    type, bind(c) :: grid_c
        integer(c_int) :: num_dims = 0
        integer(c_int64_t) :: extents(max_halo_dims) = 0
        integer(c_int64_t) :: ghosts_low(max_halo_dims) = 0
        integer(c_int64_t) :: ghosts_high(max_halo_dims) = 0
        integer(c_int) :: ranks(max_halo_dims) = 1
        integer(c_int) :: is_periodic(max_halo_dims) = 0
    end type

    type, bind(c) :: field_c
        type(c_ptr) :: values = c_null_ptr
        integer(c_int64_t) :: element_bytes = 0
        integer(c_int64_t) :: strides_bytes(max_halo_dims) = 0
        integer(c_int64_t) :: num_components = 1
        integer(c_int64_t) :: component_stride_bytes = 0
    end type

    type, bind(c) :: options_c
        integer(c_int) :: faces_only = 0
        type(c_ptr) :: path = c_null_ptr
        real(c_double) :: timeout_s = 0
        type(c_ptr) :: refused = c_null_ptr
        type(c_ptr) :: reserved(3) = c_null_ptr
    end type

    !> What goes from node to node in one exchange of all faces, in the weights' unit: ranks in their order, and reordered.
    type, bind(c) :: hakobi_traffic
        integer(c_int64_t) :: between_nodes_before = 0
        integer(c_int64_t) :: between_nodes_after = 0
        integer(c_int64_t) :: total = 0
    end type

    interface
        integer(c_int) function c_shared_allocate(comm, bytes, shared) bind(c, name="hakobi_shared_allocate")
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: comm
            integer(c_int64_t), value :: bytes
            type(c_ptr), intent(out) :: shared
        end function
        type(c_ptr) function c_shared_data(shared) bind(c, name="hakobi_shared_data")
            import :: c_ptr
            type(c_ptr), value :: shared
        end function
        subroutine c_shared_free(shared) bind(c, name="hakobi_shared_free")
            import :: c_ptr
            type(c_ptr), value :: shared
        end subroutine
        integer(c_int) function c_halo_plan(comm, grid, num_fields, fields, options, halo) &
            bind(c, name="hakobi_halo_plan")
            import :: c_int, c_ptr, field_c, grid_c, options_c
            type(c_ptr), value :: comm
            type(grid_c), intent(in) :: grid
            integer(c_int), value :: num_fields
            type(field_c), intent(in) :: fields(*)
            type(options_c), intent(in) :: options
            type(c_ptr), intent(out) :: halo
        end function
        integer(c_int) function c_halo_start(halo) bind(c, name="hakobi_halo_start")
            import :: c_int, c_ptr
            type(c_ptr), value :: halo
        end function
        integer(c_int) function c_halo_wait(halo) bind(c, name="hakobi_halo_wait")
            import :: c_int, c_ptr
            type(c_ptr), value :: halo
        end function
        type(c_ptr) function c_halo_explain(halo) bind(c, name="hakobi_halo_explain")
            import :: c_ptr
            type(c_ptr), value :: halo
        end function
        subroutine c_halo_free(halo) bind(c, name="hakobi_halo_free")
            import :: c_ptr
            type(c_ptr), value :: halo
        end subroutine
        integer(c_int) function c_arrays_get(comm, path, pack_bytes, arrays) &
            bind(c, name="hakobi_buffer_arrays_get")
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: comm
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int64_t), value :: pack_bytes
            type(c_ptr), intent(out) :: arrays
        end function
        type(c_ptr) function c_arrays_path_to(arrays, rank) bind(c, name="hakobi_buffer_arrays_path_to")
            import :: c_int, c_ptr
            type(c_ptr), value :: arrays
            integer(c_int), value :: rank
        end function
        subroutine c_arrays_free(arrays) bind(c, name="hakobi_buffer_arrays_free")
            import :: c_ptr
            type(c_ptr), value :: arrays
        end subroutine
        integer(c_int) function c_list_make(arrays, list) bind(c, name="hakobi_buffer_array_make")
            import :: c_int, c_ptr
            type(c_ptr), value :: arrays
            type(c_ptr), intent(out) :: list
        end function
        integer(c_int) function c_list_append(list, address, bytes) bind(c, name="hakobi_buffer_array_append")
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: list, address
            integer(c_int64_t), value :: bytes
        end function
        integer(c_int) function c_list_release(list) bind(c, name="hakobi_buffer_array_release")
            import :: c_int, c_ptr
            type(c_ptr), value :: list
        end function
        integer(c_int64_t) function c_list_bytes(list) bind(c, name="hakobi_buffer_array_bytes")
            import :: c_int64_t, c_ptr
            type(c_ptr), value :: list
        end function
        integer(c_int) function c_list_send(list, to, tag) bind(c, name="hakobi_buffer_array_send")
            import :: c_int, c_ptr
            type(c_ptr), value :: list
            integer(c_int), value :: to, tag
        end function
        integer(c_int) function c_list_receive(list, from, tag) bind(c, name="hakobi_buffer_array_receive")
            import :: c_int, c_ptr
            type(c_ptr), value :: list
            integer(c_int), value :: from, tag
        end function
        integer(c_int) function c_list_done(list, is_done) bind(c, name="hakobi_buffer_array_done")
            import :: c_int, c_ptr
            type(c_ptr), value :: list
            integer(c_int), intent(out) :: is_done
        end function
        integer(c_int) function c_list_wait(list) bind(c, name="hakobi_buffer_array_wait")
            import :: c_int, c_ptr
            type(c_ptr), value :: list
        end function
        subroutine c_list_free(list) bind(c, name="hakobi_buffer_array_free")
            import :: c_ptr
            type(c_ptr), value :: list
        end subroutine
        integer(c_int) function c_topology_discover(comm, topology) bind(c, name="hakobi_topology_discover")
            import :: c_int, c_ptr
            type(c_ptr), value :: comm
            type(c_ptr), intent(out) :: topology
        end function
        integer(c_int) function c_topology_declare(num_ranks, nodes, sockets, topology) &
            bind(c, name="hakobi_topology_declare")
            import :: c_int, c_ptr
            integer(c_int), value :: num_ranks
            integer(c_int), intent(in) :: nodes(*)
            type(c_ptr), value :: sockets
            type(c_ptr), intent(out) :: topology
        end function
        integer(c_int) function c_topology_num_ranks(topology) bind(c, name="hakobi_topology_num_ranks")
            import :: c_int, c_ptr
            type(c_ptr), value :: topology
        end function
        integer(c_int) function c_topology_num_nodes(topology) bind(c, name="hakobi_topology_num_nodes")
            import :: c_int, c_ptr
            type(c_ptr), value :: topology
        end function
        integer(c_int) function c_topology_node_of(topology, rank) bind(c, name="hakobi_topology_node_of")
            import :: c_int, c_ptr
            type(c_ptr), value :: topology
            integer(c_int), value :: rank
        end function
        integer(c_int) function c_topology_reorder(topology, num_dims, ranks, weights, is_periodic, rank_at, traffic) &
            bind(c, name="hakobi_topology_reorder")
            import :: c_int, c_ptr, hakobi_traffic
            type(c_ptr), value :: topology
            integer(c_int), value :: num_dims
            integer(c_int), intent(in) :: ranks(*)
            type(c_ptr), value :: weights, is_periodic
            integer(c_int), intent(inout) :: rank_at(*)
            type(hakobi_traffic), intent(inout) :: traffic
        end function
        subroutine c_topology_free(topology) bind(c, name="hakobi_topology_free")
            import :: c_ptr
            type(c_ptr), value :: topology
        end subroutine
    end interface
end module
