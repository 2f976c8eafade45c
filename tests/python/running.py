"""The command as tests run it: in this process (the fixture `hakobi`) or as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass


@dataclass
class Result:
    status: int
    stdout: str
    stderr: str

    def line(self) -> str:
        """The one line of stderr that a user's mistake ends in."""
        lines = self.stderr.splitlines()
        assert len(lines) == 1, self.stderr
        return lines[0]


def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
    """The command as a process of its own, as a user starts it."""
    command = [sys.executable, "-m", "hakobi", *map(str, arguments)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]
