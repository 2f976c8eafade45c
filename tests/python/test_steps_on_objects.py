"""Steps that go to S3 and RADOS over a stage: Zarr groups and files, the same bytes as in a folder, whatever ends.

HAKOBI_STAGE_KILLS=200 kills so many runs at random moments, on each place; without it the suite kills a few.
HAKOBI_STOP_S is how long the server stands still.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import obstore
import pytest
import xarray
from obstore.exceptions import PreconditionError
from obstore.store import S3Store
from zarr.storage import ObjectStore

import zarr
from hakobi import launch, programs
from hakobi.programs import Program
from hakobi_lab import object_servers
from hakobi_lab.object_servers import S3Server
from hakobi_lab.unreliable_line import unreliable_line
from running import Result, run_python

pytestmark = [pytest.mark.programs, pytest.mark.once]

FLAVOUR = programs.flavour()
NUM_KILLS = int(os.environ.get("HAKOBI_STAGE_KILLS", "3"))
SEED = int(os.environ.get("HAKOBI_SEED", "0"))
STOP_S = float(os.environ.get("HAKOBI_STOP_S", "2"))
SHAPE = (96, 160)

WRITER = """
import os, sys, time
import numpy as np
import hakobi
prefix, told, num_steps, pause_s, if_exists, format, ny = sys.argv[1:8]
num_steps, pause_s = int(num_steps), float(pause_s)
comm = hakobi.Comm.duplicate()
shape = (int(ny), 160)
axes = [hakobi.Axis("lat", "degrees_north", np.linspace(-10, 10, shape[0]), "latitude"),
        hakobi.Axis("lon", "", [])]
more = dict(word.split("=") for word in sys.argv[8:] if "=" in word)
if more.get("steps_per_file", "all") != "all":
    more["steps_per_file"] = int(more["steps_per_file"])
out = hakobi.Output.create(comm, prefix, if_exists=if_exists, format=format, axes=axes, **more)
raw = out.define("raw", "1", shape, "float32")
block = hakobi.split(shape, comm.size, comm.rank)
first = int(open(told + ".next").read()) if if_exists == "resume" else 0
for step in range(first, num_steps):
    out.begin_step(10.0 * step)
    values = np.arange(shape[0] * 160).reshape(shape)[block.slices] + step + 0.5
    out.put("eta", "m", block, values, compression="zstd" if format == "zarr" else "none")
    out.put(raw, block, values.astype(np.float32))
    if step == first:
        out.put("mask", "1", block, (values - step > 100).astype(np.int8), is_static=True)
    out.end_step()
    if comm.rank == 0:
        with open(told, "a") as file:
            print(step, file=file)
    if "die" in sys.argv[8:] and step == num_steps - 1:
        os.kill(os.getpid(), 9)
    time.sleep(pause_s)
if "wait" in sys.argv[8:]:
    time.sleep(120)
out.close()
comm.free()
"""

READ = """
import sys
import numpy as np
import hakobi
with hakobi.Input.open(sys.argv[1]) as steps:
    for step in steps.steps:
        eta = np.arange(96 * 160).reshape(96, 160) + step + 0.5
        assert np.array_equal(steps.read("eta", step=step), eta), step
        assert np.array_equal(steps.read_independent("raw", step=step), eta.astype(np.float32)), step
        print(step)
