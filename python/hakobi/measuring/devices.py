"""Finds the GPUs of this machine, by Hakobi's library, and whether the MPI library takes their memory.

The library is asked in a process of its own, which loads a driver first: without one it loads nothing else, and a
driver that fails ends that process alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hakobi import programs
from hakobi.measuring.machine import Fact

_QUESTION = """
import ctypes, itertools, json, sys
for name in ("libcuda.so.1", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"):
    try:
        ctypes.CDLL(name)
        break
    except OSError:
        pass
else:
    sys.exit()
from hakobi import _library
from hakobi._capi import CONSTANTS
library = _library.load()
def all_of(function):
    return [text.decode() for text in itertools.takewhile(bool, map(function, itertools.count()))]
devices = all_of(library.hakobi_device_text)
print(json.dumps({"devices": devices, "refused": all_of(library.hakobi_device_refused)}), flush=True)
if devices:  # MPI is asked last: it may end the process
    library.hakobi_mpi_init_if_needed()
    told = [library.hakobi_mpi_takes_device_memory(i) == CONSTANTS["YES"] for i in range(len(devices))]
    print(json.dumps({"is_aware": all(told)}), flush=True)
    library.hakobi_mpi_finalize_if_ours()
"""


@dataclass(frozen=True)
class Answer:
    """The answer of a build of the library; `failure`: why there is none."""

    devices: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    is_aware: bool | None = None  #: None: MPI could not be asked
    failure: str = ""


def ask(flavour: str) -> Answer | None:
    """Asks the library that is built with this MPI; None: this machine has no driver."""
    environment = {**os.environ, "HAKOBI_MPI": flavour}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _QUESTION], capture_output=True, text=True, timeout=60, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Answer(failure=str(error))
    said: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        said |= json.loads(line) if line.startswith("{") else {}
    if said:
        return Answer(tuple(said["devices"]), tuple(said["refused"]), said.get("is_aware"))
    if done.returncode == 0:
        return None
    lines = done.stderr.strip().splitlines()
    return Answer(failure=lines[-1] if lines else f"it ended with status {done.returncode}")


def found(ask: Callable[[str], Answer | None] = ask) -> list[Fact]:
    """Each device, each driver that gives none, and whether the MPI libraries in use take device memory."""
    answers: dict[str, Answer] = {}
    for flavour in programs.FLAVOURS:
        answer = ask(flavour)
        if answer is None:
            return [Fact("devices", "none: no driver of CUDA or HIP")]
        answers[flavour] = answer
    told = {flavour: answer for flavour, answer in answers.items() if not answer.failure}
    if not told:
        why = next(iter(answers.values())).failure
        return [Fact("devices", "not known: there is a driver, and Hakobi's library cannot be asked", "note", why)]
    first = next(iter(told.values()))
    facts = [Fact("device", text) for text in first.devices]
    facts += [
        Fact("device driver", text, "note", "memory of its devices is refused", "install a newer driver")
        for text in first.refused
    ]
    if not first.devices:
        return facts or [Fact("devices", "none: the driver has no device")]
    for flavour, answer in told.items():
        topic = f"devices ({flavour})"
        if answer.is_aware is None:
            facts.append(Fact(topic, "the MPI library does not start, and was not asked", "note"))
        elif answer.is_aware:
            facts.append(Fact(topic, "the MPI library takes device memory"))
        else:
            facts.append(
                Fact(
                    topic,
                    "the MPI library takes no device memory, as far as it tells",
                    "note",
                    "halos between nodes go by page-locked memory of the host",
                    "use a library that is built for the device; HAKOBI_GPU_AWARE=1 says so of one that does not tell",
                )
            )
    return facts
