"""A series of steps as an xarray data set whose values are read where they are used. Needs the extra hakobi[xarray]."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import xarray
from xarray.backends import BackendArray
from xarray.core import indexing

from hakobi.fields import Block

if TYPE_CHECKING:
    from hakobi.input import Input, InputField


#: Attributes that say how values come from what is stored (CF conventions, 2.5.1 and 8.1).
_PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")


class _Steps(BackendArray):
    """One field of all steps: (time, …). Opens the series when it is first asked, in whatever process that is.
    `packings` are its steps' attributes where these differ: then values are unpacked here, step by step."""

    def __init__(
        self, open_series: Callable[[], Input], steps: list[int], field: InputField, packings: list[dict[str, Any]]
    ) -> None:
        self._open_series, self._steps, self._name = open_series, steps, field.name
        assert field.dtype is not None
        self.shape = (len(steps), *field.shape)
        self.dtype = np.dtype(np.float64) if packings else field.dtype
        self._packings = packings
        self._input: Input | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_input": None}

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        if self._input is None:
            self._input = self._open_series()
        ranges = [range(n)[k] if isinstance(k, slice) else k for k, n in zip(key, self.shape, strict=True)]
        bounds = [
            (min(r), max(r) + 1) if isinstance(r, range) and len(r) else (0, 0) if isinstance(r, range) else (r, r + 1)
            for r in ranges[1:]
        ]
        block = Block(tuple(self.shape[1:]), tuple(low for low, _ in bounds), tuple(high - low for low, high in bounds))
        # The block's selection in each dimension: every n-th of it, backwards, or one without the dimension.
        within = tuple(
            slice(None, None, r.step)
            if isinstance(r, range) and r.step > 0
            else slice(None, None, r.step)
            if isinstance(r, range)
            else 0
            for r in ranges[1:]
        )
        steps = ranges[0] if isinstance(ranges[0], range) else range(ranges[0], ranges[0] + 1)
        read = [self._unpacked(self._read_stored(self._input, block, self._steps[i]), i)[within] for i in steps]
        values = np.stack(read) if read else np.empty((0, *(len(r) for r in ranges[1:] if isinstance(r, range))))
        values = values.astype(self.dtype, copy=False)
        return values if isinstance(ranges[0], range) else values[0]

    def _read_stored(self, steps: Input, block: Block, step: int) -> npt.NDArray[Any]:
        """In the file's type, which Input.read would unpack."""
        stored = np.empty(block.count, steps.field(self._name, step).dtype)
        return steps.read(self._name, step=step, block=block if block.global_ else None, out=stored)

    def _unpacked(self, values: npt.NDArray[Any], number: int) -> npt.NDArray[Any]:
        if not self._packings:
            return values
        dims = [f"d{n}" for n in range(values.ndim)]
        stored = xarray.Variable(dims, values, self._packings[number])
        return np.asarray(xarray.conventions.decode_cf_variable(self._name, stored, decode_times=False).values)


def _packing_of(field: InputField) -> dict[str, Any]:
    return {name: value for name, value in field.attributes.items() if name in _PACKING}


def _is_one(packings: list[dict[str, Any]]) -> bool:
    """Whether all steps are packed alike. A fill value that is NaN is like another."""
    return len({repr(sorted(packing.items())) for packing in packings}) == 1


def dataset_of(steps: Input, open_series: Callable[[], Input]) -> xarray.Dataset:
    """The fields of the last step that all steps have alike, along `time`, with coordinates and attributes."""
    variables: dict[str, Any] = {}
    for name in steps.fields:
        field = steps.field(name)
        if field.is_static and field.dtype is not None:
            stored = steps.read(name, out=np.empty(field.shape, field.dtype))
            variables[name] = xarray.Variable(field.dims, stored, dict(field.attributes))
            continue
        here = [steps.field(name, number) for number in steps.steps if name in steps.fields_of(number)]
        known = {units for each in here if (units := each.attributes.get("units"))}
        alike = [each for each in here if each.shape == field.shape]
        if field.dtype is None or len(alike) < len(steps.steps) or len(known) > 1:
            continue
        packings = [_packing_of(each) for each in alike]
        packings = [] if _is_one(packings) else packings
        lazy = indexing.LazilyIndexedArray(_Steps(open_series, steps.steps, field, packings))
        told = {key: value for key, value in field.attributes.items() if not packings or key not in _PACKING}
        if known:
            told["units"] = known.pop()
        variables[name] = xarray.Variable(("time", *field.dims), lazy, told)
    time = {"units": steps.time_units, "calendar": steps.calendar}
    coordinates: dict[str, Any] = {"time": ("time", np.array(steps.times), {k: v for k, v in time.items() if v})}
    for axis in steps.axes:
        if len(axis.values):
            attributes = {"units": axis.units, "standard_name": axis.standard_name, **axis.attributes}
            coordinates[axis.name] = (axis.name, axis.values, {k: v for k, v in attributes.items() if v})
    return xarray.decode_cf(xarray.Dataset(variables, coordinates, dict(steps.attributes)))
