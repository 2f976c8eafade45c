"""The part that Output and Outputs share: the open step, the arrays that are lent to it, and puts that are refused."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, ClassVar, Self

from hakobi._library import check, load
from hakobi.attributes import printable
from hakobi.device_arrays import AnyArray
from hakobi.errors import InputError
from hakobi.fields import Block, FieldId, values_for_c


class StepWriter:
    """An object of C into whose steps a program puts fields.

    As a context manager it is closed at the end of the block. If the block raises, it is left without communication,
    since other ranks may not have raised.
    """

    _calls: ClassVar[str]  #: "hakobi_output": so the names of its functions begin
    _put_call: ClassVar[str] = "put_values"
    _closed: ClassVar[str]  #: "the output is closed"

    def __init__(self, handle: ctypes.c_void_p, prefix: str) -> None:
        self._library = load()
        self._handle = handle
        self._prefix = prefix
        self._lent: list[object] = []  # the open step's arrays: alive until end_step returns
        self._is_open = False  # between begin_step and end_step
        self._last_explanation = ""  # what close has left

    def _call(self, name: str, *arguments: Any) -> int:
        return int(getattr(self._library, f"{self._calls}_{name}")(self._handle, *arguments))

    def _require_open(self, call: str) -> None:
        if not self._handle:
            raise InputError(f"{call}: {self._closed}", code="invalid_argument")

    def _require_step(self, call: str) -> None:
        if not self._is_open:
            closed = "" if self._handle else f": {self._closed}"
            raise InputError(f"{call}: no step is open (begin_step){closed}", code="invalid_argument")

    def _begin_step(self, time: float) -> None:
        self._require_open("begin_step")
        check(self._library, self._call("begin_step", time))
        self._is_open = True

    def _refuse(self, reason: str) -> None:
        """`end_step` raises it on every rank."""
        self._call("refuse", printable(reason))

    def _put_values(
        self, field: FieldId, block: Block | None, values: AnyArray | None, stream: Any, num_elements: int
    ) -> None:
        """`num_elements`: of the mesh, on this rank."""
        try:
            block_c, address, layout, keep = values_for_c(field, block, values, stream, num_elements)
        except (InputError, TypeError) as error:
            self._refuse(f"field {field.name}: {error}")
            return
        self._lent.append(keep)
        # Its code is end_step's to report.
        self._call(self._put_call, field.number, block_c, address, layout)

    def _end_step(self) -> None:
        self._require_open("end_step")
        try:
            check(self._library, self._call("end_step"))
        finally:
            self._is_open = False
            self._lent.clear()

    def _explained(self) -> str:
        if self._handle:
            text = getattr(self._library, f"{self._calls}_explain")(self._handle)
            self._last_explanation = text.decode()
        return self._last_explanation

    def _free(self) -> None:
        handle, self._handle = self._handle, ctypes.c_void_p()
        getattr(self._library, f"{self._calls}_free")(handle)
        self._is_open = False
        self._lent.clear()

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._free()