"""
GATHER = "import sys, hakobi; print(hakobi.gather_pieces(sys.argv[1]).incomplete, file=sys.stderr)"


def eta(step: int) -> np.ndarray:
    return np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) + step + 0.5


@dataclass
class Place:
    """Where steps go, the stage in front, and what the run tells of them."""

    kind: str
    prefix: str
    folder: Path  # of the test: the stage, what is told
    environment: dict[str, str] = field(default_factory=dict)
    s3: S3Server | None = None

    def __post_init__(self) -> None:
        self.stage.mkdir()

    @property
    def stage(self) -> Path:
        return self.folder / "stage"

    @property
    def told(self) -> Path:
        return self.folder / "told"

    def arguments(self, num_steps: int, pause_s: float, if_exists: str, kind: str = "zarr", ny: int = 96) -> list[str]:
        return [self.prefix, str(self.told), str(num_steps), str(pause_s), if_exists, kind, str(ny)]

    def settings(self, **more: str) -> dict[str, str]:
        stage = {} if self.kind == "plain" else {"HAKOBI_STAGE": str(self.stage)}
        return self.environment | stage | more

    def write(
        self, num_steps: int, if_exists: str = "fail", kind: str = "zarr", ny: int = 96, *words: str, **more: str
    ) -> subprocess.CompletedProcess[str]:
        arguments = [*self.arguments(num_steps, 0, if_exists, kind, ny), *words]
        return run_python(WRITER, self.folder, *arguments, **self.settings(**more))

    def start(
        self, num_steps: int, pause_s: float = 0, *words: str, if_exists: str = "fail", **more: str
    ) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WRITER, *self.arguments(num_steps, pause_s, if_exists), *words]
        everything = launch.environment(FLAVOUR, self.settings(**more))
        return subprocess.Popen(command, text=True, stderr=subprocess.PIPE, env=everything, cwd=self.folder)

    def accepted(self) -> set[int]:
        return {int(line) for line in self.told.read_text().split()} if self.told.exists() else set()

    def run(self, text: str) -> subprocess.CompletedProcess[str]:
        return run_python(text, self.folder, self.prefix, **self.environment)

    def read(self) -> set[int]:
        """The steps, all whole, as Input finds them; it brings home what is on the stage."""
        found = self.run(READ)
        assert found.returncode == 0 or "no whole step" in found.stderr, found.stderr
        return {int(line) for line in found.stdout.split()}

    def store(self) -> S3Store:
        assert self.s3 is not None
        bucket, _, key = self.prefix.removeprefix("s3://").partition("/")
        return S3Store(
            bucket,
            prefix=key + ".zarr",
            endpoint=self.environment["AWS_ENDPOINT_URL_S3"],
            access_key_id=self.s3.access_key,
            secret_access_key=self.s3.secret_key,
            region="us-east-1",
            client_options={"allow_http": True},
        )

    def group(self) -> zarr.Group | None:
        """As zarr-python sees it now; nothing is brought home."""
        try:
            if self.kind == "s3":
                return zarr.open_group(ObjectStore(self.store(), read_only=True), mode="r")
            return zarr.open_group(f"{self.prefix}.zarr", mode="r")
        except FileNotFoundError:
            return None

    def shown(self) -> int:
        """How many steps the group shows, each of which must be whole."""
        group = self.group()
        if group is None:
            return 0
        num = int(group["time"].shape[0])
        for step in range(num):
            assert group["time"][step] == 10.0 * step
            assert np.array_equal(group["eta"][step], eta(step)), f"step {step} is torn"
            assert np.array_equal(group["raw"][step], eta(step).astype(np.float32)), f"step {step} is torn"
        return num

    def contents(self) -> dict[str, bytes]:
        """All files or objects of the group."""
        if self.kind == "s3":
            store = self.store()
            names = [meta["path"] for page in obstore.list(store) for meta in page]
            return {name: bytes(obstore.get(store, name).bytes()) for name in names}
        if self.kind == "rados":
            root = self.prefix.partition("/")[2] + ".zarr/"
            command = ["rados", "-c", self.environment["CEPH_CONF"], "-p", object_servers.POOL]
            listed = subprocess.run([*command, "ls"], capture_output=True, text=True, check=True).stdout.split()
            names = [name.removeprefix(root) for name in listed if name.startswith(root)]
            into = self.folder / "object"
            for name in names:
                (into / name).parent.mkdir(parents=True, exist_ok=True)
                subprocess.run([*command, "get", root + name, str(into / name)], check=True)
            return {name: (into / name).read_bytes() for name in names}
        root_folder = Path(f"{self.prefix}.zarr")
        return {
            str(path.relative_to(root_folder)): path.read_bytes() for path in root_folder.rglob("*") if path.is_file()
        }


def wait_until(is_so: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Nobody may have ended the process before."""
    end = time.monotonic() + 120
    while not is_so():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def place_on(kind: str, request: pytest.FixtureRequest, folder: Path) -> Place:
    if kind == "s3":
        server = request.getfixturevalue("s3")
        prefix = f"s3://{object_servers.BUCKET}/{folder.name}/run"
        return Place(kind, prefix, folder, server.environment, server)
    if kind == "rados":
        return Place(kind, f"rados:{object_servers.POOL}/{folder.name}/run", folder, request.getfixturevalue("ceph"))
    return Place(kind, str(folder / "run"), folder)


