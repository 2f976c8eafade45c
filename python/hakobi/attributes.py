"""Attributes, fill values and options between Python and C: what Output takes and Input shows."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hakobi._capi import CONSTANTS, AttributeC, HintC
from hakobi.errors import InputError

#: An attribute's value: text, a number, or several.
Attribute = str | float | int | tuple[float, ...] | tuple[int, ...]
#: Arguments that stand for one: any sequence of numbers, or an array of one dimension.
AttributeLike = Attribute | Sequence[float] | Sequence[int] | npt.NDArray[Any] | np.generic


def attribute_for_c(name: str, value: AttributeLike) -> AttributeC:
    """The attribute for C; the structure keeps its values alive. Raises InputError for what is no attribute."""
    c_name = text_for_c("an attribute's name", name)
    if isinstance(value, str):
        return AttributeC(name=c_name, text=text_for_c(f"attribute {name}", value))
    try:
        values = np.atleast_1d(np.asarray(value))
    except (TypeError, ValueError) as error:
        raise InputError(f"attribute {name}: {error}") from error
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise InputError(f"attribute {name} is no text, number or list of numbers: {value!r}")
    if values.dtype.kind == "f":
        reals = (ctypes.c_double * values.size)(*values.tolist())
        return AttributeC(name=c_name, doubles=reals, num_values=values.size)
    if values.dtype.kind == "u" and values.size and int(values.max()) >= 1 << 63:
        raise InputError(f"attribute {name} has numbers of more than 63 bits")
    integers = (ctypes.c_int64 * values.size)(*values.tolist())
    return AttributeC(name=c_name, integers=integers, num_values=values.size)


def attributes_for_c(attributes: Mapping[str, AttributeLike]) -> ctypes.Array[AttributeC]:
    """All of them. Raises as attribute_for_c."""
    return (AttributeC * len(attributes))(*(attribute_for_c(name, value) for name, value in attributes.items()))


def attribute_of_c(found: AttributeC) -> Attribute:
    """The value of what C has filled in."""
    if found.text is not None:
        return bytes(found.text).decode(errors="replace")
    numbers = tuple((found.doubles or found.integers)[: found.num_values]) if found.num_values else ()
    return numbers[0] if len(numbers) == 1 else numbers


def fill_value_for_c(fill_value: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """One value of `dtype` in memory. Raises InputError for a value of another type.

    Python's numbers stand for the field's type where they are values of it; NumPy's have one of their own.
    """
    is_python = isinstance(fill_value, int | float) and not isinstance(fill_value, bool | np.generic)
    if not is_python and np.asarray(fill_value).dtype != dtype:
        raise InputError(f"its fill value {fill_value!r} is not of its values' type {dtype.name}")
    with np.errstate(over="ignore"):
        try:
            value = np.full(1, fill_value, dtype)
        except (OverflowError, TypeError, ValueError):
            value = np.empty(0, dtype)
    if value.size != 1 or (dtype.kind in "iu" and value[0] != fill_value):
        raise InputError(f"its fill value {fill_value!r} is no value of type {dtype.name}")
    return value


def hints_for_c(hints: Mapping[str, str]) -> ctypes.Array[HintC]:
    """Hints for C. Raises InputError for what C cannot hold."""
    if not isinstance(hints, Mapping):
        raise InputError(f"hints are a dictionary such as {{'cb_nodes': '2'}}, not {type(hints).__name__}")
    entries = (
        HintC(text_for_c("a hint's name", name), text_for_c(f"hint {name}", str(hint))) for name, hint in hints.items()
    )
    return (HintC * len(hints))(*entries)


def yes_or_no(is_wanted: Any) -> int:
    """HAKOBI_YES or HAKOBI_NO, or 0, C's default, for None."""
    return 0 if is_wanted is None else CONSTANTS["YES" if is_wanted else "NO"]


def int_for_c(number: Any, bits: int = 32) -> int:
    """A number as a whole number of C, without a cut; the library judges its range. Raises TypeError."""
    limit = 1 << (bits - 1)
    return max(-limit, min(operator.index(number), limit - 1))


def printable(reason: str) -> bytes:
    """A reason to refuse something: it may quote what `text_for_c` does not take."""
    return reason.encode(errors="backslashreplace").replace(b"\0", b"\\x00")


def text_for_c(what: str, text: str) -> bytes:
    """`text` for C. Raises InputError, which says `what` it is, for what C would cut or cannot hold."""
    if not isinstance(text, str):
        raise InputError(f"{what} is a {type(text).__name__}, not text")
    if "\0" in text:
        raise InputError(f"{what} {text!r} has a NUL character, where C would cut it")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} {text!r} has surrogates, which UTF-8 cannot hold") from None
