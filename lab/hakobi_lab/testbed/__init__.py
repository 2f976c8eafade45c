"""A file server, a network and compute nodes on one machine: real kernel clients, without a second machine.

   wanted.py    "nfs,1gbit,nodes=4": what is brought up                      (pure)
   nfs.py, smb.py, gluster.py   the servers, each behind Server of server.py
   packages.py  fetches and unpacks Debian's packages; nothing is installed
   bed.py       Testbed: brings all of it up, ends it, starts MPI programs on its nodes
   inside.py    the first process of the namespaces: network, server, nodes, then faults as it is told
   lost_bytes.py  whether the server keeps what several nodes write
   node.py      what a node runs in place of init; agent.py starts programs there in place of ssh

1. All lives in namespaces of its own (network, mounts, processes): bridge, taps, server, files in memory. They are gone
   with their first process, and that ends when the pipe to Testbed does, whatever ended Testbed.
2. A node is a user-mode-linux process: Linux 6.1 with one processor, whose root is this machine's, read only, with
   memory file systems over what is written. It is on the bridge by a tap; the server's link may be shaped.
3. The server's files are seen at `Testbed.folder` from here and at `on_nodes(path)` by programs on the nodes.
"""

from hakobi_lab.testbed import lost_bytes
from hakobi_lab.testbed.bed import Testbed, UnavailableError
from hakobi_lab.testbed.wanted import Wanted, parse

__all__ = ["Testbed", "UnavailableError", "Wanted", "lost_bytes", "parse"]
