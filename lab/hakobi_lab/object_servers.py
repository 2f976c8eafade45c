"""Object stores on this machine, for tests and for a command:

    python -m hakobi_lab.object_servers s3 -- COMMAND …        a bucket at $HAKOBI_TEST_S3
    python -m hakobi_lab.object_servers rados -- COMMAND …     a pool at $HAKOBI_TEST_RADOS
    python -m hakobi_lab.object_servers s3 rados -- COMMAND …  both

S3 is Versity's gateway over a folder: a real server, which checks signatures, clocks, checksums and conditions. It
is built once from the Go module below into the user's cache, where Go is here. Ceph is Debian's: a monitor and three
OSDs that keep objects in memory, with keys (cephx). What is started ends with the command, or with this process.

Exit status: the command's; 77 (skipped, with a line that says why) where a server is missing.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hakobi.errors import HakobiError
from hakobi.file_lock import lock
from hakobi_lab.testbed.bed import UnavailableError
from hakobi_lab.testbed.ending import end_with

#: The gateway, by its Go module; the module's checksum is Go's database's.
VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
BUCKET = "hakobi-test"
POOL = "hakobi"
NUM_OSDS = 3

# A machine may stand still for minutes: an OSD would end itself for that (after 150 s, or the sixth time it
# is missed).
_CEPH_SETTINGS = """
[global]
fsid = {fsid}
mon initial members = a
mon host = [v2:127.0.0.1:{ports[0]},v1:127.0.0.1:{ports[1]}]
public network = 127.0.0.0/8
ms bind ipv6 = false
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
keyring = {work}/keyring
run dir = {work}
admin socket = {work}/$name.asok
log file = {work}/$name.log
mon data = {work}/mon
mon allow pool size one = true
mon allow pool delete = true
mon max pg per osd = 1000
osd data = {work}/osd$id
osd objectstore = memstore
memstore device bytes = {osd_bytes}
osd memory target = 939524096
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd op thread suicide timeout = 0
osd max markdown count = 1000
"""


def _end_with_us() -> None:
    """For a child: it gets SIGKILL when its parent ends, in whatever way."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _start(words: list[str], log: Path, **environment: str) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            preexec_fn=_end_with_us,
            env={**os.environ, **environment},
        )


def _end(running: list[subprocess.Popen[bytes]]) -> None:
    for process in running:
        process.kill()
    for process in running:
        process.wait()


@contextlib.contextmanager
def standing_still(folder: Path) -> Iterator[None]:
    """The servers that were started in this folder do not run meanwhile, and keep their connections."""

    def signal_all(number: int) -> None:
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and str(folder).encode() in (entry / "cmdline").read_bytes():
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    if parent == os.getpid():
                        os.kill(int(entry.name), number)

    signal_all(signal.SIGSTOP)
    try:
        yield
    finally:
        signal_all(signal.SIGCONT)


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def gateway() -> str:
    """The gateway's program; builds it where it is not here yet, which takes minutes. Raises UnavailableError."""
    found = shutil.which("versitygw")
    if found is not None:
        return found
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hakobi" / VERSITYGW.rpartition("@")[2]
    program = cache / "versitygw"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as held:
        lock(held.fileno())
        if program.exists():
            return str(program)
        go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
        if go is None:
            raise UnavailableError("no S3 server: neither versitygw nor Go to build it is here")
        command = [go, "install", VERSITYGW]
        made = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "GOBIN": str(cache), "GOFLAGS": ""}
        )
        if made.returncode != 0 or not program.exists():
            raise UnavailableError(f"no S3 server: {' '.join(command)}: {made.stderr.strip().splitlines()[-1:]}")
    return str(program)


