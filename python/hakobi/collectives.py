"""Collective operations on a declared network, for numpy arrays: the calls of C++'s hakobi::Collectives.

    collectives = hakobi.Collectives.create(comm, "hypercrossbar:16,16,10")      # collective over comm
    dot = collectives.allreduce(np.complex128, 1)                                # collective: planning
    dot.execute(local, global_)                                                  # collective, many times
    collectives.free()                                                           # collective

Arrays are C-contiguous. What differs between ranks raises InputError on every rank.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from hakobi._capi import CONSTANTS, CollectivesOptionsC
from hakobi._library import check, load, shown
from hakobi.attributes import yes_or_no
from hakobi.errors import InputError, unknown_name
from hakobi.output import Comm
from hakobi.words import count_text

#: numpy's names -> HAKOBI_FLOAT64, …, and reductions -> HAKOBI_SUM, …
ELEMENTS = {
    name: CONSTANTS[name.upper()] for name in ("float64", "float32", "int32", "int64", "complex128", "complex64")
}
REDUCTIONS = {name: CONSTANTS[name.upper()] for name in ("sum", "product", "minimum", "maximum")}

Array = npt.NDArray[Any]


class CollectivePlan:
    """A planned operation. `explanation` names the chosen algorithm and the reason."""

    def __init__(self, handle: ctypes.c_void_p, input_bytes: int, output_bytes: int) -> None:
        self._library = load()
        self._handle = handle
        self._sizes = (input_bytes, output_bytes)
        self._lent: tuple[Array | None, Array] | None = None
        self.explanation: str = self._library.hakobi_collective_plan_explain(handle).decode()

    def __repr__(self) -> str:
        state = "" if self._lent is None else "under way; "
        return shown(self, f"{state}{self.explanation.splitlines()[0]}")

    def execute(self, input_: Array | None, output: Array) -> None:
        """Executes the operation. Collective. `input_` may be `output`; for a broadcast it is None.

        Raises InputError, on this rank, for an array of another size or one that is not contiguous.
        """
        places = self._places(input_, output)
        check(self._library, self._library.hakobi_collective_plan_execute(self._handle, *places))

    def start(self, input_: Array | None, output: Array) -> None:
        """Starts it. Do not change the arrays until `wait` returns or `test` returns True."""
        places = self._places(input_, output)
        check(self._library, self._library.hakobi_collective_plan_start(self._handle, *places))
        self._lent = (input_, output)

    def test(self) -> bool:
        """Progresses the operation; True if it is complete."""
        done = ctypes.c_int()
        check(self._library, self._library.hakobi_collective_plan_test(self._handle, done))
        if done.value:
            self._lent = None
        return bool(done.value)

    def wait(self) -> None:
        check(self._library, self._library.hakobi_collective_plan_wait(self._handle))
        self._lent = None

    def __del__(self) -> None:
        if self._lent is None:  # else MPI still writes there: leave it to the end of the program
            self._library.hakobi_collective_plan_free(self._handle)

    def _places(self, input_: Array | None, output: Array) -> tuple[int | None, int]:
        input_bytes, output_bytes = self._sizes
        if input_ is not None:
            _check_array("input", input_, input_bytes)
        elif input_bytes > 0:
            raise InputError("input is None where there is data to send")
        _check_array("output", output, output_bytes)
        if not output.flags.writeable:
            raise InputError("output is read-only")
        return (None if input_ is None else input_.ctypes.data), output.ctypes.data


class Collectives:
    """The operations of one communicator on a declared network."""

    def __init__(self, handle: ctypes.c_void_p, num_ranks: int, topology: str) -> None:
        self._library = load()
        self._handle = handle
        self._num_ranks = num_ranks
        self._topology = topology

    def __repr__(self) -> str:
        return shown(
            self, f"{count_text(self._num_ranks, 'rank')}, topology {self._topology}{'' if self._handle else ', freed'}"
        )

    @classmethod
    def create(
        cls, comm: Comm, topology: str = "nodes", *, method: str = "auto", reproducible: bool = False
    ) -> Collectives:
        """Collective over `comm`; all arguments equal on all ranks. `method`: auto, model or mpi.

        Raises InputError for an invalid topology, or one whose number of nodes is not the number of ranks.
        """
        library = load()
        handle = ctypes.c_void_p()
        options = CollectivesOptionsC(
            topology=topology.encode(errors="backslashreplace"),
            method=method.encode(errors="backslashreplace"),
            is_reproducible=yes_or_no(reproducible),
        )
        check(library, library.hakobi_collectives_create(comm._handle, options, handle))
        return cls(handle, comm.size, topology)

    def allreduce(self, dtype: npt.DTypeLike, count: int, reduction: str = "sum") -> CollectivePlan:
        """Input: `count` elements of `dtype`. Output: their element-wise reduction over all ranks. Collective."""
        name = np.dtype(dtype).name
        if name not in ELEMENTS:
            raise unknown_name("dtype", name, ELEMENTS)
        if reduction not in REDUCTIONS:
            raise unknown_name("reduction", reduction, REDUCTIONS)
        size = count * np.dtype(dtype).itemsize
        arguments = (ELEMENTS[name], REDUCTIONS[reduction], count)
        return self._plan(self._library.hakobi_collectives_allreduce, arguments, size, size)

    def alltoall(self, block_bytes: int) -> CollectivePlan:
        """Input: a block for each rank. Output: a block from each rank. Collective."""
        size = block_bytes * self._num_ranks
        return self._plan(self._library.hakobi_collectives_alltoall, (block_bytes,), size, size)

    def allgather(self, block_bytes: int) -> CollectivePlan:
        """Input: one block. Output: all ranks' blocks, in rank order. Collective."""
        function = self._library.hakobi_collectives_allgather
        return self._plan(function, (block_bytes,), block_bytes, block_bytes * self._num_ranks)

    def broadcast(self, num_bytes: int, root: int = 0) -> CollectivePlan:
        """Output: on `root` the data to send, on the others the array that receives it. Collective."""
        return self._plan(self._library.hakobi_collectives_broadcast, (num_bytes, root), 0, num_bytes)

    def free(self) -> None:
        """Releases the message context; plans must not be used afterwards. Collective."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        check(self._library, self._library.hakobi_collectives_free(handle))

    def _plan(self, function: Any, arguments: tuple[int, ...], input_bytes: int, output_bytes: int) -> CollectivePlan:
        handle = ctypes.c_void_p()
        check(self._library, function(self._handle, *arguments, handle))
        return CollectivePlan(handle, input_bytes, output_bytes)


def _check_array(what: str, array: Array, num_bytes: int) -> None:
    if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
        raise InputError(f"{what} is no numpy array that is contiguous in C order")
    if array.nbytes != num_bytes:
        raise InputError(f"{what} has {array.nbytes} bytes where the plan has {num_bytes}")
