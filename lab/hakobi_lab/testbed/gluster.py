"""GlusterFS: one brick, whose clients are FUSE file systems in user space.

Server and clients are given their graphs of translators as files, where GlusterFS's management daemon would hand them
out: it would want to be asked, and to keep what it was told.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from hakobi_lab.testbed.server import EXPORTED, SERVER, SHARED, TOLD, Room, Server, start_in_network

PORT = 24007
#: Nodes see it too.
_SERVER, _CLIENT = Path("/srv/server.vol"), Path("/srv/client.vol")
_GRAPHS = {
    _SERVER: [
        ("posix", "storage/posix", {"directory": str(EXPORTED)}),
        ("locks", "features/locks", {}),
        ("exported", "performance/io-threads", {"thread-count": "4"}),
        (
            "server",
            "protocol/server",
            {
                "transport-type": "tcp",
                "transport.socket.bind-address": SERVER,
                "transport.socket.listen-port": str(PORT),
                "auth.addr.exported.allow": "*",
            },
        ),
    ],
    _CLIENT: [
        (
            "remote",
            "protocol/client",
            {
                "transport-type": "tcp",
                "remote-host": SERVER,
                "remote-port": str(PORT),
                "remote-subvolume": "exported",
            },
        ),
        ("behind", "performance/write-behind", {}),
    ],
}


def graph(volumes: list[tuple[str, str, dict[str, str]]]) -> str:
    """The text of translators, each over the one before it.

    >>> print(graph([("a", "storage/posix", {"directory": "/d"})]))
    volume a
      type storage/posix
      option directory /d
    end-volume
    """
    lines: list[str] = []
    for number, (name, kind, options) in enumerate(volumes):
        lines += [f"volume {name}", f"  type {kind}", *(f"  option {key} {value}" for key, value in options.items())]
        lines += [f"  subvolumes {volumes[number - 1][0]}"] * (number > 0) + ["end-volume"]
    return "\n".join(lines)


class Gluster(Server):
    def start(self, work: Path, options: str, room: Room) -> subprocess.Popen[bytes]:
        for path, volumes in _GRAPHS.items():
            path.write_text(graph(volumes) + "\n")
        words = ["/usr/sbin/glusterfsd", "-N", "-f", str(_SERVER), "-l", str(work / "gluster.log")]
        return start_in_network([*words, "-p", str(work / "gluster.pid")], work / "server.log")

    def mount_command(self, options: str, node: int) -> list[str]:
        own = " ".join(f"--{option}" for option in options.split(","))
        # It reads the graph by way of a file in /tmp, which is read only: until it is up something lies over
        # it.
        mounted = f"/usr/sbin/glusterfs -f {_CLIENT} -l {TOLD}/gluster{node}.log {own} {SHARED}"
        return ["sh", "-ec", f"mount -t tmpfs tmpfs /tmp; {mounted}; umount -l /tmp"]


GLUSTER = Gluster(
    name="gluster",
    title="GlusterFS 10 by FUSE",
    packages=("glusterfs-server",),
    port=PORT,
    file_system="fuse.glusterfs",
    options="attribute-timeout=1,entry-timeout=1",
    modules=("fs/fuse/fuse",),
)
