"""One small study with the programs that were built and the real launcher."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import files, launch, programs, records
from hakobi.errors import InputError
from hakobi_lab.studies.output_methods import demo
from running import Result

pytestmark = [pytest.mark.programs, pytest.mark.once]

try:
    programs.find("hakobi-tsunami")
except InputError as reason:
    pytest.skip(str(reason), allow_module_level=True)

Command = Callable[..., Result]
#: A coarse ocean for a few minutes: seconds of work.
SMALL = ("--", "--resolution", "30", "--hours", "0.2", "--steps-out", "3")


@pytest.mark.timeout(300)
def test_every_method_writes_the_same_bytes_and_a_report(hakobi: Command) -> None:
    options = ("--ranks", "1,2", "--repetitions", "1", "--json", "runs.jsonl", "--report", "report.html", "--keep")
    result = hakobi("study", "output-methods", "--storage", "here=S", *options, *SMALL)
    assert result.status == 0, result.stderr
    runs = records.read("runs.jsonl")
    assert len(runs) == 12
    assert len({run["sha256"] for run in runs if run["method"] != "none"}) == 1
    assert {run["num_files"] for run in runs if run["method"] != "none"} == {4}  # the steps, and what shows them
    report = Path("report.html").read_text()
    assert "sea surface height" in report
    assert "data:image/png;base64," in report
    _check_series_opens_by_time(sorted(Path("S").rglob("pipelined-2-1/*_*.nc")))


@pytest.mark.timeout(300)
def test_what_the_demonstration_says_to_type_works_as_it_stands(
    hakobi: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coarse ocean and few rounds: a figure of it says nothing."""
    monkeypatch.setattr(demo, "ROUNDS", 2)
    monkeypatch.setattr(demo, "HOURS_A_RANK", 0.2)
    monkeypatch.setattr(demo, "STEPS_A_RANK", 1)
    monkeypatch.setattr(demo, "STUDY_ARGUMENTS", ("--resolution", "30"))
    monkeypatch.setattr(demo, "WAVE_HOURS", 1.0)
    monkeypatch.setattr(demo, "WAVE_ARGUMENTS", ("--resolution", "30", "--steps-out", "4", "--gauges", "default"))
    result = hakobi("demo")
    assert result.status == 0, result.stderr
    assert result.stdout.startswith(("root ", "pipelined+hidden "))
    runs = records.read("out/demo/runs.jsonl")
    assert {run["method"] for run in runs} == {"none", "root", "pipelined+hidden"}
    assert {run["output_bytes"] > 0 for run in runs if run["method"] != "none"} == {True}
    steps = sorted(Path("out/demo").glob("tsunami_*.nc"))
    assert len(steps) == 4
    for picture in ("times.png", "wave.png"):
        assert Path("out/demo", picture).read_bytes().startswith(b"\x89PNG")
    assert "DART" in Path("out/demo/report.html").read_text()
    assert not list(Path("/dev/shm").glob(f"hakobi-run-{os.getpid()}-*"))
    typed = {line.split()[3]: line for line in result.stdout.splitlines() if line.startswith("  ") and "hakobi" in line}
    assert list(typed) == ["ls", "post", "study", "run"]
    listed = subprocess.run(shlex.split(typed["ls"]), capture_output=True, text=True, timeout=60, check=True)
    assert "eta" in listed.stdout
    with subprocess.Popen(shlex.split(typed["post"]), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert any("http://" in line for line in server.stdout)
        finally:
            server.send_signal(signal.SIGINT)
    options = ["--methods", "root", "--ranks", "2", "--repetitions", "1"]
    app = ["--app", str(programs.find("hakobi-tsunami").path), *options, *SMALL]
    study = [word for word in shlex.split(typed["study"]) if word not in ("--app", "./solver")]
    subprocess.run([*study, *app], capture_output=True, timeout=100, check=True)


def _check_series_opens_by_time(paths: list[Path]) -> None:
    import numpy as np
    import xarray

    assert len(paths) == 3
    with xarray.open_mfdataset(paths, engine="h5netcdf") as files:  # by their time coordinate, no argument needed
        series = files.load()
    at = np.datetime64("2011-03-11T05:46:24") + np.timedelta64(720, "s")
    assert abs(series["time"].values[-1] - at) < np.timedelta64(1, "s")
    assert series["eta"].dims == ("time", "lat", "lon")
    assert float(np.abs(series["eta"]).max()) > 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ranks", "2", "--", "--resolution", "-1"), "--resolution"),
        (("--ranks", "2", "--", "--seafloor", "missing.nc"), "missing.nc"),
        (("--ranks", "2", "--", "--seafloor", "corrupt.nc"), "corrupt.nc"),
    ],
)
def test_what_the_application_refuses_is_one_line(hakobi: Command, options: tuple[str, ...], words: str) -> None:
    Path("corrupt.nc").write_bytes(os.urandom(5000))
    result = hakobi("study", "output-methods", "--repetitions", "1", *options)
    assert result.status == 2
    assert result.stdout == ""
    assert words in result.line()
    assert "tsunami with method none on 2 ranks: " in result.line()


def test_ranks_that_do_not_fit_the_grid_are_one_line(hakobi: Command) -> None:
    if programs.flavour() == "mpich":
        pytest.skip("MPICH spins: more ranks than cores take minutes")
    small = ("--", "--region", "140,144,30,34", "--resolution", "60", "--hours", "0.1", "--steps-out", "1")
    result = hakobi("study", "output-methods", "--ranks", "5", "--repetitions", "1", *small)
    assert result.status == 2
    assert result.line().startswith(
        "hakobi study output-methods: ended early after 0 of 6 runs: tsunami with method none on 5"
    )


def test_pieces_that_were_left_are_gathered_into_the_same_bytes(hakobi: Command) -> None:
    program = programs.find("hakobi-tsunami")
    small = [*SMALL[1:], "--output"]
    for method, folder in (("per-process", "pieces"), ("root", "whole")):
        Path(folder).mkdir()
        arguments = ["--method", method, "--keep-pieces", *small, f"{folder}/t"]
        launch.check(launch.run(program, arguments, 2, timeout_s=100), method)
    assert files.files_below(Path("pieces"))
    assert not list(Path("pieces").glob("*.nc"))
    result = hakobi("gather", "pieces")
    assert result.status == 0, result.stderr
    gathered = sorted(Path("pieces").glob("t_*.nc"))
    assert files.sha256(gathered) == files.sha256(sorted(Path("whole").glob("t_*.nc")))
    assert files.files_below(Path("pieces")) == [Path("pieces/t.series.nc"), *gathered]


def test_gathering_nothing_is_one_line(hakobi: Command) -> None:
    result = hakobi("gather", "nothing")
    assert result.status == 2
    assert "nothing" in result.line()
