"""What a user wants of a testbed, in words: "nfs", "smb,1gbit", "nfs,nodes=4,options=vers=3:nolock:noac"; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hakobi.errors import InputError, unknown_name
from hakobi.lab import TESTBED
from hakobi_lab.testbed.servers import SERVERS

MOST_NODES = 8


@dataclass(frozen=True)
class Wanted:
    """`rate`: of the server's link, each way, as tc takes it; "" is unshaped. `size`: of the server's files together,
    which are in memory. `options`: the nodes' mount options; "" is the server's default."""

    server: str
    rate: str = ""
    nodes: int = 2
    size: str = "2G"
    options: str = ""

    def mount_options(self) -> str:
        return self.options or SERVERS[self.server].options

    def words(self) -> str:
        """For people: "SMB 3.1.1, Samba, 1gbit, 2 nodes (cache=strict)"."""
        rate = self.rate or "link not shaped"
        return f"{SERVERS[self.server].title}, {rate}, {self.nodes} nodes ({self.mount_options()})"

    def value(self) -> dict[str, object]:
        """For records."""
        return {"server": self.server, "rate": self.rate, "nodes": self.nodes, "options": self.mount_options()}


def parse(text: str) -> Wanted:
    """Raises InputError.

    >>> parse("testbed:nfs,1gbit,nodes=4,options=vers=3:nolock")
    Wanted(server='nfs', rate='1gbit', nodes=4, size='2G', options='vers=3,nolock')
    """
    server, *words = text.removeprefix(TESTBED).split(",")
    if server not in SERVERS:
        raise unknown_name("server of a testbed", server, tuple(SERVERS))
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if re.fullmatch(r"\d+(\.\d+)?[kmg]?bit", word):
            name, value = "rate", word
        elif not equals or name not in ("nodes", "size", "options"):
            raise InputError(
                f"{text}: '{word}' is no word of a testbed: a rate (1gbit), nodes=N, size=64M, options=A:B"
            )
        if name in found:
            raise InputError(f"{text}: {name} is given twice")
        found[name] = value
    nodes = found.get("nodes", "2")
    if not nodes.isdecimal() or not 1 <= int(nodes) <= MOST_NODES:
        raise InputError(f"{text}: nodes={nodes}: give 1 to {MOST_NODES}")
    if not re.fullmatch(r"[1-9]\d*[KMG]", found.get("size", "2G")):
        raise InputError(f"{text}: size={found['size']}: give a number with K, M or G")
    options = found.get("options", "").replace(":", ",")
    return Wanted(server, found.get("rate", ""), int(nodes), found.get("size", "2G"), options)
