"""Steps that go over a stage: each is whole on the stage or at its place, whatever ends, and comes home later.

HAKOBI_STAGE_KILLS=200 kills so many runs at random moments; without it the suite kills a few.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from hakobi import launch, programs
from hakobi.programs import Program
from running import Result, run_python

pytestmark = pytest.mark.programs

FLAVOUR = programs.flavour()
NUM_KILLS = int(os.environ.get("HAKOBI_STAGE_KILLS", "4"))
SEED = int(os.environ.get("HAKOBI_SEED", "0"))
SHAPE = (256, 512)  # 1 MiB a step

WRITER = """
import os, sys, time
import numpy as np
import hakobi
prefix, num_steps, pause_s, if_exists = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
comm = hakobi.Comm.duplicate()
block = hakobi.split((256, 512), comm.size, comm.rank)
out = hakobi.Output.create(comm, prefix, if_exists=if_exists, method=sys.argv[5] if len(sys.argv) > 5 else "auto")
first = 0
if if_exists == "resume":
    from pathlib import Path
    numbers = [int(path.stem[-6:]) for path in Path(prefix).parent.glob("run_??????.nc")]
    first = max(numbers, default=-1) + 1
for step in range(first, num_steps):
    out.begin_step(step)
    out.put("eta", "1", block, np.full(block.count, step + 0.5))
    out.end_step()
    if comm.rank == 0:
        with open(os.path.dirname(prefix) + ".accepted", "a") as file:
            print(step, file=file)
    time.sleep(pause_s)
print(out.explain() if comm.rank == 0 else "", file=sys.stderr)
out.close()
"""
UNCLOSED = WRITER.replace("out.close()", "time.sleep(120)")
GATHER = "import sys, hakobi; print(hakobi.gather_pieces(sys.argv[1]).incomplete, file=sys.stderr)"
READ = "import sys, hakobi; print(hakobi.Input.open(sys.argv[1]).read('eta')[0, 0])"


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    folder = tmp_path / "nvme"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def write(
    home: Path, stage: Path | str, num_steps: int = 6, pause_s: float = 0, if_exists: str = "fail", **environment: str
) -> subprocess.CompletedProcess[str]:
    arguments = [str(home / "run"), str(num_steps), str(pause_s), if_exists]
    return run_python(WRITER, home, *arguments, HAKOBI_STAGE=str(stage), **environment)


def start(
    home: Path, stage: Path, num_steps: int, pause_s: float, text_of_it: str = WRITER, **environment: str
) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", text_of_it, str(home / "run"), str(num_steps), str(pause_s), "fail"]
    text = launch.environment(FLAVOUR, {"HAKOBI_STAGE": str(stage), **environment})
    return subprocess.Popen(command, text=True, stderr=subprocess.PIPE, env=text, cwd=home)


def whole_steps(folder: Path) -> set[int]:
    """The steps that have their name; a wrong value in one of them is an error."""
    found = set()
    for path in folder.glob("run_??????.nc"):
        step = int(path.stem[-6:])
        with netCDF4.Dataset(path) as data:
            values = np.ma.filled(data["eta"][0], np.nan)
        assert values.shape == SHAPE, path
        assert np.all(values == step + 0.5), f"{path.name} is not whole"
        found.add(step)
    return found


def accepted_steps(home: Path) -> set[int]:
    path = home.with_name(home.name + ".accepted")
    return {int(line) for line in path.read_text().split()} if path.exists() else set()


def leave_on_stage(home: Path, stage: Path, num_steps: int = 4) -> None:
    """A run that was killed when all its steps were on the stage: its place could not be written."""
    process = start(home, stage, num_steps, 0, UNCLOSED, HAKOBI_STAGE_RATE="1", HAKOBI_ASYNCHRONOUS="0")
    wait_until(lambda: len(accepted_steps(home)) == num_steps)
    process.kill()
    process.communicate()


def wait_until(is_so, longest_s: float = 120) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + longest_s
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("method", "ranks"), [("auto", 1), ("pipelined", 3), ("root", 2), ("writers", 4), ("parallel", 2)]
)
def test_steps_arrive_as_if_there_were_no_stage(
    home: Path, stage: Path, mpi4py_environment: dict[str, str], method: str, ranks: int
) -> None:
    (home / "writer.py").write_text(WRITER)
    for name, folder in (("over", str(stage)), ("plain", "")):
        (home / name).mkdir()
        arguments = [str(home / "writer.py"), str(home / name / "run"), "4", "0", "fail", method]
        environment = mpi4py_environment | ({"HAKOBI_STAGE": folder} if folder else {})
        finished = launch.run(
            Program(Path(sys.executable), FLAVOUR), arguments, ranks, timeout_s=120, extra_environment=environment
        )
        assert finished.status == 0, finished.stderr
    assert whole_steps(home / "over") == set(range(4))
    names = sorted(path.name for path in (home / "plain").iterdir())
    assert sorted(path.name for path in (home / "over").iterdir()) == names
    for name in names:
        if name.startswith("run_"):
            assert (home / "over" / name).read_bytes() == (home / "plain" / name).read_bytes(), name
    assert not list(stage.iterdir())


def test_a_stage_on_another_file_system(home: Path) -> None:
    other = Path("/dev/shm") / f"hakobi-stage-{os.getpid()}"
    other.mkdir()
    try:
        assert other.stat().st_dev != home.stat().st_dev or pytest.skip("/dev/shm is no file system of its own here")
        assert write(home, other).returncode == 0
        assert whole_steps(home) == set(range(6))
        assert not list(other.iterdir())
    finally:
        shutil.rmtree(other)


ASKED = """
import sys, numpy as np, hakobi
options = eval(sys.argv[3])
with hakobi.Output.create(hakobi.Comm.duplicate(), sys.argv[1], **options) as out:
    print(out.explain())
    out.begin_step(0)
    out.put("eta", "1", hakobi.split((256, 512), 1, 0), np.full((256, 512), 0.5))
    out.end_step()
    print(*__import__("pathlib").Path(sys.argv[1]).parent.glob("run.staged"))
