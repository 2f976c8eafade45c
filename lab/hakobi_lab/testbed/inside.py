"""The first process of a testbed's namespaces: `python -m hakobi_lab.testbed.inside SETTINGS` (JSON of bed.py).

It prints one JSON line {"pid": N} at once, then {"ready": [the nodes' mounts]} or {"error": TEXT}. Then it does what it
is told, a word a line, and answers each with {"done": WORD}: `stop` and `continue` the server's processes, `cut` and
`restore` its link. When nobody can tell it anything any more it ends, and everything with it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from hakobi_lab.testbed.server import EXPORTED, HEAD, SERVER, SHARED, TOLD, Room, Server, node_address
from hakobi_lab.testbed.servers import SERVERS

WORK = Path("/srv/work")
#: How long a node may take to come up; they share two processors with all else.
NODE_S = 90.0


def say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)


def in_server(*words: str) -> None:
    run("nsenter", "--net=/run/netns/server", *words)


def make_places(unpacked: Path, size: str, num_nodes: int) -> None:
    """Memory file systems for all that is written; packages where their programs look for them, in here only."""
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "proc", "proc", "/proc")
    run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/srv")
    Path("/run/netns").mkdir()
    for place in (WORK, EXPORTED, SHARED, TOLD):
        place.mkdir()
    run("mount", "-t", "tmpfs", "-o", f"mode=777,size={size}", "tmpfs", str(EXPORTED))
    for system in ("/usr", "/etc"):
        run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={unpacked}{system}:{system}", system)
    hosts = WORK / "hosts"
    lines = ["127.0.0.1 localhost", f"{HEAD} head", f"{SERVER} server"]
    hosts.write_text("\n".join([*lines, *(f"{node_address(i)} node{i}" for i in range(num_nodes)), ""]))
    run("mount", "--bind", str(hosts), "/etc/hosts")


def make_network(rate: str, num_nodes: int) -> None:
    """The bridge with the head's address, the server's link, a tap a node."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "bridge0", "type", "bridge")
    run("ip", "address", "add", f"{HEAD}/24", "dev", "bridge0")
    run("ip", "link", "set", "bridge0", "up")
    run("ip", "netns", "add", "server")
    run("ip", "link", "add", "server0", "type", "veth", "peer", "name", "eth0", "netns", "server")
    run("ip", "link", "set", "server0", "master", "bridge0", "up")
    run("ip", "-n", "server", "address", "add", f"{SERVER}/24", "dev", "eth0")
    run("ip", "-n", "server", "link", "set", "eth0", "up")
    run("ip", "-n", "server", "link", "set", "lo", "up")
    if rate:
        shape = ("root", "tbf", "rate", rate, "burst", "256kb", "latency", "10ms")
        run("tc", "qdisc", "add", "dev", "server0", *shape)
        in_server("tc", "qdisc", "add", "dev", "eth0", *shape)
    for number in range(num_nodes):
        run("ip", "tuntap", "add", f"tap{number}", "mode", "tap")
        run("ip", "link", "set", f"tap{number}", "master", "bridge0", "up")


def await_server(server: Server, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + server.start_s
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection((SERVER, server.port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"the server did not come up: {tail(WORK / 'server.log', *WORK.glob('*.log'))}")


def start_node(server: Server, settings: dict[str, Any], number: int) -> subprocess.Popen[bytes]:
    unpacked = settings["unpacked"]
    modules = next(Path(unpacked, "usr/lib/uml/modules").iterdir()) / "kernel"
    own = WORK / f"node{number}.json"
    own.write_text(
        json.dumps(
            {
                "number": number,
                "address": node_address(number),
                "told": str(TOLD),
                "shared": str(SHARED),
                "busybox": f"{unpacked}/usr/bin/busybox",
                "modules": [str(modules / f"{name}.ko") for name in server.modules],
                "mount": server.mount_command(settings["options"], number),
            }
        )
    )
    kernel = [f"{unpacked}/usr/bin/linux.uml", f"mem={settings['memory']}", "quiet", "con0=fd:0,fd:1", "con=null"]
    kernel += ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]
    kernel += [f"vec0:transport=tap,ifname=tap{number},depth=128,gro=1"]
    program = [f"init={settings['python']}", "--", "-I", str(Path(__file__).with_name("node.py")), str(own)]
    with (WORK / f"node{number}.log").open("wb") as log:
        return subprocess.Popen(
            [*kernel, *program], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def await_node(number: int, process: subprocess.Popen[bytes], end: float) -> str:
    """The line of its mount. Raises RuntimeError."""
    told = TOLD / f"node{number}.json"
    while not told.exists():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"node {number} did not come up: {tail(WORK / f'node{number}.log')}")
        time.sleep(0.05)
    answer = json.loads(told.read_text())
    if "error" in answer:
        raise RuntimeError(f"node {number}: {answer['error']}: {tail(WORK / f'node{number}.log')}")
    return str(answer["mounted"])


def tail(*logs: Path) -> str:
    """The last of what logs say, without a kernel's stack."""
    lines = [line.strip() for log in logs if log.exists() for line in log.read_text(errors="replace").split("\n")]
    return " | ".join([line for line in lines if line and "[<" not in line][-8:]) or "it said nothing"


def obey(word: str, server: subprocess.Popen[bytes]) -> None:
    if word in ("stop", "continue"):
        os.killpg(server.pid, signal.SIGSTOP if word == "stop" else signal.SIGCONT)
    elif word in ("cut", "restore"):
        run("ip", "link", "set", "server0", "down" if word == "cut" else "up")
    else:
        raise RuntimeError(f"'{word}' is nothing that can be done")


def main() -> None:
    say({"pid": int(str(Path("/proc/self").readlink()))})  # as it is known outside: /proc is still the outer one
    settings = json.loads(sys.argv[1])
    kind, num_nodes = SERVERS[settings["server"]], settings["nodes"]
    try:
        make_places(Path(settings["unpacked"]), settings["size"], num_nodes)
        make_network(settings["rate"], num_nodes)
        server = kind.start(WORK, settings["options"], Room(settings["size_bytes"], settings["osds"]))
        await_server(kind, server)
        nodes = [start_node(kind, settings, number) for number in range(num_nodes)]
        end = time.monotonic() + NODE_S
        say({"ready": [await_node(number, node, end) for number, node in enumerate(nodes)]})
        for line in sys.stdin:
            obey(line.strip(), server)
            say({"done": line.strip()})
    except subprocess.CalledProcessError as error:
        say({"error": f"{' '.join(error.cmd)}: {error.stderr.strip()}"})
    except (OSError, RuntimeError) as error:
        say({"error": str(error)})


if __name__ == "__main__":
    main()