@pytest.fixture(params=["s3", "rados"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_on(request.param, request, tmp_path)


@pytest.fixture
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_on("s3", request, tmp_path)


@pytest.fixture(params=["folder", "s3", "rados"])
def any_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_on(request.param, request, tmp_path)


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_group_has_the_same_bytes_as_in_a_folder(
    any_place: Place, mpi4py_environment: dict[str, str], ranks: int
) -> None:
    (any_place.folder / "writer.py").write_text(WRITER)
    (any_place.folder / "plain").mkdir()
    plain = Place("plain", str(any_place.folder / "plain" / "run"), any_place.folder / "plain")
    for where in (any_place, plain):
        arguments = [str(any_place.folder / "writer.py"), *where.arguments(3, 0, "fail")]
        environment = mpi4py_environment | where.settings()
        program = Program(Path(sys.executable), FLAVOUR)
        finished = launch.run(program, arguments, ranks, timeout_s=120, extra_environment=environment)
        assert finished.status == 0, finished.stderr
    assert any_place.contents() == plain.contents()
    assert any_place.read() == {0, 1, 2}
    assert not list(any_place.stage.iterdir())


def test_the_stage_may_be_an_option(any_place: Place) -> None:
    """As HAKOBI_STAGE says it, for a run that resumes, too; who opens the steps after a kill needs neither."""
    option = f"stage={any_place.stage}"
    wrote = any_place.write(2, "fail", "zarr", 96, option, HAKOBI_STAGE="")
    assert wrote.returncode == 0, wrote.stderr
    assert not list(any_place.stage.iterdir())
    Path(f"{any_place.told}.next").write_text("2")
    slow = {"HAKOBI_STAGE": "", "HAKOBI_STAGE_RATE": "1", "HAKOBI_ASYNCHRONOUS": "0"}
    process = any_place.start(4, 0, "wait", option, if_exists="resume", **slow)
    wait_until(lambda: len(any_place.accepted()) == 4, process)
    assert any_place.kind == "rados" or any_place.shown() == 2
    process.kill()
    process.communicate()
    assert any_place.read() == set(range(4))
    assert not list(any_place.stage.iterdir())


@pytest.mark.parametrize(
    ("method", "kind", "why"),
    [
        ("parallel", "netcdf4", "is no folder of a file system, and MPI-IO knows no such files"),
        ("per-process", "netcdf4", "is no folder of a file system, and pieces need folders"),
        ("root", "zarr", "steps of the format zarr are put there whole, over a stage: set the option stage"),
    ],
)
def test_what_ceph_does_not_take_is_refused(
    request: pytest.FixtureRequest, tmp_path: Path, method: str, kind: str, why: str
) -> None:
    place = place_on("rados", request, tmp_path)
    refused = place.write(1, "fail", kind, 96, f"method={method}", HAKOBI_STAGE="")
    assert refused.returncode != 0
    assert why in refused.stderr.splitlines()[-1], refused.stderr
    assert not place.accepted()
    assert place.read() == set()


def test_xarray_opens_the_group_in_the_bucket(bucket: Place) -> None:
    assert bucket.write(3).returncode == 0
    with xarray.open_zarr(ObjectStore(bucket.store(), read_only=True), consolidated=True) as data:
        assert data.eta.dims == ("time", "lat", "lon")
        assert np.array_equal(data.eta, [eta(step) for step in range(3)])
        assert np.array_equal(data.mask, eta(0) > 100)
        assert np.array_equal(data.time, [0, 10, 20])


def test_a_run_goes_on_after_the_last_step(place: Place) -> None:
    assert place.write(3).returncode == 0
    refused = place.write(3)
    assert refused.returncode != 0
    assert "holds files of 3 steps (run_000000.zarr to run_000002.zarr) already" in refused.stderr
    Path(f"{place.told}.next").write_text("3")
    resumed = place.write(5, "resume")
    assert resumed.returncode == 0, resumed.stderr
    assert place.read() == set(range(5))
    replaced = place.write(2, "replace")
    assert replaced.returncode == 0, replaced.stderr
    assert place.read() == {0, 1}
    assert sorted(name for name in place.contents() if name.startswith("eta/c")) == ["eta/c.0.0.0", "eta/c.1.0.0"]


def test_the_fields_of_a_series_stay_as_they_are(place: Place) -> None:
    assert place.write(2).returncode == 0
    Path(f"{place.told}.next").write_text("2")
    other = place.write(4, "resume", ny=90)
    assert other.returncode != 0
    assert "field eta has 90 x 160 points, not 96 x 160" in other.stderr
    assert place.read() == {0, 1}


def test_a_field_larger_than_an_object_may_be_is_refused(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = place_on("rados", request, tmp_path)
    wrote = place.write(1, ny=110_000)
    assert wrote.returncode != 0
    assert "field raw has 71 MB, and an object of rados:hakobi has at most 68 MB" in wrote.stderr
    assert not place.accepted()


@pytest.mark.parametrize("ny", [96, 20_000])  # the second goes in parts
def test_a_file_of_a_step_is_one_object(bucket: Place, ny: int) -> None:
    (bucket.folder / "plain").mkdir()
    plain = Place("plain", str(bucket.folder / "plain" / "run"), bucket.folder / "plain")
    for where in (bucket, plain):
        wrote = where.write(2, kind="netcdf4", ny=ny)
        assert wrote.returncode == 0, wrote.stderr
    assert bucket.s3 is not None
    for step in (0, 1):
        name = f"run_{step:06d}.nc"
        stored = bucket.s3.folder / "data" / object_servers.BUCKET / bucket.folder.name / name
        assert stored.read_bytes() == (bucket.folder / "plain" / name).read_bytes()
    assert not list(bucket.stage.iterdir())
    Path(f"{bucket.told}.next").write_text("2")
    resumed = bucket.write(3, "resume", kind="netcdf4", ny=ny)
    assert resumed.returncode == 0, resumed.stderr
    listed = [path.name for path in stored.parent.iterdir()]
    assert sorted(listed) == [f"run_{step:06d}.nc" for step in range(3)]


@pytest.mark.parametrize("seed", range(NUM_KILLS))
def test_a_killed_run_loses_nothing_that_it_accepted(any_place: Place, seed: int) -> None:
    place = any_place
    draw = random.Random(SEED * 1000 + seed)
    settings = {"HAKOBI_ASYNCHRONOUS": draw.choice("01"), "HAKOBI_STAGE_RATE": draw.choice(["0", "2M", "500k"])}
    process = place.start(20, draw.choice([0, 0.02]), **settings)
    wait_until(lambda: place.accepted() or process.poll() is not None, process)
    time.sleep(draw.uniform(0, 0.6))
    process.send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM]))
    _, told = process.communicate()
    accepted = place.accepted()
    if place.kind != "rados":
        place.shown()
    opener = draw.choice(["gather", "resume", "read"])
    if opener == "resume":
        Path(f"{place.told}.next").write_text(str(len(place.read())))
        resumed = place.write(20, "resume")
        assert resumed.returncode == 0, resumed.stderr
        assert place.read() == set(range(20))
        return
    opened = place.run(GATHER).stderr if opener == "gather" else ""
    found = place.run(READ)
    opened += found.stderr
    assert found.returncode == 0 or "no whole step" in opened, opened
    steps = {int(line) for line in found.stdout.split()}
    assert steps == set(range(len(steps)))
    # A hidden step is whole when its values are stored, and named where they were not.
    missing = accepted - steps
    named = {step for step in missing if f"step {step} was not stored whole" in opened + told}
    assert missing == named, (opener, opened, told)
    assert settings["HAKOBI_ASYNCHRONOUS"] == "1" or not missing


