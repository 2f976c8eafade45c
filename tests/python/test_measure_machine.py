"""`hakobi doctor`'s facts on machines that are made of files; MPI libraries' controls as their tools tell them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hakobi.measuring import machine, probes, transports
from hakobi.measuring.machine import Fact
from running import Result


@pytest.fixture
def system(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """A root folder with these files: path -> content."""

    def make(files: dict[str, str]) -> Path:
        root = tmp_path / "root"
        for name, content in {"proc/cpuinfo": "model name\t: Test 9000\nflags\t: fpu sse", **files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return root

    return make


def verdicts(facts: list[Fact]) -> dict[str, str]:
    return {fact.topic: fact.verdict for fact in facts}


def test_a_clock_that_follows_the_load_is_a_trap_and_a_fixed_one_is_not(system: Callable[..., Path]) -> None:
    governor = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    root = system({governor: "powersave", "sys/devices/system/cpu/cpu1/online": "1"})
    facts = machine.processor(root)
    assert verdicts(facts)["CPU governor"] == "trap"
    assert "Test 9000" in facts[0].finding
    assert "virtual machine" not in verdicts(facts)
    assert verdicts(machine.processor(system({governor: "performance"})))["CPU governor"] == "good"


def test_a_quota_below_the_cores_is_a_trap(system: Callable[..., Path]) -> None:
    cpus = {f"sys/devices/system/cpu/cpu{i}/online": "1" for i in range(4)}
    assert (
        verdicts(machine.processor(system({**cpus, "sys/fs/cgroup/cpu.max": "150000 100000"})))["CPU quota"] == "trap"
    )
    assert "CPU quota" not in verdicts(machine.processor(system({"sys/fs/cgroup/cpu.max": "max 100000"})))


@pytest.mark.parametrize(
    "files",
    [
        {"proc/self/cgroup": "0::/jobs/7", "sys/fs/cgroup/jobs/7/cpu.max": "150000 100000"},
        {
            "proc/self/cgroup": "0::/jobs/7",
            "sys/fs/cgroup/jobs/7/cpu.max": "max 100000",
            "sys/fs/cgroup/jobs/cpu.max": "150000 100000",
        },
        {
            "proc/self/cgroup": "4:memory:/m\n3:cpu,cpuacct:/jobs\n0::/",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us": "150000",
            "sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us": "100000",
        },
        {"proc/self/cgroup": "1:name=systemd:/\n0::/of/the/host", "sys/fs/cgroup/unified/cpu.max": "150000 100000"},
    ],
    ids=["own group", "group above", "version 1", "group of another namespace"],
)
def test_a_quota_is_found_where_the_process_is(system: Callable[..., Path], files: dict[str, str]) -> None:
    (fact,) = [fact for fact in machine.processor(system(files)) if fact.topic == "CPU quota"]
    assert fact.finding.startswith("1.5 processors")


def test_several_numa_nodes_and_unknown_caches_are_traps(system: Callable[..., Path]) -> None:
    root = system({f"sys/devices/system/node/node{i}/cpulist": "0" for i in range(2)})
    assert verdicts(machine.caches_and_numa(root)) == {"caches": "trap", "NUMA": "trap"}


def test_huge_pages_are_read_by_the_chosen_policy(system: Callable[..., Path]) -> None:
    where = "sys/kernel/mm/transparent_hugepage/enabled"
    for text, verdict in (("always [madvise] never", "good"), ("always madvise [never]", "trap")):
        assert verdicts(machine.pages(system({where: text, "dev/shm/x": ""})))["huge pages"] == verdict


def test_shared_huge_pages_are_told_where_the_kernel_knows_them(system: Callable[..., Path]) -> None:
    assert "huge pages, shared" not in verdicts(machine.pages(system({"dev/shm/x": ""})))
    where = "sys/kernel/mm/transparent_hugepage/shmem_enabled"
    for text, verdict in (
        ("always within_size [advise] never deny force", "good"),
        ("always within_size advise [never] deny force", "note"),
    ):
        facts = machine.pages(system({where: text, "dev/shm/x": ""}))
        assert verdicts(facts)["huge pages, shared"] == verdict


def test_memory_that_the_host_takes_back_is_a_trap(system: Callable[..., Path]) -> None:
    def topics(device: str, features: str) -> dict[str, str]:
        where = "sys/bus/virtio/devices/virtio3/"
        return verdicts(
            machine.pages(system({where + "device": device, where + "features": features, "dev/shm/x": ""}))
        )

    assert topics("0x0005", "011001" + 58 * "0")["free memory"] == "trap"
    assert "free memory" not in topics("0x0005", "011000" + 58 * "0")
    assert "free memory" not in topics("0x0002", 64 * "1")
    assert "free memory" not in topics("0x0005", "")


def test_refused_single_copy_is_a_trap_unless_another_mechanism_is_there(system: Callable[..., Path]) -> None:
    root = system({"proc/sys/kernel/yama/ptrace_scope": "1"})
    assert verdicts(machine.single_copy(root, probe=lambda: False)) == {"single copy": "trap"}
    assert verdicts(machine.single_copy(system({"dev/xpmem": ""}), probe=lambda: False)) == {"single copy": "note"}
    assert "scope 1" in machine.single_copy(root, probe=lambda: True)[0].finding


def test_single_copy_is_really_tried() -> None:
    assert machine.single_copy()[0].verdict in ("note", "trap")


def test_steal_time_and_load_come_from_proc_stat(system: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    root = system({"proc/stat": "cpu 100 0 0 900 0 0 0 0 0 0\n"})

    def busy_host(_seconds: float) -> None:
        (root / "proc/stat").write_text("cpu 150 0 0 920 0 0 0 30 0 0\n")

    monkeypatch.setattr(machine.time, "sleep", busy_host)
    facts = machine.contention(root)
    assert verdicts(facts) == {"steal time": "trap", "other load": "trap"}
    assert facts[0].finding == "30 %"
    assert verdicts(machine.contention(system({"proc/stat": ""}))) == {"steal time": "note"}


OPEN_MPI_4 = """
mca:btl:tcp:version:"mca:2.1.0"
mca:btl:vader:param:btl_vader_eager_limit:value:4096
mca:btl:vader:param:btl_vader_single_copy_mechanism:value:cma
"""
OPEN_MPI_5 = """
mca:btl:tcp:version:"mca:2.1.0"
mca:btl:sm:param:btl_sm_eager_limit:value:8192
mca:smsc:cma:version:"mca:2.1.0"
"""


def answers(**texts: str) -> transports.Ask:
    def tool(command: Sequence[str]) -> str:
        return texts.get(command[0].split(".")[0], "")

    return tool


def test_open_mpi_is_asked_for_its_layer_and_parameters() -> None:
    rows = transports.transports("openmpi", answers(ompi_info=OPEN_MPI_4))
    assert [row.name for row in rows] == list(transports.NAMES)
    assert rows[0].text == "Open MPI pml ob1, btl vader, single copy cma, eager limit 4096"
    assert rows[1].environment == {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    assert rows[3].environment == {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_vader_eager_limit": "1024"}
    newer = transports.transports("openmpi", answers(ompi_info=OPEN_MPI_5))
    assert newer[1].environment == {"OMPI_MCA_pml": "ob1", "OMPI_MCA_smsc": "^cma,xpmem,knem"}
    assert newer[3].environment == {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_sm_eager_limit": "1024"}


def test_open_mpi_with_ucx_is_not_said_to_use_its_own_layer() -> None:
    rows = transports.transports("openmpi", answers(ompi_info=OPEN_MPI_4 + 'mca:pml:ucx:version:"mca:2.1.0"\n'))
    assert rows[0].text.startswith("Open MPI's choice of pml ucx and pml ob1")
    assert rows[0].environment == {}
    assert all(row.environment["OMPI_MCA_pml"] == "ob1" for row in rows[1:])


def test_mpich_is_controlled_through_what_lies_below_it() -> None:
    ucx = transports.transports("mpich", answers(mpichversion="MPICH Device:    \tch4:ucx\n"))
    assert [row.missing for row in ucx] == [""] * 5
    assert ucx[2].environment == {"UCX_TLS": "tcp,self"}
    ofi = transports.transports("mpich", answers(mpichversion="MPICH Device:    \tch4:ofi\n"))
    assert [bool(row.missing) for row in ofi] == [False, False, False, True, True]


@pytest.mark.parametrize("flavour", ["openmpi", "mpich", "other"])
def test_a_control_that_is_not_there_is_said_and_not_guessed(flavour: str) -> None:
    rows = transports.transports(flavour, answers())
    assert rows[0].missing == ""
    assert all(row.missing and not row.environment for row in rows[1:])


def test_storage_is_measured_and_nothing_is_left_behind(tmp_path: Path) -> None:
    limits = probes.probe_storage(tmp_path, budget_s=0.3, most=8 << 20)
    assert limits.written_bytes > 0
    assert limits.write_s > 0
    assert 0 <= limits.cached_share <= 1
    assert list(tmp_path.iterdir()) == []


def test_the_quick_page_has_every_topic_and_measures_nothing(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    result = hakobi("doctor", "--quick", "--json", tmp_path / "facts.jsonl")
    assert result.status == 0
    for topic in ("processor", "caches", "NUMA", "huge pages", "single copy", "steal time"):
        assert topic in result.stdout
    assert "memory copy" not in result.stdout
    first, *facts = [json.loads(line) for line in (tmp_path / "facts.jsonl").read_text().splitlines()]
    assert first["kind"] == "conditions"
    assert first["conditions"]["cores"] == machine.usable_cores()
    assert {fact["verdict"] for fact in facts} <= {"good", "note", "trap"}


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A doctor that measures storage only, and shortly."""
    monkeypatch.setattr(probes, "memory", lambda: Fact("memory copy", "skipped"))
    monkeypatch.setattr(probes, "messages", list)
    whole = probes.probe_storage
    monkeypatch.setattr(probes, "probe_storage", lambda folder, _budget_s: whole(folder, 0.1, 1 << 20))


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("name", ["file/below", "file", "missing", "missing/too"])
def test_a_storage_folder_that_there_is_not_costs_its_own_section_only(
    hakobi: Callable[..., Result], tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "good").mkdir()
    folders = ["--storage", tmp_path / name, "--storage", tmp_path / "good"]
    result = hakobi("doctor", *folders, "--json", tmp_path / "facts.jsonl")
    assert result.status == 2
    said = result.stderr.splitlines()[-1]
    assert said.startswith("hakobi doctor: cannot measure storage in ")
    assert str(tmp_path / name) in said
    assert "memory copy" in result.stdout
    facts = [json.loads(line) for line in (tmp_path / "facts.jsonl").read_text().splitlines()][1:]
    assert {fact["topic"]: fact["finding"] for fact in facts}[f"storage {tmp_path / name}"] == "not measured"
    assert [fact["topic"] for fact in facts].count("  writing") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["facts.jsonl", "file", "good"]


