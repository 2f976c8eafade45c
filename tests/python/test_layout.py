"""The layout of new files, on a Lustre that a preloaded library fakes (tests/layout/fake_lustre.c): what was asked of
it, by C++ programs (Output) and by C programs under the drop-in, and what they said."""

from __future__ import annotations

import errno
import os
import re
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hakobi import launch, layout, programs
from hakobi.programs import Program
from running import Result, run_python

pytestmark = pytest.mark.programs

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
BUILD = ROOT / "build" / FLAVOUR
PROGRAMS = BUILD / "tests"

if not (PROGRAMS / "libfake_lustre.so").is_file():
    pytest.skip(f"{PROGRAMS}/libfake_lustre.so is not built", allow_module_level=True)

MIB = 1 << 20
V1, COMPOSITE = 0x0BD10BD0, 0x0BD60BD0


def plain(count: int, stripe: int = MIB, servers: tuple[int, ...] = (), pattern: int = 1) -> bytes:
    """A value of lustre.lov."""
    value = struct.pack("<II16xIHH", V1, pattern, stripe, count, 0 if servers else 0xFFFF)
    return value + b"".join(struct.pack("<16xII", 0, server) for server in servers)


def composite(*parts: tuple[int, int, bytes]) -> bytes:
    head = struct.pack("<IIIHHH14x", COMPOSITE, 0, 1, 0, len(parts), 0)
    entries, inner = b"", b""
    for number, (begin, end, value) in enumerate(parts):
        at = 32 + 48 * len(parts) + len(inner)
        entries += struct.pack("<IIQQII16x", number + 1, 0x10, begin, end, at, len(value))
        inner += value
    return head + entries + inner


@dataclass
class Lustre:
    """`root` is on it; `environment` puts it in front of a program."""

    root: Path
    state: Path
    settings: dict[str, str] = field(default_factory=dict)

    def environment(self, **more: str) -> dict[str, str]:
        settings = {
            "LD_PRELOAD": str(PROGRAMS / "libfake_lustre.so"),
            "FAKE_LUSTRE_ROOT": str(self.root),
            "FAKE_LUSTRE_STATE": str(self.state),
            "HAKOBI_EXPLAIN": "1",
            "COLUMNS": "300",  # tables wrap nothing
        }
        return settings | self.settings | more

    def asked(self) -> list[str]:
        """The layouts that files were asked to have: "name pattern=… stripe=… count=… first=…"."""
        log = self.state / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line.removeprefix("set ") for line in lines if line.startswith("set ")]

    def of(self, path: Path) -> str:
        value = self.state / f"layout.{path.stat().st_ino}"
        return layout.text_of(value.read_bytes()) if value.exists() else ""

    def set_default(self, value: bytes) -> None:
        (self.state / "default").write_bytes(value)

    def set_folders_own(self, folder: Path, value: bytes) -> None:
        (self.state / f"folder.{folder.stat().st_ino}").write_bytes(value)


@pytest.fixture
def lustre(tmp_path: Path) -> Lustre:
    found = Lustre(tmp_path / "scratch", tmp_path / "state")
    found.root.mkdir()
    found.state.mkdir()
    return found


def write_by_output(lustre: Lustre, *hints: str, ranks: int = 2, method: str = "pipelined", **more: str) -> str:
    """Writes two steps of 4 MB; what was said on stderr."""
    program = Program(PROGRAMS / "layout_output_program", FLAVOUR)
    words = [str(lustre.root / "run"), method, "2", *hints]
    done = launch.run(program, words, ranks, timeout_s=60, extra_environment=lustre.environment(**more))
    assert done.status == 0, done.stderr
    return done.stderr


def write_by_mpi_io(
    lustre: Lustre, *hints: str, mode: str = "create", ranks: int = 2, **more: str
) -> tuple[dict[str, str], str]:
    """By an unmodified MPI program under the drop-in: what MPI_File_get_info says of the layout, and stderr."""
    program = Program(PROGRAMS / "layout_mpi_program", FLAVOUR)
    environment = lustre.environment(**more)
    environment["LD_PRELOAD"] += f":{BUILD}/lib/libhakobi_mpiio.so"
    words = [str(lustre.root / "file"), mode, *hints]
    done = launch.run(program, words, ranks, timeout_s=60, extra_environment=environment)
    assert done.status == 0, done.stderr
    return dict(line.split("=") for line in done.stdout.splitlines() if "=" in line), done.stderr


def values_of_steps(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("run_??????.nc"))]


def test_output_gets_what_hints_ask_for(lustre: Lustre) -> None:
    said = write_by_output(lustre, "striping_factor=3", "striping_unit=2M", "start_iodevice=2", FAKE_LUSTRE_SERVERS="8")
    assert [line.split(" ", 1)[1] for line in lustre.asked()] == ["pattern=0x1 stripe=2097152 count=3 first=2"] * 2
    assert lustre.of(lustre.root / "run_000001.nc") == "3 stripes of 2 MiB on servers 2 to 4"
    assert "layout: 3 stripes of 2 MiB, from server 2 on, asked for by hints" in said
    assert "on lustre; blocks of 2097152 bytes; locks hold between nodes; 3 stripes of 2 MiB on servers 2 to 4" in said