@pytest.mark.parametrize("steps_per_file", ["1", "2", "all"])
def test_hidden_steps_of_a_killed_run_without_a_stage_are_named(
    request: pytest.FixtureRequest, tmp_path: Path, steps_per_file: str
) -> None:
    """The last one is still on its way when the run is killed."""
    place = place_on("rados", request, tmp_path)
    ny, option, alone = 20_000, f"steps_per_file={steps_per_file}", {"HAKOBI_STAGE": "", "HAKOBI_ASYNCHRONOUS": "1"}
    killed = place.write(4, "fail", "netcdf4", ny, option, "die", **alone)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert place.accepted() == set(range(4))
    Path(f"{place.told}.next").write_text("4")
    opened = place.write(4, "resume", "netcdf4", ny, option, **alone)
    assert opened.returncode == 0, opened.stderr
    shown = place.run("import sys, hakobi; print(*hakobi.Input.open(sys.argv[1]).steps)")
    steps = {int(word) for word in shown.stdout.split()}
    assert shown.returncode == 0 or "no whole step" in shown.stderr, shown.stderr
    assert 3 not in steps
    assert {int(step) for step in re.findall(r"step (\d+) was not stored whole", opened.stderr)} == set(
        range(4)
    ) - steps


@pytest.mark.parametrize("opener", ["fail", "resume", "replace", "read", "gather"])
def test_a_marker_whose_answer_was_lost_keeps_nobody_out(bucket: Place, opener: str) -> None:
    assert bucket.s3 is not None
    seen = []

    def fault(_number: int, method: str, path: str) -> str:
        if method == "PUT" and "run.staged" in path:
            seen.append(path)
        return "lost" if seen else ""

    with unreliable_line(bucket.s3.port, fault) as line:
        address = f"http://127.0.0.1:{line.server_port}"
        refused = bucket.write(2, AWS_ENDPOINT_URL_S3=address, HAKOBI_OBJECT_PATIENCE_S="1.5")
    assert refused.returncode != 0
    assert seen
    if opener == "gather":
        gathered = bucket.run(GATHER)
        assert gathered.returncode == 0, gathered.stderr
    if opener == "read":
        assert "are on the stage" not in bucket.run(READ).stderr
    Path(f"{bucket.told}.next").write_text("0")
    wrote = bucket.write(2, opener if opener in ("resume", "replace") else "fail")
    assert wrote.returncode == 0, wrote.stderr
    assert bucket.read() == {0, 1}
    assert not list(bucket.stage.iterdir())


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "server").mkdir()
    try:
        with object_servers.s3(tmp_path / "server") as server:
            yield Place("s3", f"s3://{object_servers.BUCKET}/run", tmp_path, server.environment, server)
    except object_servers.UnavailableError as error:
        pytest.skip(str(error))


