"""The options of an output, for C: those of Output.create and Outputs.add."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

import numpy as np
import numpy.typing as npt

from hakobi._capi import CONSTANTS, AxisC, OutputOptionsC
from hakobi._library import shown
from hakobi.attributes import AttributeLike, attributes_for_c, hints_for_c, int_for_c, text_for_c, yes_or_no
from hakobi.errors import InputError, unknown_name

#: Output.create's `if_exists` -> HAKOBI_IF_EXISTS_FAIL, …
_IF_EXISTS = {name: CONSTANTS[f"IF_EXISTS_{name.upper()}"] for name in ("fail", "replace", "resume")}


@dataclass(frozen=True)
class Axis:
    """A dimension and its CF coordinate variable; complete and equal on every rank.

    `attributes`: further ones, such as `{"positive": "down", "axis": "Z"}` for a vertical axis. `Axis("time", "", [],
    attributes={"bounds": "time_bnds"})` has those of the variable time, whose values are those of `begin_step`.
    """

    name: str
    units: str
    values: Sequence[float] | npt.NDArray[np.floating[Any]]
    standard_name: str = ""
    attributes: Mapping[str, AttributeLike] = field(default_factory=dict)

    def __repr__(self) -> str:
        num = len(self.values)
        span = f": {self.values[0]:g} to {self.values[-1]:g}" if num else ""
        return shown(self, f"{self.name}, {num} values in {self.units!r}{span}")


def options_for_c(
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
) -> OutputOptionsC:
    """Output.create's options for C; the structure keeps what it lends alive. Raises InputError, TypeError."""
    axes_c = [_axis_for_c(axis) for axis in axes]
    attributes, hints = attributes or {}, hints or {}
    return OutputOptionsC(
        if_exists=if_exists_for_c(if_exists),
        method=text_for_c("method", method),
        format=text_for_c("format", format),
        title=text_for_c("title", title),
        axes=(AxisC * len(axes_c))(*axes_c),
        num_axes=len(axes_c),
        attributes=attributes_for_c(attributes),
        num_attributes=len(attributes),
        time_units=text_for_c("time_units", time_units),
        calendar=text_for_c("calendar", calendar),
        compression=text_for_c("compression", compression),
        asynchronous_bytes=int_for_c(asynchronous_bytes, 64),
        buffer_bytes=int_for_c(buffer_bytes, 64),
        hints=hints_for_c(hints),
        num_hints=len(hints),
        significant_bits=int_for_c(significant_bits),
        writer_stride=int_for_c(writer_stride),
        asynchronous=yes_or_no(asynchronous),
        sync=yes_or_no(sync),
        overview=yes_or_no(overview),
        keep_pieces=yes_or_no(keep_pieces),
        steps_per_file=_steps_per_file_for_c(steps_per_file),
        stage=text_for_c("stage", fspath(stage)) or None,
        stage_bytes=int_for_c(stage_bytes, 64),
        stage_bytes_s=int_for_c(stage_bytes_s, 64),
        stage_patience_s=0 if stage_patience_s is None else int_for_c(stage_patience_s, 64) or -1,
        store_as=text_for_c("store_as", store_as),
    )


#: The names of Output.create's options.
OPTIONS = tuple(inspect.signature(options_for_c).parameters)


def if_exists_for_c(if_exists: str) -> int:
    """HAKOBI_IF_EXISTS_FAIL, … Raises InputError."""
    if if_exists not in _IF_EXISTS:
        raise unknown_name("if_exists", str(if_exists), _IF_EXISTS)
    return _IF_EXISTS[if_exists]


def _steps_per_file_for_c(steps: int | str | None) -> int:
    """HAKOBI_ALL_STEPS of "all"; 0 of None."""
    if steps is None:
        return 0
    if steps == "all":
        return (1 << 63) - 1
    if isinstance(steps, str) or int_for_c(steps, 64) < 1:
        raise InputError(f"steps_per_file is {steps!r}: give a number of steps, at least 1, or 'all'")
    return int_for_c(steps, 64)


def _axis_for_c(axis: Axis) -> AxisC:
    """The axis for C; the structure keeps its values alive. Raises InputError."""
    name, units = text_for_c("an axis's name", axis.name), text_for_c(f"axis {axis.name}: units", axis.units)
    standard_name = text_for_c(f"axis {axis.name}: standard_name", axis.standard_name)
    try:
        values = np.asarray(axis.values, dtype=np.float64)
        if values.ndim != 1:
            raise InputError(f"it has {values.ndim} dimensions")
    except (TypeError, ValueError, InputError) as error:
        raise InputError(f"axis {axis.name}: values are not a list of numbers: {error}") from error
    return AxisC(
        name=name,
        units=units,
        standard_name=standard_name,
        values=(ctypes.c_double * values.size)(*values.tolist()),
        num_values=values.size,
        attributes=attributes_for_c(axis.attributes),
        num_attributes=len(axis.attributes),
    )
