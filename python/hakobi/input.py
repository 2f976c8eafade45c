"""A series of steps read back: the calls of C++'s hakobi::Input.

    steps = hakobi.Input.open("run")                     # this process alone: no MPI
    eta = steps.read("eta", step=3)
    steps.close()

    steps = hakobi.Input.open("run", comm)               # collective over comm
    block = hakobi.split(steps.field("eta").shape, comm.size, comm.rank)
    eta = steps.read("eta", step=3, block=block)         # collective
    steps.close()                                        # collective

Errors are those of hakobi/errors.py, raised alike on every rank by collective calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from hakobi._capi import AttributeC, AxisC, FieldReadC, InputFieldC, InputMeshC, InputOptionsC, MeshPartC
from hakobi._library import MAX_DIMS, TYPES, check, load, shown
from hakobi.attributes import Attribute, attribute_of_c, hints_for_c, printable, text_for_c
from hakobi.device_arrays import AnyArray, lend
from hakobi.errors import HakobiError, InputError
from hakobi.fields import Block, block_for_c
from hakobi.mesh import InputMesh, MeshPart, input_mesh_of_c, mesh_part_of_c
from hakobi.output import Comm, handle_of
from hakobi.output_options import Axis

if TYPE_CHECKING:
    import xarray

_Out = TypeVar("_Out", bound=AnyArray)
_DTYPES = {code: np.dtype(name) for name, code in TYPES.items()}


@dataclass(frozen=True)
class InputField:
    """Description of a field of a step. `type` is netCDF's name; `dtype` is None if the type cannot be read."""

    name: str
    type: str
    dtype: np.dtype[Any] | None
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    attributes: dict[str, Attribute]
    is_static: bool = False  #: has no time dimension


