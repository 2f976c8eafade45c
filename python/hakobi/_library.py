"""Loads libhakobi.so and declares the functions of hakobi.h for ctypes: the Python side of the C interface.

Which library, first hit wins:
 1. the file that $HAKOBI_LIBRARY names, and no other;
 2. $HAKOBI_PREFIX/lib, when HAKOBI_PREFIX is set, and nowhere else;
 3. the source tree's build/<mpi>/lib, when the package runs from one, with <mpi> the MPI library in use;
 4. the `lib` folder of this Python's environment; 5. where the system's loader looks.

The MPI library in use is mpi4py's when its `MPI` is imported, else the launcher's (Open MPI and MPICH each set
variables for the processes that they start), else $HAKOBI_MPI, else Open MPI. A process can hold only one.

libhakobi.so is loaded with its symbols hidden from other modules: it uses the system's HDF5, while h5py's wheel brings
another. MPI's own symbols are made global, since Open MPI's plugins look for them there.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_uint8, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from hakobi import programs
from hakobi.errors import ExistsError, FormatError, HakobiError, InputError, StorageError

MAX_DIMS = 8
MAX_HALO_DIMS = 5
#: numpy's name -> HAKOBI_DOUBLE, …
TYPES = {
    "float64": 0,
    "float32": 1,
    "int32": 2,
    "int64": 3,
    "int8": 6,
    "uint8": 7,
    "int16": 8,
    "uint16": 9,
    "uint32": 10,
    "uint64": 11,
}

_SONAME = "libhakobi.so.0"
_MPI_SONAMES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpich.so.12", "libmpi.so.12")}
_ERROR_CLASS: dict[str, type[HakobiError]] = {
    "invalid_argument": InputError,
    "not_found": InputError,
    "unsupported": InputError,
    "exists": ExistsError,
    "permission": StorageError,
    "no_space": StorageError,
    "io": StorageError,
    "format": FormatError,
}


class BlockC(ctypes.Structure):
    """hakobi_block."""

    _fields_ = (
        ("num_dims", c_int),
        ("global_", c_int64 * MAX_DIMS),
        ("start", c_int64 * MAX_DIMS),
        ("count", c_int64 * MAX_DIMS),
    )


class AttributeC(ctypes.Structure):
    """hakobi_attribute."""

    _fields_ = (
        ("name", c_char_p),
        ("text", c_char_p),
        ("doubles", POINTER(c_double)),
        ("integers", POINTER(c_int64)),
        ("num_values", c_int64),
        ("reserved", c_void_p * 4),
    )


class FieldC(ctypes.Structure):
    """hakobi_field."""

    _fields_ = (
        ("name", c_char_p),
        ("units", c_char_p),
        ("long_name", c_char_p),
        ("standard_name", c_char_p),
        ("block", BlockC),
        ("type", c_int),
        ("data", c_void_p),
        ("num_values", c_int64),
        ("dims", c_char_p),
        ("ghosts", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("compression", c_char_p),
        ("significant_bits", c_int),
        ("attributes", POINTER(AttributeC)),
        ("num_attributes", c_int64),
        ("fill_value", c_void_p),
        ("coordinates", c_char_p),
        ("is_static", c_int64),
        ("on", c_int),
        ("num_components", c_int),
        ("reserved", c_void_p * 3),
    )


class MeshC(ctypes.Structure):
    """hakobi_mesh."""

    _fields_ = (
        ("motion", c_int),
        ("points_type", c_int),
        ("num_points", c_int64),
        ("points", c_void_p),
        ("num_cells", c_int64),
        ("types", c_void_p),
        ("offsets_type", c_int),
        ("connectivity_type", c_int),
        ("offsets", c_void_p),
        ("connectivity", c_void_p),
        ("num_connectivity", c_int64),
        ("first_number", c_int64),
        ("ghosts", c_void_p),
        ("reserved", c_void_p * 4),
    )


class InputFieldC(ctypes.Structure):
    """hakobi_input_field."""

    _fields_ = (
        ("name", c_char_p),
        ("type_name", c_char_p),
        ("type", c_int),
        ("num_dims", c_int),
        ("shape", c_int64 * MAX_DIMS),
        ("dims", c_char_p),
        ("is_static", c_int64),
        ("reserved", c_void_p * 4),
    )


class InputAxisC(ctypes.Structure):
    """hakobi_input_axis."""

    _fields_ = (
        ("name", c_char_p),
        ("units", c_char_p),
        ("standard_name", c_char_p),
        ("num_values", c_int64),
        ("values", POINTER(c_double)),
        ("reserved", c_void_p * 4),
    )


class FieldReadC(ctypes.Structure):
    """hakobi_field_read."""

    _fields_ = (
        ("name", c_char_p),
        ("step", c_int64),
        ("block", BlockC),
        ("type", c_int),
        ("data", c_void_p),
        ("num_values", c_int64),
        ("ghosts", c_int64 * MAX_DIMS),
        ("strides", c_int64 * MAX_DIMS),
        ("reserved", c_void_p * 4),
    )


class InputMeshC(ctypes.Structure):
    """hakobi_input_mesh."""

    _fields_ = (
        ("num_points", c_int64),
        ("num_cells", c_int64),
        ("num_pieces", c_int64),
        ("points_type", c_int),
        ("has_ghosts", c_int),
        ("reserved", c_void_p * 4),
    )


class MeshPartC(ctypes.Structure):
    """hakobi_mesh_part."""

    _fields_ = (
        ("first_point", c_int64),
        ("first_cell", c_int64),
        ("first_piece", c_int64),
        ("num_pieces", c_int64),
        ("num_points", c_int64),
        ("points", POINTER(c_double)),
        ("num_cells", c_int64),
        ("types", POINTER(c_uint8)),
        ("offsets", POINTER(c_int64)),
        ("num_connectivity", c_int64),
        ("connectivity", POINTER(c_int64)),
        ("ghosts", POINTER(c_uint8)),
        ("memory", c_void_p),
        ("reserved", c_void_p * 4),
    )


class TimesC(ctypes.Structure):
    """hakobi_output_times."""

    _fields_ = (
        ("layout_s", c_double),
        ("values_s", c_double),
        ("finish_s", c_double),
        ("gather_s", c_double),
        ("bytes", c_int64),
        ("encode_s", c_double),
        ("hidden_s", c_double),
        ("run_s", c_double),
        ("cpu_s", c_double),
        ("reserved", c_double * 4),
    )


class CollectivesOptionsC(ctypes.Structure):
    """hakobi_collectives_options."""

    _fields_ = (
        ("topology", c_char_p),
        ("method", c_char_p),
        ("is_reproducible", c_int),
        ("latency_s", c_double),
        ("overhead_s", c_double),
        ("bandwidth_bytes_s", c_double),
        ("reserved", c_void_p * 4),
    )


class HaloGridC(ctypes.Structure):
    """hakobi_halo_grid."""

    _fields_ = (
        ("num_dims", c_int),
        ("extents", c_int64 * MAX_HALO_DIMS),
        ("ghosts_low", c_int64 * MAX_HALO_DIMS),
        ("ghosts_high", c_int64 * MAX_HALO_DIMS),
        ("ranks", c_int * MAX_HALO_DIMS),
        ("is_periodic", c_int * MAX_HALO_DIMS),
    )


class HaloFieldC(ctypes.Structure):
    """hakobi_halo_field."""

    _fields_ = (
        ("data", c_void_p),
        ("element_bytes", c_int64),
        ("strides_bytes", c_int64 * MAX_HALO_DIMS),
        ("num_components", c_int64),
        ("component_stride_bytes", c_int64),
    )


class HaloOptionsC(ctypes.Structure):
    """hakobi_halo_options."""

    _fields_ = (
        ("faces_only", c_int),
        ("path", c_char_p),
        ("timeout_s", c_double),
        ("refused", c_char_p),
        ("reserved", c_void_p * 3),
    )


class TrafficC(ctypes.Structure):
    """hakobi_traffic."""

    _fields_ = (("between_nodes_before", c_int64), ("between_nodes_after", c_int64), ("total", c_int64))


#: Function of hakobi.h -> (type of its result, types of its arguments).
_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "hakobi_error_text": (c_char_p, ()),
    "hakobi_error_rank": (c_int, ()),
    "hakobi_error_name": (c_char_p, (c_int,)),
    "hakobi_version": (c_char_p, ()),
    "hakobi_mpi_name": (c_char_p, ()),
    "hakobi_mpi_init_if_needed": (c_int, ()),
    "hakobi_mpi_finalize_if_ours": (c_int, ()),
    "hakobi_comm_duplicate_f": (c_int, (c_int, POINTER(c_void_p))),
    "hakobi_comm_duplicate_world": (c_int, (POINTER(c_void_p),)),
    "hakobi_comm_free": (c_int, (c_void_p,)),
    "hakobi_comm_rank": (c_int, (c_void_p,)),
    "hakobi_comm_size": (c_int, (c_void_p,)),
    "hakobi_comm_num_nodes": (c_int, (c_void_p,)),
    "hakobi_comm_handle_f": (c_int, (c_void_p,)),
    "hakobi_comm_reordered": (c_int, (c_void_p, c_int, POINTER(c_int), POINTER(c_void_p))),
    "hakobi_dims_of_ranks": (c_int, (c_int, POINTER(c_int64), c_int, POINTER(c_int))),
    "hakobi_split": (c_int, (c_int, POINTER(c_int64), c_int, c_int, POINTER(BlockC))),
    "hakobi_options_create": (c_int, (POINTER(c_void_p),)),
    "hakobi_options_set": (c_int, (c_void_p, c_char_p, c_char_p)),
    "hakobi_options_set_hint": (c_int, (c_void_p, c_char_p, c_char_p)),
    "hakobi_options_set_attribute": (c_int, (c_void_p, c_char_p, POINTER(AttributeC))),
    "hakobi_options_add_axis": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_void_p, c_int64)),
    "hakobi_options_refuse": (c_int, (c_void_p, c_char_p)),
    "hakobi_options_free": (None, (c_void_p,)),
    "hakobi_output_method_name": (c_char_p, (c_int,)),
    "hakobi_output_create": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(c_void_p))),
    "hakobi_output_begin_step": (c_int, (c_void_p, c_double)),
    "hakobi_output_put": (c_int, (c_void_p, POINTER(FieldC))),
    "hakobi_output_put_mesh": (c_int, (c_void_p, POINTER(MeshC))),
    "hakobi_output_put_points": (c_int, (c_void_p, c_int, c_void_p, c_int64)),
    "hakobi_output_refuse": (c_int, (c_void_p, c_char_p)),
    "hakobi_output_end_step": (c_int, (c_void_p,)),
    "hakobi_output_close": (c_int, (c_void_p,)),
    "hakobi_output_free": (None, (c_void_p,)),
    "hakobi_output_method": (c_char_p, (c_void_p,)),
    "hakobi_output_explain": (c_char_p, (c_void_p,)),
    "hakobi_output_get_times": (c_int, (c_void_p, POINTER(TimesC))),
    "hakobi_input_open": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(c_void_p))),
    "hakobi_input_open_alone": (c_int, (c_char_p, POINTER(c_void_p))),
    "hakobi_input_num_steps": (c_int64, (c_void_p,)),
    "hakobi_input_steps": (POINTER(c_int64), (c_void_p,)),
    "hakobi_input_times": (POINTER(c_double), (c_void_p,)),
    "hakobi_input_time_units": (c_char_p, (c_void_p,)),
    "hakobi_input_calendar": (c_char_p, (c_void_p,)),
    "hakobi_input_field_name": (c_char_p, (c_void_p, c_int64, c_int)),
    "hakobi_input_get_field": (c_int, (c_void_p, c_int64, c_char_p, POINTER(InputFieldC))),
    "hakobi_input_get_axis": (c_int, (c_void_p, c_int64, c_int, POINTER(InputAxisC))),
    "hakobi_input_get_attribute": (c_int, (c_void_p, c_int64, c_char_p, c_int, POINTER(AttributeC))),
    "hakobi_input_read": (c_int, (c_void_p, POINTER(FieldReadC))),
    "hakobi_input_get_mesh": (c_int, (c_void_p, c_int64, POINTER(InputMeshC))),
    "hakobi_input_read_mesh": (c_int, (c_void_p, c_int64, POINTER(MeshPartC))),
    "hakobi_mesh_part_free": (None, (POINTER(MeshPartC),)),
    "hakobi_input_refuse": (c_int, (c_void_p, c_char_p)),
    "hakobi_input_explain": (c_char_p, (c_void_p, c_int64, c_char_p)),
    "hakobi_input_close": (c_int, (c_void_p,)),
    "hakobi_input_free": (None, (c_void_p,)),
    "hakobi_collectives_create": (c_int, (c_void_p, POINTER(CollectivesOptionsC), POINTER(c_void_p))),
    "hakobi_collectives_allreduce": (c_int, (c_void_p, c_int, c_int, c_int64, POINTER(c_void_p))),
    "hakobi_collectives_alltoall": (c_int, (c_void_p, c_int64, POINTER(c_void_p))),
    "hakobi_collectives_allgather": (c_int, (c_void_p, c_int64, POINTER(c_void_p))),
    "hakobi_collectives_broadcast": (c_int, (c_void_p, c_int64, c_int, POINTER(c_void_p))),
    "hakobi_collectives_free": (c_int, (c_void_p,)),
    "hakobi_collective_plan_execute": (c_int, (c_void_p, c_void_p, c_void_p)),
    "hakobi_collective_plan_start": (c_int, (c_void_p, c_void_p, c_void_p)),
    "hakobi_collective_plan_test": (c_int, (c_void_p, POINTER(c_int))),
    "hakobi_collective_plan_wait": (c_int, (c_void_p,)),
    "hakobi_collective_plan_explain": (c_char_p, (c_void_p,)),
    "hakobi_collective_plan_free": (None, (c_void_p,)),
    "hakobi_shared_allocate": (c_int, (c_void_p, c_int64, POINTER(c_void_p))),
    "hakobi_shared_data": (c_void_p, (c_void_p,)),
    "hakobi_shared_free": (None, (c_void_p,)),
    "hakobi_halo_plan": (
        c_int,
        (c_void_p, POINTER(HaloGridC), c_int, POINTER(HaloFieldC), POINTER(HaloOptionsC), POINTER(c_void_p)),
    ),
    "hakobi_halo_start": (c_int, (c_void_p,)),
    "hakobi_halo_wait": (c_int, (c_void_p,)),
    "hakobi_halo_explain": (c_char_p, (c_void_p,)),
    "hakobi_halo_free": (None, (c_void_p,)),
    "hakobi_buffer_arrays_get": (c_int, (c_void_p, c_char_p, c_int64, POINTER(c_void_p))),
    "hakobi_buffer_arrays_path_to": (c_char_p, (c_void_p, c_int)),
    "hakobi_buffer_arrays_free": (None, (c_void_p,)),
    "hakobi_buffer_array_make": (c_int, (c_void_p, POINTER(c_void_p))),
    "hakobi_buffer_array_append": (c_int, (c_void_p, c_void_p, c_int64)),
    "hakobi_buffer_array_release": (c_int, (c_void_p,)),
    "hakobi_buffer_array_bytes": (c_int64, (c_void_p,)),
    "hakobi_buffer_array_send": (c_int, (c_void_p, c_int, c_int)),
    "hakobi_buffer_array_receive": (c_int, (c_void_p, c_int, c_int)),
    "hakobi_buffer_array_done": (c_int, (c_void_p, POINTER(c_int))),
    "hakobi_buffer_array_wait": (c_int, (c_void_p,)),
    "hakobi_buffer_array_free": (None, (c_void_p,)),
    "hakobi_topology_discover": (c_int, (c_void_p, POINTER(c_void_p))),
    "hakobi_topology_declare": (c_int, (c_int, POINTER(c_int), POINTER(c_int), POINTER(c_void_p))),
    "hakobi_topology_num_ranks": (c_int, (c_void_p,)),
    "hakobi_topology_num_nodes": (c_int, (c_void_p,)),
    "hakobi_topology_node_of": (c_int, (c_void_p, c_int)),
    "hakobi_topology_socket_of": (c_int, (c_void_p, c_int)),
    "hakobi_topology_reorder": (
        c_int,
        (c_void_p, c_int, POINTER(c_int), POINTER(c_int64), POINTER(c_int), POINTER(c_int), POINTER(TrafficC)),
    ),
    "hakobi_topology_free": (None, (c_void_p,)),
    "hakobi_gather_pieces": (c_int, (c_char_p, POINTER(c_void_p))),
    "hakobi_gather_result_file": (c_char_p, (c_void_p, c_int)),
    "hakobi_gather_result_incomplete": (c_char_p, (c_void_p, c_int)),
    "hakobi_gather_result_free": (None, (c_void_p,)),
}


def mpi_in_use() -> str:
    """ "openmpi" or "mpich": see the head of the file. Raises InputError where mpi4py runs on another MPI library."""
    mpi4py_mpi = sys.modules.get("mpi4py.MPI")
    if mpi4py_mpi is not None:
        version: str = mpi4py_mpi.Get_library_version()
        if version.startswith("Open MPI"):
            return "openmpi"
        if "MPICH" in version:
            return "mpich"
        raise InputError(f"mpi4py runs on an MPI library that Hakobi is not built for: {version.splitlines()[0]}")
    if "OMPI_COMM_WORLD_SIZE" in os.environ:
        return "openmpi"
    if "PMI_SIZE" in os.environ:
        return "mpich"
    return programs.flavour()


def _candidates(flavour: str) -> Iterator[Path]:
    tree = programs.source_tree()
    if tree:
        yield tree / "build" / flavour / "lib" / _SONAME
    yield Path(sys.prefix) / "lib" / _SONAME


def _locate(flavour: str) -> str:
    if named := os.environ.get("HAKOBI_LIBRARY"):
        return named
    if prefix := os.environ.get("HAKOBI_PREFIX"):
        found = sorted(Path(prefix).glob(f"lib*/{_SONAME}")) + sorted(Path(prefix).glob(f"lib/*/{_SONAME}"))
        if not found:
            raise InputError(f"no {_SONAME} below {prefix}: HAKOBI_PREFIX names no finished installation")
        return str(found[0])
    return next((str(path) for path in _candidates(flavour) if path.is_file()), _SONAME)


@cache
def load() -> ctypes.CDLL:
    """The library, loaded at the first call. Raises InputError when there is none, or one for another MPI library."""
    flavour = mpi_in_use()
    path = _locate(flavour)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        how = f"build it with 'make HAKOBI_MPI={flavour}'" if programs.source_tree() else "set HAKOBI_PREFIX"
        raise InputError(f"cannot load Hakobi's library for {flavour}: {error}: {how}") from error
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    built_with = library.hakobi_mpi_name().decode()
    if built_with in _MPI_SONAMES and built_with != flavour:
        raise InputError(f"{path} is built with {built_with}, but this process runs with {flavour}")
    for soname in _MPI_SONAMES.get(built_with, ()):
        try:
            ctypes.CDLL(soname, mode=ctypes.RTLD_GLOBAL)
            break
        except OSError:
            continue
    return library


def error_of(library: ctypes.CDLL, code: int) -> HakobiError:
    """The exception for a code that a call of this thread just returned."""
    name = library.hakobi_error_name(code).decode()
    text = library.hakobi_error_text().decode(errors="replace")
    return _ERROR_CLASS.get(name, HakobiError)(text, code=name, rank=library.hakobi_error_rank())


def check(library: ctypes.CDLL, code: int) -> None:
    """Raises what a code other than 0 stands for."""
    if code != 0:
        raise error_of(library, code)
