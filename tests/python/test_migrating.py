"""docs/migrating: programs by Hakobi write what those by other libraries do; these are run where they compile."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from building import FLAVOUR, ROOT, build, needs_build
from hakobi import launch
from hakobi.programs import Program

PAGES = ROOT / "docs" / "migrating"
NY, NX, NUM_STEPS = 60, 40, 3
ETA = np.arange(NUM_STEPS)[:, None, None] + 0.001 * np.arange(NY * NX).reshape(NY, NX)


def listing(page: str, heading: str) -> tuple[str, str]:
    """Language and text of the first program below a heading."""
    text = (PAGES / f"{page}.md").read_text()
    found = re.search(rf"^## {heading}$.*?^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no program below {heading}"
    return found.group(1), found.group(2)


def run(program: Path) -> None:
    done = launch.run(Program(program, FLAVOUR), (), 2, timeout_s=60, folder=program.parent)
    assert done.status == 0, done.stderr


@needs_build
@pytest.mark.programs
@pytest.mark.once
@pytest.mark.parametrize("page", sorted(path.stem for path in PAGES.glob("*.md")))
def test_the_program_after_writes_the_values(page: str, tmp_path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    language, text = listing(page, "After")
    run(build(language, text, tmp_path / "after_migrating"))
    for step in range(NUM_STEPS):
        with netcdf.Dataset(tmp_path / f"after_{step:06d}.nc") as data:
            assert data["eta"].units == "m"
            assert data["eta"].dimensions == ("time", "y", "x")
            np.testing.assert_array_equal(data["eta"][0], ETA[step])


@pytest.mark.programs
@pytest.mark.once
@pytest.mark.parametrize(("page", "libraries"), [("pnetcdf", ["pnetcdf"]), ("netcdf", ["netcdf_mpi"])])
def test_the_program_before_writes_the_same(page: str, libraries: list[str], tmp_path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    compiler = shutil.which(f"mpicc.{FLAVOUR}")
    header = {"pnetcdf": "pnetcdf.h", "netcdf": "netcdf_par.h"}[page]
    include = [
        folder
        for folder in ("/usr/include", "/usr/lib/x86_64-linux-gnu/netcdf/mpi/include")
        if Path(folder, header).exists()
    ]
    if compiler is None or FLAVOUR != "openmpi" or not include:
        pytest.skip(f"no {header} for {FLAVOUR}")
    _, text = listing(page, "Before")
    (tmp_path / "before.c").write_text(text)
    command = [
        compiler,
        "before.c",
        "-o",
        "before",
        *(f"-I{folder}" for folder in include),
        *(f"-l{name}" for name in libraries),
    ]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    run(tmp_path / "before")
    with netcdf.Dataset(tmp_path / "before.nc") as data:
        assert data["eta"].units == "m"
        np.testing.assert_array_equal(data["eta"][:], ETA)
