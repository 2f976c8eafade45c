"""CephFS: a monitor, OSDs and a metadata server in user space; nodes have the kernel's client.

The server's files lie in the OSDs' objects, not in a folder. Here they are seen through a client of their own, by FUSE.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hakobi_lab.testbed import ceph_cluster
from hakobi_lab.testbed.server import EXPORTED, SERVER, SHARED, Room, Server, start_in_network


class Ceph(Server):
    def start(self, work: Path, options: str, room: Room) -> subprocess.Popen[bytes]:
        settings = [str(work), SERVER, str(room.osds), str(room.size_bytes), str(EXPORTED), str(self.port)]
        return start_in_network([sys.executable, ceph_cluster.__file__, *settings], work / "server.log")

    def mount_command(self, options: str, node: int) -> list[str]:
        device = f"{SERVER}:{ceph_cluster.MONITOR_PORT}:/"
        return ["mount", "-i", "-t", "ceph", "-o", options, device, str(SHARED)]


CEPH = Ceph(
    name="ceph",
    title="CephFS 16",
    packages=("ceph-mon", "ceph-osd", "ceph-mds", "ceph-fuse", "ceph-common"),
    port=6700,
    file_system="ceph",
    options="mount_timeout=60",
    modules=("fs/netfs/netfs", "net/ceph/libceph", "fs/ceph/ceph"),
    start_s=90.0,
)
