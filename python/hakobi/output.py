"""Time steps from an MPI program in Python: the calls of C++'s hakobi::Output.

    comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)                    # collective
    block = hakobi.split((ny, nx), comm.size, comm.rank)            # local
    out = hakobi.Output.create(comm, "run", method="pipelined")     # collective
    field = out.define("eta", "m", (ny, nx))                        # collective
    out.begin_step(time_s)
    out.put(field, block, eta)                                      # keep eta unchanged until end_step returns
    out.end_step()                                                  # collective: same exception on every rank, or none
    out.close()                                                     # collective

hakobi/_library.py finds the library. Errors are those of hakobi/errors.py; collective calls raise the same one on every
rank, and `error.rank` is the rank on which it occurred.
"""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from hakobi import _library
from hakobi._capi import BlockC, OutputTimesC
from hakobi._library import TYPES, check, load, shown
from hakobi.attributes import (
    AttributeLike,
    attributes_for_c,
    fill_value_for_c,
    int_for_c,
    printable,
    text_for_c,
    yes_or_no,
)
from hakobi.device_arrays import AnyArray, lend
from hakobi.errors import InputError
from hakobi.fields import Block, FieldId, definition_for_c, field_of, names_for_c
from hakobi.mesh import field_for_c, mesh_for_c, points_for_c
from hakobi.output_options import Axis, options_for_c
from hakobi.step_writer import StepWriter


class _Mpi4pyComm(Protocol):
    def py2f(self) -> int: ...


class Comm:
    """A private duplicate of a communicator. Never freed by garbage collection: `free` is collective."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._library = load()
        self._handle = handle
        self.rank: int = self._library.hakobi_comm_rank(handle)
        self.size: int = self._library.hakobi_comm_size(handle)
        self.num_nodes: int = self._library.hakobi_comm_num_nodes(handle)

    @classmethod
    def duplicate(cls, comm: _Mpi4pyComm | int | None = None) -> Comm:
        """Duplicates an mpi4py communicator, or the one with this Fortran handle. Collective over it.

        None means all processes of the run, for programs without mpi4py: it initialises MPI, which is finalised when
        the interpreter ends. Without a launcher the run has one process.

        Raises InputError if there is no library for the MPI library in use, or if `comm` is not a communicator.
        """
        library = load()
        if comm is not None and _library.is_serial():
            raise InputError(
                "Hakobi was used before mpi4py.MPI was imported, and runs without MPI: import mpi4py.MPI first"
            )
        handle = ctypes.c_void_p()
        if comm is None:
            check(library, library.hakobi_mpi_init_if_needed())
            atexit.register(library.hakobi_mpi_finalize_if_ours)
            check(library, library.hakobi_comm_duplicate_world(handle))
        else:
            fortran_comm = comm if isinstance(comm, int) else comm.py2f()
            check(library, library.hakobi_comm_duplicate_f(fortran_comm, handle))
        return cls(handle)

    def __repr__(self) -> str:
        return shown(self, f"rank {self.rank} of {self.size}{'' if self._handle else ', freed'}")

    @property
    def handle(self) -> int:
        """The duplicate's Fortran handle, for the program's own messages: `MPI.Comm.f2py(comm.handle)` with mpi4py."""
        return int(self._library.hakobi_comm_handle_f(self._handle))

    def free(self) -> None:
        """Releases the duplicate; close all objects that use it before. Collective; a second call does nothing."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        check(self._library, self._library.hakobi_comm_free(handle))


def handle_of(comm: Comm) -> ctypes.c_void_p:
    """The C interface's. Raises InputError for what is no Comm."""
    if not isinstance(comm, Comm):
        raise InputError(f"comm is a {type(comm).__name__}, not a hakobi.Comm: hakobi.Comm.duplicate(comm) makes one")
    return comm._handle


@dataclass(frozen=True)
class OutputTimes:
    """Seconds that this rank has spent in Output, by phase, and the bytes that it put."""

    layout_s: float
    values_s: float
    finish_s: float
    gather_s: float
    hidden_s: float  #: storing this rank's values while the program goes on; not part of any call
    run_s: float  #: from create to close
    bytes: int
    encode_s: float = 0.0
    cpu_s: float = 0.0  #: processor time of this process's I/O threads; not in the other phases


@dataclass(frozen=True)
class GatherResult:
    """The files that gather_pieces wrote, and the folders that it left unchanged, each with the reason."""

    files: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)


