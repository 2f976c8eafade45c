"""Fields of a store as xarray: lazily, without reading more than what is asked for.

A field's form says how its bytes become numbers: "float64[180,360]" is such an array; other forms have an entry in
DECODERS.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import xarray
from xarray.backends import BackendArray
from xarray.core import indexing

from hakobi.errors import InputError
from hakobi.store.parameters import grib_values, param_name

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
    """An array of fields: index into the listing by the leading dimensions, -1 where there is no field."""

    def __init__(self, listing: Listing, numbers: npt.NDArray[np.int64], form: str) -> None:
        self._listing, self._numbers, self._form = listing, numbers, form
        if form in DECODERS:
            sample = decoded(form, listing.read(int(numbers[numbers >= 0][0])))
            self.dtype, self._inner = sample.dtype, sample.shape
        else:
            self.dtype, self._inner = array_form(form)
        self.shape = numbers.shape + self._inner

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
        return decoded(self._form, self._listing.read(number))[inner]


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


def array_of(listing: Listing, only: npt.NDArray[np.bool_] | None = None, name: str | None = None) -> xarray.DataArray:
    """The fields of a listing (those where `only` is true) as one array. Raises InputError where they make none."""
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
        labels = coordinate([values[int(code)] for code in used])
        if len(used) == 1:
            if labels[0] != "":
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
    inner = [f"dim_{i}" for i in range(len(fields.shape) - len(dims))]
    variable = xarray.Variable([*dims, *inner], indexing.LazilyIndexedArray(fields))
    array = xarray.DataArray(variable, coords=coords, name=name)
    if importlib.util.find_spec("dask") is not None:
        array = array.chunk({**dict.fromkeys(dims, 1), **dict.fromkeys(inner, -1)})
    return array


def dataset_of(listing: Listing) -> xarray.Dataset:
    """A variable for each parameter, or whatever names variables in the schema."""
    keyword = next((word for word in VARIABLE_KEYWORDS if word in listing.keywords()), None)
    if keyword is None or len(listing) == 0:
        return xarray.Dataset({"fields": array_of(listing, name="fields")})
    column, values = listing.column(keyword)
    variables = {}
    for code, value in enumerate(values):
        name = param_name(value) if keyword == "param" else value
        array = array_of(listing, column == code, name)
        variables[name] = array.drop_vars(keyword)
    return xarray.merge(list(itertools.chain(variables.values())), join="outer", compat="override")