class Input:
    """Reads the complete steps that exist when it is opened.

    As a context manager it is closed at the end of the block. If the block raises, it is abandoned without
    communication, since other ranks may not have raised.
    """

    def __init__(self, handle: ctypes.c_void_p, prefix: str, is_alone: bool) -> None:
        self._library = load()
        self._handle = handle
        self._prefix = prefix
        self._is_alone = is_alone
        num = self._library.hakobi_input_num_steps(handle)
        numbers, times = self._library.hakobi_input_steps(handle), self._library.hakobi_input_times(handle)
        self.steps: list[int] = numbers[:num]  #: the steps' numbers, ascending, possibly with gaps
        #: one a step, in time_units, the last step's; NaN where a file has none, or counts it in other units
        self.times: list[float] = times[:num]
        self.time_units: str = self._library.hakobi_input_time_units(handle).decode()
        #: CF's name; "standard" where the file names none, "" where times do not count from a date
        self.calendar: str = self._library.hakobi_input_calendar(handle).decode()

    def __repr__(self) -> str:
        if not self._handle:
            return shown(self, f"{self._prefix}, closed")
        numbers = f"step {self.steps[0]}" if len(self.steps) == 1 else f"steps {self.steps[0]} to {self.steps[-1]}"
        return shown(self, f"{self._prefix}, {len(self.steps)} complete, {numbers}; fields {', '.join(self.fields)}")

    @classmethod
    def open(
        cls, prefix: str | PathLike[str], comm: Comm | None = None, *, hints: Mapping[str, str] | None = None
    ) -> Input:
        """The steps of `prefix`, for this process alone, or collectively over `comm` with arguments equal on all ranks.

        Raises InputError if there is no complete step (naming the nearest prefix), FormatError for a file that is
        truncated, of another kind or newer than the library.
        """
        library = load()
        handle = ctypes.c_void_p()
        if comm is None:
            check(library, library.hakobi_input_open_alone(text_for_c("prefix", fspath(prefix)), handle))
            return cls(handle, fspath(prefix), True)
        try:  # what this side refuses is raised on every rank
            path = text_for_c("prefix", fspath(prefix))
            options = InputOptionsC(hints=hints_for_c(hints or {}), num_hints=len(hints or {}))
        except (InputError, TypeError) as error:
            check(library, library.hakobi_comm_refuse(handle_of(comm), printable(str(error))))
        check(library, library.hakobi_input_open(handle_of(comm), path, options, handle))
        return cls(handle, fspath(prefix), False)

    @cached_property
    def fields(self) -> list[str]:
        """The names of the last step's fields, in the file's order."""
        return self.fields_of()

    def fields_of(self, step: int = -1) -> list[str]:
        """The names of a step's fields (-1: the last). Local."""
        names: list[str] = []
        while (name := self._library.hakobi_input_field_name(self._open("fields_of"), step, len(names))) is not None:
            names.append(name.decode())
        return names

    def field(self, name: str, step: int = -1) -> InputField:
        """Description of a field of a step (-1: the last). Local. Raises InputError, naming the nearest field."""
        found = InputFieldC()
        check(
            self._library,
            self._library.hakobi_input_get_field(self._open("field"), step, text_for_c("name", name), found),
        )
        dims = tuple(found.dims.decode().split(",")) if found.dims else ()
        return InputField(
            name,
            found.type_name.decode(),
            _DTYPES.get(found.type),
            dims,
            tuple(found.shape[: found.num_dims]),
            self._attributes(step, name),
            bool(found.is_static),
        )

    @cached_property
    def axes(self) -> list[Axis]:
        """The dimensions of the last step's fields; `values` is empty without a coordinate variable. Local."""
        axes: list[Axis] = []
        found = AxisC()
        handle = self._open("axes")
        while self._library.hakobi_input_get_axis(handle, -1, len(axes), found) == 0:
            values = np.array(found.values[: found.num_values]) if found.num_values else np.empty(0)
            name = found.name.decode()
            attributes = self._attributes(-1, name)
            axes.append(Axis(name, found.units.decode(), values, found.standard_name.decode(), attributes))
        return axes

    @cached_property
    def attributes(self) -> dict[str, Attribute]:
        """The last step's own attributes. Local."""
        return self._attributes(-1, None)

    @overload
    def read(self, name: str, *, step: int = -1, block: Block | None = None) -> npt.NDArray[Any]: ...
    @overload
    def read(self, name: str, *, step: int = -1, block: Block | None = None, out: _Out, stream: Any = None) -> _Out: ...
    def read(
        self,
        name: str,
        *,
        step: int = -1,
        block: Block | None = None,
        out: AnyArray | None = None,
        stream: Any = None,
    ) -> AnyArray:
        """A step's field, or this rank's block of it, as an array with the block's shape and the field's type; float64
        for integers with CF's `scale_factor` or `add_offset`, which are applied, with NaN for `_FillValue`.

        Collective if opened with a communicator: `name` and `step` (-1: the last) are equal on all ranks, blocks are
        arbitrary. `out`: an array to read into, with the block's shape and the field's type, or float64 for float32 and
        scaled integers (these also to float32); it may be any view without
        overlaps and negative strides, such as the inside of an array with ghosts. It may be a GPU's, of CuPy or
        PyTorch: it is written after what the stream holds now, before this returns (`stream`: as in Output.put).

        Raises InputError for a step or field that does not exist, a block outside the field, or an unsuitable `out`;
        FormatError for a file that has become shorter.
        """
        handle = self._open("read")
        try:
            wanted, values, _keep = self._wanted(name, step, block, out, stream)
        except (InputError, TypeError) as error:
            check(self._library, self._library.hakobi_input_refuse(handle, printable(f"field {name}: {error}")))
            raise
        check(self._library, self._library.hakobi_input_read(handle, wanted))
        assert values is not None  # without memory for them the library has raised
        return values

    @overload
    def read_independent(self, name: str, *, step: int = -1, block: Block | None = None) -> npt.NDArray[Any]: ...
    @overload
    def read_independent(
        self, name: str, *, step: int = -1, block: Block | None = None, out: _Out, stream: Any = None
    ) -> _Out: ...
    def read_independent(
        self,
        name: str,
        *,
        step: int = -1,
        block: Block | None = None,
        out: AnyArray | None = None,
        stream: Any = None,
    ) -> AnyArray:
        """Reads as `read` does, for this rank alone: local, without the other ranks, and the error is this rank's.
        Where all ranks read, `read` is faster."""
        handle = self._open("read_independent")
        wanted, values, _keep = self._wanted(name, step, block, out, stream)
        check(self._library, self._library.hakobi_input_read_independent(handle, wanted))
        assert values is not None
        return values

    def mesh(self, step: int = -1) -> InputMesh:
        """The size of a step's mesh. Local. Raises InputError if it has none."""
        found = InputMeshC()
        check(self._library, self._library.hakobi_input_get_mesh(self._open("mesh"), step, found))
        return input_mesh_of_c(found)

    def read_mesh(self, step: int = -1) -> MeshPart:
        """This rank's share of a step's mesh: consecutive whole pieces, with similar numbers of cells on each rank.
        Collective if opened with a communicator; the number of ranks need not be the writer's.

        Raises as `read` does, and FormatError for inconsistent numbers.
        """
        part = MeshPartC()
        check(self._library, self._library.hakobi_input_read_mesh(self._open("read_mesh"), step, part))
        try:
            return mesh_part_of_c(part)
        finally:
            self._library.hakobi_mesh_part_free(part)

    def explain(self, name: str, step: int = -1) -> str:
        """How the field is read, in one line. Local."""
        self.field(name, step)
        text: bytes = self._library.hakobi_input_explain(self._open("explain"), step, text_for_c("name", name))
        return text.decode()

    def to_xarray(self) -> xarray.Dataset:
        """The complete steps as one data set along `time`; values are read when they are used.

        Needs the extra `hakobi[xarray]`. For one process: the arrays open the series again, and outlive this object.
        """
        from hakobi.input_xarray import dataset_of

        return dataset_of(self, partial(Input.open, self._prefix))

    def close(self) -> None:
        """Releases everything. Collective if opened with a communicator; a second call does nothing."""
        if not self._handle:
            return
        try:
            check(self._library, self._library.hakobi_input_close(self._handle))
        finally:
            self._free()

    def __enter__(self) -> Input:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None or self._is_alone:
            self.close()
        else:
            self._free()

    def _open(self, call: str) -> ctypes.c_void_p:
        if not self._handle:
            raise InputError(f"{call}: the input is closed", code="invalid_argument")
        return self._handle

    def _free(self) -> None:
        handle, self._handle = self._handle, ctypes.c_void_p()
        self._library.hakobi_input_free(handle)

    def _attributes(self, step: int, field: str | None) -> dict[str, Attribute]:
        found = AttributeC()
        attributes: dict[str, Attribute] = {}
        c_field = field.encode() if field is not None else None
        handle = self._open("attributes")
        while self._library.hakobi_input_get_attribute(handle, step, c_field, len(attributes), found) == 0:
            attributes[found.name.decode()] = attribute_of_c(found)
        return attributes

    def _wanted(
        self, name: str, step: int, block: Block | None, out: AnyArray | None, stream: Any
    ) -> tuple[FieldReadC, AnyArray | None, object]:
        """The read for C, the array that it fills, and what keeps its memory. Raises InputError for what C cannot be
        asked."""
        wanted = FieldReadC(name=text_for_c("name", name), step=step)
        try:
            field = self.field(name, step)
        except HakobiError:
            return wanted, None, None  # the library says so, on every rank
        if field.dtype is None:
            raise InputError(f"values of type {field.type} cannot be read")
        if block is not None:
            wanted.block = block_for_c(block)
        shape = tuple(block.count) if block is not None else field.shape
        if min(shape, default=0) < 0:
            return wanted, None, None  # as above
        packed = _unpacked_types(field)
        values = np.empty(shape, packed[0] if _is_scaled(field) else field.dtype) if out is None else out
        lent = lend(values, stream)
        if out is not None:
            wanted.strides = (ctypes.c_int64 * MAX_DIMS)(*_strides(lent.array, shape, [field.dtype, *packed]))
        wanted.type = TYPES[lent.array.dtype.name]
        wanted.data = lent.array.ctypes.data if lent.array.size else None
        wanted.memory, wanted.stream = lent.memory, lent.stream
        return wanted, values, lent.keep


