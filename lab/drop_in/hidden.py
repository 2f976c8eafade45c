#!/usr/bin/env python3
"""Times a simulation whose output fills most of its storage: without output, by the MPI library, by the drop-in, and
with hidden output, in turns; prints the medians over the run without output, after comparing every byte.

    hidden.py [--ranks 2] [--rounds 3] [--steps 20] [--row mpi-io:file]... [--storage-model MODEL] [--fill .8]

1. A row is KIND:LAYOUT of hidden_steps.c, which this compiles: a file a step, or all steps in one file. hdf5, pnetcdf
   and flash are there where their libraries are for the MPI library. PnetCDF has a rival of its own, ncmpi_iput with
   one ncmpi_wait_all a step.
2. The units of computing are measured once, so that every run computes the same, whatever else the cores do meanwhile.
   A step writes as many bytes as the storage takes in `--fill` of its computing.
3. A round runs every contender once, forwards, then backwards. The time is the program's own, to the end of
   MPI_Finalize.
4. `drop-in, in memory` is the floor: output's processor time, with storage that takes none.
5. In the first round every file is compared with the one that the MPI library has written alone.

With the defaults it takes about twelve minutes. Run it with the project's Python (.venv/bin/python), on a quiet
machine.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hakobi import launch
from hakobi.errors import HakobiError
from hakobi.measuring import storage_model
from hakobi.programs import Program

ROOT = Path(__file__).resolve().parents[2]
NONE, ALONE = "without output", "the library's default"
FLOOR = "drop-in, in memory"
IPUT = "iput + wait_all"
ROWS = ("mpi-io:file", "mpi-io:one", "hdf5:file", "flash:file", "pnetcdf:one")
BY_PNETCDF = ("flash", "pnetcdf")
LIBRARIES = {"hdf5": ("HAVE_HDF5", "hdf5-{mpi}"), "pnetcdf": ("HAVE_PNETCDF", "pnetcdf")}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--step-s", type=float, default=0.2, help="seconds of computing a step")
    parser.add_argument("--fill", type=float, default=0.8, help="part of it in which the storage takes a step")
    parser.add_argument("--row", action="append", choices=ROWS, help=f"repeatable; default: {', '.join(ROWS)}")
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), default=os.environ.get("HAKOBI_MPI", "openmpi"))
    parser.add_argument("--build", type=Path, help="build folder (default: build/<mpi>)")
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="where files are written")
    parser.add_argument("--storage-model", default="servers=1,bandwidth=118,latency=1ms,stripe=1M")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a run may take")
    options = parser.parse_args()
    options.build = (options.build or ROOT / "build" / options.mpi).resolve()
    return options


@dataclass
class Contender:
    name: str
    variables: dict[str, str] = field(default_factory=dict)
    has_drop_in: bool = False
    suffix: str = ""  #: of the kind
    is_modelled: bool = True
    seconds: list[float] = field(default_factory=list)


def contenders_of(options: argparse.Namespace, kind: str) -> list[Contender]:
    found = [Contender(NONE), Contender(ALONE)]
    if kind in BY_PNETCDF:
        found.append(Contender(IPUT, suffix="-iput"))
    if options.mpi == "openmpi":
        found.append(Contender("ROMIO", {"OMPI_MCA_io": "^ompio"}))
    found += [Contender(FLOOR, has_drop_in=True, is_modelled=False), Contender("drop-in", has_drop_in=True)]
    found += [
        Contender(f"--hidden={how}", {"HAKOBI_HINTS": f"hakobi_hidden={how}"}, has_drop_in=True)
        for how in ("write", "close")
    ]
    return found


def compiled(options: argparse.Namespace, folder: Path) -> tuple[Program, set[str]]:
    """The program, and the kinds that it has."""
    source, target = Path(__file__).with_name("hidden_steps.c"), folder / "hidden_steps"
    line = [shutil.which(f"mpicc.{options.mpi}") or "mpicc", "-O2", "-std=gnu11", str(source), "-o", str(target)]
    kinds, words = {"mpi-io"}, ["-lm"]
    for library, (macro, module) in LIBRARIES.items():
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", module.format(mpi=options.mpi)],
            capture_output=True, text=True, check=False,
        ).stdout.split()  # fmt: skip
        more = [f"-D{macro}", *flags, *words]
        if flags and subprocess.run([*line, *more], capture_output=True, check=False).returncode == 0:
            words = more
            kinds |= set(BY_PNETCDF) if library == "pnetcdf" else {library}
    subprocess.run([*line, *words], check=True)
    return Program(target, options.mpi), kinds


class Row:
    """One kind and layout, by all contenders."""

    def __init__(self, options: argparse.Namespace, program: Program, row: str, units_a_second: float) -> None:
        self.options, self.program = options, program
        self.kind, self.layout = row.split(":")
        self.work = max(1, round(units_a_second * options.step_s))
        model = storage_model.parse(options.storage_model)
        self.mib = options.fill * options.step_s * model.limit_gb_s * 1e9 / 2**20
        self.contenders = contenders_of(options, self.kind)
        self.expected: dict[str, str] = {}

    def run(self, contender: Contender, folder: Path, is_compared: bool) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        built = Program(self.options.build / "bin" / "any", self.options.mpi)  # the model's library lies there
        variables = storage_model.parse(self.options.storage_model).environment(built, folder, folder.parent)
        if not contender.is_modelled:
            variables = {"LD_PRELOAD": ""}
        if contender.has_drop_in:
            variables["LD_PRELOAD"] += f":{self.options.build / 'lib' / 'libhakobi_mpiio.so'}"
        layout = "none" if contender.name == NONE else self.layout
        words = [
            self.kind + contender.suffix,
            layout,
            str(folder),
            str(self.options.steps),
            f"{self.mib:.3f}",
            str(self.work),
        ]
        done = launch.run(
            self.program, words, self.options.ranks, timeout_s=self.options.timeout,
            extra_environment=variables | contender.variables,
        )  # fmt: skip
        launch.check(done, contender.name)
        found = re.search(r"([\d.]+) s (\d+) bytes", done.stdout)
        if found is None:
            sys.exit(f"{contender.name}: no line '<seconds> s <bytes> bytes' in {done.stdout!r}")
        contender.seconds.append(float(found.group(1)))
        if is_compared and contender.name != NONE:
            self.compare(contender, folder)

    def compare(self, contender: Contender, folder: Path) -> None:
        digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}
        if contender.name == ALONE:
            self.expected = digests
        elif digests != self.expected:
            sys.exit(f"{self.kind}:{self.layout}: {contender.name} has written other bytes than {ALONE}")

    def all_rounds(self) -> None:
        with tempfile.TemporaryDirectory(prefix="hakobi-hidden-", dir=self.options.folder) as name:
            for number in range(self.options.rounds):
                turns = self.contenders if number % 2 == 0 else self.contenders[::-1]
                for contender in turns:
                    self.run(contender, Path(name) / "files", is_compared=number == 0)

    def show(self) -> None:
        floor = statistics.median(self.contenders[0].seconds)
        print(f"\n{self.kind}, {'all steps in one file' if self.layout == 'one' else 'a file a step'}:", end=" ")
        print(f"{self.options.ranks} ranks, {self.options.steps} steps of {self.mib:.1f} MiB")
        print(f"{'':24}{'seconds':>9}{'least':>8}{'most':>8}{'over none':>11}")
        for contender in self.contenders:
            seconds = contender.seconds
            median = statistics.median(seconds)
            print(f"{contender.name:24}{median:9.2f}{min(seconds):8.2f}{max(seconds):8.2f}{median / floor:10.2f}x")


def main() -> int:
    options = parsed()
    try:
        print(storage_model.parse(options.storage_model).words())
        with tempfile.TemporaryDirectory(prefix="hakobi-hidden-") as name:
            program, kinds = compiled(options, Path(name))
            words = ["mpi-io", "none", "-", "1", "1", "0"]
            done = launch.run(program, words, options.ranks, timeout_s=60)
            launch.check(done, "measuring the units of computing")
            units = float(done.stdout.split()[0])
            for row in options.row or ROWS:
                if row.split(":")[0] not in kinds:
                    print(f"\n{row}: its library is not here for this MPI library")
                    continue
                this = Row(options, program, row, units)
                this.all_rounds()
                this.show()
    except HakobiError as error:
        sys.stderr.write(f"hidden.py: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
