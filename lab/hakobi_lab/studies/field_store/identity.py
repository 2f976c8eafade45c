"""Whether runs wrote the same fields: GRIB messages of a run's output, one by one, in no order."""

from __future__ import annotations

import hashlib
import mmap
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from hakobi import files, programs
from hakobi.errors import FormatError, RunError
from hakobi.records import Record
from hakobi.words import count_text, list_text


def messages(content: bytes | mmap.mmap, name: str) -> Iterator[bytes]:
    """The GRIB 2 messages that follow one another in a file's content. Raises FormatError (`name`)."""
    at = 0
    while at < len(content):
        head = content[at : at + 16]
        length = int.from_bytes(head[8:16], "big")
        if head[:4] != b"GRIB" or head[7:8] != b"\2" or length < 16 or at + length > len(content):
            raise FormatError(f"{name}: no GRIB 2 message at byte {at}")
        yield content[at : at + length]
        at += length


def fields_below(folder: Path, kind: str) -> Record:
    """Number and digest of the fields that a run left in `folder` by output `kind` (files, store), read back: equal
    fields in any order give equal digests. Nothing for a run without output. Raises FormatError, RunError."""
    if kind == "none":
        return {}
    if kind == "store":
        copy = folder / "read-back.grib2"
        _retrieve(folder / "fields", copy)
        paths = [copy]
    else:
        paths = files.files_below(folder / "fields")
    digests = sorted(digest for path in paths for digest in _digests(path))
    return {"num_fields": len(digests), "fields_sha256": hashlib.sha256(b"".join(digests)).hexdigest()}


def _retrieve(store: Path, to: Path) -> None:
    command = [str(programs.find("hakobi-store").path), "get", str(store), "--output", str(to)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RunError(f"the store cannot be read back: {(done.stderr or done.stdout).strip()}")


def _digests(path: Path) -> list[bytes]:
    if path.stat().st_size == 0:
        return []
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return [hashlib.sha256(message).digest() for message in messages(content, path.name)]


def compared(summaries: Iterable[Record]) -> dict[str, dict[str, list[Record]]]:
    """By resolution, levels and hours: the runs of each digest, those that were read back."""
    found: dict[str, dict[str, list[Record]]] = {}
    for one in summaries:
        if "fields_sha256" in one:
            what = f"{one['resolution']}, {count_text(int(one['levels']), 'level')}, {one['hours']} h"
            found.setdefault(what, {}).setdefault(str(one["fields_sha256"]), []).append(one)
    return found


def mismatches(outcomes: Iterable[list[Record]]) -> list[str]:
    """A sentence for each resolution whose runs did not all write the same fields."""
    result = []
    for what, by_digest in compared(one for summaries in outcomes for one in summaries).items():
        if len(by_digest) > 1:
            groups = [", ".join(dict.fromkeys(_words(one) for one in runs)) for runs in by_digest.values()]
            result.append(f"{what}: fields differ between {list_text([f'({group})' for group in groups])}")
    return result


def _words(one: Record) -> str:
    return f"{one['output']} on {count_text(int(one['ranks']), 'rank')} x {count_text(int(one['threads']), 'thread')}"
