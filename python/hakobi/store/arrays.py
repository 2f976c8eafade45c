"""Fields of a store as xarray: lazily, without reading more than what is asked for.

A field's form says how its bytes become numbers: "float64[180,360]" is such an array; other forms have an entry in
DECODERS.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import xarray
from xarray.backends import BackendArray
from xarray.core import indexing

from hakobi.errors import InputError
from hakobi.store.grib_arrays import GribLayout, attributes_of
from hakobi.store.grib_names import words_of
from hakobi.store.parameters import grib_values, param_name
from hakobi.store.times import TIMES, with_times

if TYPE_CHECKING:
    from hakobi.store.library import Listing

#: form -> bytes to values.
DECODERS: dict[str, Callable[[bytes], npt.NDArray[Any]]] = {"grib": grib_values}

#: Keywords whose values name a variable.
VARIABLE_KEYWORDS = ("param", "variable", "field")

_FORM = re.compile(r"([a-z]+[0-9]+)\[([0-9,]*)\]")


def decoded(form: str, data: bytes | bytearray) -> npt.NDArray[Any]:
    """A field's values.

    >>> decoded("int32[2]", bytes(8))
    array([0, 0], dtype=int32)
    """
    if form in DECODERS:
        return DECODERS[form](bytes(data))
    dtype, shape = array_form(form)
    if dtype.itemsize * int(np.prod(shape)) != len(data):
        raise InputError(f"a field of {len(data)} bytes is no {form}")
    return np.frombuffer(data, dtype).reshape(shape)


def array_form(form: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Type and shape behind "float64[180,360]". Raises InputError for a form that is not an array's."""
    found = _FORM.fullmatch(form)
    if not found:
        known = "bytes without a form" if not form else f"fields of the form {form!r}"
        raise InputError(f"{known} cannot be made an array: archive numpy arrays, or register a decoder")
    try:
        dtype = np.dtype(found[1])
    except TypeError:
        raise InputError(f"no type of numbers is called {found[1]!r}") from None
    return dtype, tuple(int(extent) for extent in found[2].split(",") if extent)


