"""`hakobi bench device`: records and exit statuses, with the real program on the fake device of the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hakobi import cli, programs, records
from hakobi.errors import InputError
from hakobi.measuring import devices

SMALLEST = ["--hot", "--budget", "0", "--samples", "2", "--copy-size", "64K", "--rows", "64,4K", "--put-extent", "8"]


def fake_device() -> Path | None:
    """The folder of the tests' own driver, where it and the benchmark are built."""
    try:
        folder = programs.find("hakobi-bench-device").path.parents[1] / "fake_device"
    except InputError:
        return None
    return folder if folder.is_dir() else None


needs_fake_device = [
    pytest.mark.programs,
    pytest.mark.skipif(fake_device() is None, reason="hakobi-bench-device or the fake device is not built"),
]


@pytest.fixture
def on_fake_device(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(fake_device()), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    monkeypatch.setenv("LD_LIBRARY_PATH", ":".join(paths))


def bench(*arguments: str, ranks: int = 1) -> int:
    return cli.run(["bench", "device", "--ranks", str(ranks), "--timeout", "200", "--", *arguments])


class TestBench:
    pytestmark = needs_fake_device

    @pytest.mark.usefixtures("on_fake_device")
    @pytest.mark.parametrize("ranks", [1, 2])
    def test_every_way_is_right_and_has_its_floor(
        self, tmp_path: Path, ranks: int, capfd: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "records.jsonl"
        own = ["--dir", str(tmp_path), "--halo-extent", "6", "--steps", "2", "--compute", "0", "--json", str(path)]
        assert bench(*SMALLEST, *own, "--part", "copies,put,halo,hidden", ranks=ranks) == 0
        assert "a fake device, figures mean nothing" in capfd.readouterr().out
        found = [record for record in records.read(path) if record["kind"] == "summary"]
        assert {record["part"] for record in found} == {"copies", "put", "halo"}
        assert all(record["is_correct"] for record in found)
        for record in found:
            assert record["role"] == "floor" or record["of_floor"] > 0
        ours = [record for record in found if record["part"] == "put" and record["role"] == "ours"]
        assert len(ours) == 2 * 3 + 1  # ghosts or not: put, hidden, read; and the run
        assert all(record["speedup"] > 0 for record in ours)
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name]

    def test_without_a_device_there_is_one_line(self, capfd: pytest.CaptureFixture[str]) -> None:
        if not _has_driver():
            assert bench(*SMALLEST) == 2
            lines = [line for line in capfd.readouterr().err.splitlines() if "hakobi-bench-device:" in line]
            assert len(lines) == 1
            assert "no device to measure" in lines[0]

    @pytest.mark.usefixtures("on_fake_device")
    @pytest.mark.parametrize(
        "arguments",
        [["--rows", "12"], ["--contenders", "hakobbi"], ["--grid", "3x1x1"], ["--part", "tea"], ["--dir", "/no/such"]],
    )
    def test_bad_input_ends_with_a_line(self, arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
        assert bench(*SMALLEST, "--part", "put,halo", *arguments) == 2
        lines = [line for line in capfd.readouterr().err.splitlines() if "hakobi-bench-device:" in line]
        assert len(lines) == 1

    @pytest.mark.usefixtures("on_fake_device")
    def test_the_doctor_lists_the_fake_device(self) -> None:
        facts = devices.found()
        assert any(fact.topic == "device" and "fake" in fact.finding for fact in facts)
        assert not any(fact.verdict == "trap" for fact in facts)


def _has_driver() -> bool:
    return devices.ask(programs.flavour()) is not None
