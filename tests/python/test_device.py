"""Output, Input, meshes, halos and collectives with arrays of a GPU, on the device of tests/device: a look at its
memory from here ends the process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hakobi import launch, programs
from hakobi.programs import Program

pytestmark = pytest.mark.programs

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
DRIVERS = ROOT / "build" / FLAVOUR / "fake_device"
if not (DRIVERS / "libcuda.so.1").exists():
    pytest.skip(f"{DRIVERS} is not built", allow_module_level=True)

START = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np
import hakobi
from device_memory import CudaArray, Device, DLPackArray

comm = hakobi.Comm.duplicate()
device = Device()
block = hakobi.split((6, 8), comm.size, comm.rank)
ny, nx = block.count
whole = np.arange(48.0).reshape(6, 8)
# The values of the block with a ghost layer around it.
values = np.full((ny + 2, nx + 2), -1.0)
values[1:-1, 1:-1] = whole[block.slices]
address = device.place(values)
strides = (nx + 2, 1)
first = (nx + 2 + 1) * 8  # of the inside

def inside(at, kind, **others):
    if kind == "interface":
        strides_bytes = tuple(8 * step for step in strides)
        return CudaArray(at + first, block.count, strides=strides_bytes, **others)
    return DLPackArray(at, block.count, strides=strides, byte_offset=first, **others)

def refused(text, call):
    try:
        call()
    except hakobi.InputError as error:
        assert text in str(error), error
    else:
        raise SystemExit(f"wrong: taken, not '{{text}}'")
"""

FIELDS = """
out = hakobi.Output.create(comm, "run")
out.begin_step(0)
stream = device.stream()
out.put("by_interface", "m", block, inside(address, "interface", extra={"stream": stream}))
out.put("by_dlpack", "m", block, inside(address, "dlpack"), stream=stream)
out.put("by_dlpack_0", "m", block, inside(address, "dlpack", version=0))
out.put("on_host", "m", block, whole[block.slices])
out.end_step()
out.close()

steps = hakobi.Input.open("run", comm)
for name in ("by_interface", "by_dlpack", "by_dlpack_0", "on_host"):
    assert np.array_equal(steps.read(name, block=block), whole[block.slices]), name
for kind in ("interface", "dlpack"):
    cleared = device.place(np.full_like(values, -1))
    into = inside(cleared, kind)
    assert steps.read("on_host", block=block, out=into, stream=stream) is into
    assert np.array_equal(device.values(cleared, values.shape), values), kind
    into = inside(cleared, kind, read_only=True)
    refused("cannot be written to", lambda: steps.read("on_host", block=block, out=into))
refused("dtype <f4", lambda: steps.read("on_host", block=block, out=CudaArray(address, block.count, "<f4")))
steps.close()

for text, wrong in (
    ("dtype <f2", CudaArray(address, block.count, "<f2")),
    ("not the block's", CudaArray(address, (3, 1))),
    ("go backwards", CudaArray(address, block.count, strides=(-8 * nx, 8))),
    ("bfloat16", DLPackArray(address, block.count, "<f2", code=4)),
    ("a memoryview", memoryview(values)),
):
    out = hakobi.Output.create(comm, "refused", if_exists="replace")
    out.begin_step(0)
    out.put("eta", "m", block, wrong)
    refused(text, out.end_step)
    out.close()
"""

