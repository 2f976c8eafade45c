"""The transports that move bytes between ranks of a node, and each MPI library's own controls over it.

A `Transport` is a row of `hakobi study mpi-cache`: a name that means the same for every library, the environment that
selects it there, and the words that say so. What a library has no control for is a row with `missing` set, and is
skipped. Nothing is assumed of a library: Open MPI is asked through ompi_info, MPICH through mpichversion and the
libraries below it through their own tools and logs.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

#: Names of the rows, in order: what is on in each.
NAMES = ("default", "no-single-copy", "no-shared-memory", "eager-1K", "eager-64K")
#: Rows of the library's own choice between two ranks that are placed: by hwloc, or on two nodes of this
#: machine.
OTHER_NODE = "other-node"
PLACES = {
    "same-core-complex": "two cores that share the last-level cache",
    "other-socket": "two cores of different sockets",
    OTHER_NODE: "two nodes of this machine (namespaces), TCP between them",
}
#: The name of OTHER_NODE in a batch system's allocation of several nodes.
ALLOCATED_NODES = "two nodes of the allocation"


@dataclass(frozen=True)
class Transport:
    """One way to move bytes; `environment` selects it, `text` names library, mechanism and control."""

    name: str
    text: str
    environment: dict[str, str] = field(default_factory=dict)
    missing: str = ""  #: why this library cannot do it; "" when it can
    place: str = ""  #: of PLACES; "": as launched


#: Runs a tool and returns what it prints; "" when there is no such tool.
Ask = Callable[[Sequence[str]], str]


@functools.cache
def _cached(command: tuple[str, ...]) -> str:
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def ask(command: Sequence[str]) -> str:
    """The output of a tool, which is asked once a process."""
    return _cached(tuple(command))


def transports(flavour: str, tool: Ask = ask) -> list[Transport]:
    """The rows for an MPI library, in the order of NAMES."""
    if flavour == "openmpi":
        return _open_mpi(tool)
    if flavour == "mpich":
        return _mpich(tool)
    return [Transport("default", f"{flavour}: its own choice")] + [
        Transport(name, "", missing=f"no control known for {flavour}") for name in NAMES[1:]
    ]


def placed(is_allocated: bool = False) -> list[Transport]:
    """The rows of PLACES; `is_allocated`: the launcher reaches several nodes (launch.chooses_nodes)."""
    texts = PLACES | ({OTHER_NODE: ALLOCATED_NODES} if is_allocated else {})
    return [Transport(name, text, place=name) for name, text in texts.items()]


def _open_mpi(tool: Ask) -> list[Transport]:
    """Open MPI's byte transfer layers: `vader` up to version 4, `sm` from 5 on, each with its parameters."""
    text = ""
    for name in ("ompi_info.openmpi", "ompi_info"):
        text = text or tool([name, "--all", "--parsable"])
    if not text:
        return [
            Transport("default", "Open MPI's own choice (no ompi_info to ask)"),
            *[Transport(name, "", missing="no ompi_info in PATH to ask for controls") for name in NAMES[1:]],
        ]
    layer = next((name for name in ("sm", "vader") if f"mca:btl:{name}:param:btl_{name}_eager_limit:" in text), "")
    if not layer:
        return [
            Transport("default", "Open MPI's own choice"),
            *[
                Transport(name, "", missing="this Open MPI has no shared-memory layer vader or sm")
                for name in NAMES[1:]
            ],
        ]

    def value(parameter: str) -> str:
        found = re.search(rf"^mca:(?:btl:{layer}|smsc:\w+):param:{parameter}:value:(.*)$", text, re.MULTILINE)
        return found.group(1) if found else ""

    eager = value(f"btl_{layer}_eager_limit")
    copies = value(f"btl_{layer}_single_copy_mechanism")
    single = f"single copy {copies}" if copies else "single copy by the smsc framework"
    btl = f"btl {layer}, {single}, eager limit {eager}"
    chosen = f"Open MPI pml ob1, {btl}"
    if "mca:pml:ucx:" in text:
        chosen = f"Open MPI's choice of pml ucx and pml ob1 ({btl})"
    result = [Transport("default", chosen)]
    ob1 = {"OMPI_MCA_pml": "ob1"}  # the layer that uses btls: another one (UCX) would not look at their parameters
    if copies:
        control = ob1 | {f"OMPI_MCA_btl_{layer}_single_copy_mechanism": "none"}
        words = f"pml ob1, btl {layer}, btl_{layer}_single_copy_mechanism=none"
        result.append(Transport("no-single-copy", words, control))
    elif "mca:smsc:" in text:
        control = ob1 | {"OMPI_MCA_smsc": "^cma,xpmem,knem"}
        result.append(Transport("no-single-copy", f"pml ob1, btl {layer}, smsc ^cma,xpmem,knem", control))
    else:
        result.append(Transport("no-single-copy", "", missing="this Open MPI has no control over single copy"))
    if "mca:btl:tcp:" in text:
        result.append(Transport("no-shared-memory", "pml ob1, btl tcp,self", ob1 | {"OMPI_MCA_btl": "tcp,self"}))
    else:
        result.append(Transport("no-shared-memory", "", missing="this Open MPI has no btl tcp"))
    for name, limit in (("eager-1K", 1024), ("eager-64K", 65536)):
        control = ob1 | {f"OMPI_MCA_btl_{layer}_eager_limit": str(limit)}
        result.append(Transport(name, f"pml ob1, btl {layer}, btl_{layer}_eager_limit={limit}", control))
    return result


