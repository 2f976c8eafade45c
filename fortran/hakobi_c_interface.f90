!> The C interface as Fortran sees it. Made by tools/bindings from the headers of C: do not edit.
module hakobi_c_interface
    use, intrinsic :: iso_c_binding
    implicit none

    integer, parameter :: max_dims = 8, max_halo_dims = 5
    integer(c_int), parameter :: hakobi_yes = 1, hakobi_no = -1, hakobi_int8 = 257, hakobi_int16 = 258, hakobi_int32 = 260, &
        hakobi_int64 = 264, hakobi_float32 = 772, hakobi_float64 = 776, hakobi_complex64 = 1032, hakobi_complex128 = 1040, &
        hakobi_if_exists_fail = 0, hakobi_sum = 0, hakobi_product = 1, hakobi_minimum = 2, hakobi_maximum = 3

    type, bind(c) :: block_c
        integer(c_int) :: num_dims = 0
        integer(c_int64_t) :: global(8) = 0, start(8) = 0, count(8) = 0
    end type

    type, bind(c) :: attribute_c
        integer(c_size_t) :: struct_size = 48
        type(c_ptr) :: name = c_null_ptr, text = c_null_ptr, doubles = c_null_ptr, integers = c_null_ptr
        integer(c_int64_t) :: num_values = 0
    end type

    type, bind(c) :: axis_c
        integer(c_size_t) :: struct_size = 64
        type(c_ptr) :: name = c_null_ptr, units = c_null_ptr, standard_name = c_null_ptr, values = c_null_ptr
        integer(c_int64_t) :: num_values = 0
        type(c_ptr) :: attributes = c_null_ptr
        integer(c_int64_t) :: num_attributes = 0
    end type

    type, bind(c) :: hint_c
        type(c_ptr) :: name = c_null_ptr, value = c_null_ptr
    end type

    type, bind(c) :: output_options_c
        integer(c_size_t) :: struct_size = 200
        integer(c_int) :: if_exists = 0
        type(c_ptr) :: method = c_null_ptr, format = c_null_ptr, title = c_null_ptr, axes = c_null_ptr
        integer(c_int64_t) :: num_axes = 0
        type(c_ptr) :: attributes = c_null_ptr
        integer(c_int64_t) :: num_attributes = 0
        type(c_ptr) :: time_units = c_null_ptr, calendar = c_null_ptr, compression = c_null_ptr
        integer(c_int64_t) :: asynchronous_bytes = 0, buffer_bytes = 0
        type(c_ptr) :: hints = c_null_ptr
        integer(c_int64_t) :: num_hints = 0
        integer(c_int) :: significant_bits = 0, writer_stride = 0, asynchronous = 0, sync = 0, overview = 0, keep_pieces = 0
        integer(c_int64_t) :: steps_per_file = 0
        type(c_ptr) :: stage = c_null_ptr
        integer(c_int64_t) :: stage_bytes = 0, stage_bytes_s = 0, stage_patience_s = 0
        type(c_ptr) :: store_as = c_null_ptr
    end type

    type, bind(c) :: field_c
        integer(c_size_t) :: struct_size = 368
        type(c_ptr) :: name = c_null_ptr, units = c_null_ptr, long_name = c_null_ptr, standard_name = c_null_ptr
        type(c_ptr) :: dims = c_null_ptr, coordinates = c_null_ptr, compression = c_null_ptr
        type(block_c) :: block
        integer(c_int) :: type = 0, significant_bits = 0
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: num_values = 0
        type(c_ptr) :: ghosts = c_null_ptr, strides = c_null_ptr, attributes = c_null_ptr
        integer(c_int64_t) :: num_attributes = 0
        type(c_ptr) :: fill_value = c_null_ptr
        integer(c_int) :: is_static = 0, on = 0
        integer(c_int64_t) :: num_components = 0
        integer(c_int) :: memory = 0
        type(c_ptr) :: stream = c_null_ptr, store_as = c_null_ptr
    end type

    type, bind(c) :: field_definition_c
        integer(c_size_t) :: struct_size = 128
        type(c_ptr) :: name = c_null_ptr, units = c_null_ptr, long_name = c_null_ptr, standard_name = c_null_ptr
        type(c_ptr) :: dims = c_null_ptr, coordinates = c_null_ptr, compression = c_null_ptr, attributes = c_null_ptr
        integer(c_int64_t) :: num_attributes = 0
        type(c_ptr) :: fill_value = c_null_ptr, global = c_null_ptr
        integer(c_int) :: num_dims = 0, type = 0, significant_bits = 0, is_static = 0, on = 0, num_components = 0
        type(c_ptr) :: store_as = c_null_ptr
    end type

    type, bind(c) :: memory_layout_c
        integer(c_size_t) :: struct_size = 48
        type(c_ptr) :: ghosts = c_null_ptr, strides = c_null_ptr
        integer(c_int64_t) :: num_values = 0
        integer(c_int) :: type = 0, memory = 0
        type(c_ptr) :: stream = c_null_ptr
    end type

    type, bind(c) :: output_times_c
        integer(c_size_t) :: struct_size = 80
        real(c_double) :: layout_s = 0, encode_s = 0, values_s = 0, finish_s = 0, gather_s = 0, hidden_s = 0, run_s = 0
        real(c_double) :: cpu_s = 0
        integer(c_int64_t) :: bytes = 0
    end type

    type, bind(c) :: outputs_options_c
        integer(c_size_t) :: struct_size = 56
        type(c_ptr) :: time_units = c_null_ptr, calendar = c_null_ptr
        integer(c_int) :: if_exists = 0, has_begin_time = 0, has_resume_at = 0
        real(c_double) :: begin_time = 0, resume_at = 0
    end type

    type, bind(c) :: derived_field_c
        integer(c_size_t) :: struct_size = 80
        type(c_ptr) :: of = c_null_ptr, cell_method = c_null_ptr, name = c_null_ptr, long_name = c_null_ptr
        type(c_ptr) :: attributes = c_null_ptr
        integer(c_int64_t) :: num_attributes = 0
        type(c_ptr) :: compression = c_null_ptr
        integer(c_int) :: significant_bits = 0
        type(c_ptr) :: store_as = c_null_ptr
    end type

    type, bind(c) :: input_field_c
        integer(c_size_t) :: struct_size = 112
        type(c_ptr) :: name = c_null_ptr, type_name = c_null_ptr, dims = c_null_ptr
        integer(c_int) :: type = 0, num_dims = 0, is_static = 0
        integer(c_int64_t) :: shape(8) = 0
    end type

    type, bind(c) :: field_read_c
        integer(c_size_t) :: struct_size = 392
        type(c_ptr) :: name = c_null_ptr
        integer(c_int64_t) :: step = 0
        type(block_c) :: block
        integer(c_int) :: type = 0
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: num_values = 0, ghosts(8) = 0, strides(8) = 0
        integer(c_int) :: memory = 0
        type(c_ptr) :: stream = c_null_ptr
    end type

    type, bind(c) :: input_mesh_c
        integer(c_size_t) :: struct_size = 40
        integer(c_int64_t) :: num_points = 0, num_cells = 0, num_pieces = 0
        integer(c_int) :: points_type = 0, has_ghosts = 0
    end type

    type, bind(c) :: mesh_part_c
        integer(c_size_t) :: struct_size = 112
        type(c_ptr) :: memory = c_null_ptr
        integer(c_int64_t) :: first_point = 0, first_cell = 0, first_piece = 0, num_pieces = 0, num_points = 0
        type(c_ptr) :: points = c_null_ptr
        integer(c_int64_t) :: num_cells = 0
        type(c_ptr) :: types = c_null_ptr, offsets = c_null_ptr
        integer(c_int64_t) :: num_connectivity = 0
        type(c_ptr) :: connectivity = c_null_ptr, ghosts = c_null_ptr
    end type

    type, bind(c) :: collectives_options_c
        integer(c_size_t) :: struct_size = 56
        type(c_ptr) :: topology = c_null_ptr, method = c_null_ptr
        integer(c_int) :: is_reproducible = 0
        real(c_double) :: latency_s = 0, overhead_s = 0, bandwidth_bytes_s = 0
    end type

    type, bind(c) :: halo_grid_c
        integer(c_size_t) :: struct_size = 176
        integer(c_int) :: num_dims = 0
        integer(c_int64_t) :: extents(5) = 0, ghosts_low(5) = 0, ghosts_high(5) = 0
        integer(c_int) :: ranks(5) = 1, is_periodic(5) = 0
    end type

    type, bind(c) :: halo_field_c
        integer(c_size_t) :: struct_size = 88
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: element_bytes = 0, strides_bytes(5) = 0, num_components = 1, component_stride_bytes = 0, memory = 0
    end type

    type, bind(c) :: halo_options_c
        integer(c_size_t) :: struct_size = 32
        integer(c_int) :: corners = 0
        type(c_ptr) :: path = c_null_ptr
        real(c_double) :: timeout_s = 0
    end type

    type, bind(c) :: buffer_arrays_options_c
        integer(c_size_t) :: struct_size = 24
        type(c_ptr) :: path = c_null_ptr
        integer(c_int64_t) :: pack_bytes = 0
    end type

    type, bind(c) :: traffic_c
        integer(c_size_t) :: struct_size = 32
        integer(c_int64_t) :: between_nodes_before = 0, between_nodes_after = 0, total = 0
    end type

    type, bind(c) :: store_options_c
        integer(c_size_t) :: struct_size = 72
        type(c_ptr) :: schema = c_null_ptr, writer = c_null_ptr
        integer(c_int) :: num_buffers = 0
        integer(c_int64_t) :: buffer_bytes = 0, pad_bytes = 0
        integer(c_int) :: num_threads = 0, asynchronous = 0, sync = 0, sync_directory = 0, huge_pages = 0, direct = 0
    end type

    interface
        type(c_ptr) function c_error_text() bind(c, name="hakobi_error_text")
            import
        end function
        integer(c_int) function c_error_rank() bind(c, name="hakobi_error_rank")
            import
        end function
        subroutine c_end_with_error(text, rank) bind(c, name="hakobi_end_with_error")
            import
            character(kind=c_char), intent(in) :: text(*)
            integer(c_int), value :: rank
        end subroutine
        type(c_ptr) function c_error_name(code) bind(c, name="hakobi_error_name")
            import
            integer(c_int), value :: code
        end function
        type(c_ptr) function c_version() bind(c, name="hakobi_version")
            import
        end function
        integer(c_int) function c_comm_duplicate_f(fortran_comm, comm) bind(c, name="hakobi_comm_duplicate_f")
            import
            integer(c_int), value :: fortran_comm
            type(c_ptr), intent(out) :: comm
        end function
        integer(c_int) function c_comm_free(comm) bind(c, name="hakobi_comm_free")
            import
            type(c_ptr), value :: comm
        end function
        integer(c_int) function c_comm_rank(comm) bind(c, name="hakobi_comm_rank")
            import
            type(c_ptr), value :: comm
        end function
        integer(c_int) function c_comm_size(comm) bind(c, name="hakobi_comm_size")
            import
            type(c_ptr), value :: comm
        end function
        integer(c_int) function c_comm_num_nodes(comm) bind(c, name="hakobi_comm_num_nodes")
            import
            type(c_ptr), value :: comm
        end function
        integer(c_int) function c_comm_handle_f(comm) bind(c, name="hakobi_comm_handle_f")
            import
            type(c_ptr), value :: comm
        end function
        integer(c_int) function c_split(num_dims, global, num_ranks, rank, block) bind(c, name="hakobi_split")
            import
            integer(c_int), value :: num_dims
            integer(c_int64_t), intent(in) :: global(*)
            integer(c_int), value :: num_ranks, rank
            type(block_c), intent(inout) :: block
        end function
        integer(c_int) function c_dims_of_ranks(num_dims, global, num_ranks, dims) bind(c, name="hakobi_dims_of_ranks")
            import
            integer(c_int), value :: num_dims
            integer(c_int64_t), intent(in) :: global(*)
            integer(c_int), value :: num_ranks
            integer(c_int), intent(inout) :: dims(*)
        end function
        integer(c_int) function c_output_create(comm, prefix, options, out) bind(c, name="hakobi_output_create")
            import
            type(c_ptr), value :: comm
            character(kind=c_char), intent(in) :: prefix(*)
            type(output_options_c), intent(in) :: options
            type(c_ptr), intent(out) :: out
        end function
        integer(c_int) function c_output_define(out, definition, field) bind(c, name="hakobi_output_define")
            import
            type(c_ptr), value :: out
            type(field_definition_c), intent(in) :: definition
            integer(c_int64_t), intent(inout) :: field
        end function
        integer(c_int) function c_output_begin_step(out, time) bind(c, name="hakobi_output_begin_step")
            import
            type(c_ptr), value :: out
            real(c_double), value :: time
        end function
        integer(c_int) function c_output_put_values(out, field, block, data, layout) bind(c, name="hakobi_output_put_values")
            import
            type(c_ptr), value :: out
            integer(c_int64_t), value :: field
            type(block_c), intent(in) :: block
            type(c_ptr), value :: data
            type(memory_layout_c), intent(in) :: layout
        end function
        integer(c_int) function c_output_put(out, field) bind(c, name="hakobi_output_put")
            import
            type(c_ptr), value :: out
            type(field_c), intent(in) :: field
        end function
        integer(c_int) function c_output_end_step(out) bind(c, name="hakobi_output_end_step")
            import
            type(c_ptr), value :: out
        end function
        integer(c_int) function c_output_flush(out) bind(c, name="hakobi_output_flush")
            import
            type(c_ptr), value :: out
        end function
        integer(c_int) function c_output_close(out) bind(c, name="hakobi_output_close")
            import
            type(c_ptr), value :: out
        end function
        subroutine c_output_free(out) bind(c, name="hakobi_output_free")
            import
            type(c_ptr), value :: out
        end subroutine
        type(c_ptr) function c_output_method(out) bind(c, name="hakobi_output_method")
            import
            type(c_ptr), value :: out
        end function
        type(c_ptr) function c_output_explain(out) bind(c, name="hakobi_output_explain")
            import
            type(c_ptr), value :: out
        end function
        integer(c_int) function c_output_get_times(out, times) bind(c, name="hakobi_output_get_times")
            import
            type(c_ptr), value :: out
            type(output_times_c), intent(inout) :: times
        end function
        integer(c_int) function c_outputs_create(comm, prefix, options, outs) bind(c, name="hakobi_outputs_create")
            import
            type(c_ptr), value :: comm
            character(kind=c_char), intent(in) :: prefix(*)
            type(outputs_options_c), intent(in) :: options
            type(c_ptr), intent(out) :: outs
        end function
        integer(c_int) function c_outputs_define(outs, definition, field) bind(c, name="hakobi_outputs_define")
            import
            type(c_ptr), value :: outs
            type(field_definition_c), intent(in) :: definition
            integer(c_int64_t), intent(inout) :: field
        end function
        integer(c_int) function c_outputs_add(outs, prefix, options, every, fields, num_fields) bind(c, &
            name="hakobi_outputs_add")
            import
            type(c_ptr), value :: outs
            character(kind=c_char), intent(in) :: prefix(*)
            type(output_options_c), intent(in) :: options
            character(kind=c_char), intent(in) :: every(*)
            type(derived_field_c), intent(in) :: fields(*)
            integer(c_int64_t), value :: num_fields
        end function
        integer(c_int) function c_outputs_resume_time(outs, is_resumed, time) bind(c, name="hakobi_outputs_resume_time")
            import
            type(c_ptr), value :: outs
            integer(c_int), intent(inout) :: is_resumed
            real(c_double), intent(inout) :: time
        end function
        integer(c_int) function c_outputs_begin_step(outs, time) bind(c, name="hakobi_outputs_begin_step")
            import
            type(c_ptr), value :: outs
            real(c_double), value :: time
        end function
        integer(c_int) function c_outputs_put(outs, field, block, data, layout) bind(c, name="hakobi_outputs_put")
            import
            type(c_ptr), value :: outs
            integer(c_int64_t), value :: field
            type(block_c), intent(in) :: block
            type(c_ptr), value :: data
            type(memory_layout_c), intent(in) :: layout
        end function
        integer(c_int) function c_outputs_end_step(outs) bind(c, name="hakobi_outputs_end_step")
            import
            type(c_ptr), value :: outs
        end function
        integer(c_int) function c_outputs_checkpoint(outs) bind(c, name="hakobi_outputs_checkpoint")
            import
            type(c_ptr), value :: outs
        end function
        integer(c_int) function c_outputs_close(outs) bind(c, name="hakobi_outputs_close")
            import
            type(c_ptr), value :: outs
        end function
        subroutine c_outputs_free(outs) bind(c, name="hakobi_outputs_free")
            import
            type(c_ptr), value :: outs
        end subroutine
        type(c_ptr) function c_outputs_explain(outs) bind(c, name="hakobi_outputs_explain")
            import
            type(c_ptr), value :: outs
        end function
        integer(c_int) function c_input_open(comm, prefix, options, in) bind(c, name="hakobi_input_open")
            import
            type(c_ptr), value :: comm
            character(kind=c_char), intent(in) :: prefix(*)
            type(c_ptr), value :: options
            type(c_ptr), intent(out) :: in
        end function
        integer(c_int) function c_input_open_alone(prefix, in) bind(c, name="hakobi_input_open_alone")
            import
            character(kind=c_char), intent(in) :: prefix(*)
            type(c_ptr), intent(out) :: in
        end function
        integer(c_int64_t) function c_input_num_steps(in) bind(c, name="hakobi_input_num_steps")
            import
            type(c_ptr), value :: in
        end function
        type(c_ptr) function c_input_steps(in) bind(c, name="hakobi_input_steps")
            import
            type(c_ptr), value :: in
        end function
        type(c_ptr) function c_input_times(in) bind(c, name="hakobi_input_times")
            import
            type(c_ptr), value :: in
        end function
        type(c_ptr) function c_input_time_units(in) bind(c, name="hakobi_input_time_units")
            import
            type(c_ptr), value :: in
        end function
        type(c_ptr) function c_input_calendar(in) bind(c, name="hakobi_input_calendar")
            import
            type(c_ptr), value :: in
        end function
        type(c_ptr) function c_input_field_name(in, step, index) bind(c, name="hakobi_input_field_name")
            import
            type(c_ptr), value :: in
            integer(c_int64_t), value :: step
            integer(c_int), value :: index
        end function
        integer(c_int) function c_input_get_field(in, step, name, field) bind(c, name="hakobi_input_get_field")
            import
            type(c_ptr), value :: in
            integer(c_int64_t), value :: step
            character(kind=c_char), intent(in) :: name(*)
            type(input_field_c), intent(inout) :: field
        end function
        integer(c_int) function c_input_get_attribute(in, step, field, index, attribute) bind(c, &
            name="hakobi_input_get_attribute")
            import
            type(c_ptr), value :: in
            integer(c_int64_t), value :: step
            type(c_ptr), value :: field
            integer(c_int), value :: index
            type(attribute_c), intent(inout) :: attribute
        end function
        integer(c_int) function c_input_read(in, read) bind(c, name="hakobi_input_read")
            import
            type(c_ptr), value :: in
            type(field_read_c), intent(in) :: read
        end function
        integer(c_int) function c_input_read_independent(in, read) bind(c, name="hakobi_input_read_independent")
            import
            type(c_ptr), value :: in
            type(field_read_c), intent(in) :: read
        end function
        integer(c_int) function c_input_get_mesh(in, step, mesh) bind(c, name="hakobi_input_get_mesh")
            import
            type(c_ptr), value :: in
            integer(c_int64_t), value :: step
            type(input_mesh_c), intent(inout) :: mesh
        end function
        integer(c_int) function c_input_read_mesh(in, step, part) bind(c, name="hakobi_input_read_mesh")
            import
            type(c_ptr), value :: in
            integer(c_int64_t), value :: step
            type(mesh_part_c), intent(inout) :: part
        end function
        subroutine c_mesh_part_free(part) bind(c, name="hakobi_mesh_part_free")
            import
            type(mesh_part_c), intent(inout) :: part
        end subroutine
        type(c_ptr) function c_input_explain(in, step, field) bind(c, name="hakobi_input_explain")
            import
            type(c_ptr), value :: in
            integer(c_int64_t), value :: step
            character(kind=c_char), intent(in) :: field(*)
        end function
        integer(c_int) function c_input_close(in) bind(c, name="hakobi_input_close")
            import
            type(c_ptr), value :: in
        end function
        subroutine c_input_free(in) bind(c, name="hakobi_input_free")
            import
            type(c_ptr), value :: in
        end subroutine
        integer(c_int) function c_gather_pieces(path, result) bind(c, name="hakobi_gather_pieces")
            import
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: result
        end function
        type(c_ptr) function c_gather_result_file(result, index) bind(c, name="hakobi_gather_result_file")
            import
            type(c_ptr), value :: result
            integer(c_int), value :: index
        end function
        type(c_ptr) function c_gather_result_incomplete(result, index) bind(c, name="hakobi_gather_result_incomplete")
            import
            type(c_ptr), value :: result
            integer(c_int), value :: index
        end function
        subroutine c_gather_result_free(result) bind(c, name="hakobi_gather_result_free")
            import
            type(c_ptr), value :: result
        end subroutine
        integer(c_int) function c_collectives_create(comm, options, collectives) bind(c, name="hakobi_collectives_create")
            import
            type(c_ptr), value :: comm
            type(collectives_options_c), intent(in) :: options
            type(c_ptr), intent(out) :: collectives
        end function
        integer(c_int) function c_collectives_allreduce(collectives, type, reduction, count, plan) bind(c, &
            name="hakobi_collectives_allreduce")
            import
            type(c_ptr), value :: collectives
            integer(c_int), value :: type, reduction
            integer(c_int64_t), value :: count
            type(c_ptr), intent(out) :: plan
        end function
        integer(c_int) function c_collectives_alltoall(collectives, block_bytes, plan) bind(c, &
            name="hakobi_collectives_alltoall")
            import
            type(c_ptr), value :: collectives
            integer(c_int64_t), value :: block_bytes
            type(c_ptr), intent(out) :: plan
        end function
        integer(c_int) function c_collectives_allgather(collectives, block_bytes, plan) bind(c, &
            name="hakobi_collectives_allgather")
            import
            type(c_ptr), value :: collectives
            integer(c_int64_t), value :: block_bytes
            type(c_ptr), intent(out) :: plan
        end function
        integer(c_int) function c_collectives_broadcast(collectives, bytes, root, plan) bind(c, &
            name="hakobi_collectives_broadcast")
            import
            type(c_ptr), value :: collectives
            integer(c_int64_t), value :: bytes
            integer(c_int), value :: root
            type(c_ptr), intent(out) :: plan
        end function
        integer(c_int) function c_collectives_free(collectives) bind(c, name="hakobi_collectives_free")
            import
            type(c_ptr), value :: collectives
        end function
        integer(c_int) function c_collective_plan_execute(plan, input, output) bind(c, name="hakobi_collective_plan_execute")
            import
            type(c_ptr), value :: plan, input, output
        end function
        integer(c_int) function c_collective_plan_start(plan, input, output) bind(c, name="hakobi_collective_plan_start")
            import
            type(c_ptr), value :: plan, input, output
        end function
        integer(c_int) function c_collective_plan_wait(plan) bind(c, name="hakobi_collective_plan_wait")
            import
            type(c_ptr), value :: plan
        end function
        integer(c_int) function c_collective_plan_start_on(plan, input, output, stream) bind(c, &
            name="hakobi_collective_plan_start_on")
            import
            type(c_ptr), value :: plan, input, output, stream
        end function
        integer(c_int) function c_collective_plan_wait_on(plan, stream) bind(c, name="hakobi_collective_plan_wait_on")
            import
            type(c_ptr), value :: plan, stream
        end function
        type(c_ptr) function c_collective_plan_explain(plan) bind(c, name="hakobi_collective_plan_explain")
            import
            type(c_ptr), value :: plan
        end function
        subroutine c_collective_plan_free(plan) bind(c, name="hakobi_collective_plan_free")
            import
            type(c_ptr), value :: plan
        end subroutine
        integer(c_int) function c_shared_allocate(comm, bytes, shared) bind(c, name="hakobi_shared_allocate")
            import
            type(c_ptr), value :: comm
            integer(c_int64_t), value :: bytes
            type(c_ptr), intent(out) :: shared
        end function
        type(c_ptr) function c_shared_data(shared) bind(c, name="hakobi_shared_data")
            import
            type(c_ptr), value :: shared
        end function
        subroutine c_shared_free(shared) bind(c, name="hakobi_shared_free")
            import
            type(c_ptr), value :: shared
        end subroutine
        integer(c_int) function c_halo_plan(comm, grid, num_fields, fields, options, halo) bind(c, name="hakobi_halo_plan")
            import
            type(c_ptr), value :: comm
            type(halo_grid_c), intent(in) :: grid
            integer(c_int), value :: num_fields
            type(halo_field_c), intent(in) :: fields(*)
            type(halo_options_c), intent(in) :: options
            type(c_ptr), intent(out) :: halo
        end function
        integer(c_int) function c_halo_start(halo) bind(c, name="hakobi_halo_start")
            import
            type(c_ptr), value :: halo
        end function
        integer(c_int) function c_halo_wait(halo) bind(c, name="hakobi_halo_wait")
            import
            type(c_ptr), value :: halo
        end function
        integer(c_int) function c_halo_start_on(halo, stream) bind(c, name="hakobi_halo_start_on")
            import
            type(c_ptr), value :: halo, stream
        end function
        integer(c_int) function c_halo_wait_on(halo, stream) bind(c, name="hakobi_halo_wait_on")
            import
            type(c_ptr), value :: halo, stream
        end function
        type(c_ptr) function c_halo_explain(halo) bind(c, name="hakobi_halo_explain")
            import
            type(c_ptr), value :: halo
        end function
        subroutine c_halo_free(halo) bind(c, name="hakobi_halo_free")
            import
            type(c_ptr), value :: halo
        end subroutine
        integer(c_int) function c_buffer_arrays_get(comm, options, arrays) bind(c, name="hakobi_buffer_arrays_get")
            import
            type(c_ptr), value :: comm
            type(buffer_arrays_options_c), intent(in) :: options
            type(c_ptr), intent(out) :: arrays
        end function
        type(c_ptr) function c_buffer_arrays_path_to(arrays, rank) bind(c, name="hakobi_buffer_arrays_path_to")
            import
            type(c_ptr), value :: arrays
            integer(c_int), value :: rank
        end function
        subroutine c_buffer_arrays_free(arrays) bind(c, name="hakobi_buffer_arrays_free")
            import
            type(c_ptr), value :: arrays
        end subroutine
        integer(c_int) function c_buffer_array_make(arrays, list) bind(c, name="hakobi_buffer_array_make")
            import
            type(c_ptr), value :: arrays
            type(c_ptr), intent(out) :: list
        end function
        integer(c_int) function c_buffer_array_append(list, data, bytes) bind(c, name="hakobi_buffer_array_append")
            import
            type(c_ptr), value :: list, data
            integer(c_int64_t), value :: bytes
        end function
        integer(c_int) function c_buffer_array_release(list) bind(c, name="hakobi_buffer_array_release")
            import
            type(c_ptr), value :: list
        end function
        integer(c_int64_t) function c_buffer_array_bytes(list) bind(c, name="hakobi_buffer_array_bytes")
            import
            type(c_ptr), value :: list
        end function
        integer(c_int) function c_buffer_array_send(list, to, tag) bind(c, name="hakobi_buffer_array_send")
            import
            type(c_ptr), value :: list
            integer(c_int), value :: to, tag
        end function
        integer(c_int) function c_buffer_array_receive(list, from, tag) bind(c, name="hakobi_buffer_array_receive")
            import
            type(c_ptr), value :: list
            integer(c_int), value :: from, tag
        end function
        integer(c_int) function c_buffer_array_done(list, is_done) bind(c, name="hakobi_buffer_array_done")
            import
            type(c_ptr), value :: list
            integer(c_int), intent(inout) :: is_done
        end function
        integer(c_int) function c_buffer_array_wait(list) bind(c, name="hakobi_buffer_array_wait")
            import
            type(c_ptr), value :: list
        end function
        integer(c_int) function c_buffer_array_send_on(list, to, tag, stream) bind(c, name="hakobi_buffer_array_send_on")
            import
            type(c_ptr), value :: list
            integer(c_int), value :: to, tag
            type(c_ptr), value :: stream
        end function
        integer(c_int) function c_buffer_array_receive_on(list, from, tag, stream) bind(c, &
            name="hakobi_buffer_array_receive_on")
            import
            type(c_ptr), value :: list
            integer(c_int), value :: from, tag
            type(c_ptr), value :: stream
        end function
        integer(c_int) function c_buffer_array_wait_on(list, stream) bind(c, name="hakobi_buffer_array_wait_on")
            import
            type(c_ptr), value :: list, stream
        end function
        subroutine c_buffer_array_free(list) bind(c, name="hakobi_buffer_array_free")
            import
            type(c_ptr), value :: list
        end subroutine
        integer(c_int) function c_topology_discover(comm, topology) bind(c, name="hakobi_topology_discover")
            import
            type(c_ptr), value :: comm
            type(c_ptr), intent(out) :: topology
        end function
        integer(c_int) function c_topology_declare(num_ranks, node_of_rank, socket_of_rank, topology) bind(c, &
            name="hakobi_topology_declare")
            import
            integer(c_int), value :: num_ranks
            integer(c_int), intent(in) :: node_of_rank(*)
            type(c_ptr), value :: socket_of_rank
            type(c_ptr), intent(out) :: topology
        end function
        integer(c_int) function c_topology_num_ranks(topology) bind(c, name="hakobi_topology_num_ranks")
            import
            type(c_ptr), value :: topology
        end function
        integer(c_int) function c_topology_num_nodes(topology) bind(c, name="hakobi_topology_num_nodes")
            import
            type(c_ptr), value :: topology
        end function
        integer(c_int) function c_topology_node_of(topology, rank) bind(c, name="hakobi_topology_node_of")
            import
            type(c_ptr), value :: topology
            integer(c_int), value :: rank
        end function
        integer(c_int) function c_topology_reorder(topology, num_dims, ranks, weights, is_periodic, rank_at, traffic) bind(c, &
            name="hakobi_topology_reorder")
            import
            type(c_ptr), value :: topology
            integer(c_int), value :: num_dims
            integer(c_int), intent(in) :: ranks(*)
            type(c_ptr), value :: weights, is_periodic
            integer(c_int), intent(inout) :: rank_at(*)
            type(traffic_c), intent(inout) :: traffic
        end function
        subroutine c_topology_free(topology) bind(c, name="hakobi_topology_free")
            import
            type(c_ptr), value :: topology
        end subroutine
        integer(c_int) function c_comm_reordered(comm, num_ranks, rank_at, reordered) bind(c, name="hakobi_comm_reordered")
            import
            type(c_ptr), value :: comm
            integer(c_int), value :: num_ranks
            integer(c_int), intent(in) :: rank_at(*)
            type(c_ptr), intent(out) :: reordered
        end function
        integer(c_int) function c_store_open(path, options, store) bind(c, name="hakobi_store_open")
            import
            character(kind=c_char), intent(in) :: path(*)
            type(store_options_c), intent(in) :: options
            type(c_ptr), intent(out) :: store
        end function
        integer(c_int) function c_store_archive(store, key, bytes, num_bytes, form) bind(c, name="hakobi_store_archive")
            import
            type(c_ptr), value :: store
            character(kind=c_char), intent(in) :: key(*)
            type(c_ptr), value :: bytes
            integer(c_int64_t), value :: num_bytes
            character(kind=c_char), intent(in) :: form(*)
        end function
        integer(c_int) function c_store_flush(store) bind(c, name="hakobi_store_flush")
            import
            type(c_ptr), value :: store
        end function
        integer(c_int) function c_store_close(store) bind(c, name="hakobi_store_close")
            import
            type(c_ptr), value :: store
        end function
        subroutine c_store_free(store) bind(c, name="hakobi_store_free")
            import
            type(c_ptr), value :: store
        end subroutine
        integer(c_int) function c_store_list(store, request, selection, listing) bind(c, name="hakobi_store_list")
            import
            type(c_ptr), value :: store
            character(kind=c_char), intent(in) :: request(*)
            type(c_ptr), value :: selection
            type(c_ptr), intent(out) :: listing
        end function
        subroutine c_listing_free(listing) bind(c, name="hakobi_listing_free")
            import
            type(c_ptr), value :: listing
        end subroutine
        integer(c_int64_t) function c_listing_size(listing) bind(c, name="hakobi_listing_size")
            import
            type(c_ptr), value :: listing
        end function
        integer(c_int) function c_store_retrieve_one(store, key, bytes, num_bytes) bind(c, name="hakobi_store_retrieve_one")
            import
            type(c_ptr), value :: store
            character(kind=c_char), intent(in) :: key(*)
            type(c_ptr), value :: bytes
            integer(c_int64_t), value :: num_bytes
        end function
        integer(c_int) function c_comm_refuse(comm, text) bind(c, name="hakobi_comm_refuse")
            import
            type(c_ptr), value :: comm
            character(kind=c_char), intent(in) :: text(*)
        end function
        integer(c_int) function c_output_refuse_define(out, text) bind(c, name="hakobi_output_refuse_define")
            import
            type(c_ptr), value :: out
            character(kind=c_char), intent(in) :: text(*)
        end function
        integer(c_int) function c_output_refuse(out, text) bind(c, name="hakobi_output_refuse")
            import
            type(c_ptr), value :: out
            character(kind=c_char), intent(in) :: text(*)
        end function
        integer(c_int) function c_outputs_refuse_add(outs, text) bind(c, name="hakobi_outputs_refuse_add")
            import
            type(c_ptr), value :: outs
            character(kind=c_char), intent(in) :: text(*)
        end function
        integer(c_int) function c_outputs_refuse(outs, text) bind(c, name="hakobi_outputs_refuse")
            import
            type(c_ptr), value :: outs
            character(kind=c_char), intent(in) :: text(*)
        end function
        integer(c_int) function c_input_refuse(in, text) bind(c, name="hakobi_input_refuse")
            import
            type(c_ptr), value :: in
            character(kind=c_char), intent(in) :: text(*)
        end function
        integer(c_int) function c_refuse(text) bind(c, name="hakobi_refuse")
            import
            character(kind=c_char), intent(in) :: text(*)
        end function
    end interface
end module
