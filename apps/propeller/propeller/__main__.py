"""`python -m propeller setup` and `python -m propeller coefficients`: see README.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from propeller import case, coefficients, mesh

ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    parser = argparse.ArgumentParser(prog="propeller")
    commands = parser.add_subparsers(dest="command", required=True)
    setup = commands.add_parser("setup", help="Make the mesh and compile the solver.")
    setup.add_argument("--mesh", default="200k", choices=sorted(mesh.LEVELS))
    setup.add_argument("--include", type=Path, default=ROOT / "include", help="The folder of hakobi.h.")
    setup.add_argument(
        "--library", type=Path, default=ROOT / "build" / "openmpi" / "lib", help="The folder of libhakobi.so."
    )
    found = commands.add_parser("coefficients", help="K_T and K_Q of histories beside the series'.")
    found.add_argument("histories", nargs="+", type=Path)
    given = parser.parse_args()
    if given.command == "coefficients":
        print(coefficients.table([coefficients.of_history(path) for path in given.histories]))
        return 0
    if what := case.missing():
        sys.stderr.write(f"propeller: {what}\n")
        return 2
    print(f"solver: {case.compile_solver(given.include, given.library)}")
    with tempfile.TemporaryDirectory(prefix="hakobi-propeller-") as folder:
        cells = mesh.write(Path(folder), mesh.LEVELS[given.mesh])
        print(f"cells: {cells}")
        print(f"mesh: {case.import_mesh([Path(folder) / f'{zone}.msh' for zone in cells], given.mesh)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
