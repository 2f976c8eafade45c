"""A field store on real servers: the contract of a folder's, kills, and what Python and the command do with it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hakobi import programs
from hakobi_lab import object_servers
from hakobi_lab.testbed.bed import UnavailableError

pytestmark = [pytest.mark.programs, pytest.mark.once]

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "build" / programs.flavour() / "tests"
if not (TESTS / "store_recover_test").is_file():
    pytest.skip("the store's tests are not built", allow_module_level=True)


@pytest.fixture(scope="module", params=["s3", "rados"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yields the variables that a client's environment needs, and the root of its stores as STORES."""
    folder = tmp_path_factory.mktemp(request.param)
    try:
        if request.param == "s3":
            with object_servers.s3(folder) as started:
                yield started.environment | {"STORES": started.environment["HAKOBI_TEST_S3"], "FOLDER": str(folder)}
        else:
            with object_servers.ceph(folder) as environment:
                yield environment | {"STORES": environment["HAKOBI_TEST_RADOS"], "FOLDER": str(folder)}
    except UnavailableError as missing:
        pytest.skip(str(missing))


def run_test(server: dict[str, str], folder: Path, program: str, names: str, **settings: str) -> None:
    kind = server["STORES"].partition(":")[0]
    done = subprocess.run(
        [TESTS / program, f"--gtest_filter={names.format(kind=kind)}"],
        env=os.environ | server | settings,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert f"/{kind}" in done.stdout


def test_keeps_the_contract_of_a_folder(server: dict[str, str], tmp_path: Path) -> None:
    # Without those that fork, which librados does not outlive, and the one that needs a device.
    run_test(server, tmp_path, "store_test", "*/{kind}:-*Ensemble*:*IsClosed*:*OfADevice*")


def test_loses_and_tears_nothing_at_20_kills(server: dict[str, str], tmp_path: Path) -> None:
    run_test(server, tmp_path, "store_recover_test", "*/{kind}", HAKOBI_STORE_KILLS="20")


def test_maintenance_beside_writers_loses_nothing(server: dict[str, str], tmp_path: Path) -> None:
    run_test(server, tmp_path, "store_rounds_test", "*/{kind}", HAKOBI_STORE_ROUNDS="4")


PROGRAM = """
import pickle, sys
import numpy, xarray, hakobi
path = sys.argv[1]
store = hakobi.open_store(path, "flow")
for step in range(3):
    store.archive({"case": "a", "run": 1, "variable": "u", "step": step, "block": 0}, numpy.full((2, 3), float(step)))
store.flush()
store.close()
again = pickle.loads(pickle.dumps(hakobi.open_store(path)))
assert len(again.list("step=1")) == 1
field = again.sel(variable="u", step=2)
assert field.values.ravel().tolist() == [2.0] * 6, field
assert xarray.open_dataset(path, engine="hakobi")["u"].sizes["step"] == 3
print(again.list()[0].path)
"""


def test_opens_from_python_and_xarray_and_is_listed_by_the_command(server: dict[str, str], tmp_path: Path) -> None:
    path = server["STORES"] + "/python"
    environment = os.environ | server
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(path + "/data/")
    command = [sys.executable, "-m", "hakobi", "store"]
    listed = subprocess.run(
        [*command, "list", path, "step=1"], env=environment, capture_output=True, text=True, check=True
    )
    assert listed.stdout == "case=a,run=1,variable=u,step=1,block=0\n"
    moved = subprocess.run(
        [*command, "move", path, str(tmp_path / "folder")], env=environment, capture_output=True, text=True, check=False
    )
    assert moved.returncode == 0, moved.stderr
    gone = subprocess.run([*command, "list", path], env=environment, capture_output=True, text=True, check=False)
    assert gone.returncode == 2
    assert f"no field store at {path}" in gone.stderr


WRITER = """
import sys, threading, hakobi
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
store = hakobi.open_store(sys.argv[1], "flow")
step = 0
while not ended.is_set():
    for _ in range(5):
        key = {"case": "a", "run": 1, "variable": "u", "step": step, "block": 0}
        store.archive(key, step.to_bytes(8, "little") * 5000)
        step += 1
    store.flush()
    print(step, flush=True)
store.close()
"""
READER = """
import sys, threading, hakobi
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
store = hakobi.open_store(sys.argv[1])
least = 0
while not ended.is_set():
    fields = store.list()
    assert len(fields) >= least and len(fields) % 5 == 0, (len(fields), least)
    least = len(fields)
    for index in range(0, len(fields), max(1, len(fields) // 20)):
        expected = int(fields[index].keys["step"]).to_bytes(8, "little") * 5000
        assert bytes(fields.read(index)) == expected, fields[index]
    print(least, flush=True)
"""


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_server_that_stands_still_for_half_a_minute_is_waited_for(server: dict[str, str], tmp_path: Path) -> None:
    path = server["STORES"] + "/still"
    running: list[subprocess.Popen[str]] = []

    def start(program: str) -> Path:
        told = tmp_path / str(len(running))
        with told.open("w") as out, told.with_suffix(".errors").open("w") as errors:
            words = [sys.executable, "-c", program, path]
            process = subprocess.Popen(
                words, env=os.environ | server, stdin=subprocess.PIPE, stdout=out, stderr=errors, text=True
            )
        running.append(process)
        return told

    def count(told: Path) -> int:
        lines = told.read_text().split()
        return int(lines[-1]) if lines else 0

    def goes_on(told: Path) -> None:
        before, begin = len(told.read_text()), time.monotonic()
        while len(told.read_text()) == before:
            errors = told.with_suffix(".errors").read_text()
            assert all(process.poll() is None for process in running), errors
            assert time.monotonic() - begin < 100, errors
            time.sleep(0.05)

    try:
        files = [start(WRITER)]
        goes_on(files[0])
        files.append(start(READER))
        goes_on(files[1])
        with object_servers.standing_still(Path(server["FOLDER"])):
            time.sleep(2)
            stopped = [count(file) for file in files]
            files.append(start(READER))  # one that the server has never answered
            time.sleep(30)
            assert [count(file) for file in files] == [*stopped, 0]
        for file in files:
            goes_on(file)
            goes_on(file)
        for process in running:
            process.communicate(timeout=100)
        errors = [file.with_suffix(".errors").read_text() for file in files]
        assert [process.returncode for process in running] == [0, 0, 0], errors
        for text in errors:
            assert text.count("\n") <= 1, text
            assert text == "" or "has not answered for" in text
        flushed = count(files[0])
        assert flushed > stopped[0]
        listed = subprocess.run(
            [sys.executable, "-m", "hakobi", "store", "list", "--count", path],
            env=os.environ | server,
            capture_output=True,
            text=True,
            check=True,
        )
        assert listed.stdout.startswith(f"{flushed} fields")
    finally:
        for process in running:
            process.kill()
            process.wait()


def archived(server: dict[str, str], path: str, folder: Path) -> None:
    """Three steps, each a flush and an object of its own."""
    program = (
        "import sys, hakobi\n"
        "store = hakobi.open_store(sys.argv[1], 'flow')\n"
        "for step in range(3):\n"
        "    key = {'case': 'a', 'run': 1, 'variable': 'u', 'step': step, 'block': 0}\n"
        "    store.archive(key, bytes([step + 1]) * 10_000)\n"
        "    store.flush()\n"
        "store.close()\n"
    )
    words = [sys.executable, "-c", program, path]
    subprocess.run(words, env=os.environ | server, cwd=folder, capture_output=True, text=True, check=True)


def store_command(server: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hakobi", "store", *words]
    return subprocess.run(command, env=os.environ | server, capture_output=True, text=True, check=False)


def change(server: dict[str, str], name: str, content: bytes | None, folder: Path) -> None:
    """Behind the store's back; None removes the object."""
    root = server["STORES"].partition(":")[2].lstrip("/")
    if server["STORES"].startswith("s3:"):
        file = Path(server["FOLDER"]) / "data" / root / name
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        return
    (folder / "content").write_bytes(content or b"")
    words = ["rm", name] if content is None else ["put", name, str(folder / "content")]
    subprocess.run(["rados", "-c", server["CEPH_CONF"], "-p", root, *words], check=True)


def test_an_object_that_somebody_has_changed_is_told(server: dict[str, str], tmp_path: Path) -> None:
    path = server["STORES"] + "/changed"
    archived(server, path, tmp_path)
    place = store_command(server, "where", path, "step=1").stdout.split()[1]
    assert place.startswith(path + "/data/")
    name = place.removeprefix(server["STORES"] + "/")
    for content, told in (
        (b"\2" * 9_999 + b"\0", "not as it was written"),
        (b"\2" * 5_000, "ends at byte 5000"),
        (None, "not found" if path.startswith("s3:") else "No such file"),
    ):
        change(server, name, content, tmp_path)
        got = store_command(server, "get", path, "step=1", "-o", str(tmp_path / "got"))
        assert got.returncode == 2, got.stderr
        assert got.stderr.count("\n") == 1, got.stderr
        assert told in got.stderr, got.stderr
        assert "step=1" in got.stderr or name in got.stderr, got.stderr
        assert store_command(server, "check", "--deep", path).returncode == 1
        beside = store_command(server, "get", path, "step=0/2", "-o", str(tmp_path / "got"))
        assert beside.returncode == 0, beside.stderr
        assert (tmp_path / "got").read_bytes() == b"\1" * 10_000 + b"\3" * 10_000


FILLER = """
import sys, hakobi
store = hakobi.open_store(sys.argv[1], "flow")
for step in range(2000):
    key = {"case": "a", "run": 1, "variable": "u", "step": step, "block": 0}
    store.archive(key, step.to_bytes(8, "little") * 125_000)
    store.flush()
    print(step + 1, flush=True)
"""


# Ceph finds out seconds later that it is full.
@pytest.mark.parametrize("kind", ["s3", pytest.param("rados", marks=[pytest.mark.long, pytest.mark.timeout(400)])])
def test_a_full_server_is_told_and_keeps_what_was_flushed(kind: str, tmp_path: Path) -> None:
    if kind == "s3" and os.geteuid() != 0:
        pytest.skip("root alone makes a small disk")
    try:
        with contextlib.ExitStack() as servers:
            if kind == "s3":
                server = servers.enter_context(object_servers.s3(tmp_path, size_bytes=24 << 20)).environment
                path = server["HAKOBI_TEST_S3"] + "/full"
            else:
                server = servers.enter_context(object_servers.ceph(tmp_path, osd_bytes=48 << 20))
                path = server["HAKOBI_TEST_RADOS"] + "/full"
            words = [sys.executable, "-c", FILLER, path]
            filled = subprocess.run(words, env=os.environ | server, capture_output=True, text=True, check=False)
            assert filled.returncode == 1
            assert "NoSpace" in filled.stderr.splitlines()[-1] or "full" in filled.stderr.splitlines()[-1]
            num_flushed = int(filled.stdout.split()[-1])
            assert num_flushed > 5
            got = store_command(server, "get", path, "-o", str(tmp_path / "got"))
            assert got.returncode == 0, got.stderr
            content = (tmp_path / "got").read_bytes()
            assert len(content) >= num_flushed * 1_000_000
            for step in range(num_flushed):
                assert content[step * 1_000_000 : (step + 1) * 1_000_000] == step.to_bytes(8, "little") * 125_000
    except UnavailableError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    ("path", "told"),
    [("s3://Bad_Bucket/x", "is no bucket's name"), ("s3://", "is no bucket's name"), ("rados:", "pool")],
)
def test_names_that_no_server_allows_are_told(path: str, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hakobi", "store", "list", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
