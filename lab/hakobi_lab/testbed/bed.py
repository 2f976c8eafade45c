"""Testbed: brings the server and the nodes up, starts MPI programs on them, and ends all of it."""

from __future__ import annotations

import json
import os
import selectors
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any

from hakobi import launch, layout, progress
from hakobi.errors import InputError, RunError
from hakobi.programs import Program
from hakobi_lab.testbed import packages
from hakobi_lab.testbed.server import EXPORTED, NETWORK, SHARED, TOLD
from hakobi_lab.testbed.servers import SERVERS
from hakobi_lab.testbed.wanted import Wanted

#: How long all of it may take to come up.
START_S = 200.0
NODE_MEMORY = "768M"


class UnavailableError(RunError):
    """This machine lets nobody make a testbed: no root, no namespaces, no packages."""


def fetch(names: tuple[str, ...]) -> Path:
    """The folder with Debian's packages unpacked. Raises UnavailableError where they are not to be had."""
    try:
        with progress.phase(f"fetching Debian's {', '.join(names)}", 20):
            return packages.unpack(names)
    except (OSError, subprocess.CalledProcessError) as error:
        text = getattr(error, "stderr", "") or str(error)
        raise UnavailableError(f"cannot fetch {', '.join(names)}: {text.strip().splitlines()[-1]}") from error


def end_namespaces(process: subprocess.Popen[str], pid: int) -> None:
    """Ends what `unshare --kill-child` started: the namespaces' first process (`pid`; 0: it never said), and that
    everything in them."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    await_end(pid)


def await_end(pid: int) -> None:
    """Ten seconds at most, for a process that was killed."""
    end = time.monotonic() + 10
    while pid and Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.01)


class Testbed:
    """A server and its clients, up between `with` and its end.

    `folder`: the server's files, seen from here. Raises UnavailableError where none can be made, RunError where one did
    not come up.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.mounted: list[str] = []  #: each node's line of /proc/self/mountinfo for the share
        self._process: subprocess.Popen[str] | None = None
        self._pid = 0

    def __enter__(self) -> Testbed:
        check_machine()
        kind = SERVERS[self.wanted.server]
        unpacked = fetch((*packages.COMMON, *kind.packages))
        settings = {
            "server": self.wanted.server,
            "rate": self.wanted.rate,
            "nodes": self.wanted.nodes,
            "size": self.wanted.size,
            "size_bytes": self.wanted.size_bytes(),
            "osds": self.wanted.osds,
            "options": self.wanted.mount_options(),
            "memory": NODE_MEMORY,
            "unpacked": str(unpacked.resolve()),
            "python": _system_python(),
        }
        namespaces = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]
        inside = [sys.executable, "-m", "hakobi_lab.testbed.inside", json.dumps(settings)]
        try:
            with progress.phase(f"bringing {self.wanted.words()} up", 15):
                with launch.uninterrupted():
                    self._process = subprocess.Popen(
                        [*namespaces, *inside],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        text=True,
                        start_new_session=True,
                    )
                self._pid = int(self._answer("pid", START_S))
                self.mounted = list(self._answer("ready", START_S))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends it with all that is in it."""
        with launch.uninterrupted():
            process, self._process = self._process, None
            if process is not None:
                end_namespaces(process, self._pid)

    @property
    def folder(self) -> Path:
        return self._outside(EXPORTED)

    @property
    def told(self) -> Path:
        """A folder that programs on the nodes write past the server, at `on_nodes` of it."""
        return self._outside(TOLD)

    def _outside(self, path: Path) -> Path:
        return Path(f"/proc/{self._pid}/root{path}")

    def on_nodes(self, path: PurePath) -> Path:
        """Where the nodes see a path below `folder` or `told`; any other is the same there."""
        if path.is_relative_to(self.folder):
            return SHARED / path.relative_to(self.folder)
        return TOLD / path.relative_to(self.told) if path.is_relative_to(self.told) else Path(path)

    def tell(self, word: str) -> None:
        """`stop` or `continue` the server, `cut` or `restore` its link."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        self._answer("done", 10)

    def file_system(self) -> dict[str, Any]:
        """As conditions.file_system describes a folder, of the nodes' mount."""
        left, _, right = self.mounted[0].partition(" - ")
        kind, device, *options = right.split()
        space = os.statvfs(self.folder)
        stripes = layout.of_folder(self.folder)
        return {
            "path": f"testbed:{self.wanted.server}",
            "total_bytes": space.f_blocks * space.f_frsize,
            "free_bytes": space.f_bavail * space.f_frsize,
            "type": kind,
            "device": device,
            "mount": left.split()[4],
            "options": ",".join(sorted({*left.split()[5].split(","), *options[0].split(",")} - {"rw"})),
            "testbed": self.wanted.words(),
            **({"layout": stripes} if stripes else {}),
        }

    def command_line(
        self, program: Program, arguments: Sequence[str], ranks: int, variables: Mapping[str, str]
    ) -> list[str]:
        """The words that start `program` on `ranks` ranks, dealt out to the nodes one by one; messages between nodes go
        by TCP. Raises InputError."""
        if program.flavour != "openmpi":
            raise InputError(
                f"a testbed's nodes are reached by Open MPI; {program.name} is linked with {program.flavour}"
            )
        nodes = min(ranks, self.wanted.nodes)
        hosts = ",".join(f"node{number}:{-(-ranks // nodes)}" for number in range(nodes))
        agent = shlex.join([_system_python(), "-I", str(Path(__file__).with_name("agent.py"))])
        parameters = {
            "plm": "rsh",
            "plm_rsh_agent": agent,
            "plm_rsh_no_tree_spawn": "1",
            "orte_tmpdir_base": "/run",
            "oob_tcp_if_include": NETWORK,
            "pml": "ob1",
            "btl": "self,vader,tcp",
            "btl_tcp_if_include": NETWORK,
            "btl_vader_single_copy_mechanism": "none",
            "mpi_yield_when_idle": "1",
        }
        words = [str(launch.mpiexec(program.flavour)), "--oversubscribe", "--bind-to", "none", "--map-by", "node"]
        words += [word for name, value in parameters.items() for word in ("--mca", name, value)]
        words += ["--host", hosts, "-n", str(ranks)]
        passed = {name: value for name, value in os.environ.items() if name.startswith("HAKOBI_")} | dict(variables)
        words += [word for name, value in passed.items() for word in ("-x", f"{name}={value}")]
        return [*self._enter(), *words, str(program.path), *arguments]

    def on_node(self, number: int, *command: str) -> list[str]:
        """The words that run a command on one node."""
        agent = [_system_python(), "-I", str(Path(__file__).with_name("agent.py")), f"node{number}"]
        return [*self._enter(), *agent, shlex.join(command)]

    def _enter(self) -> list[str]:
        return ["nsenter", "--target", str(self._pid), "--net", "--mount", "--pid"]

    def _answer(self, name: str, timeout_s: float) -> Any:
        """The value of the next message of that name. Raises RunError."""
        assert self._process is not None
        assert self._process.stdout is not None
        said = []
        end = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while selector.select(max(0, end - time.monotonic())):
                line = self._process.stdout.readline()
                if not line:
                    break
                try:
                    message = json.loads(line)
                except ValueError:
                    said.append(line.strip())
                    continue
                if name in message:
                    return message[name]
                raise failure(f"testbed {self.wanted.words()}: {message.get('error', message)}")
        raise RunError(f"testbed {self.wanted.words()}: {said[-1] if said else f'no answer in {timeout_s:g} s'}")


