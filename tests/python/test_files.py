from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hakobi import files
from hakobi.errors import StorageError


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=3000), max_size=5))
def test_sha256_is_that_of_the_contents_in_a_row(tmp_path: Path, contents: list[bytes]) -> None:
    paths = []
    for number, content in enumerate(contents):
        paths.append(tmp_path / f"{number}.bin")
        paths[-1].write_bytes(content)
    assert files.sha256(paths) == hashlib.sha256(b"".join(contents)).hexdigest()


def test_a_file_just_written_is_in_the_page_cache_and_dropped_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(os.urandom(3_000_001))
    assert files.cached_bytes([path]) == 3_000_001
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    left = files.cached_bytes([path])
    assert left < 3_000_001 or _is_in_memory(tmp_path)


def _is_in_memory(folder: Path) -> bool:
    from hakobi import conditions

    return conditions.in_memory(conditions.file_system(folder))


def test_empty_files_have_nothing_cached(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert files.cached_bytes([tmp_path / "empty"]) == 0


def test_a_file_in_the_way_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(StorageError, match="a file is in the way, not a folder"):
        files.prepare_folder(tmp_path / "out")
    with pytest.raises(StorageError, match="a file is in the way above it"):
        files.prepare_folder(tmp_path / "out" / "below")


def test_a_folder_that_refuses_files_is_told() -> None:
    with pytest.raises(StorageError, match=r"cannot (make|write into) /proc"):
        files.prepare_folder(Path("/proc/hakobi"))


def test_a_folder_in_the_way_of_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="a folder is in the way"):
        files.prepare_file(tmp_path)


def test_preparing_leaves_nothing_behind(tmp_path: Path) -> None:
    files.prepare_folder(tmp_path / "a" / "b")
    assert files.files_below(tmp_path) == []


def test_files_below_are_sorted_and_regular(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/1", "a", "c"):
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("a")
    assert files.files_below(tmp_path) == [tmp_path / "a", tmp_path / "b" / "1", tmp_path / "c"]


def test_removing_what_is_not_there_is_fine(tmp_path: Path) -> None:
    files.remove_folder(tmp_path / "nothing")


def test_what_a_killed_process_left_is_removed_and_nothing_of_a_living_one(tmp_path: Path) -> None:
    script = (
        "import os, sys, pathlib; from hakobi import files; folder = files.own_folder(pathlib.Path(sys.argv[1]));"
        "pathlib.Path(folder.name, 'big').write_text('x'); print(folder.name, flush=True); sys.stdin.read()"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    dead, living = (Path(process.stdout.readline().decode().strip()) for process in processes if process.stdout)
    processes[0].kill()
    processes[0].communicate()
    # A process of now with the pid of a dead one, one of another machine, and what somebody else called so.
    pid, start, space = living.name.split("-")[2:5]
    reused = tmp_path / f"hakobi-run-{os.getpid()}-1-{space}-x"
    elsewhere = tmp_path / f"hakobi-run-{pid}1-{start}-0123456789ab-x"
    other = tmp_path / "hakobi-run-mine"
    for folder in (reused, elsewhere, other):
        folder.mkdir()
    with files.own_folder(tmp_path) as mine:
        assert set(tmp_path.iterdir()) == {living, elsewhere, other, Path(mine)}
    assert (living / "big").exists()
    processes[1].communicate()
    assert not dead.exists()
    assert not living.exists()
