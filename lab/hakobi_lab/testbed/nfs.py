"""nfs-ganesha: NFS 3 and 4 in user space."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hakobi_lab.testbed.server import EXPORTED, SERVER, SHARED, Room, Server, node_address, start_in_network

_SETTINGS = """
NFS_CORE_PARAM {{ Protocols = {protocol}; Bind_addr = {address}; NFS_Port = 2049; MNT_Port = 20048; Enable_NLM = false;
                 Enable_RQUOTA = false; Enable_UDP = false; }}
NFSV4 {{ RecoveryBackend = fs; RecoveryRoot = {work}/recovery; Graceless = true; Lease_Lifetime = 60; }}
EXPORT {{ Export_Id = 1; Path = {exported}; Pseudo = {exported}; Access_Type = RW; Squash = No_Root_Squash;
         SecType = sys; Protocols = {protocol}; Filesystem_Id = 77.77; FSAL {{ Name = VFS; }} }}
LOG {{ Default_Log_Level = WARN; }}
"""


class Nfs(Server):
    def start(self, work: Path, options: str, room: Room) -> subprocess.Popen[bytes]:
        (work / "recovery").mkdir()
        protocol = 3 if _is_version_3(options) else 4
        if protocol == 3:  # the server registers itself there, and ends where it cannot
            start_in_network(["/usr/sbin/rpcbind", "-f", "-r"], work / "rpcbind.log")
        settings = work / "ganesha.conf"
        settings.write_text(_SETTINGS.format(address=SERVER, work=work, exported=EXPORTED, protocol=protocol))
        log = work / "ganesha.log"
        Path("/run/ganesha").mkdir()
        words = ["/usr/bin/ganesha.nfsd", "-F", "-f", str(settings), "-L", str(log), "-p", str(work / "ganesha.pid")]
        return start_in_network(words, work / "server.log")

    def mount_command(self, options: str, node: int) -> list[str]:
        own = f"proto=tcp,addr={SERVER}"
        if _is_version_3(options):
            own += ",port=2049,mountport=20048,mountproto=tcp,mountaddr=" + SERVER
            kind = "nfs"
        else:
            own += f",clientaddr={node_address(node)}"
            kind = "nfs4"
        return ["mount", "-i", "-t", kind, "-o", f"{options},{own}", f"{SERVER}:{EXPORTED}", str(SHARED)]


def _is_version_3(options: str) -> bool:
    return bool({"vers=3", "nfsvers=3"} & set(options.split(",")))


NFS = Nfs(
    name="nfs",
    title="NFS, nfs-ganesha",
    packages=("nfs-ganesha", "nfs-ganesha-vfs"),
    port=2049,
    file_system="nfs4",
    options="vers=4.1",
    modules=(
        *("fs/netfs/netfs", "fs/fscache/fscache", "net/sunrpc/sunrpc", "fs/nfs_common/grace", "fs/lockd/lockd"),
        *("fs/nfs_common/nfs_acl", "net/dns_resolver/dns_resolver", "fs/nfs/nfs", "fs/nfs/nfsv3", "fs/nfs/nfsv4"),
    ),
)
