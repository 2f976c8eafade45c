"""The kinds of servers that there are."""

from __future__ import annotations

from hakobi_lab.testbed.ceph import CEPH
from hakobi_lab.testbed.gluster import GLUSTER
from hakobi_lab.testbed.nfs import NFS
from hakobi_lab.testbed.server import Server
from hakobi_lab.testbed.smb import SMB

SERVERS: dict[str, Server] = {server.name: server for server in (NFS, SMB, GLUSTER, CEPH)}
