"""Exchange between the ranks of a grid, for arrays of numpy and of GPUs: C++'s hakobi::Halo and hakobi::BufferArrays.

    grid = hakobi.HaloGrid(extents=(ny, nx), ghosts=1, ranks=(2, 1), is_periodic=True)
    eta = hakobi.allocate_shared(comm, (ny + 2, nx + 2), np.float64)             # collective
    halo = hakobi.Halo.plan(comm, grid, [eta])                                   # collective
    halo.start(); compute_inside(); halo.wait(); compute_at_the_edges()          # many times

If arguments differ between ranks, or are wrong on one, every rank raises InputError.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from hakobi._capi import BufferArraysOptionsC, HaloFieldC, HaloGridC, HaloOptionsC
from hakobi._library import MAX_HALO_DIMS, check, load, shown
from hakobi.attributes import printable, yes_or_no
from hakobi.device_arrays import AnyArray, Lent, lend, stream_handle
from hakobi.errors import InputError
from hakobi.output import Comm, handle_of
from hakobi.words import count_text

Array = npt.NDArray[Any]


class _Shared:
    """The object from which numpy takes an array's memory; the array keeps it alive."""

    def __init__(self, handle: ctypes.c_void_p, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._library = load()
        self._handle = handle
        address = self._library.hakobi_shared_data(handle)
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": dtype.str,
            "data": (address, False),
        }

    def __del__(self) -> None:
        self._library.hakobi_shared_free(self._handle)


def allocate_shared(comm: Comm, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float64) -> Array:
    """An array of zeros in memory that the ranks of a node share; halos exchange it by a single copy.

    Collective over `comm`; shapes may differ. The memory is freed with the array and its views.

    Raises HakobiError (out_of_memory) on every rank if a node lacks the memory.
    """
    library = load()
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    element = np.dtype(dtype)
    handle = ctypes.c_void_p()
    num_bytes = -1 if min(sizes, default=1) < 0 else prod(sizes) * element.itemsize
    check(library, library.hakobi_shared_allocate(handle_of(comm), num_bytes, handle))
    shared = _Shared(handle, sizes, element)
    return np.asarray(shared) if num_bytes > 0 else np.zeros(sizes, element)


@dataclass(frozen=True)
class HaloGrid:
    """A grid of 1 to 5 dimensions that is divided among ranks; one entry per dimension, slowest first.

    `extents` are this rank's own elements. `ghosts` is the number of ghost layers: one number for all sides, or a pair
    (below, above) for each dimension. Ranks are numbered in C order. `is_periodic` is for all dimensions, or one each.
    """

    extents: tuple[int, ...]
    ghosts: int | tuple[tuple[int, int], ...]
    ranks: tuple[int, ...]
    is_periodic: bool | tuple[bool, ...] = False

    def widths(self) -> tuple[tuple[int, int], ...]:
        """The ghosts below and above in each dimension.

        >>> HaloGrid((4, 6), 1, (2, 1)).widths()
        ((1, 1), (1, 1))
        """
        return ((self.ghosts, self.ghosts),) * len(self.extents) if isinstance(self.ghosts, int) else self.ghosts

    def shape(self) -> tuple[int, ...]:
        """The shape of an array that holds this rank's own elements and its ghosts.

        >>> HaloGrid((4, 6), ((0, 2), (1, 1)), (2, 1)).shape()
        (6, 8)
        """
        return tuple(low + n + high for n, (low, high) in zip(self.extents, self.widths(), strict=True))

    def own(self) -> tuple[slice, ...]:
        """The index of the own elements in such an array.

        >>> HaloGrid((4, 6), ((0, 2), (1, 1)), (2, 1)).own()
        (slice(0, 4, None), slice(1, 7, None))
        """
        return tuple(slice(low, low + n) for n, (low, _) in zip(self.extents, self.widths(), strict=True))