def failure(text: str) -> RunError:
    """The error of a testbed that did not come up: UnavailableError where none would here.

    >>> type(failure("node 0 did not come up: userspace - ptrace set fp regs failed, errno = 14")).__name__
    'UnavailableError'
    """
    if "ptrace set fp regs failed" not in text:
        return RunError(text)
    return UnavailableError(
        "no testbed on this processor: its nodes are user-mode Linux 6.1, which does not know registers as wide as "
        "AMX's (Intel's Xeons since 2023)"
    )


def check_machine() -> None:
    """Raises UnavailableError that says what is missing."""
    check_namespaces("a testbed", ("tc", "apt-get", "dpkg-deb"))
    if not Path("/dev/net/tun").is_char_device():
        raise UnavailableError("a testbed needs /dev/net/tun")


def check_namespaces(what: str, tools: Sequence[str]) -> None:
    """Raises UnavailableError where namespaces with a network cannot be made, or that `what` needs is missing."""
    if os.geteuid() != 0:
        raise UnavailableError(f"root is needed for {what}: network namespaces are made")
    for tool in ("unshare", "nsenter", "mount", "ip", *tools):
        if shutil.which(tool) is None:
            raise UnavailableError(f"{what}: there is no '{tool}'")
    tried = ["unshare", "--net", "--mount", "--pid", "--fork", "ip", "link", "add", "name", "b0", "type", "bridge"]
    if subprocess.run(tried, capture_output=True, check=False).returncode != 0:
        raise UnavailableError("this system lets us make no namespaces or no bridge in them")


def _system_python() -> str:
    """Python without an environment: the nodes' part needs no more than its standard library."""
    return os.path.realpath(sys.executable)