def split(global_: Sequence[int], num_ranks: int, rank: int) -> Block:
    """The block of `rank` when an array of `global_` extents is split over `num_ranks`. Local.

    Raises InputError if the ranks do not fit the grid.
    """
    library = load()
    found = BlockC()
    extents = (ctypes.c_int64 * len(global_))(*global_)
    check(library, library.hakobi_split(len(global_), extents, num_ranks, rank, found))
    n = found.num_dims
    return Block(tuple(found.global_[:n]), tuple(found.start[:n]), tuple(found.count[:n]))


def dims_of_ranks(global_: Sequence[int], num_ranks: int) -> tuple[int, ...]:
    """The number of ranks in each dimension of `split`. Local. Raises as `split`."""
    library = load()
    num_dims = len(global_)
    dims = (ctypes.c_int * num_dims)()
    check(library, library.hakobi_dims_of_ranks(num_dims, (ctypes.c_int64 * num_dims)(*global_), num_ranks, dims))
    return tuple(dims)


def output_methods() -> list[str]:
    """The names for Output.create's `method`, besides "auto"."""
    return list(_texts(load().hakobi_output_method_name))


def gather_pieces(path: str | PathLike[str]) -> GatherResult:
    """Assembles files from the pieces that the method per-process left in `path`, a folder or a prefix. Local: no MPI.

    Completes the steps that a killed run had stored there.

    Raises InputError, FormatError or StorageError.
    """
    library = load()
    handle = ctypes.c_void_p()
    check(library, library.hakobi_gather_pieces(text_for_c("path", fspath(path)), handle))
    try:
        return GatherResult(
            list(_texts(lambda i: library.hakobi_gather_result_file(handle, i))),
            list(_texts(lambda i: library.hakobi_gather_result_incomplete(handle, i))),
        )
    finally:
        library.hakobi_gather_result_free(handle)


