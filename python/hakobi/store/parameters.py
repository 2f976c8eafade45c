"""Names of parameters, and values of GRIB messages."""

from __future__ import annotations

from ctypes import c_int64

import numpy as np
import numpy.typing as npt

from hakobi._library import check, load
from hakobi.attributes import text_for_c


def param_name(number: str) -> str:
    """The short name of a parameter's number, or the number itself."""
    name = load().hakobi_store_param_name(text_for_c("the number", number))
    return name.decode() if name else number


def grib_values(message: bytes) -> npt.NDArray[np.float64]:
    """The values of a GRIB message, as ecCodes unpacks them. Raises FormatError, or InputError without ecCodes."""
    library, count = load(), c_int64()
    # Eight values a byte are more than any packing but a constant field's, for which the second call has the room.
    values = np.empty(8 * len(message))
    for _ in range(2):
        check(library, library.hakobi_grib_values(message, len(message), values.ctypes.data, values.size, count))
        if count.value <= values.size:
            return values[: count.value].copy()
        values = np.empty(count.value)
    return values
