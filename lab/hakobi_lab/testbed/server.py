"""The testbed's view of a kind of server; each kind is one file and one line of `servers.py`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

#: Addresses on the bridge.
SERVER, HEAD, NETWORK = "10.77.0.1", "10.77.0.254", "10.77.0.0/24"
#: In the namespaces: what the server gives out, and where nodes mount it; what nodes write past it (records).
EXPORTED, SHARED, TOLD = Path("/srv/exported"), Path("/srv/shared"), Path("/srv/told")


def node_address(number: int) -> str:
    """
    >>> node_address(3)
    '10.77.0.13'
    """
    return f"10.77.0.{10 + number}"


@dataclass(frozen=True)
class Room:
    """The room in which a server keeps files. `osds`: processes that share them, for a server that has such."""

    size_bytes: int
    osds: int


@dataclass(frozen=True)
class Server:
    """A kind of server. `options`: the mount options where the user names none; `modules`: of the node's kernel, below
    its folder `kernel`, in the order in which they are loaded; `start_s`: how long it may take to come up."""

    name: str
    title: str  #: for reports: "NFS 4.1, nfs-ganesha"
    packages: tuple[str, ...]
    port: int
    file_system: str  #: for mount
    options: str
    modules: tuple[str, ...]
    start_s: float = 30.0

    def start(self, work: Path, options: str, room: Room) -> subprocess.Popen[bytes]:
        """Starts it in the server's network, in a session of its own, with its settings and logs in `work`;
        `options`: those of the mounts."""
        raise NotImplementedError

    def mount_command(self, options: str, node: int) -> list[str]:
        """The words that mount it on a node."""
        raise NotImplementedError


def start_in_network(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Starts a server's program in the network namespace `server`."""
    with log.open("ab") as output:
        return subprocess.Popen(
            ["nsenter", "--net=/run/netns/server", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
