"""Cluster: brings Slurm up, says how a command is run in it, and ends it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from hakobi import launch, progress
from hakobi.errors import RunError
from hakobi_lab.testbed.bed import await_end, check_namespaces, end_namespaces, fetch

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "libpmix2")
#: How long all of it may take to come up: a second, on a machine with nothing else to do.
START_S = 150.0
#: A node's own folders: a folder below these is seen on nodes where it is named to Cluster.
OWN = (Path("/tmp"), Path("/dev/shm"))


class Cluster:
    """Nodes n1, n2, … of `cpus` processors each, and a machine `head` to submit from, up between `with` and its end.

    `shared`: folders that the nodes see although they are below OWN. With `stays` it goes on when its maker has ended,
    until `end(pid)`. Raises UnavailableError where none can be made, RunError where it did not come up.
    """

    def __init__(self, nodes: int = 4, cpus: int = 2, shared: Sequence[Path] = (), *, stays: bool = False) -> None:
        self.nodes, self.cpus, self._stays = nodes, cpus, stays
        self._shared = [path.resolve() for path in shared]
        self._process: subprocess.Popen[str] | None = None
        self.pid = 0  #: of the namespaces' first process

    def __enter__(self) -> Cluster:
        check_namespaces("Slurm's nodes", ("apt-get", "dpkg-deb"))
        unpacked = fetch(PACKAGES)
        settings = {
            "nodes": self.nodes,
            "cpus": self.cpus,
            "unpacked": str(unpacked.resolve()),
            "shared": [str(path) for path in self._shared if any(path.is_relative_to(own) for own in OWN)],
            "stays": self._stays,
        }
        namespaces = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child"]
        inside = [sys.executable, "-m", "hakobi_lab.slurm.inside", json.dumps(settings)]
        try:
            with progress.phase(f"bringing Slurm up with {self.nodes} nodes", 10), launch.uninterrupted():
                self._process = subprocess.Popen(
                    [*namespaces, *inside],
                    stdin=subprocess.DEVNULL if self._stays else subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL if self._stays else None,
                    text=True,
                    start_new_session=True,
                )
                assert self._process.stdout is not None
                self.pid = int(_told(self._process.stdout, "pid"))
                _told(self._process.stdout, "ready")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._stays:
            self.close()

    def close(self) -> None:
        """Ends it with all that is in it."""
        with launch.uninterrupted():
            process, self._process = self._process, None
            if process is not None:
                end_namespaces(process, self.pid)

    def command_line(self, command: Sequence[str]) -> list[str]:
        """The words that run a command on the head, in the current folder."""
        return enter(self.pid, command)


def enter(pid: int, command: Sequence[str]) -> list[str]:
    """The words that run a command on the head of the cluster whose first process is `pid`, in the current folder."""
    namespaces = ["nsenter", "--target", str(pid), "--net", "--uts", "--ipc", "--mount", "--pid", "--"]
    shell = 'cd "$0" && SLURM_CONF=/srv/slurm.conf exec "$@"'
    return [*namespaces, "sh", "-c", shell, str(Path.cwd()), *command]


def end(pid: int) -> None:
    """Ends the cluster whose first process is `pid`, and everything in it."""
    os.kill(pid, 9)
    await_end(pid)


def is_first_process(pid: int) -> bool:
    """Whether a cluster lives by this process."""
    try:
        return b"hakobi_lab.slurm.inside" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _told(answers: IO[str], name: str) -> str:
    """The value of the next message of that name. Raises RunError."""
    end = time.monotonic() + START_S
    while select.select([answers], [], [], max(0.0, end - time.monotonic()))[0]:
        line = answers.readline()
        if not line:
            break
        message = json.loads(line)
        if name in message:
            return str(message[name])
        raise RunError(f"Slurm did not come up: {message.get('error', message)}")
    raise RunError(f"Slurm did not come up: it said nothing in {START_S:g} s")