class _Fields(BackendArray):
    """An array of fields: index into the listing by the leading dimensions, -1 where there is no field. GRIB fields
    have the layout of the first one."""

    def __init__(self, listing: Listing, numbers: npt.NDArray[np.int64], form: str) -> None:
        self._listing, self._numbers, self._form = listing, numbers, form
        self.layout: GribLayout | None = None
        self.sample = listing.read(int(numbers[numbers >= 0][0])) if form in DECODERS else b""
        if form == "grib":
            self.layout = GribLayout(bytes(self.sample))
            self.dtype, self._inner = np.dtype(np.float64), self.layout.shape
        elif form in DECODERS:
            sample = decoded(form, self.sample)
            self.dtype, self._inner = sample.dtype, sample.shape
        else:
            self.dtype, self._inner = array_form(form)
        self.shape = numbers.shape + self._inner
        self.inner_dims = self.layout.dims if self.layout else tuple(f"dim_{i}" for i in range(len(self._inner)))

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._get)

    def _get(self, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        num_outer = self._numbers.ndim
        numbers = self._numbers[key[:num_outer]]
        inner = key[num_outer:]
        wanted = np.atleast_1d(numbers)
        parts = [self._values(int(number), inner) for number in wanted.ravel()]
        shape = parts[0].shape if parts else np.empty(self._inner, np.int8)[inner].shape
        result = np.empty((len(parts), *shape), self.dtype)
        for at, part in enumerate(parts):
            result[at] = part
        return result.reshape(np.shape(numbers) + shape)

    def _values(self, number: int, inner: tuple[Any, ...]) -> Any:
        if number < 0:
            return np.full(self._inner, np.nan, self.dtype)[inner]
        if self._form not in DECODERS and inner and self._inner:
            # Rows of the slowest dimension lie together: no more than those are read.
            rows = range(self._inner[0])[inner[0]] if isinstance(inner[0], slice) else [int(inner[0])]
            if len(rows) > 0:
                first, last = min(rows), max(rows)
                row_bytes = self.dtype.itemsize * int(np.prod(self._inner[1:]))
                data = self._listing.read(number, first * row_bytes, (last + 1 - first) * row_bytes)
                values = np.frombuffer(data, self.dtype).reshape(last + 1 - first, *self._inner[1:])
                picked = values[[row - first for row in rows]] if isinstance(inner[0], slice) else values[0]
                rest = (slice(None), *inner[1:]) if isinstance(inner[0], slice) else inner[1:]
                return picked[rest]
        data = self._listing.read(number)
        return (self.layout.values_of(bytes(data)) if self.layout else decoded(self._form, data))[inner]


def coordinate(values: list[str]) -> npt.NDArray[Any]:
    """Values as whole numbers or numbers where all of them are, else as texts.

    >>> coordinate(["0", "6", "12"]), coordinate(["0.5", "1"]), coordinate(["0-6", "6-12"])
    (array([ 0,  6, 12]), array([0.5, 1. ]), array(['0-6', '6-12'], dtype='<U4'))
    """
    if all(re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", value) for value in values):
        return np.array([int(value) for value in values])
    try:
        if not any(re.match(r"0[0-9]", value) for value in values):
            return np.array([float(value) for value in values])
    except ValueError:
        pass
    return np.array(values)


def _labels(values: list[str], used: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
    """The labels of the values at `used`. All fields of a listing have labels of one type: numbers where every
    value that is there is one, NaN for none."""
    labels = coordinate([value for value in values if value])
    if any(values[int(code)] == "" for code in used) and labels.dtype.kind in "if":
        labels = labels.astype(np.float64)
    known = iter(labels)
    nothing = np.nan if labels.dtype.kind == "f" else ""
    every = [next(known) if value else nothing for value in values]
    return np.array([every[int(code)] for code in used])


def array_of(listing: Listing, only: npt.NDArray[np.bool_] | None = None, name: str | None = None) -> xarray.DataArray:
    """The fields of a listing (those where `only` is true) as one array. Raises InputError where they make none."""
    array, fields = _array_of(listing, only, name)
    if fields.layout and name is None and "param" in array.coords and "param" not in array.dims:
        array = array.rename(_name_of(str(array.param.values), fields))
    return with_times(array)


def _array_of(
    listing: Listing, only: npt.NDArray[np.bool_] | None, name: str | None
) -> tuple[xarray.DataArray, _Fields]:
    chosen = np.flatnonzero(only) if only is not None else np.arange(len(listing))
    if chosen.size == 0:
        raise InputError("the request selects no field")
    forms = {listing[int(chosen[0])].form, listing[int(chosen[-1])].form}
    if len(forms) > 1:
        raise InputError(f"fields of different forms make no array: {', '.join(sorted(forms))}")
    dims: list[str] = []
    codes: list[npt.NDArray[Any]] = []
    coords: dict[str, Any] = {}
    for keyword in listing.keywords():
        column, values = listing.column(keyword)
        used, picked = np.unique(column[chosen], return_inverse=True)
        if len(used) > 1 and keyword == "grid":
            grids = "/".join(values[int(code)] for code in used)
            raise InputError(f"fields on different grids make no array: select one of grid={grids}")
        if len(used) == 1 and values[int(used[0])] == "":
            continue
        labels = _labels(values, used)
        if len(used) == 1:
            coords[keyword] = labels[0]
            continue
        dims.append(keyword)
        codes.append(picked)
        coords[keyword] = (keyword, labels)
    shape = tuple(int(code.max()) + 1 for code in codes)
    numbers = np.full(shape, -1, np.int64)
    numbers[tuple(codes)] = chosen if codes else chosen[0]
    fields = _Fields(listing, numbers, forms.pop())
    if (numbers < 0).any() and fields.dtype.kind != "f":
        raise InputError("the selected fields leave gaps, which whole numbers cannot show: select fewer")
    variable = xarray.Variable([*dims, *fields.inner_dims], indexing.LazilyIndexedArray(fields))
    array = xarray.DataArray(variable, coords=coords, name=name)
    if importlib.util.find_spec("dask") is not None:
        array = array.chunk({**dict.fromkeys(dims, 1), **dict.fromkeys(fields.inner_dims, -1)})
    if fields.layout:
        array = array.assign_coords(fields.layout.coords)
        if "param" not in dims:
            array.attrs = attributes_of(bytes(fields.sample))
    return array, fields


def dataset_of(listing: Listing) -> xarray.Dataset:
    """A variable for each parameter, or whatever names variables in the schema. Raises InputError where they are on
    different grids."""
    keyword = next((word for word in VARIABLE_KEYWORDS if word in listing.keywords()), None)
    if keyword is None or len(listing) == 0:
        return xarray.Dataset({"fields": array_of(listing, name="fields")})
    column, values = listing.column(keyword)
    variables: dict[str, xarray.DataArray] = {}
    layout: GribLayout | None = None
    for code, value in enumerate(values):
        array, fields = _array_of(listing, column == code, None)
        name = _name_of(value, fields) if keyword == "param" else value
        name = value if name in variables else name
        if layout and fields.layout and not layout.is_like(fields.layout):
            raise InputError(f"the fields {', '.join(variables)} and {name} are on different grids: request one's")
        layout = layout or fields.layout
        variables[name] = with_times(array.drop_vars(keyword).rename(name))
    return _merged(variables)


def _merged(variables: dict[str, xarray.DataArray]) -> xarray.Dataset:
    """One data set. What is not the same for all variables, as the level of 2t and 10u, is an attribute of each."""
    coords: dict[Hashable, list[xarray.DataArray]] = {}
    for array in variables.values():
        for name, values in array.coords.items():
            coords.setdefault(name, []).append(values)
    own = {
        name
        for name, found in coords.items()
        if any(values.ndim == 0 for values in found)
        and (len(found) < len(variables) or any(v.ndim > 0 or v.values != found[0].values for v in found))
    }
    arrays = []
    for array in variables.values():
        scalars = [name for name in own if name in array.coords and array.coords[name].ndim == 0]
        told = {name: array.coords[name].values.item() for name in scalars if name not in TIMES}
        # Those of times are made anew for all steps of the data set.
        along = [name for name in TIMES if name in array.coords and array.coords[name].ndim > 0]
        arrays.append(array.drop_vars([*scalars, *along]).assign_attrs(told))
    merged = xarray.merge(arrays, join="outer", compat="override")
    merged.attrs = {}
    has_all = not (own & {"date", "time", "step"} - set(merged.coords))
    return with_times(merged) if has_all else merged


def _name_of(param: str, fields: _Fields) -> str:
    """The short name of a parameter, ecCodes' where the store's library knows none."""
    name = param_name(param)
    if name == param and fields.layout:
        return words_of(bytes(fields.sample)).short_name or param
    return name
