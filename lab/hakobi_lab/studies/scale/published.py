"""Published figures of writes, from published.toml, and the runs that they are of."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from hakobi_lab.studies.scale import machine
from hakobi_lab.studies.scale.simulation import Case

#: How far a simulated figure may be from a published one.
FACTOR = 1.5


@dataclass(frozen=True)
class Published:
    """A figure that the model misses by more than its factor keeps its row, with the reason where one is known."""

    what: str
    source: str
    machine: str
    method: str
    nodes: int
    ranks_of_node: int
    gb_s: float
    stripes: int
    stripe_mib: float = 1
    pattern: str = "block3d"
    rank_mib: int = 64
    piece_bytes: int = 4096  #: of the cyclic pattern
    servers: int = 0  #: where not those of the machine file
    factor: float = FACTOR  #: how far the simulated figure may be from it
    assumed: str = ""
    explained: str = ""

    def case(self) -> Case:
        """The run to simulate."""
        changes: dict[str, float | str] = {"nodes.ranks": self.ranks_of_node}
        if self.servers:
            changes["storage.servers"] = self.servers
        ranks = self.nodes * self.ranks_of_node
        return Case(
            machine.load(self.machine).with_values(changes),
            ranks,
            (self.method,),
            self.pattern,
            ranks * self.rank_mib << 20,
            self.piece_bytes,
            stripes=self.stripes,
            stripe_bytes=int(self.stripe_mib * (1 << 20)),
        )


def load() -> list[Published]:
    """
    >>> [one.gb_s for one in load() if one.source == "mpich issue 7935"]
    [30, 32, 78]
    """
    text = Path(__file__).with_name("published.toml").read_text()
    return [Published(**values) for values in tomllib.loads(text)["figure"]]
