"""Arrays of a GPU as their libraries show them, for calls that lend memory to C. No library of theirs is imported.

 1. `__cuda_array_interface__` (Numba's documentation defines it, versions 2 and 3) tells shape, dtype, strides and
    address, and from version 3 on the stream whose work makes the values: CuPy, Numba.
 2. DLPack (the header dlpack.h and the array API standard, versions 0 and 1) tells the same in a capsule, for the GPUs
    of CUDA and ROCm: PyTorch, JAX. Its `stream` argument is ours: the array's library lets it wait for the values.

The first serves where it names a stream, DLPack otherwise, since an interface without a stream orders nothing. What
comes out is a NumPy array that has the device's address: its shape, strides and dtype are looked at as those of any
array, and its values never.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hakobi._capi import CONSTANTS
from hakobi.errors import InputError

_AUTOMATIC, _DEVICE = CONSTANTS["MEMORY_AUTOMATIC"], CONSTANTS["MEMORY_DEVICE"]
#: dlpack.h's DLDeviceType: host memory (also page-locked), and memory of a GPU (also managed).
_ON_HOST, _ON_DEVICE, _ON_ROCM = (1, 3, 11), (2, 10, 13), 10
#: dlpack.h's DLDataTypeCode -> NumPy's kind; bfloat16 (4) and smaller ones are not NumPy's.
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY
#: Exceptions of a library for an array that it does not show, such as PyTorch for one with a gradient.
_UNSHOWN = (AttributeError, BufferError, RuntimeError, TypeError, ValueError)


class _HasInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...


class _HasDLPack(Protocol):
    def __dlpack_device__(self) -> Any: ...


#: Arguments that calls take for values: NumPy's arrays, and those that a GPU's library shows.
AnyArray = npt.NDArray[Any] | _HasInterface | _HasDLPack


@dataclass(frozen=True)
class Lent:
    """Memory for C. `array` is only described: see above."""

    array: npt.NDArray[Any]
    memory: int  #: HAKOBI_MEMORY_AUTOMATIC, …
    stream: int | None  #: None: the default one
    keep: object  #: must live as long as the memory is used

    @property
    def is_on_device(self) -> bool:
        return self.memory == _DEVICE


def lend(values: Any, stream: Any = None) -> Lent:
    """Describes an array for C. `stream`: the caller's, which counts before the array's own. Raises InputError for
    objects that are no array, and for one that its library does not show."""
    handle = stream_handle(stream)
    if isinstance(values, np.ndarray):
        return Lent(values, _AUTOMATIC, handle, values)
    try:
        interface = getattr(values, "__cuda_array_interface__", None)
        if interface is not None and (interface.get("stream") is not None or not hasattr(values, "__dlpack__")):
            return _by_interface(values, interface, handle)
        if hasattr(values, "__dlpack__"):
            return _by_dlpack(values, handle, interface)
    except _UNSHOWN as error:
        raise InputError(f"a {type(values).__name__} that cannot be lent: {error}") from error
    raise InputError(f"a {type(values).__name__}, not a numpy array or an array of a GPU")


def stream_handle(stream: Any) -> int | None:
    """A stream for C; None is the default one, as are 0 and 1 (cudaStreamLegacy). Raises InputError.

    >>> stream_handle(0), stream_handle(2)
    (None, 2)
    """
    if stream is None:
        return None
    found = stream
    if hasattr(stream, "__cuda_stream__"):  # CUDA's own packages: version and handle
        found = stream.__cuda_stream__()[1]
    else:
        for name in ("ptr", "cuda_stream"):  # CuPy's, PyTorch's
            found = getattr(stream, name, found)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise InputError(f"stream is {found!r}, not a stream's number or an object of CuPy or PyTorch that has one")
    return found if found > 1 else None


class _Described:
    """The object from which numpy takes an array's address; the array keeps it alive."""

    def __init__(self, interface: dict[str, Any], keep: object) -> None:
        self.__array_interface__ = interface
        self._keep = keep


def _described(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    dtype: np.dtype[Any],
    *,
    read_only: bool,
    keep: object,
) -> npt.NDArray[Any]:
    if 0 in shape:  # has no address
        return np.empty(shape, dtype)
    interface = {
        "version": 3,
        "shape": shape,
        "typestr": dtype.str,
        "data": (address, read_only),
        "strides": strides,
    }
    return np.asarray(_Described(interface, keep))


def _by_interface(values: Any, interface: dict[str, Any], handle: int | None) -> Lent:
    if interface.get("mask") is not None:
        raise InputError(f"a {type(values).__name__} with a mask, which would not be written")
    address, read_only = interface["data"]
    dtype, strides = np.dtype(interface["typestr"]), interface.get("strides")
    array = _described(
        address or 0,
        tuple(interface["shape"]),
        None if strides is None else tuple(strides),
        dtype,
        read_only=bool(read_only),
        keep=values,
    )
    own = stream_handle(interface.get("stream"))
    return Lent(array, _DEVICE, own if handle is None else handle, values)


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),  # in elements; NULL: C order without gaps
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", _DLTensor),
    )


_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _by_dlpack(values: Any, handle: int | None, interface: dict[str, Any] | None) -> Lent:
    kind = int(values.__dlpack_device__()[0])
    if kind in _ON_HOST:
        array = np.from_dlpack(values)
        return Lent(array, _AUTOMATIC, handle, array)
    if kind not in _ON_DEVICE:
        raise InputError(f"a {type(values).__name__} on a device that is neither CUDA's nor ROCm's ({kind} in DLPack)")
    # The standard's numbers of the default stream. Its -1, no order, is an address to JAX.
    order = handle or (0 if kind == _ON_ROCM else 1)
    try:
        capsule = values.__dlpack__(stream=order, max_version=(1, 0))
    except TypeError:  # of before version 1
        capsule = values.__dlpack__(stream=order)
    # The capsule keeps its name, so that its end releases the tensor.
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _DLManagedTensorVersioned.from_address(_pointer_of(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise InputError(f"a {type(values).__name__} of DLPack {managed.major}, not 1")
        tensor, read_only = managed.dl_tensor, bool(managed.flags & _READ_ONLY)
    else:
        tensor = _DLTensor.from_address(_pointer_of(capsule, b"dltensor"))
        read_only = interface is None or bool(interface["data"][1])  # DLPack 0 does not say
    dtype = _dtype_of(tensor)
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(dtype.itemsize * step for step in tensor.strides[: tensor.ndim]) if tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset
    array = _described(address, shape, strides, dtype, read_only=read_only, keep=capsule)
    return Lent(array, _DEVICE, handle, (values, capsule))


def _dtype_of(tensor: _DLTensor) -> np.dtype[Any]:
    if tensor.code not in _KINDS or tensor.bits % 8 or tensor.lanes != 1:
        name = "bfloat16" if tensor.code == 4 else f"DLPack's type {tensor.code} of {tensor.bits} bits"
        raise InputError(f"values of {name}, which numpy has not")
    return np.dtype(f"{_KINDS[tensor.code]}{tensor.bits // 8}")