@pytest.mark.parametrize("method", ["root", "parallel"])
def test_every_method_writes_the_same_bytes_into_a_file_with_a_layout(
    lustre: Lustre, tmp_path: Path, method: str
) -> None:
    write_by_output(lustre, "striping_factor=4", method=method)
    assert len(lustre.asked()) == 2
    elsewhere = Lustre(tmp_path / "elsewhere", tmp_path / "state")
    elsewhere.root.mkdir()
    write_by_output(elsewhere, FAKE_LUSTRE_ROOT="/nowhere", method=method)
    assert values_of_steps(lustre.root) == values_of_steps(elsewhere.root)


def test_auto_gives_each_node_four_stripes_and_says_why(lustre: Lustre) -> None:
    _, said = write_by_mpi_io(lustre, ranks=3, HAKOBI_RANKS_PER_NODE="1", FAKE_LUSTRE_SERVERS="20")
    assert lustre.asked() == ["file pattern=0x1 stripe=1048576 count=12 first=-1"]
    assert "layout: 12 stripes of 1 MiB, chosen for 3 nodes" in said


def test_auto_leaves_a_small_step_with_the_folders_layout(lustre: Lustre) -> None:
    said = write_by_output(lustre)
    assert lustre.asked() == []
    assert "the folder's layout has as many stripes as help: 1 stripe would do for 1 node, no more for" in said


def test_auto_leaves_a_folders_own_layout_and_hints_do_not(lustre: Lustre) -> None:
    inner = lustre.root / "inner"
    inner.mkdir()
    lustre.set_folders_own(inner, plain(2, 4 * MIB))
    inside = Lustre(inner, lustre.state, {"FAKE_LUSTRE_ROOT": str(lustre.root)})
    info, said = write_by_mpi_io(inside)
    assert lustre.asked() == []
    assert "layout: the folder's, which somebody has chosen" in said
    assert (info["striping_factor"], info["striping_unit"]) == ("2", "4194304")
    (inner / "file").unlink()
    info, _ = write_by_mpi_io(inside, "striping_factor=3")
    assert lustre.asked() == ["file pattern=0x1 stripe=4194304 count=3 first=-1"]
    assert info["striping_factor"] == "3"


def test_auto_can_be_told_to_leave_the_folders_layout(lustre: Lustre) -> None:
    _, said = write_by_mpi_io(lustre, HAKOBI_HINTS="hakobi_layout=folder")
    assert lustre.asked() == []
    assert "layout: the folder's, as hakobi_layout says" in said


@pytest.mark.parametrize("mode", ["create", "exclusive"])
@pytest.mark.parametrize("late", ["0", "1"])
def test_the_drop_in_makes_the_file_before_the_library(lustre: Lustre, mode: str, late: str) -> None:
    hints = ("striping_factor=2", "striping_unit=131072", "start_iodevice=1")
    info, said = write_by_mpi_io(lustre, *hints, mode=mode, HAKOBI_LATE_VIEWS=late)
    assert lustre.asked() == ["file pattern=0x1 stripe=131072 count=2 first=1"]
    assert info == {
        "striping_factor": "2",
        "striping_unit": "131072",
        "start_iodevice": "1",
        "overstriping_ratio": "1",
    }
    assert "the mode is" not in said


def test_a_program_that_wants_a_new_file_gets_none_that_is_there(lustre: Lustre) -> None:
    (lustre.root / "file").touch()
    with pytest.raises(AssertionError, match="MPI_File_open"):
        write_by_mpi_io(lustre, "striping_factor=2", mode="exclusive")
    assert lustre.asked() == []


def test_overstriping_gives_each_server_several_stripes(lustre: Lustre) -> None:
    info, _ = write_by_mpi_io(lustre, "striping_factor=2", "overstriping_ratio=3", "start_iodevice=0")
    assert lustre.asked() == ["file pattern=0x201 stripe=1048576 count=6 first=0"]
    assert lustre.of(lustre.root / "file") == "6 stripes of 1 MiB, overstriped on servers 0, 1, 0, 1, 0, 1"
    assert (info["striping_factor"], info["overstriping_ratio"]) == ("2", "3")


def test_more_stripes_than_servers_are_cut_and_said(lustre: Lustre) -> None:
    info, said = write_by_mpi_io(lustre, "striping_factor=64")
    assert lustre.asked() == ["file pattern=0x1 stripe=1048576 count=4 first=-1"]
    assert "striping_factor=64: the file system has 4 servers\n" in said
    assert info["striping_factor"] == "4"


