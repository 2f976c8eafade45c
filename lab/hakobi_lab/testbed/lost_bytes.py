"""Whether a testbed's server keeps what writers on its nodes put into one file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hakobi.measuring import lost_bytes
from hakobi.measuring.lost_bytes import Kept
from hakobi_lab.testbed.bed import Testbed


def look(bed: Testbed, writers: int, pieces_each: int = 10_000, timeout_s: float = 600) -> Kept:
    """As hakobi.measuring.lost_bytes.look, with writers on the nodes, dealt out one by one; what the server has then is
    compared. Raises OSError, or WriterError."""

    def commands(path: Path) -> list[list[str]]:
        program = [os.path.realpath(sys.executable), str(Path(lost_bytes.__file__).resolve()), str(bed.on_nodes(path))]
        rest = [str(writers), str(writers * pieces_each)]
        return [bed.on_node(i % bed.wanted.nodes, *program, str(i), *rest) for i in range(writers)]

    return lost_bytes.look_by(bed.folder, writers, pieces_each, commands, timeout_s)
