"""Arrays of CuPy, PyTorch and JAX on a real GPU, for each of them that is installed: put from a view without ghosts
after work that is still under way, read back into it, and a halo. Without the library or a GPU a test is skipped; on a
machine with all three run `pytest tests/python/test_device_frameworks.py`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hakobi


@dataclass(frozen=True)
class Library:
    to_device: Callable[[np.ndarray[Any, Any]], Any]
    to_host: Callable[[Any], np.ndarray[Any, Any]]
    slow: Callable[[Any], Any]  #: the array, through work that takes a while and is not waited for
    in_stream: Callable[[], contextlib.AbstractContextManager[Any]]
    is_written: bool = True  #: its arrays can be read into


def cupy() -> Library:
    xp = pytest.importorskip("cupy")
    with contextlib.suppress(xp.cuda.runtime.CUDARuntimeError):
        if xp.cuda.runtime.getDeviceCount() > 0:
            square = xp.ones((4096, 4096))

            def slow(values: Any) -> Any:
                return values + 0 * (square @ square)[0, 0]

            return Library(xp.asarray, xp.asnumpy, slow, lambda: xp.cuda.Stream(non_blocking=True))
    pytest.skip("no device")


def torch() -> Library:
    th = pytest.importorskip("torch")
    if not th.cuda.is_available():
        pytest.skip("no device")
    square = th.ones((4096, 4096), dtype=th.float64, device="cuda")

    def slow(values: Any) -> Any:
        return values + 0 * (square @ square)[0, 0]

    return Library(
        lambda values: th.from_numpy(values.copy()).cuda(),
        lambda values: values.cpu().numpy(),
        slow,
        lambda: th.cuda.stream(th.cuda.Stream()),
    )


def jax() -> Library:
    jx = pytest.importorskip("jax")
    jx.config.update("jax_enable_x64", True)
    if jx.default_backend() not in {"gpu", "cuda", "rocm"}:
        pytest.skip("no device")
    square = jx.numpy.ones((4096, 4096))

    def slow(values: Any) -> Any:
        return values + 0 * (square @ square)[0, 0]

    return Library(jx.numpy.asarray, np.asarray, slow, contextlib.nullcontext, is_written=False)


@pytest.fixture(params=[cupy, torch, jax], ids=lambda make: make.__name__)
def library(request: pytest.FixtureRequest) -> Library:
    made: Library = request.param()
    return made


NY, NX = 700, 900
WHOLE = np.arange(float(NY * NX)).reshape(NY, NX)


def with_ghosts() -> np.ndarray[Any, Any]:
    values = np.full((NY + 2, NX + 2), -1.0)
    values[1:-1, 1:-1] = WHOLE
    return values


@pytest.mark.parametrize("method", ["pipelined", "root"])
def test_values_are_put_when_they_are_made(library: Library, tmp_path: Path, method: str) -> None:
    comm = hakobi.Comm.duplicate()
    block = hakobi.split((NY, NX), comm.size, comm.rank)
    out = hakobi.Output.create(comm, str(tmp_path / "run"), method=method)
    with library.in_stream():
        for step in range(3):
            eta = library.slow(library.to_device(with_ghosts() + step))
            out.begin_step(step)
            out.put("eta", "m", block, eta[1:-1, 1:-1])
            out.end_step()
            if library.is_written:
                eta[:] = -2.0  # end_step has returned: the array is the program's
    out.close()
    steps = hakobi.Input.open(str(tmp_path / "run"), comm)
    for step in range(3):
        assert np.array_equal(steps.read("eta", step=step), WHOLE + step)
    into = library.to_device(np.full((NY + 2, NX + 2), -1.0))
    if library.is_written:
        steps.read("eta", step=0, block=block, out=into[1:-1, 1:-1])
        assert np.array_equal(library.to_host(into), with_ghosts())
    else:
        with pytest.raises(hakobi.InputError, match="written"):
            steps.read("eta", step=0, block=block, out=into[1:-1, 1:-1])
    steps.close()


def test_ghosts_come_from_the_other_side(library: Library) -> None:
    if not library.is_written:
        pytest.skip("its arrays are not written")
    comm = hakobi.Comm.duplicate()
    field = library.to_device(with_ghosts())
    halo = hakobi.Halo.plan(comm, hakobi.HaloGrid((NY, NX), 1, (1, 1), True), [field])
    halo.start()
    halo.wait()
    assert np.array_equal(library.to_host(field), np.pad(WHOLE, 1, mode="wrap"))
