#!/usr/bin/env python3
"""Times steps of fields on an unstructured mesh by hakobi::Output, by parallel HDF5 in the same layout and by VTK's own
parallel writer, in turns, and prints medians and spreads.

    compare.py [--ranks 8] [--rounds 5] [--steps 6] [--edge 171] [--motion fixed] [--folder /dev/shm]
               [--storage-model servers=4,bandwidth=500,latency=2ms,stripe=1M] [--vtk PYTHON]...

1. The mesh is a box of --edge^3 hexahedra (171: 5 million), its cells split among the ranks as a partitioner would; the
   fields are a scalar, a vector and a tensor of doubles on cells (13 values a cell). bench.h has all of it.
2. A round runs every contender once, forwards, then backwards; each in processes of its own. A run writes --steps
   steps, each a new file, opening and closing timed; its figure is the median step, the first two left out: the first
   has a fixed mesh, and both meet new memory. With --motion changes the mesh is in every step's file, as it is in
   VTK's.
3. The last step of every run is read back and compared: by h5py, VTK's files by VTK.
4. Under --storage-model every contender's file calls take the time of such storage (bench/storage_model). The folder's
   file system has to be far faster than the model; where /dev/shm is not, one with huge pages may be:
   unshare -m sh -c 'mount -t tmpfs -o huge=always,size=6g none DIR && compare.py --folder DIR ...'

--vtk names a Python that has VTK: /usr/bin/python3 with Debian's python3-paraview (built with MPI), or one with PyPI's
vtk and mpi4py, of which every rank writes its own piece. Run it with the project's Python (.venv/bin/python).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

from hakobi import launch
from hakobi.errors import HakobiError
from hakobi.measuring import storage_model
from hakobi.programs import Program

ROOT = Path(__file__).resolve().parents[2]
FIELDS = (("p", 1), ("U", 3), ("gradU", 9))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--edge", type=int, default=171)
    parser.add_argument("--motion", choices=("fixed", "changes"), default="fixed")
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), default=os.environ.get("HAKOBI_MPI", "openmpi"))
    parser.add_argument("--method", default="pipelined", help="hakobi::Output's")
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="where files are written")
    parser.add_argument("--storage-model", metavar="MODEL", help="as HAKOBI_STORAGE_MODEL, for every contender")
    parser.add_argument("--vtk", action="append", default=[], metavar="PYTHON", help="a Python that has VTK")
    parser.add_argument(
        "--skip", action="append", default=[], metavar="WORDS", help="rivals of such a title are left out"
    )
    parser.add_argument("--timeout", type=float, default=120, help="seconds a run may take")
    options = parser.parse_args()
    if options.steps < 3:
        parser.error("--steps: the first two are left out, so 3 at least")
    return options


@dataclass
class Contender:
    title: str
    program: Program
    before: list[str]  #: arguments in front of PREFIX EDGE STEPS
    behind: list[str]
    verify: Callable[[Path, int], None]
    variables: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    bytes: int = 0  #: of a step's files


def verify_hdf(prefix: Path, step: int) -> None:
    """The step's fields, and the mesh that it has or links to."""
    path = Path(f"{prefix}_{step:06d}.hdf")
    with h5py.File(path) as file:
        grid = file["VTKHDF"]
        num_cells = int(grid["NumberOfCells"][:].sum())
        for f, (name, components) in enumerate(FIELDS):
            values = grid["CellData"][name][:].ravel()
            if values.size != components * num_cells:
                sys.exit(f"{path.name}: {name} has {values.size} values")
            if not np.array_equal(values, 3.0 * np.arange(values.size) + f + 0.5 * step):
                sys.exit(f"{path.name}: {name} differs")
        if grid["Connectivity"].shape != (8 * num_cells,) or not (grid["Types"][:] == 12).all():
            sys.exit(f"{path.name}: the mesh differs")