class Halo:
    """Exchanges ghost layers of fields between the ranks of a grid; planned once, executed many times."""

    def __init__(self, handle: ctypes.c_void_p, fields: list[Lent]) -> None:
        self._library = load()
        self._handle = handle
        self._fields = fields  # lent for as long as this lives
        self._is_under_way = False
        self.explanation: str = self._library.hakobi_halo_explain(handle).decode()

    def __repr__(self) -> str:
        state = ", under way" if self._is_under_way else ""
        return shown(self, f"{count_text(len(self._fields), 'field')}{state}; {self.explanation.splitlines()[0]}")

    def explain(self) -> str:
        """How data reaches each neighbour, for people. Local."""
        return self.explanation

    @classmethod
    def plan(
        cls,
        comm: Comm,
        grid: HaloGrid,
        fields: Sequence[AnyArray],
        *,
        components: str = "last",
        corners: bool = True,
        path: str = "auto",
        timeout_s: float = 0.0,
    ) -> Halo:
        """Plans the exchange of `fields`, whose memory it keeps. Collective over `comm`.

        The grid without its extents, the options and each field's dtype and components are equal on all ranks.

        A field is an array of `grid.shape()` with any strides. It may have one more dimension, for components, in the
        place that `components` names ("last" or "first"). It may be a GPU's, as for Output.put. `path`, `corners`
        (False: faces only) and `timeout_s` are those of C++.

        Raises InputError if arguments differ between ranks, if the ranks do not form the grid, if a rank has fewer
        elements than a neighbour has ghosts, and for an array of another shape.
        """
        library = load()
        handle = ctypes.c_void_p()
        lent, refused = _lent(fields)
        if refused := refused or _refused(grid, [each.array for each in lent], components):
            check(library, library.hakobi_comm_refuse(handle_of(comm), printable(f"Halo::plan: {refused}")))
        options = HaloOptionsC(
            corners=yes_or_no(corners),
            path=path.encode(errors="backslashreplace"),
            timeout_s=timeout_s,
        )
        grid_c = _grid_c(grid)
        fields_c = (HaloFieldC * len(lent))(*(_field_c(grid, each, components) for each in lent))
        check(library, library.hakobi_halo_plan(handle_of(comm), grid_c, len(fields), fields_c, options, handle))
        return cls(handle, lent)

    def start(self, stream: Any = None) -> None:
        """Begins an exchange. Until `wait` returns, neither read nor write ghosts, and do not write own elements that
        are ghosts of a neighbour. Does not wait for other ranks. Raises InputError if an exchange is in progress.

        `stream`, for fields of a GPU (CuPy's, PyTorch's or a number): their values are sent when what it holds now is
        done. None: the default stream."""
        if stream is None:
            check(self._library, self._library.hakobi_halo_start(self._handle))
        else:
            check(self._library, self._library.hakobi_halo_start_on(self._handle, stream_handle(stream)))
        self._is_under_way = True

    def wait(self, stream: Any = None) -> None:
        """Completes it: the ghosts hold the neighbours' values. Raises InputError if none is in progress.

        With a `stream` it is that stream that waits: what it is given from now on finds the ghosts."""
        if stream is None:
            check(self._library, self._library.hakobi_halo_wait(self._handle))
        else:
            check(self._library, self._library.hakobi_halo_wait_on(self._handle, stream_handle(stream)))
        self._is_under_way = False

    def exchange(self, stream: Any = None) -> None:
        """`start` and `wait`."""
        self.start(stream)
        self.wait(stream)

    def __del__(self) -> None:
        if not self._is_under_way:  # else others still copy: leave it to the end of the program
            self._library.hakobi_halo_free(self._handle)


