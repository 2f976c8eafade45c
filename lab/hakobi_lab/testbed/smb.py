"""Samba: SMB 3.1.1 in user space."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hakobi_lab.testbed.server import EXPORTED, SERVER, SHARED, Room, Server, start_in_network

_SETTINGS = """
[global]
 interfaces = {address}/24
 bind interfaces only = yes
 map to guest = Bad User
 guest account = root
 pid directory = {work}/run
 lock directory = {work}/lock
 state directory = {work}/lock
 cache directory = {work}/lock
 private dir = {work}/private
 ncalrpc dir = {work}/run
 log file = {work}/smbd.log
 server min protocol = SMB3
 disable netbios = yes
 smb ports = 445
 load printers = no
 disable spoolss = yes
 strict sync = yes
[exported]
 path = {exported}
 guest ok = yes
 read only = no
 force user = root
 store dos attributes = no
"""


class Smb(Server):
    def start(self, work: Path, options: str, room: Room) -> subprocess.Popen[bytes]:
        for folder in ("run", "lock", "private"):
            (work / folder).mkdir(mode=0o755)
        settings = work / "smb.conf"
        settings.write_text(_SETTINGS.format(address=SERVER, work=work, exported=EXPORTED))
        words = ["/usr/sbin/smbd", "--foreground", "--no-process-group", f"--configfile={settings}"]
        return start_in_network(words, work / "server.log")

    def mount_command(self, options: str, node: int) -> list[str]:
        own = f"ip={SERVER},vers=3.1.1,sec=none,noperm"
        return ["mount", "-i", "-t", "cifs", "-o", f"{own},{options}", f"//{SERVER}/exported", str(SHARED)]


SMB = Smb(
    name="smb",
    title="SMB 3.1.1, Samba",
    packages=("samba",),
    port=445,
    file_system="cifs",
    options="cache=strict",
    modules=(
        *("crypto/hmac", "crypto/md4", "crypto/sha512_generic", "crypto/cmac", "crypto/ctr", "crypto/ccm"),
        *(
            "crypto/gf128mul",
            "crypto/ghash-generic",
            "crypto/gcm",
            "crypto/ecb",
            "fs/netfs/netfs",
            "fs/fscache/fscache",
        ),
        *("net/dns_resolver/dns_resolver", "lib/oid_registry", "fs/smb/common/cifs_md4", "fs/smb/common/cifs_arc4"),
        *("lib/asn1_decoder", "fs/smb/client/cifs"),
    ),
)
