"""Programs that have set a locale with a decimal comma, other letters or other months: what they write is the same."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from running import run_python

WRITER = """
import locale, os, sys
import numpy as np
if os.environ["PROGRAMS_LOCALE"]:
    locale.setlocale(locale.LC_ALL, os.environ["PROGRAMS_LOCALE"])
import hakobi
comm = hakobi.Comm.duplicate()
axes = [hakobi.Axis("lat", "degrees_north", np.linspace(-1.5, 1.4, 30)), hakobi.Axis("lon", "", 0.25 * np.arange(40))]
block = hakobi.split((30, 40), comm.size, comm.rank)
for format in ("netcdf4", "zarr"):
    out = hakobi.Output.create(comm, format, format=format, method="pipelined", axes=axes,
                               time_units="days since 2000-01-01 00:00:00.5",
                               attributes={"version": 1.25, "levels": [1e-7, 12345678.5]})
    for step in range(2):
        out.begin_step(0.1 * step + 1234.5)
        out.put("eta", "m", block, np.full((30, 40), 1.5), fill_value=-9999.5,
                attributes={"valid_range": [-0.5, 10000.25]})
        out.end_step()
    out.close()
    print(out.explain())
with hakobi.open_store("store", schema="weather") as store:
    key = "class=od,stream=oper,expver=0001,date=20260101,time=0000,type=fc,levtype=pl,step=1,levelist=0.5,param=t"
    store.archive(key, np.full(3, 0.25))
comm.free()
"""


@pytest.fixture(scope="module")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the locales, for LOCPATH."""
    localedef = shutil.which("localedef")
    if localedef is None:
        pytest.skip("no localedef here to make a locale with")
    folder = tmp_path_factory.mktemp("locales")
    for name in ("de_DE", "tr_TR", "ar_EG"):
        made = folder / f"{name}.UTF-8"
        command = [localedef, "-i", name, "-f", "UTF-8", "--no-archive", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not made.exists():
            pytest.skip(f"localedef makes no {name}: {done.stderr.strip()}")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    written = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in written.items() if "store" not in name.parts}


@pytest.mark.parametrize("name", ["de_DE", "tr_TR", "ar_EG"])
def test_files_are_the_same_in_every_locale(locales: Path, tmp_path: Path, name: str) -> None:
    told = {}
    for locale in ("", f"{name}.UTF-8"):
        folder = tmp_path / (locale or "plain")
        folder.mkdir()
        variables = {
            "LOCPATH": str(locales),
            "PROGRAMS_LOCALE": locale,
            "HAKOBI_TRACE": str(tmp_path / f"trace{locale}"),
        }
        done = run_python(WRITER, folder, HAKOBI_PROFILE="1", **variables)
        assert done.returncode == 0, done.stderr
        told[locale] = done.stdout + done.stderr
        events = json.loads((tmp_path / f"trace{locale}").read_text())
        assert all(isinstance(event["ts"], float) for event in events if event["ph"] == "X")
        assert not re.search(r"\d,\d+ (s|ms|%|MiB)", told[locale]), told[locale]
        listed = run_python("import hakobi; print(hakobi.open_store('store').list()[0].keys)", folder)
        assert "'levelist': '0.5'" in listed.stdout, listed.stderr
    assert contents(tmp_path / f"{name}.UTF-8") == contents(tmp_path / "plain")
