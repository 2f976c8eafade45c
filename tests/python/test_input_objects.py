"""`Input` of steps on an S3 server: the values, and that the server is asked for no more than the blocks need."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest

from hakobi import launch, programs
from hakobi.programs import Program
from hakobi_lab import object_servers
from hakobi_lab.unreliable_line import Carried, unreliable_line
from running import run_python

obstore = pytest.importorskip("obstore")
pytestmark = [pytest.mark.programs, pytest.mark.once]

FLAVOUR = programs.flavour()
RANKS = 4
Ints = tuple[int, ...]
#: The bytes read of metadata, besides values: blocks of 64 KiB, on each rank where it is HDF5 that finds the
#: chunks.
METADATA_BYTES = 24 * (64 << 10)
#: Longer gaps between pieces are not read over.
GAP_BYTES = 256 << 10
FIELD = (40, 300, 400)
MESH = (200_000,)


WRITE = """
import hakobi, numpy as np
comm = hakobi.Comm.duplicate()
shape = (40, 300, 400)
values = np.random.default_rng(1).random(shape)
whole = hakobi.split(shape, 1, 0)
for name, compression in (("plain", "none"), ("packed", "deflate")):
    for steps in (1, "all"):
        with hakobi.Output.create(comm, f"{name}_{steps}", steps_per_file=steps) as out:
            for step in range(2):
                out.begin_step(step)
                out.put("eta", "m", whole, values + step, compression=compression)
                out.end_step()
# A strip of triangles.
n = 200_000
points = np.stack([np.arange(n + 2) / 2, np.arange(n + 2) % 2, np.zeros(n + 2)], axis=1)
ids = (np.arange(n)[:, None] + np.arange(3)).reshape(-1)
for steps in (1, "all"):
    with hakobi.Output.create(comm, f"mesh_{steps}", format="vtkhdf", steps_per_file=steps) as out:
        for step in range(2):
            out.begin_step(step)
            if step == 0:
                out.put_mesh(points, ids, 3 * np.arange(n + 1), np.full(n, 5, np.uint8))
            out.put("p", "Pa", None, np.random.default_rng(1).random(n) + step, on="cells")
            out.end_step()
"""

READ = """
import json, sys, hakobi, numpy as np
comm = hakobi.Comm.duplicate()
prefix, name, shape, start, count = sys.argv[1], sys.argv[2], *map(json.loads, sys.argv[3:])
start = [s + comm.rank * c if d == 0 else s for d, (s, c) in enumerate(zip(start, count))]
with hakobi.Input.open(prefix, comm) as steps:
    read = steps.read(name, step=1, block=hakobi.Block(shape, start, count))
right = np.random.default_rng(1).random(shape)[tuple(slice(s, s + c) for s, c in zip(start, count))]
assert np.array_equal(read, right + 1), (read, right)
"""


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory, s3: object_servers.S3Server) -> Path:
    """The steps, in a folder and in the bucket's folder `in`."""
    folder = tmp_path_factory.mktemp("steps")
    done = run_python(WRITE, folder)
    assert done.returncode == 0, done.stderr
    store = obstore.store.S3Store(
        object_servers.BUCKET,
        endpoint=s3.environment["AWS_ENDPOINT_URL_S3"],
        access_key_id=s3.access_key,
        secret_access_key=s3.secret_key,
        client_options={"allow_http": True},
    )
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix != ".lock":
            obstore.put(store, f"in/{path.name}", path)
    return folder