#: netCDF's names of the types that the library unpacks where CF's attributes say how.
_SCALED = ("float", "byte", "ubyte", "short", "ushort", "int")


def _is_scaled(field: InputField) -> bool:
    """Whether CF's attributes turn what is stored into values."""
    given = [field.attributes[name] for name in ("scale_factor", "add_offset") if name in field.attributes]
    missing = field.attributes.get("missing_value")
    if "_Unsigned" in field.attributes or missing not in (None, field.attributes.get("_FillValue")):
        return False  # as the library: format/packing.hpp
    return field.type in _SCALED and any(isinstance(number, (int, float)) for number in given)


def _unpacked_types(field: InputField) -> list[np.dtype[Any]]:
    """The types besides its own that a field may be read as."""
    if field.dtype == np.float32:
        return [np.dtype(np.float64)]
    return [np.dtype(np.float64), np.dtype(np.float32)] if _is_scaled(field) else []


def _strides(out: npt.NDArray[Any], shape: tuple[int, ...], dtypes: list[np.dtype[Any]]) -> tuple[int, ...]:
    """Elements from one to the next. Raises InputError for an array that cannot be read into."""
    if isinstance(out, np.ma.MaskedArray):
        raise InputError("out is a MaskedArray, not a numpy array")
    if out.dtype not in dtypes or not out.dtype.isnative:
        raise InputError(f"out is of dtype {out.dtype.str}, the field of {dtypes[0].str}")
    dtype = out.dtype
    if out.shape != shape:
        raise InputError(f"out's shape {out.shape} is not the block's {shape}")
    if not out.flags.writeable:
        raise InputError("out cannot be written to")
    strides = tuple(stride // dtype.itemsize for stride in out.strides)
    if any(stride % dtype.itemsize for stride in out.strides) or any(
        stride < 1 and count > 1 for stride, count in zip(strides, shape, strict=True)
    ):
        raise InputError(f"out's strides {out.strides} are not positive multiples of {dtype.itemsize} bytes")
    return tuple(max(stride, 1) for stride in strides)
