"""Loading of a file by several viewers at once, through a modelled storage."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from hakobi import files, programs
from hakobi.errors import RunError
from hakobi.measuring.storage_model import StorageModel

#: A viewer: says that it is ready, waits, reads the file whole, and looks at every byte once, as the first
#: processing.
_VIEWER = """
import os, sys, zlib
print(flush=True)
sys.stdin.readline()
file = os.open(sys.argv[1], os.O_RDONLY)
while data := os.read(file, 4 << 20):
    zlib.crc32(data)
"""


def loading_s(model: StorageModel, folder: Path, num_bytes: int, viewers: int, timeout_s: float) -> float:
    """Seconds until each of `viewers` processes has read a file of its own of `num_bytes`. Raises RunError where one
    does not end in time, InputError without the model's library, StorageError."""
    program = programs.find("hakobi-bench-collective")  # the model's library lies beside it
    with files.own_folder(folder) as own:
        names = [Path(own) / f"results-{number}" for number in range(viewers)]
        for name in names:
            name.write_bytes(bytes(num_bytes))
        return _time_s(names, model.environment(program, Path(own), Path(own)), timeout_s)


def _time_s(names: Sequence[Path], variables: Mapping[str, str], timeout_s: float) -> float:
    pipe = subprocess.PIPE
    command = [sys.executable, "-S", "-c", _VIEWER]
    running = [
        subprocess.Popen([*command, str(name)], stdin=pipe, stdout=pipe, env=dict(variables), text=True)
        for name in names
    ]
    try:
        for one in running:
            assert one.stdout is not None
            one.stdout.readline()
        begin_s = time.monotonic()
        for one in running:
            assert one.stdin is not None
            one.stdin.close()
        for one in running:
            if one.wait(max(0.1, begin_s + timeout_s - time.monotonic())) != 0:
                raise RunError(f"a viewer of {names[0].name} ended with status {one.returncode}")
        return time.monotonic() - begin_s
    except subprocess.TimeoutExpired as error:
        raise RunError(f"{len(names)} viewers did not end in {timeout_s:.0f} s") from error
    finally:
        for one in running:
            one.kill()
            one.wait()
            for stream in (one.stdin, one.stdout):
                if stream is not None:
                    stream.close()