MESH = """
points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float) + comm.rank
pressure = np.array([4.0 + comm.rank])
ids, offsets, types = np.arange(4), np.array([0, 4]), np.array([10], np.uint8)

def there(values):
    return DLPackArray(device.place(values), values.shape)

out = hakobi.Output.create(comm, "run", format="vtkhdf")
for step in range(2):
    out.begin_step(step)
    moved = there(points + step)
    if step == 0:
        out.put_mesh(moved, ids, offsets, types, motion="moves")
    else:
        out.put_points(moved)
    out.put("p", "Pa", None, there(pressure), on="cells")
    out.end_step()
out.close()
with hakobi.Input.open("run", comm) as steps:
    for step in range(2):
        assert np.array_equal(steps.read_mesh(step).points, points + step)
        block = hakobi.Block((comm.size,), (comm.rank,), (1,))
        assert np.array_equal(steps.read("p", step=step, block=block), pressure)
on_a_stream = CudaArray(device.place(points), points.shape, extra={"stream": device.stream()})
for text, wrong in (("only the default one", on_a_stream), ("not (points, 3)", there(np.zeros((2, 4))))):
    out = hakobi.Output.create(comm, "refused", format="vtkhdf", if_exists="replace")
    out.begin_step(0)
    out.put_mesh(wrong, ids, offsets, types)
    refused(text, out.end_step)
    out.close()
"""

EXCHANGE = """
dims = hakobi.dims_of_ranks((6, 8), comm.size)
grid = hakobi.HaloGrid(block.count, 1, dims, True)
rows = (np.arange(-1, ny + 1) + block.start[0]) % 6
columns = (np.arange(-1, nx + 1) + block.start[1]) % 8
wanted = whole[np.ix_(rows, columns)]
for stream in (None, 0, device.stream()):
    for field in (CudaArray(device.place(values), values.shape), DLPackArray(device.place(values), values.shape)):
        halo = hakobi.Halo.plan(comm, grid, [field])
        halo.start(stream)
        halo.wait(stream)
        if stream:
            device.copy(address, address, 8, stream)
        assert np.array_equal(device.values(field.address, values.shape), wanted), stream
refused("can be written to", lambda: hakobi.Halo.plan(comm, grid, [CudaArray(address, values.shape, read_only=True)]))
refused("field 1 is a list", lambda: hakobi.Halo.plan(comm, grid, [values.copy(), [1.0]]))

up, down = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
sent = CudaArray(device.place(np.arange(1000.0) + comm.rank), (1000,))
received = CudaArray(device.place(np.zeros(1000)), (1000,))
arrays = hakobi.BufferArrays.get(comm)
for stream in (None, device.stream()):
    out, into = arrays.make(), arrays.make()
    out.append(sent)
    into.append(received)
    out.send(up, stream=stream)
    into.receive(down, stream=stream)
    out.wait(stream)
    into.wait(stream)
    if stream:
        device.copy(address, address, 8, stream)
    assert np.array_equal(device.values(received.address, (1000,)), np.arange(1000.0) + down)

collectives = hakobi.Collectives.create(comm)
total = collectives.allreduce(np.float64, 3)
mine = np.arange(3.0) + comm.rank
into = CudaArray(device.place(np.zeros(3)), (3,))
expected = 3 * [comm.size * (comm.size - 1) / 2] + np.arange(3.0) * comm.size
stream = device.stream()
total.execute(CudaArray(device.place(mine), (3,), extra={"stream": stream}), into)
assert np.array_equal(device.values(into.address, (3,)), expected)
total.start(mine, into, stream=stream)
total.wait(stream)
device.copy(address, address, 8, stream)
assert np.array_equal(device.values(into.address, (3,)), expected)
refused("16 bytes", lambda: total.execute(mine, CudaArray(address, (2,))))
collectives.free()
"""


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("script", [FIELDS, MESH, EXCHANGE], ids=["fields", "mesh", "exchange"])
def test_arrays_of_a_gpu_are_lent(tmp_path: Path, ranks: int, script: str) -> None:
    file = tmp_path / "script.py"
    file.write_text(START + script)
    environment = {
        "LD_LIBRARY_PATH": str(DRIVERS),
        "HAKOBI_FAKE_DEVICE_DELAY_S": "0.001",
    }
    python = Program(Path(sys.executable), FLAVOUR)
    finished = launch.run(python, [str(file)], ranks, timeout_s=60, extra_environment=environment, folder=tmp_path)
    assert finished.status == 0, finished.stderr
