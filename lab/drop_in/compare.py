#!/usr/bin/env python3
"""Times a program without and with the drop-in, in turns, and prints medians, their ratio and the floor.

    compare.py [--ranks 8] [--rounds 7] [--folder /dev/shm] [--rival MCA=VALUE]... PROGRAM [ARGUMENT]...

PROGRAM is one of this folder's (build/<mpi>/lab/drop_in/, see the head of each for its arguments) or any that prints
"<seconds> s <bytes> bytes" on stdout (bench.h). FILE among its arguments stands for a new file in the folder; runs that
write different bytes end the comparison with status 1. Run it with the project's Python (.venv/bin/python).

    compare.py mpi_calls small-at FILE 10000       10,000 collective writes of 1 KiB a rank
    compare.py mpi_calls passed FILE 1000000       what a passed-on call costs (divide by the calls)
    compare.py pnetcdf_output flash FILE           FLASH-style output
    compare.py --storage-model servers=4,bandwidth=500,latency=2ms,stripe=1M --engine-alone hdf5_output block FILE 320

1. A round runs every contender once: the library alone, the library with each --rival's MCA settings (Open MPI's ROMIO:
   io=^ompio), the drop-in, and the floor: the same bytes into a new file by plain contiguous writes (plain_output).
   Forwards, then backwards.
   With --engine-alone also the drop-in under mpi_output: the same values in as many calls of MPI-IO, no library above;
   beside pnetcdf_output once more with the change of byte order around each call that PnetCDF makes.
2. A run's figure is the program's own time, on its slowest rank: from opening the file to the end of closing it.
   Where the program tells the part within its collective writes, that is printed too.
3. Under --storage-model every contender's file calls take the time of such storage (bench/storage_model).
"""

from __future__ import annotations

import argparse
import filecmp
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
FLOOR = "floor"
ENGINE_ALONE = "drop-in, MPI-IO alone"
ENGINE_SWAPPING = "  the same, bytes swapped"


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
    parser.add_argument(
        "--engine-alone", action="store_true", help="the same values by MPI-IO calls alone, under the drop-in, as well"
    )
    parser.add_argument("--storage-model", metavar="MODEL", help="as HAKOBI_STORAGE_MODEL, for every contender")
    parser.add_argument("--hints", default="", help="HAKOBI_HINTS of the drop-in")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a run may take")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.build = (options.build or ROOT / "build" / options.mpi).resolve()
    if not options.command:
        parser.error("name a program")
    return options


class Contender:
    """A way to run a program: what is preloaded and set for it."""

    def __init__(
        self, name: str, options: argparse.Namespace, command: list[str], rival: str = "", has_drop_in: bool = False
    ) -> None:
        self.name = name
        self.seconds: list[float] = []
        self.writing: list[float] = []  # of them: in collective writes, where the program tells
        self.bytes = 0
        self.options = options
        path = Path(command[0])
        if not path.is_file():
            path = options.build / "lab" / "drop_in" / path
        self.program = Program(path, options.mpi)
        self.arguments = command[1:]
        self.variables: dict[str, str] = {}
        preloaded = []
        if options.storage_model:
            # The model's library lies beside the programs of the build, not of this folder.
            built = Program(options.build / "bin" / path.name, options.mpi)
            self.variables = storage_model.parse(options.storage_model).environment(built, options.folder)
            preloaded.append(self.variables["LD_PRELOAD"])
        if has_drop_in:
            preloaded.append(str(options.build / "lib" / "libhakobi_mpiio.so"))
            if options.hints:
                self.variables["HAKOBI_HINTS"] = options.hints
        if preloaded:
            self.variables["LD_PRELOAD"] = ":".join(preloaded)
        if rival:
            name, value = rival.split("=", 1)
            self.variables[f"OMPI_MCA_{name}"] = value

    def run(self, file: Path) -> None:
        """One run; `file` is removed first."""
        file.unlink(missing_ok=True)
        done = launch.run(
            self.program,
            [str(file) if word == "FILE" else word for word in self.arguments],
            self.options.ranks,
            timeout_s=self.options.timeout,
            extra_environment=self.variables,
        )
        launch.check(done, self.name)
        found = re.search(r"([\d.]+) s (\d+) bytes(?:, ([\d.]+) s writing)?", done.stdout)
        if found is None:
            sys.exit(f"{self.name}: no line '<seconds> s <bytes> bytes' in {done.stdout!r}")
        self.seconds.append(float(found.group(1)))
        self.bytes = int(found.group(2))
        if found.group(3):
            self.writing.append(float(found.group(3)))


def compare(options: argparse.Namespace) -> list[Contender]:
    alone = Contender("library alone", options, options.command)
    rivals = [Contender(f"alone, {setting}", options, options.command, rival=setting) for setting in options.rival]
    contenders = [alone, *rivals, Contender("drop-in", options, options.command, has_drop_in=True)]
    others = []  # of other bytes
    if options.engine_alone:
        arguments = options.command[1:]
        others.append(Contender(ENGINE_ALONE, options, ["mpi_output", *arguments], has_drop_in=True))
        if Path(options.command[0]).name == "pnetcdf_output":
            others.append(Contender(ENGINE_SWAPPING, options, ["mpi_output", "--swap", *arguments], has_drop_in=True))
    with tempfile.TemporaryDirectory(prefix="hakobi-compare-", dir=options.folder) as folder:
        files = {contender.name: Path(folder) / f"{i}.dat" for i, contender in enumerate([*contenders, *others])}
        floor_file = Path(folder) / "floor.dat"
        floor: list[Contender] = []
        for number in range(options.rounds):
            turns = [*contenders, *others, *floor]
            for contender in turns if number % 2 == 0 else reversed(turns):
                contender.run(files.get(contender.name, floor_file))
            for other in contenders[1:]:
                if not filecmp.cmp(files[alone.name], files[other.name], shallow=False):
                    sys.exit(f"{other.name}: other bytes than the library alone")
            if not floor and alone.bytes > 0:  # what it writes is known only now
                floor = [Contender(FLOOR, options, ["plain_output", "FILE", str(alone.bytes)])]
                floor[0].run(floor_file)
    return [*contenders, *others, *floor]


def main() -> int:
    options = parsed()
    try:
        contenders = compare(options)
    except HakobiError as error:
        sys.exit(str(error))
    print(
        f"{' '.join(options.command)}: {options.ranks} ranks, {options.mpi}, {options.rounds} rounds, {options.folder}"
        + (f", {options.storage_model}" if options.storage_model else "")
    )
    medians = {contender.name: statistics.median(contender.seconds) for contender in contenders}
    for contender in contenders:
        ours = medians[contender.name]
        rate = f"{contender.bytes / ours / 1e9:7.3f} GB/s" if contender.bytes else " " * 12
        spread = f"[{min(contender.seconds):.4f} .. {max(contender.seconds):.4f}]"
        ratio = medians["library alone"] / ours
        of_floor = f"  {medians[FLOOR] / ours:5.2f} of the floor" if FLOOR in medians else ""
        print(f"  {contender.name:24} {ours:9.4f} s {spread:24} {rate}   {ratio:5.2f} times as fast{of_floor}")
        if contender.writing and FLOOR in medians:
            writing = statistics.median(contender.writing)
            spread = f"[{min(contender.writing):.4f} .. {max(contender.writing):.4f}]"
            print(f"  {'  of it writing':24} {writing:9.4f} s {spread:57} {medians[FLOOR] / writing:5.2f} of the floor")
    return 0


if __name__ == "__main__":
    sys.exit(main())
