"""The processes of a CephFS: `ceph_cluster.py WORK ADDRESS OSDS BYTES MOUNT PORT`. With the standard library alone.

1. A monitor, with a new map, and a manager.
2. It is told of the OSDs, which keep their objects in memory, and of the file system's pools; OSDs and the metadata
   server start.
3. A client by FUSE mounts the file system at MOUNT, again and again until it finds all of them.
   The manager's count of its space has come, too.
4. PORT accepts connections: all is up. Whatever ends by itself ends the rest.

All are in the process group of this one, and end with it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

MONITOR_PORT = 6789
_PLACEMENT_GROUPS = 16

_SETTINGS = """
[global]
fsid = {fsid}
mon initial members = a
mon host = [v2:{address}:3300,v1:{address}:{port}]
public network = {network}
ms bind ipv6 = false
auth cluster required = none
auth service required = none
auth client required = none
run dir = {work}
admin socket = {work}/$name.asok
log file = {work}/$name.log
mon data = {work}/mon
mon allow pool size one = true
mon max pg per osd = 1000
osd data = {work}/osd$id
osd objectstore = memstore
osd memory target = 939524096
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
memstore device bytes = {osd_bytes}
mds data = {work}/mds
mgr data = {work}/mgr
mgr initial modules =
mgr stats period = 1
mgr tick period = 1
client mount timeout = 60
"""


def start(work: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*words, "-c", str(work / "ceph.conf")], stdin=subprocess.DEVNULL)


def run(*words: str, text: str = "") -> None:
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")


def start_all(work: Path, address: str, osds: int, size_bytes: int) -> list[subprocess.Popen[bytes]]:
    fsid = str(uuid.uuid4())
    conf, monitors = str(work / "ceph.conf"), str(work / "monmap")
    network = address.rpartition(".")[0] + ".0/24"
    Path(conf).write_text(
        _SETTINGS.format(
            fsid=fsid,
            address=address,
            port=MONITOR_PORT,
            network=network,
            work=work,
            osd_bytes=max(size_bytes // osds, 1 << 26),
        )
    )
    for folder in ("mon", "mds", "mgr", *(f"osd{number}" for number in range(osds))):
        (work / folder).mkdir()
    both = f"[v2:{address}:3300,v1:{address}:{MONITOR_PORT}]"
    run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", both, monitors)
    run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monitors, "-c", conf)
    running = [start(work, kind, "-f", "-i", "a") for kind in ("ceph-mon", "ceph-mgr")]
    identities = [str(uuid.uuid4()) for _ in range(osds)]
    commands = [f"osd new {identity}" for identity in identities]
    commands += [f"osd pool create {name} {_PLACEMENT_GROUPS}" for name in ("cephfs_metadata", "cephfs_data")]
    commands += ["fs new cephfs cephfs_metadata cephfs_data"]
    run("ceph", "-c", conf, "--connect-timeout", "60", text="\n".join([*commands, "quit", ""]))
    for number, identity in enumerate(identities):
        run("ceph-osd", "-i", str(number), "--mkfs", "--osd-uuid", identity, "-c", conf)
        running.append(start(work, "ceph-osd", "-f", "-i", str(number)))
    running.append(start(work, "ceph-mds", "-f", "-i", "a"))
    return running


def check(running: list[subprocess.Popen[bytes]]) -> None:
    for process in running:
        if process.poll() is not None:
            assert isinstance(process.args, list)
            raise RuntimeError(f"{' '.join(process.args[:4])} ended with status {process.returncode}")


def mounted(work: Path, mount: Path, running: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Step 3: the client. It ends at once where there is no metadata server yet."""
    without = mount.stat().st_dev
    client = start(work, "ceph-fuse", "-f", str(mount))
    while mount.stat().st_dev == without or os.statvfs(mount).f_blocks == 0:
        time.sleep(0.1)
        check(running)
        if client.poll() is not None:
            client = start(work, "ceph-fuse", "-f", str(mount))
    return client


def main() -> None:
    work, address, osds, size_bytes, mount, port = sys.argv[1:]
    running = start_all(Path(work), address, int(osds), int(size_bytes))
    running.append(mounted(Path(work), Path(mount), running))
    with socket.create_server((address, int(port))) as listener:
        listener.settimeout(0.2)
        while True:
            check(running)
            try:
                listener.accept()[0].close()
            except TimeoutError:
                continue


if __name__ == "__main__":
    main()
