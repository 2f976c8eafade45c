#!/usr/bin/env python3
"""Times reading fields collectively by hakobi::Input, by parallel netCDF-4 (the same file) and by PnetCDF (a CDF-5 file
of the same values), in turns, and prints medians and spreads.

    compare.py [--ranks 8] [--writers 2] [--rounds 7] [--edge 320] [--fields 3] [--folder /dev/shm]
               [--storage-model servers=4,bandwidth=500,latency=2ms,stripe=1M]

1. `--writers` ranks write the step, each a slab; `--ranks` ranks read it, each a 3-D block, and compare every value.
2. A round runs every contender once, forwards, then backwards; each in a process of its own.
3. A run's figure is the program's own time, on its slowest rank: from opening the file to the end of closing it.
4. Under --storage-model every contender's file calls take the time of such storage (bench/storage_model).

Run it with the project's Python (.venv/bin/python).
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

from hakobi import launch
from hakobi.errors import HakobiError
from hakobi.measuring import storage_model
from hakobi.programs import Program

ROOT = Path(__file__).resolve().parents[2]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--edge", type=int, default=320)
    parser.add_argument("--fields", type=int, default=3)
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), default=os.environ.get("HAKOBI_MPI", "openmpi"))
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="where files are written")
    parser.add_argument("--storage-model", metavar="MODEL", help="as HAKOBI_STORAGE_MODEL, for every contender")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a run may take")
    return parser.parse_args()


def run(options: argparse.Namespace, name: str, arguments: list[str], ranks: int, variables: dict[str, str]) -> str:
    program = Program(ROOT / "build" / options.mpi / "lab" / "input" / name, options.mpi)
    done = launch.run(program, arguments, ranks, timeout_s=options.timeout, extra_environment=variables)
    launch.check(done, name)
    return done.stdout


def compare(options: argparse.Namespace) -> dict[str, list[tuple[float, int]]]:
    """Seconds and bytes of every run, by contender."""
    built = ROOT / "build" / options.mpi
    shape = [str(options.edge), str(options.fields)]
    variables: dict[str, str] = {}
    rival = {"OMPI_MCA_io": "^ompio"} if options.mpi == "openmpi" else {}
    found: dict[str, list[tuple[float, int]]] = {}
    with tempfile.TemporaryDirectory(prefix="hakobi-input-", dir=options.folder) as folder:
        if options.storage_model:
            program = Program(built / "bin" / "read_hakobi", options.mpi)
            variables = storage_model.parse(options.storage_model).environment(program, options.folder)
        run(options, "write_step", [f"{folder}/run", *shape], options.writers, {})
        contenders = [("hakobi::Input", "read_hakobi", f"{folder}/run", {})]
        for title, name, path in (
            ("netCDF-4", "read_netcdf", f"{folder}/run_000000.nc"),
            ("PnetCDF", "read_pnetcdf", f"{folder}/cdf5.nc"),
        ):
            if not (built / "lab" / "input" / name).is_file():
                print(f"{title}: not built, its library is missing", file=sys.stderr)
                continue
            if name == "read_pnetcdf":
                run(options, name, [path, *shape, "write"], options.writers, {})
            contenders.append((title, name, path, {}))
            if rival:
                contenders.append((f"{title}, ROMIO", name, path, rival))
        for number in range(options.rounds):
            for title, name, path, more in contenders if number % 2 == 0 else reversed(contenders):
                told = run(options, name, [path, *shape], options.ranks, {**variables, **more})
                line = re.search(r"([\d.]+) s (\d+) bytes", told)
                if line is None:
                    sys.exit(f"{title}: no line '<seconds> s <bytes> bytes' in {told!r}")
                found.setdefault(title, []).append((float(line.group(1)), int(line.group(2))))
    return found


def main() -> int:
    options = parsed()
    try:
        found = compare(options)
    except HakobiError as error:
        sys.exit(str(error))
    print(
        f"{options.fields} fields of {options.edge}^3 doubles, {options.writers} ranks wrote, {options.ranks} read: "
        f"{options.mpi}, {options.rounds} rounds, {options.folder}"
        + (f", {options.storage_model}" if options.storage_model else "")
    )
    ours = statistics.median(seconds for seconds, _ in found["hakobi::Input"])
    for title, runs in found.items():
        times = [seconds for seconds, _ in runs]
        median = statistics.median(times)
        spread = f"[{min(times):.4f} .. {max(times):.4f}]"
        rate = runs[0][1] / median / 1e9
        print(f"  {title:20} {median:9.4f} s {spread:22} {rate:7.3f} GB/s   {median / ours:5.2f} times ours")
    return 0


if __name__ == "__main__":
    sys.exit(main())