class Output(StepWriter):
    """Writes time steps, one NetCDF-4 file with CF conventions per step: `<prefix>_000000.nc`, …

    As a context manager it is closed at the end of the block. If the block raises, the output is left without
    communication, since other ranks may not have raised: the open step is abandoned, and MPI_Finalize completes those
    that were ended.
    """

    _calls, _closed = "hakobi_output", "the output is closed"

    def __init__(self, handle: ctypes.c_void_p, prefix: str) -> None:
        super().__init__(handle, prefix)
        self._mesh_counts = (0, 0)  # this rank's points and cells
        self._last_times: OutputTimes | None = None  # these: what close has left
        self._last_method = ""

    def __repr__(self) -> str:
        state = "a step is open" if self._is_open else "open" if self._handle else "closed"
        return shown(self, f"{self._prefix}, {self.method}, {state}")

    @classmethod
    def create(
        cls,
        comm: Comm,
        prefix: str | PathLike[str],
        *,
        method: str = "auto",
        format: str = "netcdf4",  # noqa: A002, the option has this name in four languages
        axes: Iterable[Axis] = (),
        title: str = "",
        attributes: Mapping[str, AttributeLike] | None = None,
        time_units: str = "s",
        calendar: str = "",
        compression: str = "none",
        significant_bits: int = 0,
        store_as: str = "",
        sync: bool = False,
        asynchronous: bool | None = None,
        asynchronous_bytes: int = 0,
        writer_stride: int = 0,
        buffer_bytes: int = 64 << 20,
        keep_pieces: bool = False,
        if_exists: str = "fail",
        overview: bool = False,
        steps_per_file: int | str | None = None,
        stage: str | PathLike[str] = "",
        stage_bytes: int = 0,
        stage_bytes_s: int = 0,
        stage_patience_s: int | None = None,
        hints: Mapping[str, str] | None = None,
    ) -> Output:
        """Collective over `comm`; all arguments equal on all ranks. `axes`: the grid's dimensions, slowest first.
        `attributes`: global ones besides the title; each is a text, a number or several numbers.
        `calendar`: CF's name ("noleap", "360_day", …) for time_units that count from a date; without one "standard".

        `asynchronous`: end_step returns once the values are copied (at most `asynchronous_bytes` per node), and they
        are stored while the program continues. None: if the method supports it and memory suffices; see `explain`.

        `if_exists`: what to do with steps that the prefix holds: "fail" (raise ExistsError), "replace" (remove them) or
        "resume" (continue after the last complete one). `overview` writes an overview next to each step's file, as
        `hakobi index` does.

        `steps_per_file`: how many steps a file takes, or "all"; None: HAKOBI_STEPS_PER_FILE, or 1. A step is in its
        file, for every reader, once it is complete; the file is called after its first step (not with zarr).

        `stage`: a folder of this node, to which steps are written first, at most `stage_bytes` (0: half of what is
        free); they go to their place while the program continues, at `stage_bytes_s` up to `close` (0: without limit),
        which tries a place that takes nothing for `stage_patience_s` (None: 120).

        `compression`: "deflate" or "zstd", optionally with a level ("deflate:4"), compresses fields of at least 16 KiB.
        `significant_bits` rounds their floating-point values to that many mantissa bits before. `store_as="float32"`:
        fields of float64 are float32 in files; "": HAKOBI_STORE_AS, or as in memory.

        Raises InputError for an unknown method (naming the nearest one) or a wrong option, StorageError for a folder
        that cannot be written or a file in the way, ExistsError also if another run writes the prefix.
        """
        library = load()
        handle = ctypes.c_void_p()
        # An error of this side is raised on every rank.
        try:
            path = text_for_c("prefix", fspath(prefix))
            options = options_for_c(
                method=method,
                format=format,
                axes=axes,
                title=title,
                attributes=attributes,
                time_units=time_units,
                calendar=calendar,
                compression=compression,
                significant_bits=significant_bits,
                store_as=store_as,
                sync=sync,
                asynchronous=asynchronous,
                asynchronous_bytes=asynchronous_bytes,
                writer_stride=writer_stride,
                buffer_bytes=buffer_bytes,
                keep_pieces=keep_pieces,
                if_exists=if_exists,
                overview=overview,
                steps_per_file=steps_per_file,
                stage=stage,
                stage_bytes=stage_bytes,
                stage_bytes_s=stage_bytes_s,
                stage_patience_s=stage_patience_s,
                hints=hints,
            )
        except (InputError, TypeError) as error:
            check(library, library.hakobi_comm_refuse(handle_of(comm), printable(str(error))))
        check(library, library.hakobi_output_create(handle_of(comm), path, options, handle))
        return cls(handle, fspath(prefix))

    def define(
        self,
        name: str,
        units: str = "1",
        global_: Sequence[int] | None = None,
        dtype: npt.DTypeLike = "float64",
        *,
        on: str = "grid",
        components: int = 1,
        long_name: str = "",
        standard_name: str = "",
        dims: Iterable[str] = (),
        compression: str = "",
        significant_bits: int = 0,
        store_as: str = "",
        attributes: Mapping[str, AttributeLike] | None = None,
        fill_value: float | np.generic | None = None,
        coordinates: Iterable[str] = (),
        is_static: bool = False,
    ) -> FieldId:
        """Defines a field of this output's steps, once for all of them. Collective; all arguments equal on all ranks.

        `global_`: the array's extents, slowest first; None: those of each step's blocks, which cannot be checked here,
        also for scalars and fields on the mesh. `dtype`: float32, float64, or an integer of 8 to 64 bits.
        `dims`: names of the dimensions, slowest first; needed if they are no axes or the axes' lengths are ambiguous.
        `compression`, `significant_bits`, `store_as`: override those of create for this field. `store_as` may also be
        integers with a scale_factor and add_offset: "int16:range=180..330", "int16:scale_factor=0.01,add_offset=273".

        `attributes`: further attributes. `fill_value`: value of elements that no rank puts, of the field's type
        (default: NaN for floats, 0 otherwise). `coordinates`: names of the fields that are its coordinates, such as the
        two-dimensional `("lat", "lon")`. `is_static`: constant in time, put once. `on`: "points" or "cells" of the mesh
        (`put_mesh`), with `components` values each.

        Raises InputError where ranks define different fields, a name is defined twice, or the format, the axes or the
        options of create do not go with the field. The output stays as it was.
        """
        self._require_open("define")
        number = ctypes.c_int64()
        try:
            texts = {
                "long_name": long_name,
                "standard_name": standard_name,
                "compression": compression,
                "store_as": store_as,
            }
            definition = definition_for_c(
                name,
                units,
                global_,
                dtype,
                on,
                components,
                fill_value,
                attributes or {},
                dims,
                coordinates,
                texts,
                significant_bits,
                is_static,
            )
        except (InputError, TypeError) as error:
            reason = printable(f"field {name}: {error}")
            check(self._library, self._library.hakobi_output_refuse_define(self._handle, reason))
        check(self._library, self._library.hakobi_output_define(self._handle, definition, number))
        return FieldId(name, number.value, on)

    def begin_step(self, time: float) -> None:
        """Opens the next step at model time `time`, in time_units. Every rank calls it; it does not communicate."""
        self._begin_step(time)

    @overload
    def put(self, field: FieldId, block: Block | None, values: AnyArray | None, *, stream: Any = None) -> None: ...
    @overload
    def put(
        self,
        name: str,
        units: str,
        block: Block | None,
        values: AnyArray,
        *,
        on: str = "grid",
        long_name: str = "",
        standard_name: str = "",
        dims: Iterable[str] = (),
        compression: str = "",
        significant_bits: int = 0,
        store_as: str = "",
        attributes: Mapping[str, AttributeLike] | None = None,
        fill_value: float | np.generic | None = None,
        coordinates: Iterable[str] = (),
        is_static: bool = False,
        stream: Any = None,
    ) -> None: ...
    def put(self, *given: Any, **named: Any) -> None:
        """Puts this rank's block of a defined field into the open step, or a further one. All ranks put the same fields
        in the same order; it does not communicate. The older form, with a name, describes the field with each step, as
        `define` does.

        `values`: of the field's type, in native byte order, with the block's shape or flat in C order. A view of a
        larger array works, such as `eta[1:-1, 1:-1]` of an array with ghosts. It is not copied: do not change it before
        end_step returns. `Block((), (), ())` is a scalar's block: all ranks put it, and rank 0's value is written. None
        and None: this rank has nothing of a field with `global_`.

        Of a field on the mesh `block` is None, and `values` have the shape (n,), (n, 3) for a vector, or (n, 9) or (n,
        3, 3) for a tensor, where n is this rank's number of points or cells.

        `values` may be a GPU's: an array of CuPy, PyTorch, JAX or another library with `__cuda_array_interface__` or
        DLPack. They are copied when what the stream holds now is done. `stream`: CuPy's, PyTorch's or a number; None:
        the one that the array names, or the default stream.

        `end_step` raises errors in the field, on every rank; raising them here would leave the other ranks waiting.
        Only a missing begin_step raises InputError immediately.
        """
        self._require_step("put")
        is_defined = "field" in named or (bool(given) and isinstance(given[0], FieldId))
        (self._put_defined if is_defined else self._put_described)(*given, **named)

    def _put_defined(self, field: FieldId, block: Block | None, values: AnyArray | None, stream: Any = None) -> None:
        self._put_values(field, block, values, stream, self._mesh_counts[field.on == "cells"])

    def _put_described(
        self,
        name: str,
        units: str,
        block: Block | None,
        values: AnyArray,
        *,
        on: str = "grid",
        long_name: str = "",
        standard_name: str = "",
        dims: Iterable[str] = (),
        compression: str = "",
        significant_bits: int = 0,
        store_as: str = "",
        attributes: Mapping[str, AttributeLike] | None = None,
        fill_value: float | np.generic | None = None,
        coordinates: Iterable[str] = (),
        is_static: bool = False,
        stream: Any = None,
    ) -> None:
        try:
            array = lend(values, stream)
            if on == "grid":
                lent = field_of(name, units, tuple(dims), block, array)
            elif block is not None or tuple(dims):
                raise InputError("a field on the mesh has no block and no dims: put(name, units, None, values)")
            else:
                lent = field_for_c(name, units, on, array, self._mesh_counts[on == "cells"])
            lent.long_name = text_for_c("long_name", long_name)
            lent.standard_name = text_for_c("standard_name", standard_name)
            lent.compression = text_for_c("compression", compression)
            lent.significant_bits = int_for_c(significant_bits)
            lent.store_as = text_for_c("store_as", store_as)
            fill = fill_value_for_c(fill_value, array.array.dtype) if fill_value is not None else None
            lent.attributes = attributes_for_c(attributes or {})
            lent.num_attributes = len(attributes or {})
            lent.fill_value = fill.ctypes.data if fill is not None else None
            lent.coordinates = names_for_c("a coordinate's name", coordinates)
            lent.is_static = yes_or_no(is_static)
        except (InputError, TypeError) as error:
            self._refuse(f"field {name}: {error}")
            return
        self._lent.append(array.keep)
        self._library.hakobi_output_put(self._handle, lent)  # its code is end_step's to report

    def put_mesh(
        self,
        points: AnyArray,
        connectivity: npt.NDArray[Any],
        offsets: npt.NDArray[Any],
        types: npt.NDArray[np.uint8],
        *,
        ghosts: npt.NDArray[np.uint8] | None = None,
        motion: str = "fixed",
        first_number: int = 0,
    ) -> None:
        """Sets the open step's mesh, before its first field; format "vtkhdf" only. Every rank puts its own part.

        `points`: (n, 3) floats of 32 or 64 bits; they alone may be a GPU's, made on its default stream. `types`: VTK's
        type of each cell, uint8. `connectivity`: the points of each cell, in this rank's numbering from `first_number`
        (0 or 1); `offsets`: where each cell begins in it, number of cells + 1 entries; both int64 or int32. `ghosts`:
        uint8, 1 for a copy of another rank's cell.

        `motion`: "fixed": put once; "moves": the points are put again in every step (`put_points`); "changes": put in
        every step. Do not change the arrays before end_step returns; it raises errors in them on every rank.

        Raises InputError immediately if no step is open.
        """
        self._require_step("put_mesh")
        try:
            lent = points_for_c(points)
            mesh = mesh_for_c(lent, connectivity, offsets, types, ghosts, motion, first_number)
        except (InputError, TypeError) as error:
            self._refuse(str(error))
            return
        self._mesh_counts = (lent.array.shape[0], types.size)
        self._lent += [lent.keep, connectivity, offsets, types, *([] if ghosts is None else [ghosts])]
        self._library.hakobi_output_put_mesh(self._handle, mesh)

    def put_points(self, points: AnyArray) -> None:
        """New coordinates of a moving mesh's points, (n, 3), in every step after the one with put_mesh."""
        self._require_step("put_points")
        try:
            lent = points_for_c(points)
            if lent.array.shape[0] != self._mesh_counts[0]:
                raise InputError(f"the mesh: {lent.array.shape[0]} points are put of its {self._mesh_counts[0]}")
        except InputError as error:
            self._refuse(str(error))
            return
        self._lent.append(lent.keep)
        dtype, address, num = TYPES[lent.array.dtype.name], lent.array.ctypes.data, lent.array.shape[0]
        self._library.hakobi_output_put_points(self._handle, dtype, address, num)

    def end_step(self) -> None:
        """Writes the step. Collective. On return, or after a later call if hidden, the file has its final name.

        A step that has been ended is whole, completed later or named as lost, however the program ends: without `close`
        (an exception that leaves `with`, sys.exit) MPI_Finalize completes it; after a signal or an abort the next
        Input.open, if_exists="resume" or `hakobi gather` does, if it was stored, and names it otherwise.
        """
        self._end_step()

    def flush(self) -> None:
        """Returns when every step that end_step has accepted has its final name. Collective, between steps.

        Raises the errors of hidden steps, as end_step does.
        """
        self._require_open("flush")
        check(self._library, self._library.hakobi_output_flush(self._handle))

    def close(self) -> None:
        """Completes pending work and releases everything. Collective; a second call does nothing."""
        if not self._handle:
            return
        try:
            check(self._library, self._library.hakobi_output_close(self._handle))
        finally:
            self._last_times = self.times
            _ = self.method, self.explain()
            self._free()

    @property
    def times(self) -> OutputTimes:
        """The time that this rank has spent so far."""
        if not self._handle and self._last_times is not None:
            return self._last_times
        times = OutputTimesC()
        check(self._library, self._library.hakobi_output_get_times(self._handle, times))
        return OutputTimes(
            times.layout_s,
            times.values_s,
            times.finish_s,
            times.gather_s,
            times.hidden_s,
            times.run_s,
            times.bytes,
            times.encode_s,
            times.cpu_s,
        )

    @property
    def method(self) -> str:
        """The current method, never "auto"."""
        if self._handle:
            self._last_method = self._library.hakobi_output_method(self._handle).decode()
        return self._last_method

    def explain(self) -> str:
        """How the steps are written and why, for people; after close also how long the run waited for output."""
        return self._explained()


def _texts(entry: Any) -> Iterable[str]:
    index = 0
    while (text := entry(index)) is not None:
        yield text.decode()
        index += 1
