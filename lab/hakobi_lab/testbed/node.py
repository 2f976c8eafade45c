"""Runs in place of a node's init: `node.py SETTINGS`, a JSON file of inside.py. Needs the standard library alone.

1. Memory file systems over what is written, the network, the kernel's modules, the server's files.
2. TOLD/nodeN.json says what was mounted, or why not.
3. Commands are run as agents ask for them (agent.py says how), until the machine goes away.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

PORT = 7777
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "TMPDIR": "/run",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def start(settings: dict[str, object]) -> str:
    """Step 1; returns the mounted share's line of /proc/self/mountinfo. Raises CalledProcessError with a text."""
    told = str(settings["told"])
    _run("mount", "-t", "hostfs", "-o", told, "none", told)  # first: whatever goes wrong later is told there
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")):  # the kernel has mounted /dev
        _run("mount", "-t", kind, kind, place)
    for place in ("/dev/shm", "/dev/pts"):
        Path(place).mkdir(exist_ok=True)
    _run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
    _run("mount", "-t", "devpts", "devpts", "/dev/pts")
    socket.sethostname(f"node{settings['number']}")
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "address", "add", f"{settings['address']}/24", "dev", "vec0")
    _run("ip", "link", "set", "vec0", "up")
    for module in settings["modules"]:  # type: ignore[attr-defined]
        # One that is in the kernel already is refused; what is missing shows when the share is mounted.
        subprocess.run([str(settings["busybox"]), "insmod", module], capture_output=True, check=False)
    _run(*settings["mount"])  # type: ignore[misc]
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if line.split()[4] == settings["shared"]][-1]


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)


def serve(connection: socket.socket) -> None:
    """One command for one agent."""
    with connection, connection.makefile("rb") as asked:
        request = json.loads(asked.readline())
        process = subprocess.Popen(
            ["/bin/sh", "-c", request["shell"]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        letters = {process.stdout.fileno(): b"o", process.stderr.fileno(): b"e"}
        try:
            while letters:
                ready, _, _ = select.select([*letters, connection.fileno()], [], [])
                if connection.fileno() in ready:  # the agent says no more: it has gone
                    raise ConnectionResetError
                for fd in ready:
                    data = os.read(fd, 1 << 16)
                    if data:
                        connection.sendall(struct.pack("!cI", letters[fd], len(data)) + data)
                    else:
                        del letters[fd]
            status = str(process.wait()).encode()
            connection.sendall(struct.pack("!cI", b"s", len(status)) + status)
        except OSError:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def main() -> None:
    settings = json.loads(Path(sys.argv[1]).read_text())
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    told = Path(str(settings["told"])) / f"node{settings['number']}.json"
    try:
        result = {"mounted": start(settings)}
    except subprocess.CalledProcessError as error:
        result = {"error": f"{' '.join(error.cmd)}: {error.stderr.strip()}"}
    listener = socket.create_server((str(settings["address"]), PORT), backlog=64)
    told.with_suffix(".part").write_text(json.dumps(result))
    told.with_suffix(".part").rename(told)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