@pytest.fixture
def read_by_ranks(
    steps: Path, s3: object_servers.S3Server, mpi4py_environment: dict[str, str]
) -> Callable[..., list[Carried]]:
    """Four ranks read blocks: the first that of `start` and `count`, others those behind it in the first dimension."""

    def read(prefix: str, name: str, shape: Ints, start: Ints, count: Ints) -> list[Carried]:
        with unreliable_line(s3.port, lambda number, method, path: "") as line:
            done = launch.run(
                Program(Path(sys.executable), FLAVOUR),
                [
                    "-c",
                    READ,
                    f"s3://{object_servers.BUCKET}/in/{prefix}",
                    name,
                    *map(json.dumps, (shape, start, count)),
                ],
                RANKS,
                timeout_s=120,
                extra_environment={
                    **mpi4py_environment,
                    **s3.environment,
                    "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{line.server_port}",
                },
            )
            assert done.status == 0, done.stderr
            return list(line.carried)

    return read


def asked_bytes(carried: list[Carried]) -> int:
    assert {each.method for each in carried} <= {"GET", "HEAD"}
    assert all(each.range or "list-type=2" in each.path for each in carried if each.method == "GET")
    return sum(each.num_bytes for each in carried if each.range)


@pytest.mark.parametrize("steps_per_file", ["1", "all"])
@pytest.mark.parametrize(
    ("start", "count"),
    [
        ((0, 0, 0), (10, 300, 400)),  # all of it
        ((8, 0, 0), (2, 300, 400)),  # a piece a rank
        ((0, 100, 0), (10, 100, 400)),  # pieces of 320 KB, 640 KB apart
        ((0, 120, 100), (10, 20, 50)),  # of 400 bytes, in groups that are 896 KB apart
    ],
)
def test_plain_blocks_are_read_with_no_more_than_small_gaps(
    read_by_ranks: Callable[..., list[Carried]], steps_per_file: str, start: Ints, count: Ints
) -> None:
    carried = read_by_ranks(f"plain_{steps_per_file}", "eta", FIELD, start, count)
    # Rows of a plane are nearer to each other than planes are.
    rows = (count[1] - 1) * FIELD[2] + count[2]
    assert 8 * (FIELD[1] * FIELD[2] - rows) > GAP_BYTES or count[1:] == FIELD[1:]
    needed = RANKS * count[0] * rows * 8
    assert needed <= asked_bytes(carried) <= needed + METADATA_BYTES


@pytest.mark.parametrize("steps_per_file", ["1", "all"])
@pytest.mark.parametrize(
    ("start", "count"), [((0, 0, 0), (10, 300, 400)), ((8, 0, 0), (2, 300, 400)), ((0, 10, 20), (10, 20, 30))]
)
def test_of_compressed_fields_only_chunks_that_blocks_touch_are_read(
    read_by_ranks: Callable[..., list[Carried]], steps: Path, steps_per_file: str, start: Ints, count: Ints
) -> None:
    carried = read_by_ranks(f"packed_{steps_per_file}", "eta", FIELD, start, count)
    needed = 0
    with h5py.File(steps / f"packed_{steps_per_file}_{'000001' if steps_per_file == '1' else '000000'}.nc") as file:
        data = file["eta"].id
        chunk = file["eta"].chunks[1:]
        for number in range(data.get_num_chunks()):
            info = data.get_chunk_info(number)
            at = info.chunk_offset
            for rank in range(RANKS):
                first = (start[0] + rank * count[0], *start[1:])
                is_touched = at[0] == len(file["time"]) - 1 and all(
                    a < f + n and f < a + c for a, c, f, n in zip(at[1:], chunk, first, count, strict=True)
                )
                needed += info.size * is_touched
    assert needed > 0
    assert needed <= asked_bytes(carried) <= needed + METADATA_BYTES


@pytest.mark.parametrize("steps_per_file", ["1", "all"])
@pytest.mark.parametrize("count", [1000, 50_000])
def test_of_a_mesh_only_a_fields_cells_are_read(
    read_by_ranks: Callable[..., list[Carried]], steps_per_file: str, count: int
) -> None:
    carried = read_by_ranks(f"mesh_{steps_per_file}", "p", MESH, (0,), (count,))
    needed = RANKS * count * 8
    assert needed <= asked_bytes(carried) <= needed + METADATA_BYTES
