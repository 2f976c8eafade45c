"""Names of parameters, steps, and what ecCodes says of GRIB messages, by hakobi's own library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ctypes import c_char_p, c_int64

import numpy as np
import numpy.typing as npt

from hakobi._library import check, load
from hakobi.attributes import text_for_c

_STEP = re.compile(r"(?:[0-9]+[ms]?-)?([0-9]+)([ms]?)")


def param_name(number: str) -> str:
    """The short name of a parameter's number, or the number itself."""
    name = load().hakobi_store_param_name(text_for_c("the number", number))
    return name.decode() if name else number


def step_end_s(step: str) -> int | None:
    """Seconds from the beginning of a forecast to a step, or to the end of one that is an interval.

    >>> step_end_s("66-72"), step_end_s("90m"), step_end_s("first")
    (259200, 5400, None)
    """
    found = _STEP.fullmatch(step)
    return int(found[1]) * {"": 3600, "m": 60, "s": 1}[found[2]] if found else None


def grib_values(message: bytes) -> npt.NDArray[np.float64]:
    """The values of a GRIB message, as ecCodes unpacks them. Raises FormatError, or InputError without ecCodes."""
    return grib_array(message, "values")


def grib_array(message: bytes, name: str, size: int | None = None) -> npt.NDArray[np.float64]:
    """The numbers of one of ecCodes' keys that has several: "values", "latitudes". `size` is how many are expected.
    Raises InputError for another key or without ecCodes, FormatError."""
    library, count = load(), c_int64()
    # Eight values a byte are more than any packing but a constant field's, for which the second call has the
    # room.
    values = np.empty(8 * len(message) if size is None else size)
    for _ in range(2):
        given = (message, len(message), text_for_c("the key", name), values.ctypes.data, values.size, count)
        check(library, library.hakobi_grib_array(*given))
        if count.value <= values.size:
            return values[: count.value].copy()
        values = np.empty(count.value)
    return values


def grib_texts(message: bytes, names: Sequence[str]) -> dict[str, str]:
    """The texts of some of ecCodes' keys, "" for one that the message does not have. Raises FormatError, or InputError
    without ecCodes."""
    library, found = load(), c_char_p()
    keys = text_for_c("the keys", ",".join(names))
    check(library, library.hakobi_grib_texts(message, len(message), keys, found))
    lines = (found.value or b"").decode(errors="replace").split("\n")
    return {name: line.strip() for name, line in zip(names, lines, strict=False)}