def test_a_run_goes_on_while_the_server_stands_still(own_server: Place) -> None:
    place = own_server
    assert place.s3 is not None
    assert place.s3.process is not None
    process = place.start(30, 0.05, HAKOBI_ASYNCHRONOUS="0")
    wait_until(place.shown, process)
    place.s3.process.send_signal(signal.SIGSTOP)
    try:
        from_step = len(place.accepted())
        assert from_step < 25
        wait_until(lambda: len(place.accepted()) == 30, process)
        waiting = list(place.stage.glob("*.stage/run_??????.zarr"))
        assert len(waiting) >= 30 - from_step - 1
        time.sleep(STOP_S)
        assert process.poll() is None
    finally:
        place.s3.process.send_signal(signal.SIGCONT)
    _, told = process.communicate(timeout=240)
    assert process.returncode == 0, told
    assert place.shown() == 30
    assert not list(place.stage.iterdir())


def test_a_group_that_another_program_has_changed_is_left_to_it(bucket: Place) -> None:
    process = bucket.start(60, 0.05, HAKOBI_ASYNCHRONOUS="0")
    wait_until(bucket.shown, process)
    store = bucket.store()
    while True:  # until the run's own put does not come between
        there = obstore.get(store, "zarr.json")
        document, version = bytes(there.bytes()), there.meta["e_tag"]
        try:
            obstore.put(store, "zarr.json", document + b"\n", mode={"e_tag": version}, use_multipart=False)
            break
        except PreconditionError:
            assert process.poll() is None
    num = bucket.shown()
    _, told = process.communicate(timeout=120)
    assert process.returncode != 0
    # Its text says whether that was before the run looked, or between its look and its put.
    assert re.search(
        r"zarr\.json is not what (this run made it|it was): another program has replaced or removed it", told
    )
    assert bucket.shown() == num
    accepted = bucket.accepted()
    gathered = bucket.run(GATHER)
    assert gathered.returncode == 0, gathered.stderr
    assert accepted <= bucket.read()
    assert not list(bucket.stage.iterdir())


