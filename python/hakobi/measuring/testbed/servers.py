"""The kinds of servers that there are."""

from __future__ import annotations

from hakobi.measuring.testbed.gluster import GLUSTER
from hakobi.measuring.testbed.nfs import NFS
from hakobi.measuring.testbed.server import Server
from hakobi.measuring.testbed.smb import SMB

SERVERS: dict[str, Server] = {server.name: server for server in (NFS, SMB, GLUSTER)}
