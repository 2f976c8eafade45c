"""The C interface for ctypes. Made by tools/bindings from include/hakobi.h and include/hakobi_store.h: do not edit."""

# fmt: off
# ruff: noqa: I001
from __future__ import annotations

from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_uint64, c_uint8, c_void_p
from typing import Any

class BlockC(Structure):  # hakobi_block
    _fields_ = (
        ("num_dims", c_int), ("global_", c_int64 * 8), ("start", c_int64 * 8), ("count", c_int64 * 8),)

class AttributeC(Structure):  # hakobi_attribute
    _fields_ = (
        ("name", c_char_p), ("text", c_char_p), ("doubles", POINTER(c_double)), ("integers", POINTER(c_int64)),
        ("num_values", c_int64), ("reserved", c_void_p * 4),)

class FieldC(Structure):  # hakobi_field
    _fields_ = (
        ("name", c_char_p), ("units", c_char_p), ("long_name", c_char_p), ("standard_name", c_char_p),
        ("block", BlockC), ("type", c_int), ("data", c_void_p), ("num_values", c_int64), ("dims", c_char_p),
        ("ghosts", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("compression", c_char_p),
        ("significant_bits", c_int), ("attributes", POINTER(AttributeC)), ("num_attributes", c_int64),
        ("fill_value", c_void_p), ("coordinates", c_char_p), ("is_static", c_int64), ("on", c_int),
        ("num_components", c_int), ("reserved", c_void_p * 3),)

class MeshC(Structure):  # hakobi_mesh
    _fields_ = (
        ("motion", c_int), ("points_type", c_int), ("num_points", c_int64), ("points", c_void_p),
        ("num_cells", c_int64), ("types", c_void_p), ("offsets_type", c_int), ("connectivity_type", c_int),
        ("offsets", c_void_p), ("connectivity", c_void_p), ("num_connectivity", c_int64), ("first_number", c_int64),
        ("ghosts", c_void_p), ("reserved", c_void_p * 4),)

class OutputTimesC(Structure):  # hakobi_output_times
    _fields_ = (
        ("layout_s", c_double), ("values_s", c_double), ("finish_s", c_double), ("gather_s", c_double),
        ("bytes", c_int64), ("encode_s", c_double), ("hidden_s", c_double), ("run_s", c_double), ("cpu_s", c_double),
        ("reserved", c_double * 4),)

class InputFieldC(Structure):  # hakobi_input_field
    _fields_ = (
        ("name", c_char_p), ("type_name", c_char_p), ("type", c_int), ("num_dims", c_int), ("shape", c_int64 * 8),
        ("dims", c_char_p), ("is_static", c_int64), ("reserved", c_void_p * 4),)

class InputAxisC(Structure):  # hakobi_input_axis
    _fields_ = (
        ("name", c_char_p), ("units", c_char_p), ("standard_name", c_char_p), ("num_values", c_int64),
        ("values", POINTER(c_double)), ("reserved", c_void_p * 4),)

class FieldReadC(Structure):  # hakobi_field_read
    _fields_ = (
        ("name", c_char_p), ("step", c_int64), ("block", BlockC), ("type", c_int), ("data", c_void_p),
        ("num_values", c_int64), ("ghosts", c_int64 * 8), ("strides", c_int64 * 8), ("reserved", c_void_p * 4),)

class InputMeshC(Structure):  # hakobi_input_mesh
    _fields_ = (
        ("num_points", c_int64), ("num_cells", c_int64), ("num_pieces", c_int64), ("points_type", c_int),
        ("has_ghosts", c_int), ("reserved", c_void_p * 4),)

class MeshPartC(Structure):  # hakobi_mesh_part
    _fields_ = (
        ("first_point", c_int64), ("first_cell", c_int64), ("first_piece", c_int64), ("num_pieces", c_int64),
        ("num_points", c_int64), ("points", POINTER(c_double)), ("num_cells", c_int64), ("types", POINTER(c_uint8)),
        ("offsets", POINTER(c_int64)), ("num_connectivity", c_int64), ("connectivity", POINTER(c_int64)),
        ("ghosts", POINTER(c_uint8)), ("memory", c_void_p), ("reserved", c_void_p * 4),)

class CollectivesOptionsC(Structure):  # hakobi_collectives_options
    _fields_ = (
        ("topology", c_char_p), ("method", c_char_p), ("is_reproducible", c_int), ("latency_s", c_double),
        ("overhead_s", c_double), ("bandwidth_bytes_s", c_double), ("reserved", c_void_p * 4),)

class HaloGridC(Structure):  # hakobi_halo_grid
    _fields_ = (
        ("num_dims", c_int), ("extents", c_int64 * 5), ("ghosts_low", c_int64 * 5), ("ghosts_high", c_int64 * 5),
        ("ranks", c_int * 5), ("is_periodic", c_int * 5),)

class HaloFieldC(Structure):  # hakobi_halo_field
    _fields_ = (
        ("data", c_void_p), ("element_bytes", c_int64), ("strides_bytes", c_int64 * 5), ("num_components", c_int64),
        ("component_stride_bytes", c_int64),)

class HaloOptionsC(Structure):  # hakobi_halo_options
    _fields_ = (
        ("faces_only", c_int), ("path", c_char_p), ("timeout_s", c_double), ("refused", c_char_p),
        ("reserved", c_void_p * 3),)

class TrafficC(Structure):  # hakobi_traffic
    _fields_ = (
        ("between_nodes_before", c_int64), ("between_nodes_after", c_int64), ("total", c_int64),)

class FieldInfoC(Structure):  # hakobi_field_info
    _fields_ = (
        ("key", c_char_p), ("form", c_char_p), ("file", c_char_p), ("offset_bytes", c_int64),
        ("length_bytes", c_int64), ("checksum", c_uint64), ("flushed_ns", c_int64), ("is_replaced", c_int),
        ("reserved", c_int64 * 4),)

#: Types of result and arguments, and the functions that have them, without hakobi_.
SIGNATURES: tuple[tuple[tuple[Any, tuple[Any, ...]], str], ...] = (
    ((c_char_p, ()), "error_text version mpi_name"),
    ((c_int, ()), "error_rank mpi_init_if_needed mpi_finalize_if_ours"),
    ((None, (c_char_p, c_int,)), "end_with_error"),
    ((c_char_p, (c_int,)), "error_name output_method_name"),
    ((c_int, (c_int, POINTER(c_void_p),)), "comm_duplicate_f"),
    ((c_int, (POINTER(c_void_p),)), "comm_duplicate_world options_create"),
    ((c_int, (c_void_p,)),
        "comm_free comm_rank comm_size comm_num_nodes comm_node comm_handle_f output_end_step output_close "
        "input_close collectives_free collective_plan_wait halo_start halo_wait buffer_array_release "
        "buffer_array_wait topology_num_ranks topology_num_nodes store_flush store_close"),
    ((c_int, (c_int, c_void_p, c_int, c_int, POINTER(BlockC),)), "split"),
    ((c_int, (c_int, c_void_p, c_int, POINTER(c_int),)), "dims_of_ranks"),
    ((c_int, (c_void_p, c_char_p, c_char_p,)), "options_set options_set_hint"),
    ((c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_void_p, c_int64,)), "options_add_axis"),
    ((c_int, (c_void_p, c_char_p,)), "options_refuse output_refuse input_refuse"),
    ((None, (c_void_p,)),
        "options_free output_free input_free gather_result_free collective_plan_free shared_free halo_free "
        "buffer_arrays_free buffer_array_free topology_free store_free listing_free"),
    ((c_int, (c_void_p, c_char_p, POINTER(AttributeC),)), "options_set_attribute"),
    ((c_int, (c_void_p, c_char_p, c_void_p, POINTER(c_void_p),)), "output_create input_open"),
    ((c_int, (c_void_p, c_double,)), "output_begin_step"),
    ((c_int, (c_void_p, POINTER(FieldC),)), "output_put"),
    ((c_int, (c_void_p, POINTER(MeshC),)), "output_put_mesh"),
    ((c_int, (c_void_p, c_int, c_void_p, c_int64,)), "output_put_points"),
    ((c_char_p, (c_void_p,)),
        "output_method output_explain input_time_units input_calendar collective_plan_explain halo_explain"),
    ((c_int, (c_void_p, POINTER(OutputTimesC),)), "output_get_times"),
    ((c_int, (c_char_p, POINTER(c_void_p),)), "input_open_alone gather_pieces"),
    ((c_int64, (c_void_p,)), "input_num_steps buffer_array_bytes listing_size"),
    ((POINTER(c_int64), (c_void_p,)), "input_steps"),
    ((POINTER(c_double), (c_void_p,)), "input_times"),
    ((c_char_p, (c_void_p, c_int64, c_int,)), "input_field_name"),
    ((c_int, (c_void_p, c_int64, c_char_p, POINTER(InputFieldC),)), "input_get_field"),
    ((c_int, (c_void_p, c_int64, c_int, POINTER(InputAxisC),)), "input_get_axis"),
    ((c_int, (c_void_p, c_int64, c_char_p, c_int, POINTER(AttributeC),)), "input_get_attribute"),
    ((c_int, (c_void_p, POINTER(FieldReadC),)), "input_read"),
    ((c_int, (c_void_p, c_int64, POINTER(InputMeshC),)), "input_get_mesh"),
    ((c_int, (c_void_p, c_int64, POINTER(MeshPartC),)), "input_read_mesh"),
    ((None, (POINTER(MeshPartC),)), "mesh_part_free"),
    ((c_char_p, (c_void_p, c_int64, c_char_p,)), "input_explain"),
    ((c_char_p, (c_void_p, c_int,)), "gather_result_file gather_result_incomplete buffer_arrays_path_to"),
    ((c_int, (c_void_p, POINTER(CollectivesOptionsC), POINTER(c_void_p),)), "collectives_create"),
    ((c_int, (c_void_p, c_int, c_int, c_int64, POINTER(c_void_p),)), "collectives_allreduce"),
    ((c_int, (c_void_p, c_int64, POINTER(c_void_p),)), "collectives_alltoall collectives_allgather shared_allocate"),
    ((c_int, (c_void_p, c_int64, c_int, POINTER(c_void_p),)), "collectives_broadcast"),
    ((c_int, (c_void_p, c_void_p, c_void_p,)), "collective_plan_execute collective_plan_start"),
    ((c_int, (c_void_p, POINTER(c_int),)), "collective_plan_test buffer_array_done"),
    ((c_void_p, (c_void_p,)), "shared_data"),
    ((c_int, (c_void_p, POINTER(HaloGridC), c_int, POINTER(HaloFieldC), POINTER(HaloOptionsC), POINTER(c_void_p),)),
        "halo_plan"),
    ((c_int, (c_void_p, c_char_p, c_int64, POINTER(c_void_p),)), "buffer_arrays_get"),
    ((c_int, (c_void_p, POINTER(c_void_p),)), "buffer_array_make topology_discover"),
    ((c_int, (c_void_p, c_void_p, c_int64,)), "buffer_array_append store_archive_grib"),
    ((c_int, (c_void_p, c_int, c_int,)), "buffer_array_send buffer_array_receive"),
    ((c_int, (c_int, c_void_p, c_void_p, POINTER(c_void_p),)), "topology_declare"),
    ((c_int, (c_void_p, c_int,)), "topology_node_of topology_socket_of"),
    ((c_int, (c_void_p, c_int, c_void_p, c_void_p, c_void_p, POINTER(c_int), POINTER(TrafficC),)),
        "topology_reorder"),
    ((c_int, (c_void_p, c_int, c_void_p, POINTER(c_void_p),)), "comm_reordered"),
    ((c_int, (c_char_p, c_char_p, POINTER(c_void_p),)), "store_open"),
    ((c_int, (c_void_p, c_char_p, c_void_p, c_int64, c_char_p,)), "store_archive"),
    ((c_int, (c_void_p, c_char_p, c_int, POINTER(c_void_p),)), "store_list"),
    ((c_int, (c_void_p, c_int64, POINTER(FieldInfoC),)), "listing_get"),
    ((c_int, (c_void_p, POINTER(c_char_p),)), "listing_keywords"),
    ((c_int, (c_void_p, c_char_p, c_void_p, POINTER(c_int64),)), "listing_column"),
    ((c_char_p, (c_void_p, c_int64,)), "listing_value"),
    ((c_int, (c_void_p, c_void_p, c_void_p, c_void_p,)), "store_retrieve"),
    ((c_int, (c_void_p, c_char_p, c_void_p, c_int64,)), "store_retrieve_one"),
    ((c_int, (c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_int64,)), "store_read"),
    ((c_int, (c_void_p, c_int64, c_void_p, c_int64, POINTER(c_int64),)), "grib_values"),
    ((c_int, (c_void_p, c_int64, c_char_p, c_void_p, c_int64, POINTER(c_int64),)), "grib_array"),
    ((c_int, (c_void_p, c_int64, c_char_p, POINTER(c_char_p),)), "grib_texts"),
    ((c_char_p, (c_char_p,)), "store_param_name"),
)