def test_a_machine_without_an_mpi_library_has_its_page_and_records(
    hakobi: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HAKOBI_MPIEXEC", raising=False)
    result = hakobi("doctor", "--quick", "--json", tmp_path / "facts.jsonl")
    assert result.status == 0
    _first, *facts = [json.loads(line) for line in (tmp_path / "facts.jsonl").read_text().splitlines()]
    assert {fact["finding"] for fact in facts if fact["topic"].startswith("MPI")} == {"not installed"}
    assert probes.memory(budget_s=0, size=1 << 20).verdict == "note"


@pytest.mark.usefixtures("unmeasured")
def test_a_record_file_that_cannot_be_written_is_told_before_anything_is_measured(
    hakobi: Callable[..., Result], tmp_path: Path
) -> None:
    result = hakobi("doctor", "--json", tmp_path)
    assert result.status == 2
    assert "a folder is in the way" in result.line()
    assert result.stdout == ""


def test_the_copys_bound_is_not_put_on_figures_that_count_both_directions() -> None:
    fact = probes.memory(budget_s=0, size=4 << 20)
    assert "two directions" in fact.advice


@pytest.mark.usefixtures("unmeasured")
def test_what_was_found_before_ctrl_c_is_printed_and_kept(
    hakobi: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_folder: Path) -> list[Fact]:
        raise KeyboardInterrupt

    monkeypatch.setattr(probes, "storage", interrupted)
    result = hakobi("doctor", "--storage", tmp_path, "--json", tmp_path / "facts.jsonl")
    assert result.status == 130
    assert "memory copy" in result.stdout
    announced, said = result.stderr.splitlines()[-2:]
    assert announced == f"looking at storage {tmp_path}, where up to 1 GiB is written, read and removed, about 8 s"
    assert said.startswith(f"hakobi doctor: interrupted at storage {tmp_path}")
    assert "memory copy" in (tmp_path / "facts.jsonl").read_text()
