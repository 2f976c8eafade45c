"""Object stores against real servers (hakobi_lab.object_servers): contracts, bad lines, bad input, steps on Ceph."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hakobi import launch, programs
from hakobi.programs import Program
from hakobi_lab import object_servers
from hakobi_lab.object_servers import S3Server
from hakobi_lab.testbed.bed import UnavailableError
from hakobi_lab.unreliable_line import unreliable_line

FLAVOUR = programs.flavour()
BUILD = Path(__file__).resolve().parents[2] / "build" / FLAVOUR
COPY = BUILD / "bin" / "hakobi-bench-objects"
WAVE = BUILD / "examples" / "wave_cpp"

pytestmark = [pytest.mark.programs, pytest.mark.once]
if not COPY.is_file():
    pytest.skip(f"{COPY} is not built", allow_module_level=True)


def run(words: list[str], environment: dict[str, str], timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    everything = {**os.environ, **environment}
    return subprocess.run(words, env=everything, capture_output=True, text=True, timeout=timeout_s, check=False)


def run_contract(program: str, kind: str, environment: dict[str, str]) -> None:
    ended = run([str(BUILD / "tests" / program), f"--gtest_filter=*/{kind}"], environment)
    assert ended.returncode == 0, ended.stdout[-4000:]
    assert "[  PASSED  ] " in ended.stdout
    assert "[  PASSED  ] 0 " not in ended.stdout


def copy(
    what: str, folder: Path, root: str, environment: dict[str, str], **more: str
) -> subprocess.CompletedProcess[str]:
    return run([str(COPY), what, str(folder), root], {"HAKOBI_OBJECT_PATIENCE_S": "2", **environment, **more})


def fails(ended: subprocess.CompletedProcess[str], *texts: str) -> None:
    """In one line that says why, and no secret."""
    assert ended.returncode == 1, ended.stdout
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    for text in texts:
        assert text in ended.stderr


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for number, length in enumerate((0, 1, 300_000, 17_000_000)):  # the last goes in parts
        (folder / f"file{number}").write_bytes(os.urandom(length))
    return folder


def come_back(files: Path, root: str, environment: dict[str, str]) -> None:
    contents = {path.name: path.read_bytes() for path in files.iterdir()}
    for path in files.iterdir():
        path.write_bytes(b"\0" * path.stat().st_size)
    got = copy("get", files, root, environment, HAKOBI_OBJECT_PATIENCE_S="20")
    assert got.returncode == 0, got.stderr
    assert {path.name: path.read_bytes() for path in files.iterdir()} == contents


def test_s3_keeps_the_contract(s3: S3Server) -> None:
    run_contract("objects_test", "s3", s3.environment)


def test_ceph_keeps_the_contract(ceph: dict[str, str]) -> None:
    run_contract("objects_test", "rados", ceph)


def test_files_on_ceph_keep_the_contract_of_files(ceph: dict[str, str]) -> None:
    run_contract("storage_contract_test", "rados", ceph)


@pytest.mark.parametrize("fault", ["500", "lost", "half"])
def test_s3_keeps_the_contract_over_a_bad_line(s3: S3Server, fault: str) -> None:
    with unreliable_line(s3.port, lambda number, method, path: fault if number % 4 == 0 else "") as line:
        environment = s3.environment | {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{line.server_port}"}
        run_contract("objects_test", "s3", environment)
        assert line.num_faults > 20


def test_a_restarted_server_is_waited_for(s3: S3Server, files: Path) -> None:
    with unreliable_line(s3.port, lambda number, method, path: "") as line:
        environment = s3.environment | {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{line.server_port}"}
        s3.stop()
        begin = time.monotonic()
        with ThreadPoolExecutor() as pool:
            root = "s3://hakobi-test/restarted"
            put = pool.submit(copy, "put", files, root, environment, HAKOBI_OBJECT_PATIENCE_S="30")
            time.sleep(2)
            s3.start()  # by this thread: a server ends with the one that started it
        assert put.result().returncode == 0, put.result().stderr
        assert time.monotonic() - begin > 1.5
    come_back(files, "s3://hakobi-test/restarted", s3.environment)


def test_wrong_credentials_are_told_and_not_shown(s3: S3Server, files: Path) -> None:
    wrong = copy("put", files, "s3://hakobi-test/x", s3.environment, AWS_SECRET_ACCESS_KEY="not-the-secret")
    fails(wrong, "wrong credentials", "secret key does not belong")
    assert "not-the-secret" not in wrong.stderr
    assert s3.access_key not in wrong.stderr
    unknown = copy("get", files, "s3://hakobi-test/x", s3.environment, AWS_ACCESS_KEY_ID="AKIAUNKNOWN")
    fails(unknown, "wrong credentials", "does not know the access key")
    assert "AKIAUNKNOWN" not in unknown.stderr
    none = copy("put", files, "s3://hakobi-test/x", s3.environment, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    fails(none, "no credentials for S3", "AWS_ACCESS_KEY_ID")


def test_credentials_come_from_a_file(s3: S3Server, files: Path, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(
        f"[here]\naws_access_key_id = {s3.access_key}\naws_secret_access_key = {s3.secret_key}\n"
    )
    environment = s3.environment | {
        "AWS_ACCESS_KEY_ID": "",
        "AWS_SECRET_ACCESS_KEY": "",
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_PROFILE": "here",
    }
    put = copy("put", files, "s3://hakobi-test/profile", environment)
    assert put.returncode == 0, put.stderr


def test_s3_that_is_not_there(s3: S3Server, files: Path) -> None:
    fails(copy("put", files, "s3://no-such-bucket/x", s3.environment), "there is no bucket 'no-such-bucket'")
    fails(copy("put", files, "s3://Bad_Bucket/x", s3.environment), "'Bad_Bucket' is no bucket's name")
    away = copy("put", files, "s3://hakobi-test/x", s3.environment, AWS_ENDPOINT_URL_S3="http://127.0.0.1:9")
    fails(away, "cannot write s3://hakobi-test/x/", "tries in")
    fails(
        copy("put", files, "s3://hakobi-test/x", s3.environment, HAKOBI_CURL="/none.so"),
        "S3 needs libcurl",
        "HAKOBI_CURL",
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone makes a small disk")
def test_a_full_server_is_told(files: Path, tmp_path: Path) -> None:
    try:
        with object_servers.s3(tmp_path, size_bytes=8 << 20) as small:
            full = copy("put", files, "s3://hakobi-test/x", small.environment)
            fails(full, "the server is full")
    except UnavailableError as error:
        pytest.skip(str(error))


def test_a_wrong_clock_is_named(s3: S3Server, files: Path, tmp_path: Path) -> None:
    (tmp_path / "time.c").write_text(
        "#include <time.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n"
        "time_t time(time_t* t) { time_t now = syscall(SYS_time, 0) + 7200; if (t) *t = now; return now; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "time.so"), str(tmp_path / "time.c")], check=True)
    late = copy("put", files, "s3://hakobi-test/x", s3.environment, LD_PRELOAD=str(tmp_path / "time.so"))
    fails(late, "clock differs from the server's by 7", "refuses")


def test_ceph_that_is_not_there(ceph: dict[str, str], files: Path, tmp_path: Path) -> None:
    fails(copy("put", files, "rados:nopool/x", ceph), "Ceph has no pool 'nopool'")
    fails(copy("put", files, "rados:hakobi/x", ceph, HAKOBI_RADOS="/none.so"), "Ceph needs librados", "HAKOBI_RADOS")
    fails(copy("put", files, "rados:hakobi/x", ceph, CEPH_CONF="/none.conf"), "/none.conf", "CEPH_CONF")
    fails(copy("put", files, "rados:hakobi/x", ceph, CEPH_ARGS="--id nobody"), "client.nobody")
    conf = Path(ceph["CEPH_CONF"])
    key = object_servers._key()
    (tmp_path / "keyring").write_text(f"[client.admin]\n\tkey = {key}\n")
    (tmp_path / "ceph.conf").write_text(conf.read_text().replace(f"{conf.parent}/keyring", str(tmp_path / "keyring")))
    wrong = copy("put", files, "rados:hakobi/x", ceph, CEPH_CONF=str(tmp_path / "ceph.conf"))
    fails(wrong, "wrong credentials", "client.admin")
    assert key not in wrong.stderr
    (tmp_path / "ceph.conf").write_text("[global]\nmon host = 127.0.0.1:9\nauth client required = none\n")
    fails(
        copy("put", files, "rados:hakobi/x", ceph, CEPH_CONF=str(tmp_path / "ceph.conf")), "no monitor of Ceph answers"
    )


@pytest.mark.parametrize("method", ["root", "pipelined"])
def test_steps_on_ceph_are_those_of_files(
    ceph: dict[str, str], tmp_path: Path, mpi4py_environment: dict[str, str], method: str
) -> None:
    for prefix in (str(tmp_path / "run"), f"rados:hakobi/{method}/run"):
        written = launch.run(Program(WAVE, FLAVOUR), [prefix, method], 2, timeout_s=60, extra_environment=ceph)
        assert written.status == 0, written.stderr
    script = tmp_path / "compare.py"
    script.write_text(
        "import sys, numpy as np, hakobi\n"
        "a, b = (hakobi.Input.open(prefix) for prefix in sys.argv[1:])\n"
        "assert a.steps == b.steps and len(a.steps) == 2 and a.fields == b.fields\n"
        "for step in a.steps:\n"
        "    for name in a.fields:\n"
        "        np.testing.assert_array_equal(a.read(name, step=step), b.read(name, step=step))\n"
    )
    same = run(
        [sys.executable, str(script), str(tmp_path / "run"), f"rados:hakobi/{method}/run"],
        {**mpi4py_environment, **ceph},
    )
    assert same.returncode == 0, same.stderr
