"""A document's program, built against the build tree as the document tells a user to."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hakobi import programs

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
BUILD = ROOT / "build" / FLAVOUR

needs_build = pytest.mark.skipif(not (BUILD / "lib" / "libhakobi.so").exists(), reason="the library is not built")

SUFFIXES = {"cpp": ".cpp", "fortran": ".f90", "python": ".py"}


def mpi_flags() -> list[str]:
    """What MPI's own C compiler adds, as hakobi.pc tells a plain one."""
    text = (BUILD / "packaging" / "hakobi.pc").read_text()
    words = " ".join(re.findall(r"^(?:Cflags|Libs):(.*)$", text, re.MULTILINE)).split()
    return [word for word in words if "${" not in word]


def build(language: str, text: str, program: Path) -> Path:
    """`program`, made of a source's text beside it; for Python the source itself."""
    source = program.with_suffix(SUFFIXES[language])
    source.write_text(text.replace("#!/usr/bin/env python3", f"#!{sys.executable}"))
    if language == "python":
        source.chmod(0o755)
        return source
    library = [f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib"]
    if language == "cpp":
        include = [f"-I{ROOT}/include"]
        command = ["c++", "-std=c++20", "-Wall", "-Werror", source.name, *include, *library, "-lhakobi", *mpi_flags()]
    else:
        compiler = shutil.which(f"mpifort.{FLAVOUR}")
        if compiler is None or not (BUILD / "lib" / "libhakobi_fortran.so").exists():
            pytest.skip("no Fortran")
        modules = f"-I{BUILD}/fortran/modules"
        command = [compiler, source.name, modules, *library, "-lhakobi_fortran", "-lhakobi"]
    subprocess.run([*command, "-O2", "-o", program.name], cwd=program.parent, check=True, timeout=100)
    return program
