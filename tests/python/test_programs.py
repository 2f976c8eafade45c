from __future__ import annotations

import re
from pathlib import Path

import pytest

from hakobi import programs
from hakobi.errors import InputError


def test_prefix_is_the_only_place_when_it_is_set(waves: Path) -> None:
    assert programs.find("hakobi-waves").path == waves / "hakobi-waves"
    assert programs.names() == ["hakobi-waves"]
    with pytest.raises(InputError, match=r"no program hakobi-tsunami in .*: HAKOBI_PREFIX names no finished"):
        programs.find("hakobi-tsunami")


def test_the_target_programs_has_all_that_the_command_runs() -> None:
    root = Path(__file__).resolve().parents[2]
    built = (root / "CMakeLists.txt").read_text().split("add_custom_target(programs)")[1]
    houses = (root / "python/hakobi", root / "lab/hakobi_lab")
    sources = "".join(path.read_text() for folder in houses for path in folder.rglob("*.py"))
    asked = set(re.findall(r"hakobi-bench-[a-z-]+[a-z]", sources))
    assert len(asked) >= 7
    assert asked <= set(re.findall(r"hakobi-[a-z-]+[a-z]", built))


def test_an_unknown_mpi_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAKOBI_MPI", "openmp")
    with pytest.raises(InputError, match="unknown MPI library in HAKOBI_MPI 'openmp': did you mean 'openmpi'"):
        programs.flavour()


def test_a_missing_program_is_one_line_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=r"no program hakobi-nothing for .*: build it with 'make'"):
        programs.find("hakobi-nothing")


@pytest.mark.parametrize(
    ("content", "flavour"),
    [
        (b"\x7fELF....libmpi.so.40\0", "openmpi"),
        (b"\x7fELF....libmpich.so.12\0", "mpich"),
        (b"\x7fELF....libmpi.so.12\0", "mpich"),
        (b"\x7fELF....libc.so.6\0", "openmpi"),
        (b"#!/bin/sh\nlibmpich.so.12\0", "openmpi"),
        (b"", "openmpi"),
    ],
)
def test_flavour_is_read_from_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, flavour: str
) -> None:
    monkeypatch.setenv("HAKOBI_MPI", "openmpi")
    (tmp_path / "program").write_bytes(content)
    assert programs.flavour_of(tmp_path / "program") == flavour
