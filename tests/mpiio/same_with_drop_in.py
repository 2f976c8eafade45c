"""Runs an MPI program twice, without and with the drop-in, and fails where the runs differ.

    same_with_drop_in.py --drop-in LIBRARY [--takes N] [--tool LIBRARY [--behind]] -- launcher … program argument …

1. Each run gets a folder of its own as working directory; every file that it leaves there is compared byte for byte,
   and so are exit status and stdout.
2. The second run has LD_PRELOAD as a user sets it: for the launcher and all that it starts. Its profile on stderr must
   count at least N collective calls that the engine took (1 by default), or nothing was tested.
3. A tool is preloaded in both runs, before the drop-in, or behind it.
4. A program that ends with status 77 without the drop-in cannot run here: skipped.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def run(command: list[str], folder: Path, extra: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    folder.mkdir()
    return subprocess.run(command, cwd=folder, env=os.environ | extra, capture_output=True, timeout=240, check=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def calls_taken(profile: str) -> int:
    return sum(
        int(w) + int(r) for w, r in re.findall(r"taken +(\d+) collective writes and (\d+) collective reads", profile)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drop-in", required=True, type=Path)
    parser.add_argument("--takes", type=int, default=1)
    parser.add_argument("--tool", type=Path)
    parser.add_argument("--behind", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="hakobi-drop-in-") as name:
        plain_folder, drop_in_folder = Path(name) / "plain", Path(name) / "drop-in"
        tools = [str(options.tool.resolve())] if options.tool else []
        plain = run(options.command, plain_folder, {"LD_PRELOAD": ":".join(tools)})
        if plain.returncode == 77:
            print("skipped: the program cannot run with this MPI library")
            return 0
        preloaded = [*tools, str(options.drop_in.resolve())]
        extra = {"LD_PRELOAD": ":".join(preloaded[::-1] if options.behind else preloaded), "HAKOBI_PROFILE": "1"}
        with_drop_in = run(options.command, drop_in_folder, extra)
        if plain.returncode != 0:
            problems.append(f"the program fails without the drop-in: {plain.stderr.decode(errors='replace')[-2000:]}")
        if with_drop_in.returncode != plain.returncode:
            said = with_drop_in.stderr.decode(errors="replace")[-4000:]
            problems.append(f"exit status {with_drop_in.returncode}, without the drop-in {plain.returncode}: {said}")
        if with_drop_in.stdout != plain.stdout:
            problems.append(f"stdout {with_drop_in.stdout!r}, without the drop-in {plain.stdout!r}")
        files, other_files = contents(plain_folder), contents(drop_in_folder)
        if not files:
            problems.append("the program leaves no file")
        if files.keys() != other_files.keys():
            problems.append(f"files {sorted(other_files)}, without the drop-in {sorted(files)}")
        for path in sorted(files.keys() & other_files.keys()):
            if files[path] != other_files[path]:
                at = next(
                    (i for i, (a, b) in enumerate(zip(files[path], other_files[path], strict=False)) if a != b), -1
                )
                problems.append(
                    f"{path} differs, first at byte {at} of {len(files[path])} and {len(other_files[path])}"
                )
        profile = with_drop_in.stderr.decode(errors="replace")
        taken = calls_taken(profile)
        if taken < options.takes:
            problems.append(f"the engine took {taken} collective calls, not {options.takes}: {profile[-2000:]}")
        print(f"{len(files)} files, {sum(map(len, files.values()))} bytes, {taken} collective calls taken")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