def test_a_second_run_is_kept_out(place: Place) -> None:
    process = place.start(3, 0, "wait", HAKOBI_STAGE_RATE="1")
    try:
        wait_until(lambda: len(place.accepted()) == 3, process)
        for if_exists in ("fail", "resume", "replace"):
            second = place.write(3, if_exists)
            assert second.returncode != 0
            assert "in use by pid" in second.stderr, second.stderr
    finally:
        process.kill()
        process.communicate()
    assert place.read() == {0, 1, 2}


def test_what_is_on_the_stage_is_listed_and_not_shown(hakobi: Callable[..., Result], bucket: Place) -> None:
    assert bucket.write(2).returncode == 0
    Path(f"{bucket.told}.next").write_text("2")
    settings = {"HAKOBI_STAGE_RATE": "1", "HAKOBI_ASYNCHRONOUS": "0"}
    process = bucket.start(5, 0, "wait", if_exists="resume", **settings)
    try:
        wait_until(lambda: len(bucket.accepted()) == 5, process)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in bucket.environment.items():
                patch.setenv(name, value)
            listed = hakobi("ls", bucket.prefix)
        assert "steps 2 to 4 have not arrived: they are on the stage" in listed.stdout, listed
        assert "2 steps, Zarr" in listed.stdout
        assert bucket.shown() == 2
        assert "eta" in listed.stdout
    finally:
        process.kill()
        process.communicate()
    assert bucket.read() == set(range(5))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in bucket.environment.items():
            patch.setenv(name, value)
        listed = hakobi("ls", f"{bucket.prefix}.zarr")
    assert "5 steps, Zarr" in listed.stdout
    assert "have not arrived" not in listed.stdout


def test_a_stage_of_another_node_is_one_error(hakobi: Callable[..., Result], place: Place) -> None:
    process = place.start(3, 0, "wait", HAKOBI_STAGE_RATE="1", HAKOBI_ASYNCHRONOUS="0")
    wait_until(lambda: len(place.accepted()) == 3, process)
    process.kill()
    process.communicate()
    hidden = place.stage.with_name("elsewhere")
    place.stage.rename(hidden)
    place.stage.mkdir()
    refused = place.write(5, "resume")
    assert refused.returncode != 0
    assert "which is not to be seen on node" in refused.stderr
    place.stage.rmdir()
    hidden.rename(place.stage)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in place.environment.items():
            patch.setenv(name, value)
        assert hakobi("gather", place.prefix).status == 0
    assert place.read() == {0, 1, 2}
    assert not list(place.stage.iterdir())


@pytest.mark.parametrize(
    ("prefix", "settings", "line"),
    [
        ("", {"AWS_SECRET_ACCESS_KEY": "wrong"}, "wrong credentials"),
        ("s3://hakobi-no-such-bucket/run", {}, "there is no bucket 'hakobi-no-such-bucket'"),
        ("", {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9", "HAKOBI_OBJECT_PATIENCE_S": "1"}, "127.0.0.1"),
        ("", {"HAKOBI_STAGE": ""}, "over a stage: set the option stage, or HAKOBI_STAGE, to a folder"),
        ("", {"HAKOBI_STAGE": "/nowhere"}, "stage /nowhere: there is no such folder"),
    ],
)
def test_bad_settings_are_one_error(bucket: Place, prefix: str, settings: dict[str, str], line: str) -> None:
    bucket.prefix = prefix or bucket.prefix
    wrote = bucket.write(1, **settings)
    assert wrote.returncode != 0
    assert line in wrote.stderr.splitlines()[-1], wrote.stderr
    assert not list(bucket.stage.iterdir())
    assert not prefix or not bucket.accepted()


def test_a_shard_that_was_cut_on_the_stage_is_named_and_kept(place: Place) -> None:
    process = place.start(4, 0, "wait", HAKOBI_STAGE_RATE="1", HAKOBI_ASYNCHRONOUS="0")
    wait_until(lambda: len(place.accepted()) == 4, process)
    process.kill()
    process.communicate()
    (damaged,) = place.stage.glob("*.stage/run_000003.zarr/0")
    damaged.write_bytes(damaged.read_bytes()[:100])
    gathered = place.run(GATHER)
    assert gathered.returncode == 0, gathered.stderr
    assert "step 3 did not come from the stage" in gathered.stderr
    assert place.read() == {0, 1, 2}
    assert damaged.exists()
    shutil.rmtree(place.stage)
