"""The command as tests run it: in this process (the fixture `hakobi`) or as a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

from hakobi import launch, programs


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


def run_python(text: str, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A script as a process of its own, without a launcher: MPI knows one rank."""
    return subprocess.run(
        [sys.executable, "-c", text, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        check=False,
        env=launch.environment(programs.flavour(), environment),
    )


_started: list[subprocess.Popen[str]] = []


def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
    """The command as a process of its own, as a user starts it. A test that ends before it does ends it."""
    command = [sys.executable, "-m", "hakobi", *map(str, arguments)]
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload]
    _started.append(process)
    return process  # type: ignore[no-any-return]


def end_started() -> None:
    """Ends the processes of `start` that still run: gently first, as each has programs of its own to end."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.terminate()
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
        process.wait()


def has_ended(pid: int) -> bool:
    """Whether the process is no more, or only waits for its parent to ask how it ended."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def children_called(name: str, pid: int) -> list[psutil.Process]:
    """The processes below `pid` with that name. What ends meanwhile is not among them."""
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.name() == name:
                found.append(child)
    return found


def launcher_that_records(folder: Path, name: str, version: str = "") -> Path:
    """An executable of that name which says `version`, else leaves its words in the file `words` beside it, each
    in a line, and becomes the program that the first word which names a file is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"""#!/bin/sh
[ "$1" = --version ] && echo "{version}" && exit 0
printf "%s\\n" "$@" > "{folder}/words"
while [ $# -gt 0 ] && ! [ -f "$1" ]; do shift; done
exec "$@"
""")
    path.chmod(0o755)
    return path
