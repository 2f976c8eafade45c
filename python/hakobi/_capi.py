"""The C interface for ctypes. Made by tools/bindings from the headers of C: do not edit."""

# fmt: off
# ruff: noqa: I001
from __future__ import annotations

from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_uint8, c_void_p, sizeof
from typing import Any, ClassVar

#: include/hakobi/version.h's.
VERSION = "0.2.0"
#: The enums' values, without HAKOBI_.
CONSTANTS = {
    "YES": 1, "NO": -1, "OK": 0, "INTERRUPTED": 1, "INVALID_ARGUMENT": 2, "NOT_FOUND": 3, "EXISTS": 4,
    "PERMISSION": 5, "UNSUPPORTED": 6, "FORMAT": 7, "OUT_OF_MEMORY": 8, "NO_SPACE": 9, "IO": 10, "FAILED": 11,
    "INTERNAL": 12, "INT8": 257, "INT16": 258, "INT32": 260, "INT64": 264, "UINT8": 513, "UINT16": 514, "UINT32": 516,
    "UINT64": 520, "FLOAT32": 772, "FLOAT64": 776, "COMPLEX64": 1032, "COMPLEX128": 1040, "MEMORY_AUTOMATIC": 0,
    "MEMORY_HOST": 1, "MEMORY_DEVICE": 2, "IF_EXISTS_FAIL": 0, "IF_EXISTS_REPLACE": 1, "IF_EXISTS_RESUME": 2,
    "ON_GRID": 0, "ON_POINTS": 1, "ON_CELLS": 2, "MESH_FIXED": 0, "MESH_MOVES": 1, "MESH_CHANGES": 2, "SUM": 0,
    "PRODUCT": 1, "MINIMUM": 2, "MAXIMUM": 3, "ORDER_KEY": 0, "ORDER_FILE": 1,
}

class _Sized(Structure):
    _fields_: ClassVar[Any] = (("struct_size", c_size_t),)

    def __init__(self, *members: Any, **named: Any) -> None:
        super().__init__(sizeof(self), *members, **named)

class BlockC(Structure):  # hakobi_block
    _fields_ = (
        ("num_dims", c_int), ("global_", c_int64 * 8), ("start", c_int64 * 8), ("count", c_int64 * 8),)

class AttributeC(_Sized):  # hakobi_attribute
    _fields_ = (
        ("name", c_char_p), ("text", c_char_p), ("doubles", POINTER(c_double)), ("integers", POINTER(c_int64)),
        ("num_values", c_int64),)

class AxisC(_Sized):  # hakobi_axis
    _fields_ = (
        ("name", c_char_p), ("units", c_char_p), ("standard_name", c_char_p), ("values", POINTER(c_double)),
        ("num_values", c_int64), ("attributes", POINTER(AttributeC)), ("num_attributes", c_int64),)

class HintC(Structure):  # hakobi_hint
    _fields_ = (
        ("name", c_char_p), ("value", c_char_p),)

class OutputOptionsC(_Sized):  # hakobi_output_options
    _fields_ = (
        ("if_exists", c_int), ("method", c_char_p), ("format", c_char_p), ("title", c_char_p),
        ("axes", POINTER(AxisC)), ("num_axes", c_int64), ("attributes", POINTER(AttributeC)),
        ("num_attributes", c_int64), ("time_units", c_char_p), ("calendar", c_char_p), ("compression", c_char_p),
        ("asynchronous_bytes", c_int64), ("buffer_bytes", c_int64), ("hints", POINTER(HintC)), ("num_hints", c_int64),
        ("significant_bits", c_int), ("writer_stride", c_int), ("asynchronous", c_int), ("sync", c_int),
        ("overview", c_int), ("keep_pieces", c_int), ("steps_per_file", c_int64), ("stage", c_char_p),
        ("stage_bytes", c_int64), ("stage_bytes_s", c_int64), ("stage_patience_s", c_int64), ("store_as", c_char_p),)

class FieldC(_Sized):  # hakobi_field
    _fields_ = (
        ("name", c_char_p), ("units", c_char_p), ("long_name", c_char_p), ("standard_name", c_char_p),
        ("dims", c_char_p), ("coordinates", c_char_p), ("compression", c_char_p), ("block", BlockC), ("type", c_int),
        ("significant_bits", c_int), ("data", c_void_p), ("num_values", c_int64), ("ghosts", POINTER(c_int64)),
        ("strides", POINTER(c_int64)), ("attributes", POINTER(AttributeC)), ("num_attributes", c_int64),
        ("fill_value", c_void_p), ("is_static", c_int), ("on", c_int), ("num_components", c_int64), ("memory", c_int),
        ("stream", c_void_p), ("store_as", c_char_p),)

