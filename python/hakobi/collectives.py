"""Collective operations on a declared network, for arrays of numpy and of GPUs: C++'s hakobi::Collectives.

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
from hakobi.device_arrays import AnyArray, Lent, lend, stream_handle
from hakobi.errors import InputError, unknown_name
from hakobi.output import Comm, handle_of
from hakobi.words import count_text

#: numpy's names -> HAKOBI_FLOAT64, …, and reductions -> HAKOBI_SUM, …
ELEMENTS = {
    name: CONSTANTS[name.upper()] for name in ("float64", "float32", "int32", "int64", "complex128", "complex64")
}
REDUCTIONS = {name: CONSTANTS[name.upper()] for name in ("sum", "product", "minimum", "maximum")}

Array = npt.NDArray[Any]


class CollectivePlan:
    """A planned operation."""

    def __init__(self, handle: ctypes.c_void_p, input_bytes: int, output_bytes: int) -> None:
        self._library = load()
        self._handle = handle
        self._sizes = (input_bytes, output_bytes)
        self._lent: tuple[Lent | None, Lent] | None = None
        self.explanation: str = self._library.hakobi_collective_plan_explain(handle).decode()

    def __repr__(self) -> str:
        state = "" if self._lent is None else "under way; "
        return shown(self, f"{state}{self.explanation.splitlines()[0]}")

    def explain(self) -> str:
        """The chosen algorithm and the reason, for people. Local."""
        return self.explanation

    def execute(self, input_: AnyArray | None, output: AnyArray, *, stream: Any = None) -> None:
        """Executes the operation. Collective. `input_` may be `output`; for a broadcast it is None. Either may be a
        GPU's, as for Output.put, and `stream` is the one whose work makes the input.

        Raises InputError, on this rank, for an array of another size or one that is not contiguous.
        """
        lent = self._for_c(input_, output, stream)
        if any(each and each.is_on_device for each in lent):
            self._start(lent)
            self.wait()
        else:
            check(self._library, self._library.hakobi_collective_plan_execute(self._handle, *_places(lent)))

    def start(self, input_: AnyArray | None, output: AnyArray, *, stream: Any = None) -> None:
        """Starts it. Do not change the arrays until `wait` returns or `test` returns True. `stream`: as in execute;
        None: the one that an array names, or the default stream."""
        self._start(self._for_c(input_, output, stream))

    def _start(self, lent: tuple[Lent | None, Lent]) -> None:
        on = next((each.stream for each in lent if each and each.is_on_device and each.stream), None)
        if on is None:
            check(self._library, self._library.hakobi_collective_plan_start(self._handle, *_places(lent)))
        else:
            check(self._library, self._library.hakobi_collective_plan_start_on(self._handle, *_places(lent), on))
        self._lent = lent

    def test(self) -> bool:
        """Progresses the operation; True if it is complete."""
        done = ctypes.c_int()
        check(self._library, self._library.hakobi_collective_plan_test(self._handle, done))
        if done.value:
            self._lent = None
        return bool(done.value)

    def wait(self, stream: Any = None) -> None:
        """Completes it. With a `stream` it is that stream that waits for an output of a GPU."""
        if stream is None:
            check(self._library, self._library.hakobi_collective_plan_wait(self._handle))
        else:
            check(self._library, self._library.hakobi_collective_plan_wait_on(self._handle, stream_handle(stream)))
        self._lent = None

    def __del__(self) -> None:
        if self._lent is None:  # else MPI still writes there: leave it to the end of the program
            self._library.hakobi_collective_plan_free(self._handle)

    def _for_c(self, input_: AnyArray | None, output: AnyArray, stream: Any) -> tuple[Lent | None, Lent]:
        input_bytes, output_bytes = self._sizes
        if input_ is None and input_bytes > 0:
            raise InputError("input is None where there is data to send")
        taken = None if input_ is None else _lent_for_c("input", input_, input_bytes, stream)
        given = _lent_for_c("output", output, output_bytes, stream)
        if not given.array.flags.writeable:
            raise InputError("output is read-only")
        return taken, given


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
        check(library, library.hakobi_collectives_create(handle_of(comm), options, handle))
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


def _places(lent: tuple[Lent | None, Lent]) -> list[int | None]:
    return [None if each is None else each.array.ctypes.data for each in lent]


def _lent_for_c(what: str, values: AnyArray, num_bytes: int, stream: Any) -> Lent:
    lent = lend(values, stream)
    if not lent.array.flags.c_contiguous:
        raise InputError(f"{what} is no array that is contiguous in C order")
    if lent.array.nbytes != num_bytes:
        raise InputError(f"{what} has {lent.array.nbytes} bytes where the plan has {num_bytes}")
    return lent
