"""Runs MPI programs on several nodes of this machine: namespaces with a network of their own, TCP between them.

`cluster.sh` beside this file makes them and says how. Ranks of two nodes share no memory; each node has a /tmp and a
/dev/shm of its own, and everything else is the machine's. All of it is gone when the program has ended or is ended.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hakobi import launch
from hakobi.errors import RunError
from hakobi.launch import Finished
from hakobi.programs import Program

_SCRIPT = Path(__file__).with_name("cluster.sh")
_TOOLS = ("ip", "unshare", "nsenter", "setpriv", "mount", "hostname")


class UnavailableError(RunError):
    """This machine lets nobody make nodes, or the program cannot run on them."""


@dataclass(frozen=True)
class Nodes:
    """Nodes 1 to `num`, each with as many ranks; ranks are numbered node by node.

    All nodes share one network. `lines` have links of their own: the numbers of the nodes on each, and what a rank
    sends then takes the lines to its peer alone. `rate` shapes these links both ways, as tc takes it ("200mbit"); ""
    leaves them as fast as the machine is.
    """

    num: int = 2
    ranks_each: int = 1
    lines: tuple[tuple[int, ...], ...] = ()
    rate: str = ""

    @property
    def ranks(self) -> int:
        return self.num * self.ranks_each


def check(nodes: Nodes, program: Program) -> None:
    """Raises UnavailableError, one sentence, where `program` cannot be run on such nodes here."""
    if program.flavour != "openmpi":
        raise UnavailableError(
            f"several nodes on one machine are reached by Open MPI, and {program.name} is linked with {program.flavour}"
        )
    if os.geteuid() != 0:
        raise UnavailableError("several nodes on one machine need root: they are network namespaces")
    for tool in (*_TOOLS, *(["tc"] if nodes.rate else [])):
        if shutil.which(tool) is None:
            raise UnavailableError(f"several nodes on one machine need '{tool}', which is not in PATH")
    if not _has_namespaces():
        raise UnavailableError("this system lets nobody make network namespaces or a bridge in them")
    if nodes.rate and not _has_shaping(nodes.rate):
        raise UnavailableError(f"this system's network does not shape links to {nodes.rate} (tc's token bucket)")


@functools.cache
def _has_namespaces() -> bool:
    return _inside("ip link add name b0 type bridge")


@functools.cache
def _has_shaping(rate: str) -> bool:
    return _inside(f"tc qdisc add dev lo root tbf rate {rate} burst 64kb latency 20ms")


def _inside(script: str) -> bool:
    """Whether a shell's script succeeds in namespaces such as the nodes have."""
    command = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "sh", "-c", script]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run(
    nodes: Nodes,
    program: Program,
    arguments: Sequence[str],
    *,
    timeout_s: float | None = None,
    variables: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Finished:
    """Runs a program on the nodes to its end and returns what came of it, as launch.run does.

    `variables` go into every rank's environment, besides the HAKOBI_… of this process. Open MPI's parameters are among
    them as OMPI_MCA_<name>, except for those that make the nodes. `folder` exists; the program sees it on all nodes
    under its own path, and what it writes there stays. Raises UnavailableError as `check`, RunError when `timeout_s`
    passed; whatever ends the wait ends the nodes.
    """
    check(nodes, program)
    own = {name: value for name, value in os.environ.items() if name.startswith("HAKOBI_")}
    words = [f"{name}={value}" for name, value in (own | dict(variables or {})).items()]
    settings = {
        "HAKOBI_CLUSTER_LINES": " ".join("-".join(map(str, line)) for line in nodes.lines),
        "HAKOBI_CLUSTER_RATE": nodes.rate,
        "HAKOBI_CLUSTER_KEEP": "1",
    }
    with tempfile.TemporaryDirectory(prefix="hakobi-nodes-") as made:
        shared = str((folder or Path(made)).resolve())
        machine = [str(launch.mpiexec(program.flavour)), str(nodes.num), str(nodes.ranks_each), shared]
        command = ["sh", str(_SCRIPT), program.flavour, *machine, *words, str(program.path.resolve()), *arguments]
        return launch.run(
            program, arguments, nodes.ranks, timeout_s=timeout_s, extra_environment=settings, command=command
        )


__all__ = ["Nodes", "UnavailableError", "check", "run"]