class FieldDefinitionC(_Sized):  # hakobi_field_definition
    _fields_ = (
        ("name", c_char_p), ("units", c_char_p), ("long_name", c_char_p), ("standard_name", c_char_p),
        ("dims", c_char_p), ("coordinates", c_char_p), ("compression", c_char_p), ("attributes", POINTER(AttributeC)),
        ("num_attributes", c_int64), ("fill_value", c_void_p), ("global_", POINTER(c_int64)), ("num_dims", c_int),
        ("type", c_int), ("significant_bits", c_int), ("is_static", c_int), ("on", c_int), ("num_components", c_int),
        ("store_as", c_char_p),)

class MemoryLayoutC(_Sized):  # hakobi_memory_layout
    _fields_ = (
        ("ghosts", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("num_values", c_int64), ("type", c_int),
        ("memory", c_int), ("stream", c_void_p),)

class MeshC(_Sized):  # hakobi_mesh
    _fields_ = (
        ("motion", c_int), ("points_type", c_int), ("num_points", c_int64), ("points", c_void_p),
        ("num_cells", c_int64), ("types", c_void_p), ("offsets_type", c_int), ("connectivity_type", c_int),
        ("offsets", c_void_p), ("connectivity", c_void_p), ("num_connectivity", c_int64), ("first_number", c_int64),
        ("ghosts", c_void_p),)

class OutputTimesC(_Sized):  # hakobi_output_times
    _fields_ = (
        ("layout_s", c_double), ("encode_s", c_double), ("values_s", c_double), ("finish_s", c_double),
        ("gather_s", c_double), ("hidden_s", c_double), ("run_s", c_double), ("cpu_s", c_double), ("bytes", c_int64),)

class OutputsOptionsC(_Sized):  # hakobi_outputs_options
    _fields_ = (
        ("time_units", c_char_p), ("calendar", c_char_p), ("if_exists", c_int), ("has_begin_time", c_int),
        ("has_resume_at", c_int), ("begin_time", c_double), ("resume_at", c_double),)

class DerivedFieldC(_Sized):  # hakobi_derived_field
    _fields_ = (
        ("of", c_char_p), ("cell_method", c_char_p), ("name", c_char_p), ("long_name", c_char_p),
        ("attributes", POINTER(AttributeC)), ("num_attributes", c_int64), ("compression", c_char_p),
        ("significant_bits", c_int), ("store_as", c_char_p),)

class InputOptionsC(_Sized):  # hakobi_input_options
    _fields_ = (
        ("hints", POINTER(HintC)), ("num_hints", c_int64),)

class InputFieldC(_Sized):  # hakobi_input_field
    _fields_ = (
        ("name", c_char_p), ("type_name", c_char_p), ("dims", c_char_p), ("type", c_int), ("num_dims", c_int),
        ("is_static", c_int), ("shape", c_int64 * 8),)

class FieldReadC(_Sized):  # hakobi_field_read
    _fields_ = (
        ("name", c_char_p), ("step", c_int64), ("block", BlockC), ("type", c_int), ("data", c_void_p),
        ("num_values", c_int64), ("ghosts", c_int64 * 8), ("strides", c_int64 * 8), ("memory", c_int),
        ("stream", c_void_p),)

class InputMeshC(_Sized):  # hakobi_input_mesh
    _fields_ = (
        ("num_points", c_int64), ("num_cells", c_int64), ("num_pieces", c_int64), ("points_type", c_int),
        ("has_ghosts", c_int),)

class MeshPartC(_Sized):  # hakobi_mesh_part
    _fields_ = (
        ("memory", c_void_p), ("first_point", c_int64), ("first_cell", c_int64), ("first_piece", c_int64),
        ("num_pieces", c_int64), ("num_points", c_int64), ("points", POINTER(c_double)), ("num_cells", c_int64),
        ("types", POINTER(c_uint8)), ("offsets", POINTER(c_int64)), ("num_connectivity", c_int64),
        ("connectivity", POINTER(c_int64)), ("ghosts", POINTER(c_uint8)),)

class CollectivesOptionsC(_Sized):  # hakobi_collectives_options
    _fields_ = (
        ("topology", c_char_p), ("method", c_char_p), ("is_reproducible", c_int), ("latency_s", c_double),
        ("overhead_s", c_double), ("bandwidth_bytes_s", c_double),)

class HaloGridC(_Sized):  # hakobi_halo_grid
    _fields_ = (
        ("num_dims", c_int), ("extents", c_int64 * 5), ("ghosts_low", c_int64 * 5), ("ghosts_high", c_int64 * 5),
        ("ranks", c_int * 5), ("is_periodic", c_int * 5),)

class HaloFieldC(_Sized):  # hakobi_halo_field
    _fields_ = (
        ("data", c_void_p), ("element_bytes", c_int64), ("strides_bytes", c_int64 * 5), ("num_components", c_int64),
        ("component_stride_bytes", c_int64), ("memory", c_int64),)

class HaloOptionsC(_Sized):  # hakobi_halo_options
    _fields_ = (
        ("corners", c_int), ("path", c_char_p), ("timeout_s", c_double),)

class BufferArraysOptionsC(_Sized):  # hakobi_buffer_arrays_options
    _fields_ = (
        ("path", c_char_p), ("pack_bytes", c_int64),)

class TrafficC(_Sized):  # hakobi_traffic
    _fields_ = (
        ("between_nodes_before", c_int64), ("between_nodes_after", c_int64), ("total", c_int64),)

class StoreOptionsC(_Sized):  # hakobi_store_options
    _fields_ = (
        ("schema", c_char_p), ("writer", c_char_p), ("num_buffers", c_int), ("buffer_bytes", c_int64),
        ("pad_bytes", c_int64), ("num_threads", c_int), ("asynchronous", c_int), ("sync", c_int),
        ("sync_directory", c_int), ("huge_pages", c_int), ("direct", c_int),)

class SelectionC(_Sized):  # hakobi_selection
    _fields_ = (
        ("order", c_int), ("with_replaced", c_int), ("is_strict", c_int64),)

class FieldInfoC(_Sized):  # hakobi_field_info
    _fields_ = (
        ("key", c_char_p), ("form", c_char_p), ("file", c_char_p), ("is_replaced", c_int), ("offset_bytes", c_int64),
        ("length_bytes", c_int64), ("checksum", c_uint64), ("flushed_ns", c_int64),)

#: Types of result and arguments, and the functions that have them, without hakobi_.
SIGNATURES: tuple[tuple[tuple[Any, tuple[Any, ...]], str], ...] = (
    ((c_char_p, ()), "error_text version mpi_name"),
    ((c_int, ()), "error_rank mpi_init_if_needed mpi_finalize_if_ours"),
    ((None, (c_char_p, c_int,)), "end_with_error"),
    ((c_char_p, (c_int,)), "error_name output_method_name device_text device_refused"),
    ((c_int, (c_int, POINTER(c_void_p),)), "comm_duplicate_f"),
    ((c_int, (c_void_p,)),
        "comm_free comm_rank comm_size comm_num_nodes comm_node comm_handle_f output_end_step output_flush "
        "output_close outputs_end_step outputs_checkpoint outputs_close input_close collectives_free "
        "collective_plan_wait halo_start halo_wait buffer_array_release buffer_array_wait topology_num_ranks "
        "topology_num_nodes store_flush store_close"),
    ((c_int, (c_int, c_void_p, c_int, c_int, POINTER(BlockC),)), "split"),
    ((c_int, (c_int, c_void_p, c_int, POINTER(c_int),)), "dims_of_ranks"),
    ((c_int, (c_void_p, c_char_p, POINTER(OutputOptionsC), POINTER(c_void_p),)), "output_create"),
    ((c_int, (c_void_p, POINTER(FieldDefinitionC), POINTER(c_int64),)), "output_define outputs_define"),
    ((c_int, (c_void_p, c_double,)), "output_begin_step outputs_begin_step"),
    ((c_int, (c_void_p, c_int64, POINTER(BlockC), c_void_p, POINTER(MemoryLayoutC),)),
        "output_put_values outputs_put"),
    ((c_int, (c_void_p, POINTER(FieldC),)), "output_put"),
    ((c_int, (c_void_p, POINTER(MeshC),)), "output_put_mesh"),
    ((c_int, (c_void_p, c_int, c_void_p, c_int64,)), "output_put_points"),
    ((None, (c_void_p,)),
        "output_free outputs_free input_free gather_result_free collective_plan_free shared_free halo_free "
        "buffer_arrays_free buffer_array_free topology_free store_free listing_free"),
    ((c_char_p, (c_void_p,)),
        "output_method output_explain outputs_explain input_time_units input_calendar collective_plan_explain "
        "halo_explain"),
    ((c_int, (c_void_p, POINTER(OutputTimesC),)), "output_get_times"),
    ((c_int, (c_void_p, c_char_p, POINTER(OutputsOptionsC), POINTER(c_void_p),)), "outputs_create"),
    ((c_int, (c_void_p, c_char_p, POINTER(OutputOptionsC), c_char_p, POINTER(DerivedFieldC), c_int64,)),
        "outputs_add"),
    ((c_int, (c_void_p, POINTER(c_int), c_void_p,)), "outputs_resume_time"),
    ((c_int, (c_void_p, c_char_p, POINTER(InputOptionsC), POINTER(c_void_p),)), "input_open"),
    ((c_int, (c_char_p, POINTER(c_void_p),)), "input_open_alone gather_pieces"),
    ((c_int64, (c_void_p,)), "input_num_steps buffer_array_bytes listing_size"),
    ((POINTER(c_int64), (c_void_p,)), "input_steps"),
    ((POINTER(c_double), (c_void_p,)), "input_times"),
    ((c_char_p, (c_void_p, c_int64, c_int,)), "input_field_name"),
    ((c_int, (c_void_p, c_int64, c_char_p, POINTER(InputFieldC),)), "input_get_field"),
    ((c_int, (c_void_p, c_int64, c_int, POINTER(AxisC),)), "input_get_axis"),
    ((c_int, (c_void_p, c_int64, c_char_p, c_int, POINTER(AttributeC),)), "input_get_attribute"),
    ((c_int, (c_void_p, POINTER(FieldReadC),)), "input_read input_read_independent"),
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
    ((c_int, (c_void_p, c_void_p, c_void_p, c_void_p,)), "collective_plan_start_on store_retrieve"),
    ((c_int, (c_void_p, c_void_p,)), "collective_plan_wait_on halo_start_on halo_wait_on buffer_array_wait_on"),
    ((c_void_p, (c_void_p,)), "shared_data"),
    ((c_int, (c_void_p, POINTER(HaloGridC), c_int, POINTER(HaloFieldC), POINTER(HaloOptionsC), POINTER(c_void_p),)),
        "halo_plan"),
    ((c_int, (c_void_p, POINTER(BufferArraysOptionsC), POINTER(c_void_p),)), "buffer_arrays_get"),
    ((c_int, (c_void_p, POINTER(c_void_p),)), "buffer_array_make topology_discover"),
    ((c_int, (c_void_p, c_void_p, c_int64,)), "buffer_array_append store_archive_grib"),
    ((c_int, (c_void_p, c_void_p, c_int64, c_int,)), "buffer_array_append_memory"),
    ((c_int, (c_void_p, c_int, c_int,)), "buffer_array_send buffer_array_receive"),
    ((c_int, (c_void_p, c_int, c_int, c_void_p,)), "buffer_array_send_on buffer_array_receive_on"),
    ((c_int, (c_int, c_void_p, c_void_p, POINTER(c_void_p),)), "topology_declare"),
    ((c_int, (c_void_p, c_int,)), "topology_node_of topology_socket_of"),
    ((c_int, (c_void_p, c_int, c_void_p, c_void_p, c_void_p, POINTER(c_int), POINTER(TrafficC),)),
        "topology_reorder"),
    ((c_int, (c_void_p, c_int, c_void_p, POINTER(c_void_p),)), "comm_reordered"),
    ((c_int, (c_char_p, POINTER(StoreOptionsC), POINTER(c_void_p),)), "store_open"),
    ((c_int, (c_void_p, c_char_p, c_void_p, c_int64, c_char_p,)), "store_archive"),
    ((c_int, (c_void_p, c_char_p, POINTER(SelectionC), POINTER(c_void_p),)), "store_list"),
    ((c_int, (c_void_p, c_int64, POINTER(FieldInfoC),)), "listing_get"),
    ((c_int, (c_void_p, POINTER(c_char_p),)), "listing_keywords"),
    ((c_int, (c_void_p, c_char_p, c_void_p, c_int64,)), "store_retrieve_one"),
    ((c_int, (c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_int64,)), "store_read"),
    ((c_int, (c_void_p, c_int64, c_void_p, c_int64, POINTER(c_int64),)), "grib_values"),
    ((c_int, (c_void_p, c_int64, c_char_p, c_void_p, c_int64, POINTER(c_int64),)), "grib_array"),
    ((c_int, (c_void_p, c_char_p,)),
        "comm_refuse output_refuse_define output_refuse outputs_refuse_add outputs_refuse input_refuse"),
    ((c_int, (c_char_p,)), "refuse"),
    ((c_int, (POINTER(c_void_p),)), "comm_duplicate_world"),
    ((c_int, (c_int,)), "mpi_takes_device_memory"),
    ((c_int, (c_void_p, c_char_p, c_void_p, POINTER(c_int64),)), "listing_column"),
    ((c_char_p, (c_void_p, c_int64,)), "listing_value"),
    ((c_int, (c_void_p, c_int64, c_char_p, POINTER(c_char_p),)), "grib_texts"),
    ((c_char_p, (c_char_p,)), "store_param_name"),
)
