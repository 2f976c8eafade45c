"""Slurm on one machine: a real slurmctld with nodes of its own, in namespaces that are gone with it.

   cluster.py    Cluster: brings it up, says how a command is run in it, ends it
   inside.py     the first process of the namespaces: network, munged, slurmctld, a slurmd a node
   __main__.py   tools/testbed slurm up|run|down

1. A node has its own network, host name, IPC, /tmp and /dev/shm, and everything else of this machine; ranks of two
   nodes reach each other by TCP over a bridge. Slurm takes it for a node with as many processors as it is told.
2. Debian's packages are unpacked, not installed: an overlay shows them in /usr, in here only.
3. All of it ends with the first process: when Cluster is closed, and when its maker ends in whatever way.
"""

from hakobi_lab.slurm.cluster import Cluster
from hakobi_lab.testbed.bed import UnavailableError

__all__ = ["Cluster", "UnavailableError"]
