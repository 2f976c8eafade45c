"""Zarr steps from all ranks: Hakobi beside zarr-python and tensorstore, the same arrays, shards, chunks and codec.

    mpirun -n 8 python lab/zarr/zarr_writers.py FOLDER [--rounds 5] [--steps 4] [--fields 2] [--ny 1024] [--nx 2048]

Each rank has a block of every field. The rivals write the arrays that Hakobi's metadata describe, in two ways:

 - own blocks: each rank writes its block. A shard is written as a whole, so zarr-python's ranks take turns (at once
   they lose each other's blocks); tensorstore's do it at once, and repeat what another rank's write has made old.
 - gathered: mpi4py brings a field to one rank, another for each field, which writes its shard once.

A time is from a barrier before the first step to one behind the last, everything closed; rounds are interleaved. Rank 0
then reads what each has written by both libraries, and compares values.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
from pathlib import Path
from time import perf_counter

import numpy as np
import tensorstore
from mpi4py import MPI

import hakobi
import zarr

comm = MPI.COMM_WORLD
parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
for name, default in (("rounds", 5), ("steps", 4), ("fields", 2), ("ny", 1024), ("nx", 2048)):
    parser.add_argument(f"--{name}", type=int, default=default)
parser.add_argument("--compression", default="zstd:3")
parser.add_argument("--method", default="pipelined")
options = parser.parse_args()
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
    with hakobi.Output.create(
        own, path.with_suffix(""), method=options.method, format="zarr", compression=options.compression
    ) as out:
        for step, values in enumerate(mine):
            out.begin_step(float(step))
            for name, value in zip(names, values, strict=True):
                out.put(name, "1", block, value)
            out.end_step()


def make_like_hakobi(path: Path, template: Path) -> None:
    """The metadata of all steps, made once."""
    if comm.rank == 0:
        for name in names:
            (path / name).mkdir(parents=True)
            shutil.copy(template / name / "zarr.json", path / name / "zarr.json")
        (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    comm.Barrier()


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


def open_zarr(path: Path) -> list[zarr.Array]:
    return [zarr.open_array(path / name, mode="r+") for name in names]


def open_tensorstore(path: Path) -> list[tensorstore.TensorStore]:
    place = lambda name: {"driver": "file", "path": f"{path / name}/"}  # noqa: E731
    context = tensorstore.Context({"data_copy_concurrency": {"limit": 1}})
    return [tensorstore.open({"driver": "zarr3", "kvstore": place(name)}, context=context).result() for name in names]


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
        by_zarr = zarr.open_array(path / name, mode="r")
        by_tensorstore = tensorstore.open(
            {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path / name}/"}}
        ).result()
        for step in range(options.steps):
            expected = whole(f, step)
            assert np.array_equal(by_zarr[step], expected), (path, name, step)
            assert np.array_equal(by_tensorstore[step].read().result(), expected), (path, name, step)


own = hakobi.Comm.duplicate(comm)
template = options.folder / "template.zarr"
if comm.rank == 0:
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
comm.Barrier()
by_hakobi(template)
times: dict[str, list[float]] = {way: [] for way in WAYS}
for _ in range(options.rounds):
    for way, write in WAYS.items():
        path = options.folder / f"{list(WAYS).index(way)}.zarr"
        if comm.rank == 0:
            shutil.rmtree(path, ignore_errors=True)
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
    stored = sum(p.stat().st_size for p in (options.folder / "0.zarr").rglob("*") if p.is_file())
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
    shutil.rmtree(options.folder)
own.free()