class BufferArray:
    """A list of arrays that is sent or received as one message; the receiver's pieces may differ from the sender's."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._library = load()
        self._handle = handle
        self._pieces: list[Lent] = []
        self._is_over = True

    def __repr__(self) -> str:
        state = "" if self._is_over else ", under way"
        return shown(self, f"{count_text(len(self._pieces), 'piece')}, {self.num_bytes} bytes{state}")

    def append(self, array: AnyArray) -> None:
        """Adds a contiguous array of any shape and dtype, writeable for a receive; it may be a GPU's, as for
        Output.put. Do not change it during an operation. Raises InputError for another array, or while an operation is
        in progress."""
        piece = lend(array)
        flags, place = piece.array.flags, (piece.array.ctypes.data, piece.array.nbytes)
        if not (flags.c_contiguous or flags.f_contiguous):
            raise InputError("BufferArray: a piece is no numpy array that is contiguous")
        check(self._library, self._library.hakobi_buffer_array_append_memory(self._handle, *place, piece.memory))
        self._pieces.append(piece)

    def release(self) -> None:
        """Removes all pieces. Raises as `append`."""
        check(self._library, self._library.hakobi_buffer_array_release(self._handle))
        self._pieces.clear()

    @property
    def num_bytes(self) -> int:
        return int(self._library.hakobi_buffer_array_bytes(self._handle))

    def send(self, to: int, tag: int = 0, stream: Any = None) -> None:
        """Starts to send the list, and returns. Raises InputError for an invalid rank, or a tag outside 0 to 10,000.
        `stream`, for pieces of a GPU: they are read when what it holds now is done; None: the default stream."""
        if stream is None:
            check(self._library, self._library.hakobi_buffer_array_send(self._handle, to, tag))
        else:
            handle = stream_handle(stream)
            check(self._library, self._library.hakobi_buffer_array_send_on(self._handle, to, tag, handle))
        self._is_over = False

    def receive(self, source: int, tag: int = 0, stream: Any = None) -> None:
        """Starts to receive into the list, and returns. Raises as `send`. `stream`: pieces of a GPU are written when
        what it holds now is done."""
        if any(not piece.array.flags.writeable for piece in self._pieces):
            raise InputError("BufferArray: a piece to receive into is read-only")
        if stream is None:
            check(self._library, self._library.hakobi_buffer_array_receive(self._handle, source, tag))
        else:
            handle = stream_handle(stream)
            check(self._library, self._library.hakobi_buffer_array_receive_on(self._handle, source, tag, handle))
        self._is_over = False

    def done(self) -> bool:
        """Progresses the operation; True if it is complete. Raises FormatError if the two sides' sizes differ."""
        is_done = ctypes.c_int()
        code = self._library.hakobi_buffer_array_done(self._handle, is_done)
        self._is_over = bool(is_done.value)
        check(self._library, code)
        return self._is_over

    def wait(self, stream: Any = None) -> None:
        """Waits until the operation is complete. Raises as `done`. With a `stream` it is that stream that waits for
        pieces of a GPU."""
        if stream is None:
            code = self._library.hakobi_buffer_array_wait(self._handle)
        else:
            code = self._library.hakobi_buffer_array_wait_on(self._handle, stream_handle(stream))
        self._is_over = True
        check(self._library, code)

    def __del__(self) -> None:
        if self._is_over:  # else MPI or a peer still uses it: leave it to the end of the program
            self._library.hakobi_buffer_array_free(self._handle)


