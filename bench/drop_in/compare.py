#!/usr/bin/env python3
"""Times a program without and with the drop-in, in turns, and prints medians and their ratio.

    compare.py [--ranks 8] [--rounds 7] [--folder /dev/shm] [--rival MCA=VALUE]... PROGRAM [ARGUMENT]...

PROGRAM is one of this folder's (build/<mpi>/bench/drop_in/, see the head of each for its arguments) or any that prints
"<seconds> s <bytes> bytes" on stdout. FILE among its arguments stands for a new file in the folder; runs that write
different bytes end the comparison with status 1.

    compare.py mpi_calls small-at FILE 10000       10,000 collective writes of 1 KiB a rank
    compare.py mpi_calls passed FILE 1000000       what a passed-on call costs (divide by the calls)
    compare.py pnetcdf_output flash FILE           FLASH-style output
    compare.py --storage-model servers=4,bandwidth=500,latency=2ms,stripe=1M hdf5_output block FILE 320

1. A round runs every contender once: the library alone, the library with each --rival's MCA settings (Open MPI's ROMIO:
   io=romio321), the drop-in; forwards, then backwards.
2. A run's figure is the program's own time, on its slowest rank.
3. Under --storage-model every contender's file calls take the time of such storage (bench/storage_model).
"""

from __future__ import annotations

import argparse
import filecmp
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), default=os.environ.get("HAKOBI_MPI", "openmpi"))
    parser.add_argument("--build", type=Path, help="build folder (default: build/<mpi>)")
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="where files are written")
    parser.add_argument(
        "--rival", action="append", default=[], metavar="MCA=VALUE", help="Open MPI alone with a setting"
    )
    parser.add_argument("--storage-model", metavar="MODEL", help="as HAKOBI_STORAGE_MODEL, for every contender")
    parser.add_argument("--hints", default="", help="HAKOBI_HINTS of the drop-in")
    parser.add_argument("--prefix", default="", help="words before the launcher, such as 'chrt -r 2'")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a run may take")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.build = options.build or ROOT / "build" / options.mpi
    if not options.command:
        parser.error("name a program")
    return options


def launcher(options: argparse.Namespace, settings: list[str], variables: dict[str, str]) -> list[str]:
    line = [*options.prefix.split(), f"mpiexec.{options.mpi}"]
    if options.mpi == "openmpi":
        line += ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        for setting in settings:
            line += ["--mca", *setting.split("=", 1)]
        for name, value in variables.items():
            line += ["-x", f"{name}={value}"]
    else:
        for name, value in variables.items():
            line += ["-genv", name, value]
    return [*line, "-n", str(options.ranks)]


class Contender:
    def __init__(self, name: str, options: argparse.Namespace, settings: list[str], has_drop_in: bool) -> None:
        self.name = name
        self.seconds: list[float] = []
        self.bytes = 0.0
        preloaded, variables = [], {}
        if options.storage_model:
            preloaded.append(options.build / "lib" / "libhakobi_storage_model.so")
            variables["HAKOBI_STORAGE_MODEL"] = options.storage_model
            variables["HAKOBI_STORAGE_MODEL_PATH"] = str(options.folder)
        if has_drop_in:
            preloaded.append(options.build / "lib" / "libhakobi_mpiio.so")
            if options.hints:
                variables["HAKOBI_HINTS"] = options.hints
        if preloaded:
            variables["LD_PRELOAD"] = ":".join(map(str, preloaded))
        program = Path(options.command[0])
        if not program.is_file():
            program = options.build / "bench" / "drop_in" / program
        self.line = [*launcher(options, settings, variables), str(program), *options.command[1:]]

    def run(self, file: Path, options: argparse.Namespace) -> None:
        line = [str(file) if word == "FILE" else word for word in self.line]
        environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run(
            line, env=environment, capture_output=True, text=True, timeout=options.timeout, check=False
        )
        found = re.search(r"([\d.]+) s (\d+) bytes", done.stdout)
        if done.returncode != 0 or found is None:
            sys.exit(f"{self.name}: status {done.returncode}: {done.stderr[-2000:] or done.stdout[-2000:]}")
        self.seconds.append(float(found.group(1)))
        self.bytes = float(found.group(2))


def main() -> int:
    options = parsed()
    alone = Contender("library alone", options, [], False)
    rivals = [Contender(f"alone, {setting}", options, [setting], False) for setting in options.rival]
    drop_in = Contender("drop-in", options, [], True)
    contenders = [alone, *rivals, drop_in]
    with tempfile.TemporaryDirectory(prefix="hakobi-compare-", dir=options.folder) as folder:
        files = {contender.name: Path(folder) / f"{i}.dat" for i, contender in enumerate(contenders)}
        for number in range(options.rounds):
            for contender in contenders if number % 2 == 0 else reversed(contenders):
                files[contender.name].unlink(missing_ok=True)
                contender.run(files[contender.name], options)
            for other in contenders[1:]:
                if not filecmp.cmp(files[alone.name], files[other.name], shallow=False):
                    print(f"{other.name}: other bytes than the library alone", file=sys.stderr)
                    return 1
    print(
        f"{' '.join(options.command)}: {options.ranks} ranks, {options.mpi}, {options.rounds} rounds, {options.folder}"
        + (f", {options.storage_model}" if options.storage_model else "")
    )
    median = statistics.median(alone.seconds)
    for contender in contenders:
        ours = statistics.median(contender.seconds)
        rate = f"{contender.bytes / ours / 1e9:7.3f} GB/s" if contender.bytes else " " * 12
        spread = f"[{min(contender.seconds):.4f} .. {max(contender.seconds):.4f}]"
        print(f"  {contender.name:24} {ours:9.4f} s {spread:24} {rate}   {median / ours:5.2f} times as fast")
    return 0


if __name__ == "__main__":
    sys.exit(main())