def _mpich(tool: Ask) -> list[Transport]:
    """MPICH's device: ch4:ucx by UCX's variables, ch4:ofi by libfabric's; others have no control that is known here."""
    text = tool(["mpichversion.mpich"]) or tool(["mpichversion"])
    found = re.search(r"Device:\s*(\S+)", text)
    device = found.group(1) if found else ""
    if device.startswith("ch4:ucx"):
        return [
            Transport("default", "MPICH ch4:ucx, UCX's own choice"),
            Transport("no-single-copy", "UCX_TLS=self,sysv,posix (no cma)", {"UCX_TLS": "self,sysv,posix"}),
            Transport("no-shared-memory", "UCX_TLS=tcp,self", {"UCX_TLS": "tcp,self"}),
            Transport("eager-1K", "UCX_RNDV_THRESH=1024", {"UCX_RNDV_THRESH": "1024"}),
            Transport("eager-64K", "UCX_RNDV_THRESH=65536", {"UCX_RNDV_THRESH": "65536"}),
        ]
    if device.startswith("ch4:ofi"):
        missing = "MPICH on libfabric has no control over this"
        return [
            Transport("default", "MPICH ch4:ofi, libfabric's own choice"),
            Transport("no-single-copy", "MPIR_CVAR_CH4_XPMEM_ENABLE=0", {"MPIR_CVAR_CH4_XPMEM_ENABLE": "0"}),
            Transport(
                "no-shared-memory",
                "FI_PROVIDER=tcp, MPIR_CVAR_NOLOCAL=1",
                {"FI_PROVIDER": "tcp", "MPIR_CVAR_NOLOCAL": "1"},
            ),
            *[Transport(name, "", missing=missing) for name in NAMES[3:]],
        ]
    named = f"MPICH with device {device}" if device else "MPICH (its device is not known: no mpichversion in PATH)"
    return [
        Transport("default", f"{named}: its own choice"),
        *[Transport(name, "", missing=f"no control known for {named}") for name in NAMES[1:]],
    ]


#: Variables that make a library say at start-up what it chose, by MPI library.
TALKING = {
    "openmpi": {"OMPI_MCA_pml_base_verbose": "10", "UCX_LOG_LEVEL": "info"},
    "mpich": {"UCX_LOG_LEVEL": "info"},
}


def used(flavour: str, log: str) -> str:
    """The transport that a library chose, by its log, where it could choose; "" when the log says nothing.

    >>> used("openmpi", "[vm:1] selected ob1 best priority 20"), used("mpich", "ep_cfg[1]: tag(sysv/memory)")
    ('pml ob1', 'sysv')
    >>> used("openmpi", "selected ucx best priority 51\\nep_cfg[1]: tag(sysv/memory cma/memory)")
    'pml ucx (sysv, cma)'
    """
    lanes = used_by_ucx(log)
    if flavour != "openmpi":
        return lanes
    found = re.search(r"selected (\w+) best priority", log)
    pml = f"pml {found.group(1)}" if found else ""
    return f"{pml} ({lanes})" if pml == "pml ucx" and lanes else pml


def with_choice(text: str, used: str) -> str:
    """A row's text with what the library said that it used.

    >>> with_choice("Open MPI's choice of pml ucx and pml ob1 (btl vader)", "pml ob1")
    'Open MPI pml ob1, btl vader'
    >>> with_choice("Open MPI's choice of pml ucx and pml ob1 (btl vader)", "pml ucx (sysv)")
    'Open MPI pml ucx (sysv)'
    >>> with_choice("UCX_TLS=tcp,self", "tcp"), with_choice("Open MPI pml ob1, btl vader", "pml ob1")
    ('UCX_TLS=tcp,self: tcp', 'Open MPI pml ob1, btl vader')
    """
    if found := re.fullmatch(r"Open MPI's choice of pml ucx and pml ob1 \((.*)\)", text):
        return f"Open MPI {used}, {found.group(1)}" if used == "pml ob1" else f"Open MPI {used}"
    return text if used.startswith("pml") and used in text else f"{text}: {used}"


def used_by_ucx(log: str) -> str:
    """The transports that UCX uses between two ranks, by its log (UCX_LOG_LEVEL=info): "sysv, cma"; "" when the log
    says nothing.

    >>> used_by_ucx("ep_cfg[0]: tag(self/memory0 cma/memory)\\nep_cfg[1]: tag(sysv/memory cma/memory)")
    'sysv, cma'
    """
    for lanes in re.findall(r"ep_cfg\[\d+\]: tag\(([^)]*)\)", log):
        names = [lane.split("/")[0] for lane in lanes.split()]
        if "self" not in names:
            return ", ".join(dict.fromkeys(names))
    return ""
