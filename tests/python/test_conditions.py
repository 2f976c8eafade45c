from __future__ import annotations

import json
from pathlib import Path

import pytest

from hakobi import conditions, launch

MOUNTS = """22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
25 24 0:23 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=24G
30 27 8:1 / /my\\040disk rw,noatime - xfs /dev/sdb1 rw
31 27 8:2 / /my\\040disk rw,noatime - btrfs /dev/sdc1 rw
"""


@pytest.mark.parametrize(
    ("place", "kind", "mount"),
    [
        ("/srv/data", "ext4", "/"),
        ("/dev/shm/x", "tmpfs", "/dev/shm"),
        ("/dev/shmem", "ext4", "/"),
        ("/my disk/runs", "btrfs", "/my disk"),
    ],
)
def test_the_deepest_and_last_mount_counts(place: str, kind: str, mount: str) -> None:
    found = conditions._mount_of(Path(place), MOUNTS)
    assert (found["type"], found["mount"]) == (kind, mount)


def test_conditions_are_json_and_can_be_worded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "mpi_version", lambda flavour: f"{flavour} 1.2.3")
    facts = conditions.collect("openmpi", {"here": tmp_path, "later": tmp_path / "not" / "yet"})
    assert json.loads(json.dumps(facts)) == facts
    assert facts["storage"]["later"]["type"] == facts["storage"]["here"]["type"]
    labels = [label for label, _text in conditions.rows(facts)]
    assert labels[:3] == ["date", "Hakobi", "machine"]
    assert labels[-2:] == ["storage here", "storage later"]
    assert all(text for _label, text in conditions.rows(facts))
    facts["storage"]["later"]["model"] = "a model of 2 servers"
    assert conditions.rows(facts)[-1][1].endswith("; a model of 2 servers")


@pytest.mark.parametrize(("text", "count"), [("0", 1), ("0-3,8", 5), ("0-1,4-5", 4), ("", 0)])
def test_cpu_lists_are_counted(text: str, count: int) -> None:
    assert conditions._count_cpus(text) == count


def test_the_version_of_an_mpi_is_its_launchers(waves: Path) -> None:
    assert launch.mpi_version("openmpi") == "Open MPI 4.1.4"
