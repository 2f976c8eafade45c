#!/usr/bin/env python3
"""Times steps of compressed fields by hakobi::Output and by parallel HDF5 with the same filters and chunks, in turns.

    compare.py [--ranks 8] [--rounds 5] [--steps 4] [--folder /dev/shm] SOURCE COMPRESSION...

SOURCE is the prefix of a step that the tsunami wrote (build/openmpi/bin/hakobi-tsunami --output SOURCE --steps-out 1);
its fields of doubles are written again and again. COMPRESSION is deflate:1, zstd:3, … Use the project's Python.

1. A round runs both contenders once, forwards, then backwards: ours (by the method that auto chooses), parallel HDF5.
   A run writes --steps steps, each into a new file, opening and closing timed; its figure is the median step, the first
   left out. At the end ours without compression.
2. Once a compression, what both wrote is read back and compared with the source (zstd's of parallel HDF5 is not: h5py
   has no filter for it), and the file's size held against what nccopy makes of deflate with the same chunks and level.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

from hakobi import launch
from hakobi.programs import Program

ROOT = Path(__file__).resolve().parents[2]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), default=os.environ.get("HAKOBI_MPI", "openmpi"))
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="where files are written")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a run may take")
    parser.add_argument("source", type=Path)
    parser.add_argument("compressions", nargs="+", metavar="COMPRESSION")
    return parser.parse_args()


class Bench:
    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.build = ROOT / "build" / options.mpi / "lab" / "compression"
        self.source = options.source.resolve()
        self.file = next(self.source.parent.glob(f"{self.source.name}_*.nc"))
        with h5py.File(self.file) as file:
            self.fields = [name for name, data in file.items() if data.ndim > 1]
            self.bytes = sum(file[name].size * file[name].dtype.itemsize for name in self.fields)

    def run(self, program: str, arguments: list[object]) -> tuple[float, float]:
        """Median seconds of a step, and of them those of encoding."""
        finished = launch.run(
            Program(self.build / program, self.options.mpi),
            list(map(str, arguments)),
            self.options.ranks,
            timeout_s=self.options.timeout,
        )
        if finished.status != 0:
            sys.exit(f"{program} failed:\n{finished.stderr}")
        rows = [tuple(map(float, line.split())) for line in finished.stdout.splitlines()][1:]
        return statistics.median(row[0] for row in rows), statistics.median(row[1] for row in rows)

    def ours(self, compression: str) -> tuple[float, float]:
        return self.run("compressed_by_hakobi", [self.source, self.folder / "ours", compression, self.options.steps])

    def rival(self, compression: str) -> tuple[float, float]:
        codec, level = compression.split(":")
        chunk = self.chunk()
        arguments = [self.file, self.folder / "hdf5.nc", codec, level, self.options.steps, *chunk, *self.fields]
        return self.run("compressed_by_hdf5", arguments)

    def last(self) -> Path:
        return sorted(self.folder.glob("ours_*.nc"))[-1]

    def chunk(self) -> tuple[int, ...]:
        with h5py.File(self.last()) as file:
            return tuple(file[self.fields[0]].chunks[1:])

    def verify(self, compression: str) -> None:
        """That both files hold the source's values. Without zstd's plugin for h5py only ours, by hakobi.Input."""
        import hakobi

        with h5py.File(self.file) as source:
            expected = {name: source[name][0] for name in self.fields}
        with hakobi.Input.open(self.folder / "ours") as steps:
            for name, values in expected.items():
                if not np.array_equal(steps.read(name), values, equal_nan=True):
                    sys.exit(f"ours, {compression}: {name} differs")
        if compression.startswith("deflate"):
            for path in (self.last(), self.folder / "hdf5.nc"):
                with h5py.File(path) as file:
                    for name, values in expected.items():
                        if not np.array_equal(file[name][0], values, equal_nan=True):
                            sys.exit(f"{path.name}, {compression}: {name} differs")

    def sizes(self, compression: str) -> str:
        ours, rival = self.last().stat().st_size, (self.folder / "hdf5.nc").stat().st_size
        text = f"{ours} bytes ({ours / self.bytes:.3f} of the values'); parallel HDF5's {ours / rival - 1:+.2%}"
        if compression.startswith("deflate") and shutil.which("nccopy"):
            chunk = self.chunk()
            copy = self.folder / "copy.nc"
            with h5py.File(self.file) as file:
                names = [scale.rsplit("/", 1)[-1] for scale in ("lat", "lon") if scale in file]
            sizes = ",".join(f"{name}/{length}" for name, length in zip(names, chunk, strict=True))
            command = ["nccopy", "-4", f"-d{compression.split(':')[1]}", "-s", "-c", f"time/1,{sizes}", self.file, copy]
            subprocess.run(list(map(str, command)), check=True)
            text += f"; nccopy's {copy.stat().st_size}: ours {ours / copy.stat().st_size - 1:+.2%}"
        return text


def main() -> None:
    options = parsed()
    with tempfile.TemporaryDirectory(prefix="hakobi-compression-", dir=options.folder) as name:
        bench = Bench(options, Path(name))
        print(f"{options.ranks} ranks, {len(bench.fields)} fields, {bench.bytes / 1e6:.1f} MB a step, {options.folder}")
        for compression in options.compressions:
            bench.ours(compression)
            contenders = {
                "ours": lambda text=compression: bench.ours(text),
                "parallel HDF5": lambda text=compression: bench.rival(text),
            }
            samples: dict[str, list[tuple[float, float]]] = {contender: [] for contender in contenders}
            for i in range(options.rounds):
                for contender in list(contenders)[:: 1 if i % 2 == 0 else -1]:
                    samples[contender].append(contenders[contender]())
            bench.ours(compression)
            bench.verify(compression)
            print(f"{compression}: {bench.sizes(compression)}")
            base = statistics.median(step for step, _ in samples["ours"])
            for contender, found in samples.items():
                steps = [step for step, _ in found]
                median, encode = statistics.median(steps), statistics.median(part for _, part in found)
                print(
                    f"  {contender:15} {median:7.3f} s a step ({min(steps):.3f} to {max(steps):.3f}), "
                    f"encoding {encode:.3f} s, {median / base:.2f} of ours"
                )
        bench.ours("none")
        floor = statistics.median(bench.ours("none")[0] for _ in range(3))
        print(f"  not compressed  {floor:7.3f} s a step")


if __name__ == "__main__":
    main()
