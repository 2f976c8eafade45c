"""Zarr steps from all ranks: Hakobi beside zarr-python and tensorstore, the same arrays, shards, chunks and codec.

    mpirun -n 8 python lab/zarr/zarr_writers.py FOLDER [--rounds 5] [--steps 4] [--fields 2] [--ny 1024] [--nx 2048]
    python -m hakobi_lab.object_servers s3 -- mpirun -n 8 python lab/zarr/zarr_writers.py FOLDER --s3

Each rank has a block of every field. The rivals write the arrays that Hakobi's metadata describe, in two ways:

 - own blocks: each rank writes its block. A shard is written as a whole, so zarr-python's ranks take turns (at once
   they lose each other's blocks); tensorstore's do it at once, and repeat what another rank's write has made old.
 - gathered: mpi4py brings a field to one rank, another for each field, which writes its shard once.

With --s3 the groups are in the bucket $HAKOBI_TEST_S3 of the server that the environment names: Hakobi's steps go there
over a stage in FOLDER, zarr-python's by obstore, tensorstore's by its own S3 driver.

A time is from a barrier before the first step to one behind the last, everything closed; rounds are interleaved. Rank 0
then reads what each has written by both libraries, and compares values.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
from pathlib import Path
from time import perf_counter

import numpy as np
import obstore
import tensorstore
from mpi4py import MPI
from obstore.store import S3Store
from zarr.storage import ObjectStore

import hakobi
import zarr

comm = MPI.COMM_WORLD
parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
for name, default in (("rounds", 5), ("steps", 4), ("fields", 2), ("ny", 1024), ("nx", 2048)):
    parser.add_argument(f"--{name}", type=int, default=default)
parser.add_argument("--compression", default="zstd:3")
parser.add_argument("--method", default="pipelined")
parser.add_argument("--s3", action="store_true")
options = parser.parse_args()
bucket_name = os.environ["HAKOBI_TEST_S3"].removeprefix("s3://").partition("/")[0] if options.s3 else ""
shape = (options.ny, options.nx)
block = hakobi.split(shape, comm.size, comm.rank)
blocks = [hakobi.split(shape, comm.size, rank) for rank in range(comm.size)]
names = [f"f{i}" for i in range(options.fields)]
zarr.config.set({"threading.max_workers": 1, "async.concurrency": 4})


def whole(field: int, step: int) -> np.ndarray:
    """Smooth, with noise in the low bits: packs to about a half."""
    y, x = np.ogrid[: shape[0], : shape[1]]
    noise = np.random.default_rng(field).random(shape) * 1e-3
    return np.round(np.sin(y / 90 + step) * np.cos(x / 70) + noise, 5) + field


#: [step][field]: this rank's block.
mine = [
    [np.ascontiguousarray(whole(f, step)[block.slices]) for f in range(options.fields)] for step in range(options.steps)
]


def by_hakobi(path: Path) -> None:
    prefix = str(path.with_suffix(""))
    hints = {}
    if bucket_name and path != template:
        prefix, hints = f"s3://{bucket_name}/{key(path.with_suffix(''))}", {"hakobi_stage": str(stage)}
    with hakobi.Output.create(
        own, prefix, method=options.method, format="zarr", compression=options.compression, hints=hints
    ) as out:
        for step, values in enumerate(mine):
            out.begin_step(float(step))
            for name, value in zip(names, values, strict=True):
                out.put(name, "1", block, value)
            out.end_step()


def key(path: Path) -> str:
    """Where in the bucket."""
    return str(path.relative_to(options.folder))


def put(path: Path, name: str, text: str) -> None:
    if bucket_name:
        obstore.put(bucket, f"{key(path)}/{name}", text.encode())
    else:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)


def make_like_hakobi(path: Path, template: Path) -> None:
    """The metadata of all steps, made once."""
    if comm.rank == 0:
        for name in names:
            put(path, f"{name}/zarr.json", (template / name / "zarr.json").read_text())
        put(path, "zarr.json", '{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    comm.Barrier()


def remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if bucket_name:
        for page in obstore.list(bucket, f"{key(path)}/"):
            obstore.delete(bucket, [meta["path"] for meta in page])


def gathered(value: np.ndarray, root: int) -> np.ndarray | None:
    counts = [b.num_elements for b in blocks]
    flat = np.empty(sum(counts)) if comm.rank == root else None
    comm.Gatherv(value, (flat, counts) if flat is not None else None, root)
    if flat is None:
        return None
    result = np.empty(shape)
    at = 0
    for b in blocks:
        result[b.slices] = flat[at : at + b.num_elements].reshape(b.count)
        at += b.num_elements
    return result


def one_by_zarr(path: Path, name: str, mode: str) -> zarr.Array:
    if bucket_name:
        return zarr.open_array(ObjectStore(bucket), path=f"{key(path)}/{name}", mode=mode)
    return zarr.open_array(path / name, mode=mode)


def one_by_tensorstore(path: Path, name: str) -> tensorstore.Future:
    place: dict[str, object] = {"driver": "file", "path": f"{path / name}/"}
    if bucket_name:
        place = {"driver": "s3", "bucket": bucket_name, "path": f"{key(path)}/{name}/"}
        place |= {"endpoint": os.environ["AWS_ENDPOINT_URL_S3"], "aws_region": os.environ["AWS_REGION"]}
        place["aws_credentials"] = {"type": "environment"}
    context = tensorstore.Context({"data_copy_concurrency": {"limit": 1}})
    return tensorstore.open({"driver": "zarr3", "kvstore": place}, context=context)


def open_zarr(path: Path) -> list[zarr.Array]:
    return [one_by_zarr(path, name, "r+") for name in names]


def open_tensorstore(path: Path) -> list[tensorstore.TensorStore]:
    return [opening.result() for opening in [one_by_tensorstore(path, name) for name in names]]


def in_turn(path: Path) -> None:
    arrays = open_zarr(path)
    for step, values in enumerate(mine):
        for rank in range(comm.size):
            if rank == comm.rank:
                for array, value in zip(arrays, values, strict=True):
                    array[(step, *block.slices)] = value
            comm.Barrier()


def at_once(path: Path) -> None:
    arrays = open_tensorstore(path)
    for step, values in enumerate(mine):
        writes = [array[(step, *block.slices)].write(value) for array, value in zip(arrays, values, strict=True)]
        for write in writes:
            write.result()
        comm.Barrier()


def gathered_by(opened: object) -> object:
    def write(path: Path) -> None:
        arrays = opened(path)
        for step, values in enumerate(mine):
            owned = [
                (array, gathered(value, f % comm.size))
                for f, (array, value) in enumerate(zip(arrays, values, strict=True))
            ]
            for array, value in owned:
                if value is None:
                    continue
                if isinstance(array, zarr.Array):
                    array[step] = value
                else:
                    array[step].write(value).result()
        comm.Barrier()

    return write


WAYS = {
    "hakobi": by_hakobi,
    "zarr-python, own blocks in turn": in_turn,
    "zarr-python, gathered": gathered_by(open_zarr),
    "tensorstore, own blocks": at_once,
    "tensorstore, gathered": gathered_by(open_tensorstore),
}


def check(path: Path) -> None:
    for f, name in enumerate(names):
        by_zarr = one_by_zarr(path, name, "r")
        by_tensorstore = one_by_tensorstore(path, name).result()
        for step in range(options.steps):
            expected = whole(f, step)
            assert np.array_equal(by_zarr[step], expected), (path, name, step)
            assert np.array_equal(by_tensorstore[step].read().result(), expected), (path, name, step)


own = hakobi.Comm.duplicate(comm)
template = options.folder / "template.zarr"
stage = options.folder / "stage"
bucket = None
if bucket_name:
    bucket = S3Store(
        bucket_name,
        endpoint=os.environ["AWS_ENDPOINT_URL_S3"],
        region=os.environ["AWS_REGION"],
        client_options={"allow_http": True},
    )
if comm.rank == 0:
    shutil.rmtree(options.folder, ignore_errors=True)
    stage.mkdir(parents=True)
comm.Barrier()
by_hakobi(template)
times: dict[str, list[float]] = {way: [] for way in WAYS}
for _ in range(options.rounds):
    for way, write in WAYS.items():
        path = options.folder / f"{list(WAYS).index(way)}.zarr"
        if comm.rank == 0:
            remove(path)
        comm.Barrier()
        if write is not by_hakobi:
            make_like_hakobi(path, template)
        comm.Barrier()
        begin = perf_counter()
        write(path)
        comm.Barrier()
        times[way].append(perf_counter() - begin)
if comm.rank == 0:
    for i in range(len(WAYS)):
        check(options.folder / f"{i}.zarr")
    stored = sum(p.stat().st_size for p in template.rglob("*") if p.is_file())
    codecs = json.loads((template / names[0] / "zarr.json").read_text())["codecs"]
    print(json.dumps(codecs))
    mib = options.steps * options.fields * shape[0] * shape[1] * 8 / 2**20
    print(f"{comm.size} ranks, {mib:.0f} MiB in {options.steps} steps, {stored / 2**20:.0f} MiB stored; all read alike")
    best = statistics.median(times["hakobi"])
    for way, taken in times.items():
        middle = statistics.median(taken)
        print(
            f"{way:34} {middle:7.3f} s ({min(taken):.3f} to {max(taken):.3f})  {mib / middle:7.0f} MiB/s"
            f"  {middle / best:5.2f} x"
        )
    for i in range(len(WAYS)):
        remove(options.folder / f"{i}.zarr")
    shutil.rmtree(options.folder)
own.free()
