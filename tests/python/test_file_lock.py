"""Locks on file systems that have none."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from hakobi import records
from hakobi.file_lock import lock


def failing_with(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    def flock(_fd: int, _operation: int) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, 524])
def test_without_locks_records_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    failing_with(monkeypatch, error)
    for number in range(2):
        records.append(tmp_path / "runs.jsonl", {"x": number})
    assert records.read(tmp_path / "runs.jsonl") == [{"x": 0}, {"x": 1}]


def test_a_failing_storage_is_no_file_system_without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_with(monkeypatch, errno.EIO)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        lock(0)


def test_one_has_it_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as one, path.open("w") as other:
        assert lock(one.fileno())
        with pytest.raises(BlockingIOError):
            lock(other.fileno(), wait=False)