@dataclass
class S3Server:
    """A gateway with one bucket. `environment` is what a client needs."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = field(default_factory=_free_port)
    access_key: str = field(default_factory=lambda: "AKIA" + secrets.token_hex(8).upper())
    secret_key: str = field(default_factory=lambda: secrets.token_urlsafe(30))
    size_bytes: int = 0  #: of a disk of its own, in memory, which root alone can make; 0: as large as the folder's
    process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL_S3": f"http://{self.host}:{self.port}",
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "HAKOBI_TEST_S3": f"s3://{BUCKET}",
        }

    def start(self) -> None:
        (self.folder / "data" / BUCKET).mkdir(parents=True, exist_ok=True)
        words = [gateway(), "--port", f"{self.host}:{self.port}", "--keep-alive", "--quiet", "posix"]
        try:
            os.setxattr(self.folder / "data", "user.hakobi", b"")
        except OSError:  # a memory file system of an old kernel
            (self.folder / "attributes").mkdir(exist_ok=True)
            words += ["--sidecar", str(self.folder / "attributes")]
        words.append(str(self.folder / "data"))
        if self.size_bytes:
            disk = f'mount -t tmpfs -o size={self.size_bytes} none "$0" && mkdir "$0/{BUCKET}" && exec "$@"'
            words = ["unshare", "-m", "sh", "-c", disk, str(self.folder / "data"), *words]
        self.process = _start(
            words,
            self.folder / "log",
            ROOT_ACCESS_KEY=self.access_key,
            ROOT_SECRET_KEY=self.secret_key,
        )
        for _ in range(300):
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), 1):
                return
            time.sleep(0.1)
        raise UnavailableError(f"the S3 server did not start: {(self.folder / 'log').read_text()[-500:]}")

    def stop(self) -> None:
        """As a power failure would."""
        if self.process is not None:
            _end([self.process])
            self.process = None


@contextlib.contextmanager
def s3(folder: Path, host: str = "127.0.0.1", size_bytes: int = 0) -> Iterator[S3Server]:
    """Raises UnavailableError."""
    server = S3Server(folder, host, size_bytes=size_bytes)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _key() -> str:
    """A new secret of cephx, as its keyrings have it."""
    now = int(time.time())
    return base64.b64encode(struct.pack("<HIIH", 1, now, 0, 16) + secrets.token_bytes(16)).decode()


def _run(*words: str, text: str = "") -> None:
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise UnavailableError(f"Ceph did not start: {' '.join(words)}: {(done.stderr or done.stdout).strip()}")


def _start_ceph(work: Path, osd_bytes: int, running: list[subprocess.Popen[bytes]]) -> None:
    fsid, conf, ports = str(uuid.uuid4()), str(work / "ceph.conf"), (_free_port(), _free_port())
    (work / "ceph.conf").write_text(_CEPH_SETTINGS.format(fsid=fsid, work=work, ports=ports, osd_bytes=osd_bytes))
    entries = [
        '[mon.]\n\tkey = {}\n\tcaps mon = "allow *"\n',
        '[client.admin]\n\tkey = {}\n\tcaps mon = "allow *"\n\tcaps osd = "allow *"\n',
    ]
    entries += [
        f'[osd.{n}]\n\tkey = {{}}\n\tcaps mon = "allow profile osd"\n\tcaps osd = "allow *"\n' for n in range(NUM_OSDS)
    ]
    (work / "keyring").write_text("".join(entry.format(_key()) for entry in entries))
    for name in ("mon", *(f"osd{number}" for number in range(NUM_OSDS))):
        (work / name).mkdir()
    monitors = f"[v2:127.0.0.1:{ports[0]},v1:127.0.0.1:{ports[1]}]"
    _run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", monitors, str(work / "monmap"))
    _run(
        "ceph-mon",
        "--mkfs",
        "-i",
        "a",
        "--monmap",
        str(work / "monmap"),
        "--keyring",
        str(work / "keyring"),
        "-c",
        conf,
    )
    log = work / "out"
    running.append(_start(["ceph-mon", "-f", "-i", "a", "-c", conf], log))
    identities = [str(uuid.uuid4()) for _ in range(NUM_OSDS)]
    commands = [f"osd new {identity}" for identity in identities]
    commands += [f"osd pool create {POOL} 16", f"osd pool application enable {POOL} hakobi", "quit", ""]
    _run("ceph", "-c", conf, "--connect-timeout", "60", text="\n".join(commands))
    for number, identity in enumerate(identities):
        _run("ceph-osd", "-i", str(number), "--mkfs", "--osd-uuid", identity, "-c", conf)
        running.append(_start(["ceph-osd", "-f", "-i", str(number), "-c", conf], log))
    # Waits until the pool's placement groups are there.
    _run("rados", "-c", conf, "-p", POOL, "put", "first", conf)
    _run("rados", "-c", conf, "-p", POOL, "rm", "first")


@contextlib.contextmanager
def ceph(work: Path, osd_bytes: int = 1 << 30) -> Iterator[dict[str, str]]:
    """Yields the variables that a client's environment needs. Raises UnavailableError."""
    for program in ("ceph-mon", "ceph-osd", "ceph", "rados", "monmaptool"):
        if shutil.which(program) is None:
            raise UnavailableError(f"no Ceph: {program} is not here (Debian's ceph-mon, ceph-osd, ceph-common)")
    running: list[subprocess.Popen[bytes]] = []
    try:
        _start_ceph(work, osd_bytes, running)
        yield {"CEPH_CONF": str(work / "ceph.conf"), "HAKOBI_TEST_RADOS": f"rados:{POOL}"}
    finally:
        _end(running)


def main() -> int:
    words = sys.argv[1:]
    if "--" not in words or not set(words[: words.index("--")]) & {"s3", "rados"}:
        raise HakobiError("s3, rados or both, then --, then a command")
    kinds, command = words[: words.index("--")], words[words.index("--") + 1 :]
    with tempfile.TemporaryDirectory(prefix="hakobi-objects-") as folder, contextlib.ExitStack() as servers:
        environment = dict(os.environ)
        for kind in ("s3", "rados"):
            if kind not in kinds:
                continue
            place = Path(folder) / kind
            place.mkdir()
            if kind == "s3":
                environment |= servers.enter_context(s3(place)).environment
            else:
                environment |= servers.enter_context(ceph(place, 5 << 30))
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    end_with(main)
