"""`hakobi doctor --storage DIR --writers N` on a folder that several processes write to."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi.measuring import lost_bytes
from running import Result


def test_a_local_folder_keeps_all_bytes_and_nothing_is_left(tmp_path: Path) -> None:
    kept = lost_bytes.look(tmp_path, writers=3, pieces_each=300)
    assert (kept.writers, kept.pieces, kept.lost_bytes, kept.lost_pieces) == (3, 900, 0, 0)
    assert list(tmp_path.iterdir()) == []


def test_what_is_lost_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    pieces = 20
    path.write_bytes(b"".join(map(lost_bytes.content, range(pieces))))
    assert lost_bytes.lost(str(path), pieces) == (0, 0)
    # As of a client that writes back a block that it read before another wrote to it.
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(4096))
    assert lost_bytes.lost(str(path), pieces) == (4096, 5)
    os.truncate(path, pieces * lost_bytes.PIECE_BYTES - 9)
    assert lost_bytes.lost(str(path), pieces) == (4096 + 9, 6)


def test_writers_that_write_whole_blocks_lose_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: each writer reads blocks, changes its pieces in them, and writes all of them at the end."""
    writer = tmp_path / "writer.py"
    writer.write_text(f"""
import sys
sys.path.insert(0, {str(Path(lost_bytes.__file__).parent)!r})
import lost_bytes
path, writer, num_writers, num_pieces = sys.argv[1], *map(int, sys.argv[2:])
file = open(path, "r+b", buffering=0)
cached = bytearray(file.read())
lost_bytes._wait_for_all(path, writer, num_writers)
size = lost_bytes.PIECE_BYTES
for piece in range(writer, num_pieces, num_writers):
    cached[piece * size : (piece + 1) * size] = lost_bytes.content(piece)
file.seek(0)
file.write(cached)
""")
    monkeypatch.setattr(lost_bytes, "__file__", str(writer))
    (tmp_path / "folder").mkdir()
    kept = lost_bytes.look(tmp_path / "folder", writers=2, pieces_each=200)
    assert kept.lost_pieces >= 200
    assert kept.lost_bytes >= 200 * lost_bytes.PIECE_BYTES


def test_a_launcher_starts_the_writers(tmp_path: Path) -> None:
    launcher = tmp_path / "launcher"
    launcher.write_text(
        '#!/bin/sh\nOMPI_COMM_WORLD_RANK=0 "$@" & first=$!\nOMPI_COMM_WORLD_RANK=1 "$@" || exit 1\nwait $first\n'
    )
    launcher.chmod(0o755)
    kept = lost_bytes.look(tmp_path, writers=2, pieces_each=100, launcher=str(launcher))
    assert (kept.pieces, kept.lost_bytes) == (200, 0)
    with pytest.raises(lost_bytes.WriterError, match="the launcher started writer 1, but there are 1"):
        lost_bytes.look(tmp_path, writers=1, pieces_each=100, launcher=str(launcher))
    with pytest.raises(lost_bytes.WriterError, match="the launcher tells no rank"):
        lost_bytes.look(tmp_path, writers=1, pieces_each=100, launcher="env -i")


def test_doctor_ends_with_one_record(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    result = hakobi("doctor", "--quick", "--storage", tmp_path, "--writers", 2, "--pieces", 200, "--json", file)
    assert result.status == 0, result.stderr
    last = json.loads(file.read_text().splitlines()[-1])
    assert last == json.loads(result.stdout.splitlines()[-1])
    assert last["kind"] == "storage"
    assert (last["writers"], last["pieces"], last["lost_bytes"]) == (2, 400, 0)
    assert last["folder"] == str(tmp_path)


def test_doctor_refuses_what_it_cannot_look_at(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    assert hakobi("doctor", "--quick", "--writers", 2).status == 2
    missing = hakobi("doctor", "--quick", "--storage", tmp_path / "none", "--writers", 2)
    assert missing.status == 2
    assert f"--storage {tmp_path}/none: there is no such folder" in missing.stderr
    mistyped = hakobi("doctor", "--storage", tmp_path / "none")
    assert mistyped.status == 2
    assert f"cannot measure storage in {tmp_path}/none" in mistyped.stderr
    assert not (tmp_path / "none").exists()
    broken = hakobi(
        "doctor", "--quick", "--storage", tmp_path, "--writers", 2, "--launcher", f"{sys.executable} -c 1/0"
    )
    assert broken.status != 0
    assert "ZeroDivisionError" in broken.stderr