"""


HINTS = {"hakobi_stage_bytes": "1G", "hakobi_stage_rate": "500M", "hakobi_stage_patience": "9"}
OPTIONS = {"stage_bytes": 1 << 30, "stage_bytes_s": 500 << 20, "stage_patience_s": 9}


@pytest.mark.parametrize("way", ["hints", "options", "both"])
def test_options_and_hints_say_what_the_variable_says(home: Path, stage: Path, way: str) -> None:
    hints = {"hints": HINTS | {"hakobi_stage": str(stage)}} if way != "options" else {}
    options = OPTIONS | {"stage": str(stage)} if way != "hints" else {}
    other = {"HAKOBI_STAGE": "/nowhere", "HAKOBI_STAGE_RATE": "1"}  # for programs that say nothing
    done = run_python(ASKED, home, str(home / "run"), str(stage), repr(hints | options), **other)
    assert "steps go over the stage" in done.stdout, done.stderr
    assert "at most 1074 MB, at 525 MB/s until close" in done.stdout
    assert done.stdout.splitlines()[-1] == str(home / "run.staged")
    assert whole_steps(home) == {0}
    assert not (home / "run.staged").exists()


@pytest.mark.parametrize("seed", range(NUM_KILLS))
def test_a_killed_run_loses_nothing_that_it_accepted(home: Path, stage: Path, seed: int) -> None:
    draw = random.Random(SEED * 1000 + seed)
    settings = {"HAKOBI_ASYNCHRONOUS": draw.choice("01"), "HAKOBI_STAGE_RATE": draw.choice(["0", "20M", "5M"])}
    process = start(home, stage, 20, draw.choice([0, 0.02]), **settings)
    wait_until(lambda: accepted_steps(home) or process.poll() is not None)
    time.sleep(draw.uniform(0, 0.6))
    process.send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM]))
    _, told = process.communicate()
    accepted = accepted_steps(home)
    whole_steps(home)  # what has a name is whole
    opener = draw.choice(["gather", "resume", "read"])
    if opener == "resume":
        opened = write(home, stage, 20, if_exists="resume")
        assert opened.returncode == 0, opened.stderr
        assert whole_steps(home) == set(range(20)), opened.stderr
        return
    opened = run_python(GATHER if opener == "gather" else READ, home, str(home / "run"))
    missing = accepted - whole_steps(home)
    # A hidden step is whole when its values are stored, and named where they were not.
    named = {step for step in missing if f"step {step} was not stored whole" in opened.stderr + told}
    left = [str(path) for folder in (home, stage) for path in folder.rglob("*")]
    assert settings["HAKOBI_ASYNCHRONOUS"] == "1" or not missing, (opener, opened, told, left)
    assert missing == named, opened.stderr
    assert opened.returncode == 0 or "no step of that prefix" in opened.stderr or not whole_steps(home)


def test_what_has_not_arrived_is_listed_and_not_read(hakobi: object, home: Path, stage: Path) -> None:
    assert write(home, stage, 2).returncode == 0
    home.with_name("home.accepted").unlink()
    process = start_resumed(home, stage)
    try:
        wait_until(lambda: len(accepted_steps(home)) == 3 and (home / "run_000002.nc").exists())
        result: Result = hakobi("ls", home / "run")  # type: ignore[operator]
        assert "steps 3 to 4 have not arrived: they are on the stage" in result.stdout + result.stderr
        assert whole_steps(home) == {0, 1, 2}
        assert run_python(READ, home, str(home / "run")).stdout.split() == ["2.5"]
    finally:
        process.kill()
        process.communicate()


def start_resumed(home: Path, stage: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", UNCLOSED, str(home / "run"), "5", "0", "resume"]
    settings = {"HAKOBI_STAGE": str(stage), "HAKOBI_STAGE_RATE": "1", "HAKOBI_ASYNCHRONOUS": "0"}
    return subprocess.Popen(
        command, text=True, stderr=subprocess.PIPE, env=launch.environment(FLAVOUR, settings), cwd=home
    )


def test_a_place_that_cannot_be_written_for_a_while_is_tried_again(home: Path, stage: Path) -> None:
    process = start(home, stage, 8, 0.2, HAKOBI_ASYNCHRONOUS="0")
    wait_until(lambda: (home / "run_000001.nc").exists())
    home.rename(home.with_name("away"))  # as a server that answers with errors
    away = home.with_name("away")
    try:
        wait_until(lambda: len(accepted_steps(home)) >= 5)
    finally:
        away.rename(home)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert whole_steps(home) == set(range(8))
    assert "and is tried again" in told
    assert "has arrived" in told


def test_a_full_stage_pushes_back(home: Path, stage: Path) -> None:
    limits = {"HAKOBI_STAGE_BYTES": "3M", "HAKOBI_STAGE_RATE": "500k"}
    began_s = time.monotonic()
    finished = write(home, stage, 6, 0, "fail", HAKOBI_ASYNCHRONOUS="0", **limits)
    assert finished.returncode == 0, finished.stderr
    assert time.monotonic() - began_s > 1.5
    assert "the stage is full (4 MB): step" in finished.stderr
    assert "s for room on it" in finished.stderr
    assert whole_steps(home) == set(range(6))


def test_a_step_larger_than_the_stage_is_one_error(home: Path, stage: Path) -> None:
    finished = write(home, stage, HAKOBI_STAGE_BYTES="500k")
    assert finished.returncode != 0
    assert "step 0 has 2 MB, and the stage" in finished.stderr
    assert "may hold 1 MB (hakobi_stage_bytes)" in finished.stderr


def test_two_runs_share_a_stage(home: Path, stage: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    processes = [start(folder, stage, 6, 0.05) for folder in (home, other)]
    for process in processes:
        assert process.wait(120) == 0, process.communicate()
        process.communicate()
    assert whole_steps(home) == whole_steps(other) == set(range(6))
    assert not list(stage.iterdir())


def test_a_second_run_of_the_prefix_is_refused(home: Path, stage: Path) -> None:
    process = start_resumed(home, stage)
    try:
        wait_until(lambda: (home / "run.staged").exists())
        assert write(home, stage, if_exists="replace").returncode != 0
        assert (home / "run.staged").exists()
    finally:
        process.kill()
        process.communicate()


def test_a_series_that_was_moved_comes_home_where_it_is(home: Path, stage: Path, tmp_path: Path) -> None:
    leave_on_stage(home, stage)
    moved = tmp_path / "moved"
    home.rename(moved)
    gathered = run_python(GATHER, moved, str(moved))
    assert gathered.returncode == 0, gathered.stderr
    assert whole_steps(moved) == set(range(4)), gathered.stderr
    assert not list(stage.iterdir())
    assert not (moved / "run.staged").exists()


@pytest.mark.parametrize("damage", ["short", "empty", "other"])
def test_a_step_that_was_damaged_on_the_stage_is_named_and_kept(home: Path, stage: Path, damage: str) -> None:
    leave_on_stage(home, stage)
    damaged = next(stage.glob("*.stage/run_000002.nc"))
    size = damaged.stat().st_size
    damaged.write_bytes({"short": damaged.read_bytes()[: size // 2], "empty": b"", "other": b"x" * size}[damage])
    gathered = run_python(GATHER, home, str(home / "run"))
    assert gathered.returncode == 0, gathered.stderr
    assert "step 2 did not come from the stage" in gathered.stderr
    assert whole_steps(home) == {0, 1, 3}
    assert damaged.exists()


def test_a_stage_of_another_node_is_one_error_and_nothing_changes(home: Path, stage: Path) -> None:
    leave_on_stage(home, stage)
    hidden = stage.with_name("elsewhere")
    stage.rename(hidden)
    for text in (write(home, hidden, if_exists="resume"), run_python(GATHER, home, str(home / "run"))):
        assert text.returncode != 0
        assert f"of node {socket.gethostname()}, which is not to be seen on node" in text.stderr
    assert (home / "run.staged").exists()
    hidden.rename(stage)
    assert run_python(GATHER, home, str(home / "run")).returncode == 0
    assert whole_steps(home) == set(range(4))


def test_replace_discards_what_is_on_the_stage(home: Path, stage: Path) -> None:
    leave_on_stage(home, stage)
    finished = write(home, stage, 2, if_exists="replace")
    assert finished.returncode == 0, finished.stderr
    assert whole_steps(home) == {0, 1}
    assert not list(stage.iterdir())


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"HAKOBI_STAGE": "/nowhere"}, "stage /nowhere: there is no such folder"),
        ({"HAKOBI_STAGE_RATE": "fast"}, "hakobi_stage_rate (HAKOBI_STAGE_RATE): 'fast' is not a number"),
    ],
)
def test_bad_settings_are_one_error(home: Path, stage: Path, settings: dict[str, str], line: str) -> None:
    values = {"HAKOBI_STAGE": str(stage)} | settings
    finished = run_python(WRITER, home, str(home / "run"), "1", "0", "fail", **values)
    assert finished.returncode != 0
    assert line in finished.stderr
    assert not list(home.glob("run*"))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"stage": "/a", "hints": {"hakobi_stage": "/b"}}, "option stage.folder and the hint hakobi_stage are given"),
        ({"stage_bytes": 5, "hints": {"hakobi_stage_bytes": "6"}}, "option stage.bytes is 5, and the hint"),
        (
            {"stage_patience_s": 0, "hints": {"hakobi_stage_patience": "6"}},
            "option stage.patience_s is 0, and the hint",
        ),
        ({"stage_bytes_s": -1}, "option stage.bytes_s is -1"),
        ({"stage": "/nowhere"}, "stage /nowhere: there is no such folder"),
        ({"stage": "a\0"}, "stage 'a\\x00' has a NUL character"),
    ],
)
def test_options_that_contradict_hints_are_an_error(home: Path, options: dict[str, object], line: str) -> None:
    done = run_python(ASKED, home, str(home / "run"), "", repr(options))
    assert done.returncode != 0
    assert line in done.stderr, done.stderr
    assert not list(home.glob("run*"))


def test_methods_without_a_file_of_the_step_are_refused(home: Path, stage: Path) -> None:
    finished = run_python(WRITER, home, str(home / "run"), "1", "0", "fail", "per-process", HAKOBI_STAGE=str(stage))
    assert "the method per-process writes no step's file" in finished.stderr


def test_a_damaged_marker_is_one_error(home: Path, stage: Path) -> None:
    (home / "run.staged").write_text("hakobi stage\nnode x\nfolder /etc\n")
    finished = write(home, stage, if_exists="resume")
    assert finished.returncode != 0
    assert "run.staged does not say where its steps are staged" in finished.stderr


MESH_WRITER = """
import os, sys, time
import numpy as np
import hakobi
prefix, num_steps, if_exists = sys.argv[1], int(sys.argv[2]), sys.argv[3]
comm = hakobi.Comm.duplicate()
out = hakobi.Output.create(comm, prefix, format="vtkhdf", if_exists=if_exists)
first = 4 if if_exists == "resume" else 0
points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
for step in range(first, num_steps):
    out.begin_step(step)
    if step == first:
        out.put_mesh(points, np.arange(4), np.array([0, 4]), np.array([10], np.uint8))
    out.put("p", "Pa", None, np.full(4, step + 0.5), on="points")
    out.end_step()
    print(step, flush=True)
