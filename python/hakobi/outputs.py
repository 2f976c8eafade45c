"""Several outputs from one put a field and step, with means and extremes of intervals: C++'s hakobi::Outputs.

    outs = hakobi.Outputs.create(comm, "run.state", time_units="seconds since 2000-01-01")   # collective
    t = outs.define("t", "K", (ny, nx))                                                      # local
    outs.add("hourly", [hakobi.Derived("t")], every="1h", axes=axes)                         # collective
    outs.add("daily", [hakobi.Derived("t", "mean"), hakobi.Derived("t", "maximum")], every="1 day", axes=axes)
    outs.begin_step(time_s)
    outs.put(t, block, values)                                        # keep values unchanged until end_step returns
    outs.end_step()                                                   # collective
    outs.close()                                                      # collective

docs/outputs.md has the methods, the intervals and what a checkpoint is for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

import numpy as np
import numpy.typing as npt

from hakobi._capi import DerivedFieldC, OutputsOptionsC
from hakobi._library import check, load, shown
from hakobi.attributes import AttributeLike, attributes_for_c, int_for_c, printable, text_for_c, yes_or_no
from hakobi.device_arrays import AnyArray
from hakobi.errors import InputError, unknown_name
from hakobi.fields import Block, FieldId, definition_for_c
from hakobi.output import Comm, handle_of
from hakobi.output_options import OPTIONS, if_exists_for_c, options_for_c
from hakobi.step_writer import StepWriter


@dataclass(frozen=True)
class Derived:
    """A field of an output, made of the one called `of` that is put.

    `cell_method`: "point" (or ""), its values at the steps that the output has; "mean", "minimum", "maximum", "sum",
    "variance", "standard_deviation", "range" or "count above 300", of the interval that ends there. `name`: "" is `of`,
    and with a method "t_mean". `long_name`, `compression`, `significant_bits`, `store_as`: "" and 0 are the field's.
    `attributes`: besides the field's.
    """

    of: str
    cell_method: str = ""
    name: str = ""
    long_name: str = ""
    attributes: Mapping[str, AttributeLike] = field(default_factory=dict)
    compression: str = ""
    significant_bits: int = 0
    store_as: str = ""


class Outputs(StepWriter):
    """Several outputs of a program. Each is a series of its own, with its steps at the ends of its intervals.

    As a context manager it is closed at the end of the block. If the block raises, the outputs are left without
    communication, since other ranks may not have raised: what has accumulated since the last checkpoint is lost.
    """

    _calls, _put_call, _closed = "hakobi_outputs", "put", "the outputs are closed"

    def __repr__(self) -> str:
        state = "a step is open" if self._is_open else "open" if self._handle else "closed"
        return shown(self, f"{self._prefix}, {state}")

    @classmethod
    def create(
        cls,
        comm: Comm,
        prefix: str | PathLike[str],
        *,
        time_units: str = "s",
        calendar: str = "",
        begin_time: float | None = None,
        if_exists: str = "fail",
        resume_at: float | None = None,
    ) -> Outputs:
        """Collective over `comm`; all arguments equal on all ranks. `prefix`: that of the checkpoints.

        `time_units`, `calendar`: as Output.create's, of all outputs. `begin_time`: when the run began; what is put in
        the first step stands for the time since then. None: with the first step, whose values stand for no time.

        `if_exists`, of all outputs: "fail" (raise ExistsError), "replace", or "resume": go on from the newest
        checkpoint, or from the one of time `resume_at`; without one, from the beginning.

        Raises InputError for a wrong option or a `resume_at` without a checkpoint, ExistsError where the prefix has
        checkpoints, StorageError.
        """
        library = load()
        handle = ctypes.c_void_p()
        # An error of this side is raised on every rank.
        try:
            path = text_for_c("prefix", fspath(prefix))
            options = OutputsOptionsC(
                time_units=text_for_c("time_units", time_units),
                calendar=text_for_c("calendar", calendar),
                if_exists=if_exists_for_c(if_exists),
                has_begin_time=yes_or_no(begin_time is not None),
                has_resume_at=yes_or_no(resume_at is not None),
                begin_time=begin_time or 0.0,
                resume_at=resume_at or 0.0,
            )
        except (InputError, TypeError) as error:
            check(library, library.hakobi_comm_refuse(handle_of(comm), printable(str(error))))
        check(library, library.hakobi_outputs_create(handle_of(comm), path, options, handle))
        return cls(handle, fspath(prefix))

    def define(
        self,
        name: str,
        units: str = "1",
        global_: Sequence[int] | None = None,
        dtype: npt.DTypeLike = "float64",
        *,
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
        """Defines a field that is put. Local, in the same order on all ranks; arguments as Output.define's.

        Its `compression`, `significant_bits` and `store_as` are those of derived fields that say none. Values that are
        `fill_value`, or NaN, are missing: methods leave them out.

        Raises InputError for a wrong argument, or a name that is defined.
        """
        self._require_open("define")
        number = ctypes.c_int64()
        texts = {
            "long_name": long_name,
            "standard_name": standard_name,
            "compression": compression,
            "store_as": store_as,
        }
        try:
            definition = definition_for_c(
                name,
                units,
                global_,
                dtype,
                "grid",
                1,
                fill_value,
                attributes or {},
                dims,
                coordinates,
                texts,
                significant_bits,
                is_static,
            )
        except (InputError, TypeError) as error:
            raise InputError(f"field {name}: {error}", code="invalid_argument") from error
        check(self._library, self._call("define", definition, number))
        return FieldId(name, number.value)

    def add(self, prefix: str | PathLike[str], fields: Iterable[Derived], *, every: str = "", **options: Any) -> None:
        """Adds an output with these fields, which has a step at the end of each interval. Collective; all arguments
        equal on all ranks; before the first step.

        `every`: "" each step; a number of steps, "10 steps"; a time, "6h", "30 min", "1 day", "month", "year", or
        "0.25" in time_units: at its multiples, counted from time 0, which must be times of steps; "run": all of the
        run, written by close. `options`: Output.create's. Its time_units, calendar and if_exists are create's here.

        Raises as Output.create and Output.define do; InputError for a field that is not defined, a format of meshes,
        and methods of 64-bit integers.
        """
        self._require_open("add")
        try:
            path = text_for_c("prefix", fspath(prefix))
            for name in options:
                if name not in OPTIONS:
                    raise unknown_name("option", name, OPTIONS)
            options_c = options_for_c(**options)
            every_c = text_for_c("every", every)
            derived = [_derived_for_c(each) for each in fields]
        except (InputError, TypeError) as error:
            check(self._library, self._call("refuse_add", printable(f"output {prefix}: {error}")))
        fields_c = (DerivedFieldC * len(derived))(*derived)
        check(self._library, self._call("add", path, options_c, every_c, fields_c, len(derived)))

    @property
    def resume_time(self) -> float | None:
        """The time of the checkpoint that the run goes on from: its first step is a later one. None: it begins."""
        self._require_open("resume_time")
        is_resumed, time = ctypes.c_int(), ctypes.c_double()
        check(self._library, self._call("resume_time", is_resumed, ctypes.byref(time)))
        return time.value if is_resumed.value else None

    def begin_step(self, time: float) -> None:
        """Opens a step at model time `time`, later than the one before. Every rank calls it; it does not communicate.

        Raises InputError, and changes nothing, for a time that is not later, or that passes the end of an interval.
        """
        self._begin_step(time)

    def put(self, field: FieldId, block: Block | None, values: AnyArray | None, *, stream: Any = None) -> None:
        """Puts this rank's block of a field into the open step, or a further one, as Output.put does. A field has the
        same blocks in each step.

        `end_step` raises errors in the values, where an output has its next step. Only a missing begin_step raises
        InputError immediately.
        """
        self._require_step("put")
        self._put_values(field, block, values, stream, 0)

    def end_step(self) -> None:
        """Adds the values to what they belong to, and writes the outputs that have a step here. Collective.

        A mistake in a step is raised where the next one is written, on every rank.
        """
        self._end_step()

    def checkpoint(self) -> None:
        """Stores what has accumulated up to the last step, behind all steps of all outputs: a run can go on from here.
        Collective. The two newest checkpoints are kept. Call it when the program stores its own state."""
        self._require_open("checkpoint")
        check(self._library, self._call("checkpoint"))

    def close(self) -> None:
        """Writes the outputs of "run", stores a checkpoint, closes all outputs and releases everything. Collective; a
        second call does nothing."""
        if not self._handle:
            return
        try:
            check(self._library, self._call("close"))
        finally:
            self._explained()
            self._free()

    def explain(self) -> str:
        """How the outputs are written, what accumulates on this rank, and how many missing values were left out: a line
        an output, for people."""
        return self._explained()


def _derived_for_c(derived: Derived) -> DerivedFieldC:
    """The field for C; the structure keeps what it lends alive. Raises InputError, TypeError."""
    if not isinstance(derived, Derived):
        raise InputError(f"a field is a {type(derived).__name__}, not a hakobi.Derived")
    try:
        return DerivedFieldC(
            of=text_for_c("of", derived.of),
            cell_method=text_for_c("cell_method", derived.cell_method),
            name=text_for_c("name", derived.name),
            long_name=text_for_c("long_name", derived.long_name),
            attributes=attributes_for_c(derived.attributes),
            num_attributes=len(derived.attributes),
            compression=text_for_c("compression", derived.compression),
            significant_bits=int_for_c(derived.significant_bits),
            store_as=text_for_c("store_as", derived.store_as),
        )
    except InputError as error:
        raise InputError(f"field {derived.of}: {error}") from error