def contenders_of(options: argparse.Namespace) -> list[Contender]:
    build = ROOT / "build" / options.mpi / "lab" / "mesh"
    found = [
        Contender(
            "hakobi::Output",
            Program(build / "mesh_by_hakobi", options.mpi),
            [],
            [options.motion, options.method],
            verify_hdf,
        )
    ]
    if (build / "mesh_by_hdf5").is_file():
        libraries = [("", {})]
        if options.mpi == "openmpi":
            libraries = [("OMPIO", {"OMPI_MCA_io": "ompio"}), ("ROMIO", {"OMPI_MCA_io": "^ompio"})]
        for way in ("collective", "independent"):
            for library, variables in libraries:
                title = " ".join(filter(None, ("parallel HDF5", way, library)))
                program = Program(build / "mesh_by_hdf5", options.mpi)
                found.append(Contender(title, program, [], [options.motion, way], verify_hdf, dict(variables)))
    else:
        print("parallel HDF5: not built, its library is missing", file=sys.stderr)
    for python in options.vtk:
        script = str(Path(__file__).with_name("mesh_by_vtk.py"))
        version = "from vtkmodules.vtkCommonCore import vtkVersion; print(vtkVersion.GetVTKVersion())"
        told = subprocess.run([python, "-c", version], capture_output=True, text=True, check=True)

        def verify(prefix: Path, step: int, python: str = python, script: str = script) -> None:
            subprocess.run([python, script, "check", str(prefix), str(step)], check=True)

        title = f"VTK {told.stdout.strip()}, XML, a file a rank"
        found.append(Contender(title, Program(Path(python), options.mpi), [script], [], verify))
    return [found[0], *(c for c in found[1:] if not any(words in c.title for words in options.skip))]


def run(options: argparse.Namespace, contender: Contender, variables: dict[str, str]) -> None:
    """One run, in a folder of its own, which it leaves empty."""
    folder = Path(tempfile.mkdtemp(prefix="hakobi-mesh-", dir=options.folder))
    try:
        prefix = folder / "run"
        arguments = [*contender.before, str(prefix), str(options.edge), str(options.steps), *contender.behind]
        more = {**variables, **contender.variables}
        done = launch.run(
            contender.program, arguments, options.ranks, timeout_s=options.timeout, extra_environment=more
        )
        launch.check(done, contender.title)
        rows = [line.split() for line in done.stdout.splitlines()]
        if len(rows) != options.steps:
            sys.exit(f"{contender.title}: {len(rows)} lines of {options.steps} steps in {done.stdout!r}")
        contender.seconds.append(statistics.median(float(row[0]) for row in rows[2:]))
        print(f"{contender.title}: {' '.join(row[0] for row in rows)}", file=sys.stderr, flush=True)
        last = f"run_{options.steps - 1:06d}"
        contender.bytes = sum(path.stat().st_size for path in folder.iterdir() if path.name.startswith(last))
        contender.verify(prefix, options.steps - 1)
    finally:
        shutil.rmtree(folder)


def main() -> int:
    options = parsed()
    variables: dict[str, str] = {}
    contenders = contenders_of(options)
    fields_bytes = 8 * options.edge**3 * sum(components for _, components in FIELDS)
    try:
        if options.storage_model:
            program = Program(ROOT / "build" / options.mpi / "bin" / "mesh_by_hakobi", options.mpi)
            model = storage_model.parse(options.storage_model)
            variables = model.environment(program, options.folder)
        for number in range(options.rounds):
            for contender in contenders if number % 2 == 0 else reversed(contenders):
                run(options, contender, variables)
    except HakobiError as error:
        sys.exit(str(error))
    print(
        f"{options.edge**3} cells, {fields_bytes / 1e6:.1f} MB of fields a step, mesh {options.motion}, "
        f"{options.ranks} ranks, {options.mpi}, {options.rounds} rounds, {options.folder}"
        + (f", {options.storage_model}" if options.storage_model else "")
    )
    ours = statistics.median(contenders[0].seconds)
    for contender in contenders:
        median = statistics.median(contender.seconds)
        spread = f"[{min(contender.seconds):.4f} .. {max(contender.seconds):.4f}]"
        line = (
            f"  {contender.title:34} {median:8.4f} s {spread:20} {median / ours:5.2f} of ours, "
            f"{contender.bytes / 1e6:7.1f} MB a step at {contender.bytes / median / 1e9:5.3f} GB/s"
        )
        if options.storage_model:
            line += f", {contender.bytes / median / 1e9 / model.limit_gb_s:4.2f} of the limit"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