class BufferArrays:
    """Makes the buffer arrays of a communicator."""

    def __init__(self, handle: ctypes.c_void_p, path: str) -> None:
        self._library = load()
        self._handle = handle
        self._path = path

    def __repr__(self) -> str:
        return shown(self, f"path {self._path}")

    @classmethod
    def get(cls, comm: Comm, *, path: str = "auto", pack_bytes: int = 1 << 20) -> BufferArrays:
        """Collective over `comm`; the options are equal on all ranks. `path`: auto, cma or packed.

        Raises InputError for an unknown path, or if options differ between ranks.
        """
        library = load()
        handle = ctypes.c_void_p()
        options = BufferArraysOptionsC(
            path=path.encode(errors="backslashreplace"),
            pack_bytes=pack_bytes or -1,  # 0 is C's default: nobody means it here
        )
        check(library, library.hakobi_buffer_arrays_get(handle_of(comm), options, handle))
        return cls(handle, path)

    def make(self) -> BufferArray:
        """An empty list. Local."""
        handle = ctypes.c_void_p()
        check(self._library, self._library.hakobi_buffer_array_make(self._handle, handle))
        return BufferArray(handle)

    def path_to(self, rank: int) -> str:
        """How lists reach `rank` or come from it: "cma" or "packed". Local. Raises InputError for an invalid rank."""
        name: bytes | None = self._library.hakobi_buffer_arrays_path_to(self._handle, rank)
        if name is None:
            raise InputError(f"BufferArrays: there is no rank {rank}")
        return name.decode()

    def __del__(self) -> None:
        self._library.hakobi_buffer_arrays_free(self._handle)


def _lent(fields: Sequence[AnyArray]) -> tuple[list[Lent], str]:
    """The fields for C, and what is wrong with the first one that cannot be lent, or ""."""
    lent: list[Lent] = []
    for i, field in enumerate(fields):
        try:
            lent.append(lend(field))
        except InputError as error:
            return lent, f"field {i} is {error}"
    return lent, ""


def _refused(grid: HaloGrid, fields: Sequence[Array], components: str) -> str:
    """Says what is wrong with this rank's arguments, as far as C cannot see it; "": nothing."""
    num_dims = len(grid.extents)
    if not 1 <= num_dims <= MAX_HALO_DIMS:
        return f"{num_dims} dimensions, not 1 to {MAX_HALO_DIMS}"
    periodic = (grid.is_periodic,) * num_dims if isinstance(grid.is_periodic, bool) else grid.is_periodic
    if not len(grid.widths()) == len(grid.ranks) == len(periodic) == num_dims:
        return "extents, ghosts, ranks and is_periodic have different numbers of dimensions"
    if components not in ("last", "first"):
        return f"components is '{components}', not 'last' or 'first'"
    for i, array in enumerate(fields):
        if not array.flags.writeable:
            return f"field {i} is no array that can be written to"
        if array.dtype.hasobject:
            return f"field {i} holds Python objects"
        shape = array.shape
        if array.ndim == num_dims + 1:
            shape = shape[:-1] if components == "last" else shape[1:]
        if shape != grid.shape():
            return f"field {i} has shape {array.shape}, the grid with its ghosts {grid.shape()}"
    return ""


def _grid_c(grid: HaloGrid) -> HaloGridC:
    made = HaloGridC(num_dims=len(grid.extents))
    for d, (extent, (low, high), num) in enumerate(zip(grid.extents, grid.widths(), grid.ranks, strict=True)):
        made.extents[d], made.ghosts_low[d], made.ghosts_high[d], made.ranks[d] = extent, low, high, num
        made.is_periodic[d] = int(grid.is_periodic if isinstance(grid.is_periodic, bool) else grid.is_periodic[d])
    return made


def _field_c(grid: HaloGrid, lent: Lent, components: str) -> HaloFieldC:
    array = lent.array
    by_component = array if array.ndim > len(grid.extents) else array[..., np.newaxis]
    if components == "first" and array.ndim > len(grid.extents):
        by_component = np.moveaxis(array, 0, -1)
    first = sum(low * stride for (low, _), stride in zip(grid.widths(), by_component.strides, strict=False))
    made = HaloFieldC(
        data=array.ctypes.data + first,
        element_bytes=array.itemsize,
        num_components=by_component.shape[-1],
        component_stride_bytes=by_component.strides[-1] or array.itemsize,
        memory=lent.memory,
    )
    for d in range(len(grid.extents)):
        made.strides_bytes[d] = by_component.strides[d]
    return made
