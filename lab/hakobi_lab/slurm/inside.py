"""The first process of the namespaces: `python -m hakobi_lab.slurm.inside SETTINGS` (JSON of cluster.py).

It prints one JSON line {"pid": N} at once, then {"ready": NODES} or {"error": TEXT}, and ends, with everything in the
namespaces, when nobody can tell it anything any more; with "stays" when it is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from hakobi_lab.testbed.inside import run, say, tail

HEAD, NETWORK = "10.77.0.254", "10.77.0"
SRV = Path("/srv")
NODES_S = 100.0

#: No cgroups, no accounting, no limits: nodes without any of their own, and jobs that start as soon as there
#: is room.
CONFIGURATION = """
ClusterName=testbed
SlurmctldHost=head({head})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge.socket
StateSaveLocation=/srv/state
SlurmdSpoolDir=/srv/spool-%n
SlurmctldPidFile=/srv/slurmctld.pid
SlurmdPidFile=/srv/slurmd-%n.pid
SlurmctldLogFile=/srv/log/slurmctld.log
SlurmdLogFile=/srv/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
PartitionName=work Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

#: The parts of a node: its name, then the folders that it sees although they are below its own /tmp or
#: /dev/shm.
NODE = """
hostname "$1" && shift
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs -o mode=1777 shm /dev/shm
number=0
for folder; do
    mkdir -p "$folder" && mount --bind "/srv/shared/$number" "$folder"
    number=$((number + 1))
done
exec slurmd -N "$(hostname)"
"""


def make_places(unpacked: Path, shared: list[str]) -> None:
    """Memory file systems for all that is written; packages, and the names that their installation would link."""
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "proc", "proc", "/proc")
    for place in ("/run", "/srv"):
        run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", place)
    for folder in ("/run/netns", "/srv/state", "/srv/log", "/srv/links/sbin", "/srv/shared"):
        Path(folder).mkdir(parents=True)
    for program in ("slurmctld", "slurmd", "slurmstepd"):
        (SRV / "links" / "sbin" / program).symlink_to(f"{program}-wlm")
    run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir=/srv/links:{unpacked}/usr:/usr", "/usr")
    for number, folder in enumerate(shared):
        (SRV / "shared" / str(number)).mkdir()
        run("mount", "--bind", folder, f"/srv/shared/{number}")


def address(number: int) -> str:
    """
    >>> address(3)
    '10.77.0.13'
    """
    return f"{NETWORK}.{10 + number}"


def make_network(num_nodes: int) -> None:
    hosts = ["127.0.0.1 localhost", f"{HEAD} head", *(f"{address(i)} n{i}" for i in range(1, num_nodes + 1))]
    (SRV / "hosts").write_text("\n".join([*hosts, ""]))
    run("mount", "--bind", "/srv/hosts", "/etc/hosts")
    run("hostname", "head")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "bridge0", "type", "bridge")
    run("ip", "address", "add", f"{HEAD}/24", "dev", "bridge0")
    run("ip", "link", "set", "bridge0", "up")


def start_head(num_nodes: int, cpus: int) -> None:
    key = SRV / "munge.key"
    key.touch(mode=0o400)
    key.write_bytes(os.urandom(1024))
    files = {"key-file": key, "socket": "/run/munge.socket", "pid-file": SRV / "munged.pid", "seed-file": SRV / "seed"}
    files["log-file"] = SRV / "log" / "munged.log"
    run("munged", "--force", *(f"--{name}={path}" for name, path in files.items()))
    nodes = [f"NodeName=n{i} NodeAddr={address(i)} CPUs={cpus}" for i in range(1, num_nodes + 1)]
    (SRV / "slurm.conf").write_text(
        CONFIGURATION.format(head=HEAD).replace("\nPart", "\n" + "\n".join(nodes) + "\nPart")
    )
    os.environ["SLURM_CONF"] = str(SRV / "slurm.conf")
    run("slurmctld", "-c")


def start_node(number: int, shared: list[str]) -> None:
    name = f"n{number}"
    run("ip", "netns", "add", name)
    run("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
    run("ip", "link", "set", f"port{number}", "master", "bridge0", "up")
    run("ip", "-n", name, "address", "add", f"{address(number)}/24", "dev", "eth0")
    for device in ("eth0", "lo"):
        run("ip", "-n", name, "link", "set", device, "up")
    own = ["nsenter", f"--net=/run/netns/{name}", "unshare", "--uts", "--ipc", "--mount"]
    run(*own, "sh", "-eu", "-c", NODE, "node", name, *shared)


def await_nodes(num_nodes: int) -> None:
    end = time.monotonic() + NODES_S
    while time.monotonic() < end:
        states = subprocess.run(["sinfo", "-h", "-o", "%T %D"], capture_output=True, text=True, check=False).stdout
        if states.split() == ["idle", str(num_nodes)]:
            return
        time.sleep(0.05)
    raise RuntimeError(f"nodes are '{states.strip()}': {tail(*(SRV / 'log').glob('slurm*.log'))}")


def main() -> None:
    say({"pid": int(str(Path("/proc/self").readlink()))})  # as it is known outside: /proc is still the outer one
    settings = json.loads(sys.argv[1])
    try:
        make_places(Path(settings["unpacked"]), settings["shared"])
        make_network(settings["nodes"])
        start_head(settings["nodes"], settings["cpus"])
        for number in range(1, settings["nodes"] + 1):
            start_node(number, settings["shared"])
        await_nodes(settings["nodes"])
    except subprocess.CalledProcessError as error:
        say({"error": f"{' '.join(error.cmd)}: {error.stderr.strip()}"})
        return
    except (OSError, RuntimeError) as error:
        say({"error": str(error)})
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # daemons' children become ours, and nobody asks how they ended
    say({"ready": settings["nodes"]})
    while settings["stays"]:
        signal.pause()
    sys.stdin.read()


if __name__ == "__main__":
    main()
