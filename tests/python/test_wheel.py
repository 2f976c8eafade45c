"""The wheel that carries the drop-in: built from this build's library, installed elsewhere, and run from there."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hakobi import __version__, drop_in, programs

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / programs.flavour() / "lib"


@pytest.fixture
def tool() -> ModuleType:
    """tools/wheel as a module."""
    loader = importlib.machinery.SourceFileLoader("tools_wheel", str(ROOT / "tools" / "wheel"))
    spec = importlib.util.spec_from_loader("tools_wheel", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


@pytest.mark.programs
@pytest.mark.once
@pytest.mark.skipif(not (BUILD / drop_in.LIBRARY).is_file(), reason="the drop-in is not built")
def test_the_wheel_runs_a_program_from_where_it_is_installed(tmp_path: Path) -> None:
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for path in BUILD.glob("libhakobi_mpiio*.so"):
        shutil.copy(path, libraries)
    variables = {"HAKOBI_WHEEL_LIBRARIES": str(libraries), "HAKOBI_WHEEL_PLATFORM": "linux_x86_64"}
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
def test_the_drop_in_for_mpichs_abi_needs_no_library_by_its_name(tool: ModuleType) -> None:
    needed = tool.needs(BUILD / "libhakobi_mpiio-mpich.so")
    assert "libc.so.6" in needed
    assert [name for name in needed if name.startswith("libmpi")] == []
