"""hakobi.device_arrays with arrays that libraries of GPUs show. The addresses are invented."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from device_memory import CUDA, MANAGED, METAL, ROCM, CudaArray, DLPackArray
from hakobi.device_arrays import lend, stream_handle
from hakobi.errors import InputError

ADDRESS = 0x7F00_0000_1000


class Both(DLPackArray):
    """PyTorch's: the interface names no stream."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return CudaArray(
            self.address, self.shape, self.dtype, None, self.read_only, {"version": 2}
        ).__cuda_array_interface__


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("device", [CUDA, ROCM, MANAGED])
def test_a_capsule_tells_what_the_interface_tells(version: int, device: int) -> None:
    shown = [
        CudaArray(ADDRESS + 8, (3, 4), strides=(64, 16)),
        DLPackArray(ADDRESS, (3, 4), strides=(8, 2), byte_offset=8, version=version, device=device),
    ]
    for values in shown:
        lent = lend(values)
        assert lent.is_on_device
        assert lent.array.ctypes.data == ADDRESS + 8
        assert (lent.array.shape, lent.array.strides, lent.array.dtype) == ((3, 4), (64, 16), np.float64)


def test_without_strides_values_are_in_c_order() -> None:
    for values in (CudaArray(ADDRESS, (2, 3), "<i4"), DLPackArray(ADDRESS, (2, 3), "<i4")):
        array = lend(values).array
        assert array.strides == (12, 4)
        assert array.flags.c_contiguous
        assert array.dtype == np.int32


@pytest.mark.parametrize("dtype", ["<f4", "<i1", "<u2", "<u8", "<c16", "|b1"])
def test_types_are_numpys(dtype: str) -> None:
    code = {"c": 5, "b": 6}.get(np.dtype(dtype).kind)
    assert lend(CudaArray(ADDRESS, (2,), dtype)).array.dtype == np.dtype(dtype)
    assert lend(DLPackArray(ADDRESS, (2,), dtype, code=code)).array.dtype == np.dtype(dtype)


def test_what_has_no_elements_has_no_address() -> None:
    for values in (CudaArray(0, (0, 3)), DLPackArray(0, (0, 3))):
        assert lend(values).array.shape == (0, 3)


def test_a_capsule_is_held_as_long_as_the_memory_is_lent() -> None:
    values = DLPackArray(ADDRESS, (2,))
    lent = lend(values)
    keep = lent.keep
    del lent
    gc.collect()
    assert values.num_held == 1
    del keep
    gc.collect()
    assert values.num_held == 0


@pytest.mark.parametrize(
    ("values", "read_only"),
    [
        (CudaArray(ADDRESS, (2,), read_only=True), True),
        (CudaArray(ADDRESS, (2,)), False),
        (DLPackArray(ADDRESS, (2,), read_only=True), True),
        (DLPackArray(ADDRESS, (2,)), False),
        (DLPackArray(ADDRESS, (2,), version=0), True),  # which cannot say that it is none
        (Both(ADDRESS, (2,), version=0), False),
        (Both(ADDRESS, (2,), version=0, read_only=True), True),
    ],
)
def test_what_must_not_be_written_to_is_known(values: Any, read_only: bool) -> None:
    assert lend(values).array.flags.writeable == (not read_only)


def test_the_array_names_its_stream_and_the_caller_another() -> None:
    def interface(**extra: Any) -> CudaArray:
        return CudaArray(ADDRESS, (2,), extra=extra)

    assert lend(interface(stream=0x7F55)).stream == 0x7F55
    assert lend(interface(stream=2)).stream == 2  # the thread's default stream
    for default in (interface(stream=1), interface(stream=None), interface(), interface(version=2)):
        assert lend(default).stream is None
    assert lend(interface(stream=0x7F55), 0x7F66).stream == 0x7F66


@pytest.mark.parametrize(("device", "default"), [(CUDA, 1), (MANAGED, 1), (ROCM, 0)])
def test_a_library_with_dlpack_is_told_our_stream(device: int, default: int) -> None:
    values = DLPackArray(ADDRESS, (2,), device=device)
    assert lend(values).stream is None
    assert lend(values, 0x7F66).stream == 0x7F66
    assert values.asked == [default, 0x7F66]


def test_an_interface_that_names_no_stream_yields_to_dlpack() -> None:
    values = Both(ADDRESS, (2,))
    lend(values, 0x7F66)
    assert values.asked == [0x7F66]


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (None, None),
        (0, None),
        (1, None),
        (2, 2),
        (SimpleNamespace(ptr=0x7F55), 0x7F55),  # CuPy
        (SimpleNamespace(cuda_stream=0x7F55), 0x7F55),  # PyTorch
        (SimpleNamespace(__cuda_stream__=lambda: (0, 0x7F55)), 0x7F55),  # cuda.core
    ],
)
def test_streams_are_numbers_or_their_librarys(stream: Any, handle: int | None) -> None:
    assert stream_handle(stream) == handle


@pytest.mark.parametrize("stream", [-1, "main", True, 1.5])
def test_what_is_no_stream_is_refused(stream: Any) -> None:
    with pytest.raises(InputError, match="not a stream's number"):
        lend(np.zeros(2), stream)


class WithGradient:
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([0.0], "a list, not a numpy array or an array of a GPU"),
        (CudaArray(ADDRESS, (2,), extra={"mask": object()}), "mask"),
        (DLPackArray(ADDRESS, (2,), "<f2", code=4), "bfloat16"),
        (DLPackArray(ADDRESS, (2,), "<i1", code=17), "DLPack's type 17 of 8 bits"),
        (DLPackArray(ADDRESS, (2,), device=METAL), "neither CUDA's nor ROCm's"),
        (DLPackArray(ADDRESS, (2,), version=2), "DLPack 2, not 1"),
        (WithGradient(), "requires grad"),
    ],
)
def test_what_cannot_be_lent_is_said(values: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        lend(values)


def test_arrays_of_the_host_are_numpys() -> None:
    values = np.arange(6.0).reshape(2, 3)
    assert lend(values).array is values
    assert not lend(values).is_on_device

    class Tensor:
        """PyTorch's on the host, JAX's without a GPU."""

        def __dlpack_device__(self) -> tuple[int, int]:
            return values.__dlpack_device__()

        def __dlpack__(self, **options: Any) -> Any:
            return values.__dlpack__(**options)

    lent = lend(Tensor())
    assert not lent.is_on_device
    assert np.array_equal(lent.array, values)
