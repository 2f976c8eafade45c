"""A user's wish for a testbed, in words: "nfs", "smb,1gbit", "nfs,nodes=4,options=vers=3:nolock:noac"; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hakobi.errors import InputError, unknown_name
from hakobi.testbeds import TESTBED
from hakobi_lab.testbed.servers import SERVERS

MOST_NODES = 8
MOST_OSDS = 16


@dataclass(frozen=True)
class Wanted:
    """`rate`: of the server's link, each way, as tc takes it; "" is unshaped. `size`: of the server's files together,
    which are in memory. `options`: the nodes' mount options; "" is the server's default. `osds`: of Ceph, over
    which the files' objects are spread."""

    server: str
    rate: str = ""
    nodes: int = 2
    size: str = "2G"
    options: str = ""
    osds: int = 3

    def size_bytes(self) -> int:
        """
        >>> Wanted("nfs", size="64M").size_bytes()
        67108864
        """
        return int(self.size[:-1]) << {"K": 10, "M": 20, "G": 30}[self.size[-1]]

    def mount_options(self) -> str:
        return self.options or SERVERS[self.server].options

    def words(self) -> str:
        """For people: "SMB 3.1.1, Samba, 1gbit, 2 nodes (cache=strict)"."""
        rate = self.rate or "link not shaped"
        title = SERVERS[self.server].title + (f", {self.osds} OSDs" if self.server == "ceph" else "")
        return f"{title}, {rate}, {self.nodes} nodes ({self.mount_options()})"

    def value(self) -> dict[str, object]:
        """For records."""
        value = {"server": self.server, "rate": self.rate, "nodes": self.nodes, "options": self.mount_options()}
        return value | ({"osds": self.osds} if self.server == "ceph" else {})


def parse(text: str) -> Wanted:
    """Raises InputError.

    >>> parse("testbed:nfs,1gbit,nodes=4,options=vers=3:nolock")
    Wanted(server='nfs', rate='1gbit', nodes=4, size='2G', options='vers=3,nolock', osds=3)
    """
    server, *words = text.removeprefix(TESTBED).split(",")
    if server not in SERVERS:
        raise unknown_name("server of a testbed", server, tuple(SERVERS))
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if re.fullmatch(r"\d+(\.\d+)?[kmg]?bit", word):
            name, value = "rate", word
        elif not equals or name not in ("nodes", "size", "options", *(("osds",) if server == "ceph" else ())):
            raise InputError(
                f"{text}: '{word}' is no word of a testbed: a rate (1gbit), nodes=N, size=64M, options=A:B"
                + (", osds=N" if server == "ceph" else "")
            )
        if name in found:
            raise InputError(f"{text}: {name} is given twice")
        found[name] = value
    nodes = found.get("nodes", "2")
    if not nodes.isdecimal() or not 1 <= int(nodes) <= MOST_NODES:
        raise InputError(f"{text}: nodes={nodes}: give 1 to {MOST_NODES}")
    osds = found.get("osds", "3")
    if not osds.isdecimal() or not 1 <= int(osds) <= MOST_OSDS:
        raise InputError(f"{text}: osds={osds}: give 1 to {MOST_OSDS}")
    if not re.fullmatch(r"[1-9]\d*[KMG]", found.get("size", "2G")):
        raise InputError(f"{text}: size={found['size']}: give a number with K, M or G")
    options = found.get("options", "").replace(":", ",")
    return Wanted(server, found.get("rate", ""), int(nodes), found.get("size", "2G"), options, int(osds))
