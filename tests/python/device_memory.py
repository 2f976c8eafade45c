"""Arrays as the libraries of GPUs show them, of an address alone: no library and no device is needed to make one."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hakobi.device_arrays import _DLManagedTensorVersioned, _DLTensor

CUDA, ROCM, MANAGED, METAL = 2, 10, 13, 8  # DLPack's devices


@dataclass
class CudaArray:
    """One with `__cuda_array_interface__`. `extra`: its further members, such as the stream of version 3."""

    address: int
    shape: tuple[int, ...]
    dtype: str = "<f8"
    strides: tuple[int, ...] | None = None
    read_only: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype,
            "data": (self.address, self.read_only),
            "strides": self.strides,
            **self.extra,
        }


class _DLManagedTensor(ctypes.Structure):
    """The struct of DLPack before version 1."""

    _fields_ = (("dl_tensor", _DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR)(
    ("PyCapsule_New", ctypes.pythonapi)
)


@dataclass
class DLPackArray:
    """One with DLPack, of version 0 or 1. `strides` are in elements."""

    address: int
    shape: tuple[int, ...]
    dtype: str = "<f8"
    strides: tuple[int, ...] | None = None
    read_only: bool = False
    device: int = CUDA
    version: int = 1
    byte_offset: int = 0
    code: int | None = None  #: of the type; None: `dtype`'s
    asked: list[int | None] = field(default_factory=list)  #: the streams that capsules were asked for
    num_held: int = 0  #: capsules that have not ended
    held: list[Any] = field(default_factory=list)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)

    def __dlpack__(self, *, stream: int | None = None, **newer: Any) -> object:
        if newer and self.version < 1:
            raise TypeError(f"unexpected {', '.join(newer)}")
        self.asked.append(stream)
        dtype = np.dtype(self.dtype)
        tensor = _DLTensor(
            data=self.address,
            device_type=self.device,
            ndim=len(self.shape),
            code="iuf".index(dtype.kind) if self.code is None else self.code,
            bits=8 * dtype.itemsize,
            lanes=1,
            shape=(ctypes.c_int64 * len(self.shape))(*self.shape),
            strides=(ctypes.c_int64 * len(self.shape))(*self.strides) if self.strides else None,
            byte_offset=self.byte_offset,
        )
        managed: Any
        if self.version < 1:
            managed, name = _DLManagedTensor(dl_tensor=tensor), b"dltensor"
        else:
            managed = _DLManagedTensorVersioned(major=self.version, flags=int(self.read_only), dl_tensor=tensor)
            name = b"dltensor_versioned"

        def end(_capsule: int) -> None:
            self.num_held -= 1

        self.num_held += 1
        destructor = _DESTRUCTOR(end)
        self.held += [managed, name, destructor]
        return _new(ctypes.addressof(managed), name, destructor)


class Device:
    """A GPU library's own calls, by CUDA's driver: here the one of tests/device, in LD_LIBRARY_PATH."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self._call("cuInit", ctypes.c_uint(0))
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(0))
        self._call("cuCtxSetCurrent", context)

    def stream(self) -> int:
        made = ctypes.c_void_p()
        self._call("cuStreamCreate", ctypes.byref(made), ctypes.c_uint(1))
        return made.value or 0

    def place(self, values: np.ndarray[Any, Any]) -> int:
        """The address of a copy of them, in C order."""
        made = ctypes.c_void_p()
        self._call("cuMemAlloc_v2", ctypes.byref(made), ctypes.c_size_t(values.nbytes))
        self.copy(made.value or 0, values.ctypes.data, values.nbytes)
        return made.value or 0

    def values(self, address: int, shape: tuple[int, ...], dtype: str = "<f8") -> np.ndarray[Any, Any]:
        """The values of an array there."""
        values = np.empty(shape, dtype)
        self.copy(values.ctypes.data, address, values.nbytes)
        return values

    def copy(self, to: int, source: int, num_bytes: int, stream: int = 0) -> None:
        where = (ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(num_bytes), ctypes.c_void_p(stream))
        self._call("cuMemcpyAsync", *where)
        self._call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def _call(self, name: str, *arguments: Any) -> None:
        if error := getattr(self._driver, name)(*arguments):
            raise RuntimeError(f"{name}: error {error}")
