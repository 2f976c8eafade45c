"""In place of ssh: `agent.py NODE WORD…` runs a shell command on a node and ends with its status.

Protocol between the agent and a node (node.py): the agent sends one line of JSON {"shell": TEXT}; the node answers
with frames of a letter (o: its stdout, e: its stderr, s: its exit status as text, the last) and a length of four bytes.
A connection that ends early ends the command. With the standard library alone: nodes run it by the system's Python.
"""

from __future__ import annotations

import json
import socket
import struct
import sys

PORT = 7777


def run(address: str, shell: str) -> int:
    """Runs `shell` there, its output goes to this process's. Raises OSError."""
    with socket.create_connection((address, PORT)) as node, node.makefile("rb") as answers:
        node.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        node.sendall(json.dumps({"shell": shell}).encode() + b"\n")
        while head := answers.read(5):
            letter, length = struct.unpack("!cI", head)
            data = answers.read(length)
            if letter == b"s":
                return int(data)
            stream = sys.stdout if letter == b"o" else sys.stderr
            stream.buffer.write(data)
            stream.buffer.flush()
    return 255


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1], " ".join(sys.argv[2:])))
    except OSError as error:
        sys.stderr.write(f"hakobi: node {sys.argv[1]} cannot be reached: {error}\n")
        sys.exit(255)
