"""A field store on real servers: the contract of a folder's, kills, and what Python and the command do with it."""

from __future__ import annotations

import os
import subprocess
import sys
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
    """What a client's environment needs, and the root of its stores as STORES."""
    folder = tmp_path_factory.mktemp(request.param)
    try:
        if request.param == "s3":
            with object_servers.s3(folder) as started:
                yield started.environment | {"STORES": started.environment["HAKOBI_TEST_S3"]}
        else:
            with object_servers.ceph(folder) as environment:
                yield environment | {"STORES": environment["HAKOBI_TEST_RADOS"]}
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