if if_exists == "fail":
    time.sleep(120)
out.close()
"""
READ_MESH_STEPS = """
import sys, hakobi
series = hakobi.Input.open(sys.argv[1])
for step in series.steps:
    assert (series.read("p", step=step) == step + 0.5).all(), step
    assert series.mesh(step).num_points == 4
print(list(series.steps))
"""


def leave_mesh_steps_on_stage(home: Path, stage: Path) -> None:
    """A run that was killed when its mesh had arrived, and none of its steps."""
    process = subprocess.Popen(
        [sys.executable, "-c", MESH_WRITER, str(home / "run"), "4", "fail"],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=launch.environment(
            FLAVOUR, {"HAKOBI_STAGE": str(stage), "HAKOBI_STAGE_RATE": "1", "HAKOBI_ASYNCHRONOUS": "0"}
        ),
        cwd=home,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(4)] == [f"{step}\n" for step in range(4)]
    wait_until(lambda: (home / "run_000000.hdf.mesh").exists())
    process.kill()
    process.communicate()
    assert not list(home.glob("run_??????.hdf"))
    assert len(list(stage.glob("*/run_??????.hdf"))) == 4


@pytest.mark.parametrize("opener", ["read", "gather", "resume"])
def test_steps_whose_mesh_has_gone_before_them_come_home(home: Path, stage: Path, opener: str) -> None:
    leave_mesh_steps_on_stage(home, stage)
    if opener == "gather":
        assert run_python(GATHER, home, str(home / "run")).returncode == 0
    if opener == "resume":
        resumed = run_python(MESH_WRITER, home, str(home / "run"), "6", "resume", HAKOBI_STAGE=str(stage))
        assert resumed.returncode == 0, resumed.stderr
    read = run_python(READ_MESH_STEPS, home, str(home / "run"))
    assert read.returncode == 0, read.stderr
    assert read.stdout.strip() == str(list(range(6 if opener == "resume" else 4)))
    assert not list(stage.iterdir())


def test_steps_whose_mesh_is_gone_are_named_and_kept(home: Path, stage: Path) -> None:
    leave_mesh_steps_on_stage(home, stage)
    (home / "run_000000.hdf.mesh").unlink()
    gathered = run_python(GATHER, home, str(home / "run"))
    assert gathered.returncode == 0, gathered.stderr
    for step in range(4):
        assert f"step {step} did not come from the stage" in gathered.stderr
    assert f"needs {home}/run_000000.hdf.mesh, which is not there" in gathered.stderr
    assert len(list(stage.glob("*/run_??????.hdf"))) == 4


def marker_of_nothing(home: Path, stage: Path, has_folder: bool) -> None:
    """The state of a run that was killed between its marker and its first step, or behind its last one."""
    folder = stage / "run.0123456789abcdef.stage"
    if has_folder:
        folder.mkdir()
        (folder / "run.lock").write_text("hakobi lock: pid 1 on nowhere\n")
    text = f"hakobi stage\nnode elsewhere\nfolder {folder}\nnothing is there\n"
    (home / "run.staged").write_text(text)
    (home / "run.staged.0123456789abcdef.part").write_text(text[:20])


@pytest.mark.parametrize("if_exists", ["fail", "resume", "replace"])
@pytest.mark.parametrize("has_folder", [False, True])
def test_a_stage_without_a_step_is_removed(home: Path, stage: Path, if_exists: str, has_folder: bool) -> None:
    marker_of_nothing(home, stage, has_folder)
    finished = write(home, stage, 2, if_exists=if_exists)
    assert finished.returncode == 0, finished.stderr
    assert "something is left" not in finished.stderr
    assert whole_steps(home) == {0, 1}
    assert not list(stage.iterdir())
    assert not list(home.glob("run.staged*"))


def test_a_series_that_is_whole_is_gathered_at_once(home: Path, stage: Path) -> None:
    assert write(home, stage, 2).returncode == 0
    for path in (home / "run", home):
        gathered = run_python(GATHER, home, str(path))
        assert gathered.returncode == 0, gathered.stderr
        assert gathered.stderr.strip().endswith("[]")
