"""A file server and nodes with real kernel clients on this machine (docs/storage.md), or skipped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from building import BUILD, needs_build
from hakobi import launch, layout, plugins, programs, testbeds
from hakobi.errors import HakobiError, InputError
from hakobi.programs import Program
from hakobi_lab import testbed
from hakobi_lab.studies.output_methods import plan
from hakobi_lab.testbed import UnavailableError, lost_bytes, parse
from hakobi_lab.testbed.__main__ import parse_fault, preloaded
from running import Result, children_called


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("testbed:nsf", "did you mean 'nfs'"),
        ("testbed:nfs,1gibt", "'1gibt' is no word of a testbed"),
        ("testbed:nfs,1gbit,2gbit", "rate is given twice"),
        ("testbed:glusterfs", "did you mean 'gluster'"),
        ("testbed:smb,nodes=9", "give 1 to 8"),
        ("testbed:smb,size=much", "size=much"),
        ("testbed:smb,osds=4", "'osds=4' is no word of a testbed"),
        ("testbed:ceph,osds=0", "give 1 to 16"),
    ],
)
def test_a_testbed_that_cannot_be_is_refused_by_its_word(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse(text)


def test_a_testbed_stands_where_a_folder_could() -> None:
    storages = plan.parse_storages(("a=testbed:nfs", "b=testbed:nfs,1gbit", "c=out"), Path())
    found = plan.parse_testbeds(storages)
    assert {name: (bed.server, bed.rate) for name, bed in found.items()} == {"a": ("nfs", ""), "b": ("nfs", "1gbit")}
    with pytest.raises(InputError, match="is a testbed"):
        plan.parse_models(("a=servers=1,bandwidth=118",), storages)
    assert not testbeds.is_testbed("out/testbed")
    with pytest.raises(InputError, match="give stop@5"):
        parse_fault("stop@5")


def test_a_processor_on_which_no_node_boots_has_no_testbed() -> None:
    said = (
        '{"error": "node 0 did not come up: Checking environment | userspace - ptrace set fp regs failed, errno = 14"}'
    )
    bed = testbed.Testbed(parse("nfs"))
    with subprocess.Popen([sys.executable, "-c", f"print({said!r})"], stdout=subprocess.PIPE, text=True) as process:
        bed._process = process
        with pytest.raises(UnavailableError, match="no testbed on this processor: its nodes are user-mode Linux"):
            bed._answer("ready", 20)
        bed._process = None


def test_the_study_refuses_to_keep_what_goes_away(hakobi: Callable[..., Result]) -> None:
    refused = hakobi("study", "output-methods", "--keep", "--storage", "a=testbed:nfs")
    assert refused.status == 2
    assert "gone with it" in refused.stderr


def test_the_tool_of_the_repository_starts_one() -> None:
    tool = Path(__file__).resolve().parents[2] / "tools" / "testbed"
    refused = subprocess.run([tool, "storage", "nsf", "true"], capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2
    assert "did you mean 'nfs'" in refused.stderr


def test_without_the_repository_there_is_no_testbed(
    hakobi: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "of_group", lambda _group: [])
    for words in (("study", "output-methods", "--storage", "a=testbed:nfs"),
                  ("doctor", "--quick", "--storage", "testbed:nfs", "--writers", 2)):  # fmt: skip
        refused = hakobi(*words)
        assert refused.status == 2
        assert "part of Hakobi's source repository: run .venv/bin/hakobi there" in refused.line()


def test_the_testbeds_that_are_plugged_in_are_these() -> None:
    typed: testbeds.Testbeds = testbed
    assert testbeds.plugged_in() is typed
    assert testbeds.are_here()


@needs_build
def test_the_drop_in_is_put_in_front_of_a_program() -> None:
    variables = preloaded(programs.find("hakobi-bench-collective"))
    assert variables["LD_PRELOAD"].endswith("/libhakobi_mpiio.so")


def _descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def _run_on_two_nodes(bed: testbed.Testbed, name: str, words: list[str]) -> launch.Finished | None:
    """None where the program is not built."""
    try:
        program = programs.find(name)
    except HakobiError:
        return None
    return launch.run(program, words, 2, timeout_s=120, command=bed.command_line(program, words, 2, {}))


def _write_by_engine(bed: testbed.Testbed, *options: str) -> launch.Finished | None:
    """Two nodes write a file, once where not told otherwise, and each compares what the other wrote."""
    words = ["--dir", str(bed.on_nodes(bed.folder)), "--operation", "write", "--floor-ranks", "1"]
    if "--min-samples" not in options:
        words += ["--min-samples", "1", "--max-samples", "1"]
    return _run_on_two_nodes(bed, "hakobi-bench-collective", [*words, *options])


def _expect_whole_files(bed: testbed.Testbed) -> None:
    # Small pieces that share pages, each time in a new file of the same name: a node may still know the one
    # before. Large ones that meet inside one, while the server stands still for a moment.
    many = ["--min-samples", "16", "--max-samples", "16"]
    done = _write_by_engine(bed, "--pattern", "cyclic", "--piece", "1009", "--size", "2M", *many)
    assert done is None or done.status == 0, done.stderr
    bed.tell("stop")
    continuing = threading.Timer(4, bed.tell, ["continue"])
    continuing.start()
    done = _write_by_engine(bed, "--pattern", "block3d", "--size", "8M")
    continuing.join()
    assert done is None or (done.status == 0 and done.wall_s > 4), done.stderr


def _expect_gathered_pieces(bed: testbed.Testbed) -> None:
    """Their folders go, though NFS keeps what is open in one."""
    folder = bed.folder / "pieces"
    folder.mkdir()
    words = ["--method", "per-process", "--output", str(bed.on_nodes(folder / "run")), "--asynchronous"]
    done = _run_on_two_nodes(
        bed, "hakobi-tsunami", [*words, "--resolution", "60", "--hours", "0.1", "--steps-out", "2"]
    )
    assert done is None or done.status == 0, done.stderr
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == []
    shutil.rmtree(folder)


def _expect_an_error_where_there_is_no_room(bed: testbed.Testbed) -> None:
    done = _write_by_engine(bed, "--pattern", "block3d", "--size", "80M")
    assert done is None or (done.status != 0 and "No space left on device" in done.stderr), done.stderr


@pytest.mark.long
@pytest.mark.timeout(300)
def test_two_nodes_keep_what_they_write_and_nothing_is_left() -> None:
    """On real NFS clients, also when whoever made the testbed is killed."""
    if programs.flavour() != "openmpi":
        pytest.skip("its nodes are reached by Open MPI")
    # Tests before this one may have left a process of their own here: multiprocessing's resource tracker
    # stays.
    others = set(_descendants(os.getpid()))
    try:
        with testbed.Testbed(parse("nfs,size=64M")) as bed:
            kept = lost_bytes.look(bed, writers=2, pieces_each=50, timeout_s=60)
            assert (kept.pieces, kept.lost_bytes) == (100, 0)
            _expect_gathered_pieces(bed)
            _expect_whole_files(bed)
            _expect_an_error_where_there_is_no_room(bed)
            assert bed.file_system()["type"] == "nfs4"
            below = [process for process in _descendants(os.getpid()) if process not in others]
            assert children_called("linux.uml", os.getpid())
            assert psutil.wait_procs(below, timeout=0)[1]
    except UnavailableError as error:
        pytest.skip(str(error))
    assert psutil.wait_procs(below, timeout=10)[1] == []
    maker = [
        sys.executable,
        "-c",
        "import time, hakobi_lab.testbed as t\nwith t.Testbed(t.parse('nfs,nodes=1')): time.sleep(60)",
    ]
    with subprocess.Popen(maker) as process:
        end = time.monotonic() + 60
        while not children_called("linux.uml", process.pid):
            assert time.monotonic() < end
            time.sleep(0.05)
        below = _descendants(process.pid)
        process.send_signal(signal.SIGKILL)
    assert psutil.wait_procs(below, timeout=20)[1] == []


def _expect_a_layout(bed: testbed.Testbed, name: str, ranks: int, *hints: str) -> dict[str, str]:
    """The hints of MPI_File_get_info for a file that a C program makes, writes and reads back under the drop-in."""
    program = Program(BUILD / "tests" / "layout_mpi_program", programs.flavour())
    words = [str(bed.on_nodes(bed.folder / name)), "create", *hints]
    command = bed.command_line(program, words, ranks, preloaded(program))
    done = launch.run(program, words, ranks, timeout_s=120, command=command)
    assert done.status == 0, done.stderr
    return dict(line.split("=") for line in done.stdout.splitlines())


@needs_build
@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize("nodes", [2, 4])
def test_cephfs_has_the_layout_that_hints_ask_for_and_keeps_what_nodes_write(nodes: int) -> None:
    if programs.flavour() != "openmpi":
        pytest.skip("its nodes are reached by Open MPI")
    try:
        with testbed.Testbed(parse(f"ceph,osds=4,size=512M,nodes={nodes}")) as bed:
            assert bed.file_system()["type"] == "ceph"
            kept = lost_bytes.look(bed, writers=nodes, pieces_each=50, timeout_s=120)
            assert (kept.pieces, kept.lost_bytes) == (50 * nodes, 0)
            info = _expect_a_layout(bed, "asked", nodes, "striping_factor=4", "striping_unit=65536")
            assert (info["striping_factor"], info["striping_unit"]) == ("4", "65536")
            assert layout.of_file(bed.folder / "asked") == "4 stripes of 64 KiB, in objects of 4 MiB"
            # Every node's bytes, read by a client of another kind: blocks of 64 KiB, of the ranks in turn.
            written = (bed.folder / "asked").read_bytes()
            block, num_blocks = 64 << 10, 48
            own = [
                bytes((i * 7 + rank * 31 + i // block) % 256 for i in range(block * 48 // nodes))
                for rank in range(nodes)
            ]
            places = [(number % nodes, number // nodes * block) for number in range(num_blocks)]
            assert written == b"".join(own[rank][at : at + block] for rank, at in places)
            info = _expect_a_layout(bed, "plain", nodes)
            assert (info["striping_factor"], info["striping_unit"]) == ("1", "4194304")
            done = _write_by_engine(bed, "--pattern", "cyclic", "--piece", "1009", "--size", "1M")
            assert done is None or done.status == 0, done.stderr
            assert children_called("ceph-osd", os.getpid())
    except UnavailableError as error:
        pytest.skip(str(error))
    assert children_called("ceph-osd", os.getpid()) == []
    assert children_called("linux.uml", os.getpid()) == []