def test_a_stripe_that_lustre_does_not_take_is_rounded_and_said(lustre: Lustre) -> None:
    said = write_by_output(lustre, "striping_factor=2", "striping_unit=100000")
    assert all("stripe=131072 count=2" in line for line in lustre.asked())
    # It is said once for the steps of a series.
    assert said.count("striping_unit=100000: stripes are multiples of 65536 bytes there; 131072 it is\n") == 1


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSPC])
def test_a_refused_layout_is_said_and_the_folders_holds(lustre: Lustre, number: int) -> None:
    info, said = write_by_mpi_io(lustre, "striping_factor=3", FAKE_LUSTRE_REFUSES=str(number))
    why = rf"file: the file system refuses 3 stripes of 1 MiB: .*{os.strerror(number)}.*; the folder's layout holds\n"
    assert re.search(why, said)
    assert info["striping_factor"] == "1"
    assert lustre.of(lustre.root / "file").startswith("1 stripe of 1 MiB on server")
    write_by_output(lustre, "striping_factor=3", FAKE_LUSTRE_REFUSES=str(number))
    assert len(values_of_steps(lustre.root)) == 2


def test_a_file_that_somebody_makes_meanwhile_keeps_its_layout(lustre: Lustre) -> None:
    lustre.set_default(plain(2))
    info, said = write_by_mpi_io(lustre, "striping_factor=4", FAKE_LUSTRE_RACES="file")
    assert "file: made by somebody else in the meantime: its layout stays\n" in said
    assert lustre.asked() == []
    assert info["striping_factor"] == "2"


def test_an_existing_files_layout_is_respected_and_shown(lustre: Lustre) -> None:
    path = lustre.root / "file"
    path.touch()
    value = composite((0, 4 * MIB, plain(1, MIB, (3,))), (4 * MIB, (1 << 64) - 1, plain(2, 4 * MIB, (0, 1))))
    (lustre.state / f"layout.{path.stat().st_ino}").write_bytes(value)
    info, said = write_by_mpi_io(lustre, "striping_factor=4", "striping_unit=1M")
    assert lustre.asked() == []
    assert "composite: to 4 MiB: 1 stripe of 1 MiB on server 3; from 4 MiB: 2 stripes of 4 MiB on servers 0, 1" in said
    assert (info["striping_factor"], info["striping_unit"], info["start_iodevice"]) == ("2", "4194304", "0")


def test_a_composite_default_stays_where_it_does_as_well(lustre: Lustre) -> None:
    value = composite((0, MIB, plain(1, MIB, (3,))), (MIB, (1 << 64) - 1, plain(4, MIB, (0, 1, 2, 3))))
    lustre.set_default(value)
    info, said = write_by_mpi_io(lustre)
    assert lustre.asked() == []
    assert "layout: the folder's layout has as many stripes as help" in said
    assert info["striping_factor"] == "4"


def test_hakobi_run_takes_hints_for_the_layout(lustre: Lustre) -> None:
    command = ["run", "--hint", "striping_factor=3", "--hint", "start_iodevice=0"]
    program = Program(PROGRAMS / "layout_mpi_program", FLAVOUR)
    line = launch.command_line(program, [str(lustre.root / "file"), "create"], 2)
    text = "import sys; from hakobi import cli; sys.exit(cli.run(sys.argv[1:]))"
    done = run_python(text, lustre.root, *command, "--", *line, **lustre.environment(HAKOBI_PREFIX=str(BUILD)))
    assert done.returncode == 0, done.stderr
    assert "striping_factor=3" in done.stdout
    assert lustre.of(lustre.root / "file") == "3 stripes of 1 MiB on servers 0 to 2"


def test_without_a_lustre_nothing_is_asked_and_hints_are_silent(lustre: Lustre, tmp_path: Path) -> None:
    info, said = write_by_mpi_io(lustre, "striping_factor=9", FAKE_LUSTRE_ROOT=str(tmp_path / "nowhere"))
    assert lustre.asked() == []
    assert "layout" not in said
    assert info["overstriping_ratio"] == ""


def seen(lustre: Lustre, *words: str) -> subprocess.CompletedProcess[str]:
    text = "import sys; from hakobi import cli; sys.exit(cli.run(sys.argv[1:]))"
    return run_python(text, lustre.root, *words, **lustre.environment())


def test_ls_shows_the_layout_of_the_last_file(lustre: Lustre) -> None:
    write_by_output(lustre, "striping_factor=2", "start_iodevice=1")
    done = seen(lustre, "ls", str(lustre.root / "run"))
    assert "the last file on its servers: 2 stripes of 1 MiB on servers 1, 2" in done.stdout


def test_doctor_shows_what_new_files_get(lustre: Lustre) -> None:
    lustre.set_default(plain(2, 4 * MIB))
    done = seen(lustre, "doctor", "--quick", "--storage", str(lustre.root))
    assert "new files: 2 stripes of 4 MiB; 4 servers" in " ".join(done.stdout.split())


@pytest.mark.parametrize("length", [0, 3, 31, 40, 60, 200])
def test_a_damaged_value_is_no_layout(length: int) -> None:
    value = composite((0, MIB, plain(1, MIB, (3,))), (MIB, (1 << 64) - 1, plain(4, MIB, (0, 1, 2, 3))))
    assert layout.text_of(value).startswith("composite: to 1 MiB: 1 stripe of 1 MiB on server 3; from 1 MiB: 4 stripes")
    assert layout.text_of(value[:length]) == ""


def test_no_stripes_are_no_line(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    assert layout.of_folder(tmp_path) == ""
    assert layout.of_file(tmp_path / "missing") == ""
