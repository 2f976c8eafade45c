"""A document's program, built against the build tree as the document tells a user to."""

from __future__ import annotations

import atexit
import functools
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hakobi import programs

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
BUILD = ROOT / "build" / FLAVOUR

needs_build = pytest.mark.skipif(not (BUILD / "lib" / "libhakobi.so").exists(), reason="the library is not built")

SUFFIXES = {"c": ".c", "cpp": ".cpp", "fortran": ".f90", "python": ".py"}


def mpi_flags() -> list[str]:
    """The flags that MPI's own C compiler adds, as hakobi.pc tells a plain one."""
    text = (BUILD / "packaging" / "hakobi.pc").read_text()
    words = " ".join(re.findall(r"^(?:Cflags|Libs):(.*)$", text, re.MULTILINE)).split()
    return [word for word in words if "${" not in word]


def build(language: str, text: str, program: Path) -> Path:
    """`program`, made of a source's text in its folder; for Python the source itself."""
    source = program.with_suffix(SUFFIXES[language])
    source.write_text(text.replace("#!/usr/bin/env python3", f"#!{sys.executable}"))
    if language == "python":
        source.chmod(0o755)
        return source
    program.unlink(missing_ok=True)
    program.symlink_to(compiled(language, text))
    return program


@functools.cache
def compiled(language: str, text: str) -> Path:
    """A program of that text, which the tests of a process share."""
    folder = Path(tempfile.mkdtemp(prefix="hakobi-built-"))
    atexit.register(shutil.rmtree, folder)
    source = folder / f"program{SUFFIXES[language]}"
    source.write_text(text)
    library = [f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib"]
    if language in ("c", "cpp"):
        compiler = ["cc", "-std=c99"] if language == "c" else ["c++", "-std=c++20"]
        include = [f"-I{ROOT}/include"]
        command = [*compiler, "-Wall", "-Werror", source.name, *include, *library, "-lhakobi", *mpi_flags()]
    else:
        mpifort = shutil.which(f"mpifort.{FLAVOUR}")
        if mpifort is None or not (BUILD / "lib" / "libhakobi_fortran.so").exists():
            pytest.skip("no Fortran")
        modules = f"-I{BUILD}/fortran/modules"
        command = [mpifort, source.name, modules, *library, "-lhakobi_fortran", "-lhakobi"]
    subprocess.run([*command, "-O1", "-o", "program"], cwd=folder, check=True, timeout=100)
    return folder / "program"
