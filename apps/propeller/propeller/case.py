"""Prepares what hakobi-propeller runs: the solver with the user sources of `solver/`, and meshes in its own format.

Debian's code_saturne (packages code-saturne, code-saturne-bin, code-saturne-include) is built with Open MPI.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "solver"
PREPROCESSOR = Path("/usr/lib/code_saturne/cs_preprocess")
PACKAGES = ("code-saturne", "code-saturne-bin", "code-saturne-include")


def folder() -> Path:
    """Where everything is kept: $HAKOBI_PROPELLER, or ~/.cache/hakobi/propeller."""
    return Path(os.environ.get("HAKOBI_PROPELLER") or Path.home() / ".cache" / "hakobi" / "propeller")


def missing() -> str:
    """Says what to install before anything can be prepared; "" when all is there."""
    if shutil.which("code_saturne") and PREPROCESSOR.is_file():
        return ""
    return f"the solver is not installed: apt-get install --no-install-recommends {' '.join(PACKAGES)}"


def compile_command(hakobi_include: Path, hakobi_library: Path, place: Path) -> list[str]:
    """The command that compiles the user sources into `place`/cs_solver. `hakobi_library`: where libhakobi.so is."""
    return [
        "code_saturne",
        "compile",
        "--source",
        str(SOURCES),
        "--dest",
        str(place),
        "--cflags",
        f"-I{hakobi_include} -I{SOURCES}",
        "--libs",
        f"-L{hakobi_library} -lhakobi -Wl,-rpath,{hakobi_library}",
    ]


def compile_solver(hakobi_include: Path, hakobi_library: Path) -> Path:
    """Makes cs_solver. Raises RuntimeError with what the compiler said."""
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    program = place / "cs_solver"
    with tempfile.TemporaryDirectory(dir=place) as made:  # a run that goes on keeps its program
        told = _run(compile_command(hakobi_include, hakobi_library, Path(made)), Path(made))
        if not (Path(made) / program.name).is_file():
            raise RuntimeError(f"the solver was not made:\n{told}")
        (Path(made) / program.name).replace(program)
    return program


def import_mesh(meshes: Sequence[Path], level: str) -> Path:
    """Brings gmsh's files into the solver's format: `folder()`/level/mesh_input. Raises RuntimeError."""
    place = folder() / level
    target = place / "mesh_input"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for number, mesh in enumerate(meshes, start=1):
        _run(
            [
                str(PREPROCESSOR),
                "--log",
                str(place / f"preprocessor-{number}.log"),
                "--out",
                str(target / f"mesh_{number:02d}"),
                str(mesh),
            ],
            place,
        )
    return target


def _run(command: Sequence[str], place: Path) -> str:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout + done.stderr
