"""`hakobi study output-methods` with a pretended application: order, figures, checks, ends."""

from __future__ import annotations

import csv
import json
import os
import signal
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hakobi import records
from hakobi.statistics import COMPARISON_CONFIDENCE
from hakobi_lab.studies.output_methods import demo, figures, tables
from hakobi_lab.studies.output_methods.summary import Row, summarise
from running import Result, start

Command = Callable[..., Result]
STUDY = ("study", "output-methods", "--app", "waves")


def test_every_run_leaves_its_record_and_no_file(hakobi: Command, waves: Path, tmp_path: Path) -> None:
    result = hakobi(*STUDY, "--ranks", "1,3", "--repetitions", "2", "--storage", "a=A", "--json", "runs.jsonl")
    assert result.status == 0, result.stderr
    runs = records.read("runs.jsonl")
    assert len(runs) == 2 * 2 * 6
    assert {run["method"] for run in runs} == {"none", "per-process", "root", "parallel", "pipelined", "writers"}
    for run in runs:
        assert run["app"] == "waves"
        assert run["storage"] == "a"
        assert run["ranks"] in (1, 3)
        assert run["repetition"] in (1, 2)
        assert run["time_s"] > 0
        assert run["conditions"]["memory_bytes"] > 0
        if run["method"] == "none":
            assert (run["output_bytes"], run["sha256"]) == (0, None)
        else:
            assert run["output_bytes"] == 3 * 700
            assert run["cached_bytes"] == run["output_bytes"]
            assert len(run["sha256"]) == 64
    assert list(tmp_path.joinpath("A").rglob("*")) == []


def test_the_table_has_output_times_and_shares(hakobi: Command, waves: Path) -> None:
    result = hakobi(*STUDY, "--ranks", "2", "--repetitions", "4")
    lines = {
        line.split()[0]: line
        for line in result.stdout.splitlines()
        if line.startswith(("ranks", "  ")) and line.split()
    }
    assert lines["ranks"].split() == [
        "ranks",
        "seconds",
        "none",
        "per-process",
        "root",
        "parallel",
        "pipelined",
        "writers",
    ]
    costs = [float(word) for word in lines["output"].replace("±", " ±").split() if word[0].isdigit()]
    assert costs == pytest.approx([0.5, 0.4, 0.2, 0.1, 0.3], abs=0.02)
    shares = [int(word) for word in lines["share"].replace("%", "").split()[1:] if word.isdigit()]
    assert shares == pytest.approx([50, 44, 29, 17, 38], abs=2)
    assert "2 ranks: pipelined is fastest, outside the spread (parallel takes 1.1" in result.stdout
    assert "sync not counted" in result.stdout
    assert "fits in the page cache" in result.stdout or "lies in memory" in result.stdout


def test_no_winner_is_named_inside_the_spread(hakobi: Command, waves: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NOISE_S", "5")
    result = hakobi(*STUDY, "--methods", "parallel,pipelined", "--ranks", "16", "--repetitions", "8")
    assert "16 ranks: no difference outside the spread between p" in result.stdout
    assert "is fastest" not in result.stdout


def runs_of(times: dict[str, float], rounds: int = 5, scatter_s: float = 0.01) -> list[dict[str, Any]]:
    """Records of a study on one storage."""
    return [
        {
            "app": "tsunami",
            "method": method,
            "ranks": 2,
            "storage": "slow",
            "repetition": i,
            "time_s": seconds + scatter_s * ((3 * i + number) % 4),
            "output_bytes": 10**9,
            "cached_bytes": 0,
            "sync": False,
        }
        for i in range(1, rounds + 1)
        for number, (method, seconds) in enumerate(times.items())
    ]


def row_of(runs: list[dict[str, Any]]) -> Row:
    summary = summarise(runs, tuple(dict.fromkeys(run["method"] for run in runs if run["method"] != "none")))
    assert summary is not None
    (row,) = summary.rows
    return row


def test_the_conclusion_has_every_method_with_its_interval() -> None:
    runs = runs_of({"none": 2.0, "root": 4.0, "parallel": 2.6, "pipelined+hidden": 2.1, "auto": 2.11})
    row = row_of(runs)
    for each in row.figures.values():
        assert each.is_zero == each.output_time.interval.contains(0.0)
        assert each.output_time.interval.confidence == COMPARISON_CONFIDENCE
    text = tables.conclusion(row)
    parts = text.split("; ")
    assert parts[0].startswith("root makes the run 2.00 times as long (1.9"), text
    assert parts[1].startswith("parallel adds 29 % (27 to 32 %)"), text
    assert text.index("parallel ") < text.index("auto ")
    fastest = text.rpartition(". ")[2]
    assert set(fastest.removesuffix(" are fastest, outside the spread.").split(" and ")) == {"auto", "pipelined+hidden"}
    for run in runs:  # a disturbed round: the run without output took longest
        run["time_s"] += 1.5 * (run["method"] == "none" and run["repetition"] == 3)
    assert "auto adds at most 0.93 s, which cannot be told from zero" in tables.conclusion(row_of(runs))


def test_the_conclusion_names_nobody_without_a_spread_or_within_it() -> None:
    assert tables.conclusion(row_of(runs_of({"none": 2.0, "root": 3.0, "auto": 2.2}, rounds=1, scatter_s=0))) == (
        "root makes the run 1.50 times as long; auto adds 10 %. One round: nothing is known of the spread."
    )
    text = tables.conclusion(row_of(runs_of({"none": 2.0, "root": 2.61, "parallel": 2.6})))
    assert text.endswith(". No difference between them lies outside the spread.")


def test_the_times_of_a_run_stand_behind_their_bars() -> None:
    row = row_of(runs_of({"none": 2.0, "root": 4.0, "pipelined+hidden": 2.1}, scatter_s=0))
    (axes,) = figures.times_figure(row, "Runs", {"root": "rank 0 writes"}).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["none", "root\nrank 0 writes", "pipelined+hidden"]
    assert [text.get_text() for text in axes.texts] == ["2.00 s", "4.00 s (2.00 times)", "2.10 s (1.05 times)"]
    assert axes.get_xlim()[0] == 0
    assert axes.get_xlim()[1] > 4.1


def test_every_storages_times_are_inside_the_figure() -> None:
    runs: list[dict[str, Any]] = [
        {
            "app": "tsunami",
            "method": method,
            "ranks": 2,
            "storage": storage,
            "repetition": i,
            "time_s": seconds,
            "output_bytes": 10**9,
            "cached_bytes": 0,
            "sync": False,
        }
        for i in range(1, 4)
        for storage, times in (("fast", {"none": 2.0, "root": 3.0}), ("slow", {"none": 2.0, "root": 9.0}))
        for method, seconds in times.items()
    ]
    summary = summarise(runs, ("root",))
    assert summary is not None
    for axes in figures.scaling_figure(summary).axes:
        assert axes.get_ylim()[0] == 0
        assert axes.get_ylim()[1] > 9


def test_one_round_names_nobody(hakobi: Command, waves: Path) -> None:
    result = hakobi(*STUDY, "--ranks", "1", "--repetitions", "1")
    assert "one round says nothing about the spread" in result.stdout


def test_several_storages_are_rows(hakobi: Command, waves: Path) -> None:
    result = hakobi(*STUDY, "--methods", "root", "--ranks", "1", "--storage", "slow=S", "--storage", "fast=F", "--sync")
    lines = result.stdout.splitlines()
    headings = next(line for line in lines if line.startswith("storage")).split()
    assert headings == ["storage", "ranks", "seconds", "none", "root"]
    assert [line.split()[:3] for line in lines if line.startswith(("slow", "fast"))] == [
        ["fast", "1", "time"],
        ["slow", "1", "time"],
    ]
    assert "sync counted" in result.stdout


def test_kept_files_are_where_they_were_written(hakobi: Command, waves: Path) -> None:
    result = hakobi(*STUDY, "--methods", "root", "--ranks", "2", "--repetitions", "1", "--storage", "a=A", "--keep")
    assert result.status == 0
    assert len(list(Path("A").rglob("waves_00000?.nc"))) == 3


def test_differing_files_are_told_and_status_1(hakobi: Command, waves: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CORRUPT", "root:2")
    result = hakobi(*STUDY, "--ranks", "1,2", "--repetitions", "1", "--report", "report.html")
    assert result.status == 1
    line = next(line for line in result.stderr.splitlines() if line.startswith("hakobi"))
    assert line.startswith("hakobi study output-methods: FILES DIFFER: root on 2 ranks, default, round 1: sha256 ")
    assert "FILES DIFFER" in Path("report.html").read_text()


def test_a_programs_own_writer_stands_beside_hakobis_with_and_without_the_drop_in(
    hakobi: Command, waves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = waves.parent / "lib" / "libhakobi_mpiio.so"
    library.parent.mkdir()
    library.write_text("")
    ways = "own,own+drop-in,own+hidden,own+hidden-close"
    methods = ("--methods", f"{ways},root", "--ranks", "1,2", "--repetitions", "1", "--json", "runs.jsonl")
    result = hakobi(*STUDY, *methods)
    assert result.status == 0, result.stderr  # its own files are others than Hakobi's, and that is no mismatch
    for run in records.read("runs.jsonl"):
        _, _, way = run["method"].partition("own+")
        assert (library.name in run["preload"]) == bool(way)
        assert run["hints"] == {"hidden": "hakobi_hidden=write", "hidden-close": "hakobi_hidden=close"}.get(way, "")
        assert run["left_s"] == (0.25 if way == "hidden-close" else 0)
        if way == "hidden-close":
            assert run["time_s"] == pytest.approx(0.6 + 1 / run["ranks"] + 0.25, abs=0.01)
    refused = hakobi(*STUDY, *methods, "--sync")
    assert refused.status == 2
    assert "own+hidden-close stores behind the program's close" in refused.stderr
    monkeypatch.setenv("FAKE_CORRUPT", "own:2")
    told = hakobi(*STUDY, *methods, "--methods", "own,root", "--ranks", "1,2,3", "--json", "others.jsonl")
    assert told.status == 1
    assert "FILES DIFFER: own on 2 ranks" in told.stderr


def test_files_that_depend_on_the_rank_count_are_compared_among_equals(
    hakobi: Command, waves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_PIECES", "1")
    command = (*STUDY, "--methods", "root,pipelined,writers", "--ranks", "1,2", "--repetitions", "1")
    assert hakobi(*command).status == 0
    monkeypatch.setenv("FAKE_CORRUPT", "root:2")
    result = hakobi(*command)
    assert result.status == 1
    assert "FILES DIFFER: root on 2 ranks" in result.stderr


def test_a_failing_case_is_a_gap_with_its_reason_and_the_others_go_on(
    hakobi: Command, waves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FAIL", "root:3")
    study = (*STUDY, "--ranks", "1,2,3", "--repetitions", "2", "--json", "runs.jsonl", "--report", "r.html")
    result = hakobi(*study, "--figures", "paper")
    assert result.status == 2
    runs = [run for run in records.read("runs.jsonl") if "time_s" in run]
    assert len(runs) == 36 - 2
    line = result.stderr.splitlines()[-1]
    why = "no figure: waves with method root on 3 ranks: no space left on out/study/"
    assert line.startswith(f"hakobi study output-methods: gap: root, 3 ranks, default: {why}")
    assert " gap " in next(row for row in result.stdout.splitlines() if row.split()[:2] == ["3", "time"])
    assert f"gap: root, 3 ranks, default: {why}" in result.stdout
    assert why in Path("r.html").read_text()
    with Path("paper/time-over-ranks.csv").open() as file:
        missing = [row for row in csv.DictReader(file) if row["gap"]]
    assert [(row["series"], row["ranks"], row["seconds"]) for row in missing] == [("root", "3", "")]
    assert not list(Path("out").rglob("*.nc"))
    # The same command later, with nothing in its way, runs what is missing alone.
    monkeypatch.delenv("FAKE_FAIL")
    again = hakobi(*study)
    assert again.status == 0, again.stderr
    assert "34 runs taken up from runs.jsonl" in again.stderr
    assert len([run for run in records.read("runs.jsonl") if "time_s" in run]) == 36
    assert "gap" not in again.stdout


def test_a_study_takes_up_nothing_of_another_program(hakobi: Command, waves: Path) -> None:
    study = (*STUDY, "--methods", "root", "--ranks", "1", "--repetitions", "1", "--json", "runs.jsonl")
    assert hakobi(*study).status == 0
    with (waves / "hakobi-waves").open("a") as program:
        program.write("# built anew\n")
    result = hakobi(*study)
    assert "2 runs in runs.jsonl left alone: of another plan, build or machine" in result.stderr
    assert len(records.read("runs.jsonl")) == 4


def test_what_a_run_warns_of_is_repeated_once(hakobi: Command, waves: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_WARN", "parallel")
    study = (*STUDY, "--methods", "root,parallel", "--ranks", "1,2", "--repetitions", "2")
    result = hakobi(*study, "--report", "r.html", "--json", "runs.jsonl")
    assert result.status == 0, result.stderr
    told = [line for line in result.stderr.splitlines() if "lose bytes" in line]
    text = "a file on storage default is on NFS. The method may lose bytes there"
    assert told == [f"hakobi study output-methods: {text}"]
    assert text in Path("r.html").read_text()
    assert text in hakobi(*study, "--json", "runs.jsonl").stderr  # of runs that were taken up, too


def test_a_leftover_temporary_file_is_a_failure(hakobi: Command, waves: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LEFTOVER", "parallel")
    result = hakobi(*STUDY, "--ranks", "1", "--repetitions", "1")
    assert result.status == 2
    assert "ended well but left waves_000009.nc.part behind" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_reports_the_finished_runs(
    waves: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("FAKE_SLEEP_S", "0.2")
    process = start(*STUDY, "--ranks", "1", "--repetitions", "50", "--json", "runs.jsonl", "--report", "report.html")
    end = time.monotonic() + 60
    while time.monotonic() < end and (not Path("runs.jsonl").exists() or len(records.read("runs.jsonl")) < 8):
        time.sleep(0.05)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    finished = len(records.read("runs.jsonl"))
    assert finished >= 8
    lines = [line for line in stderr.splitlines() if line.startswith("hakobi") and "is loaded" not in line]
    text = f"interrupted after {finished} of 300 runs: the figures are those of the finished ones"
    assert lines == [f"hakobi study output-methods: {text}"]
    assert "ranks  seconds" in stdout
    assert "interrupted after" in Path("report.html").read_text()
    assert not list(tmp_path.joinpath("out").rglob("*.nc"))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--app", "wvaes"], "unknown app 'wvaes': did you mean 'waves'? (known: waves)"),
        (["--methods", "rot"], "unknown method 'rot': did you mean 'root'? (known: per-process, root, parallel"),
        (["--methods", "none"], "no method to compare with 'none'"),
        (["--ranks", "0"], "Invalid value for '--ranks': '0' is no whole number from 1"),
        (["--ranks", "2,x"], "Invalid value for '--ranks': 'x' is no whole number from 1"),
        (["--repetitions", "0"], "0 repetitions: at least 1 is needed"),
        (["--storage", "a=A", "--storage", "a=B"], "storage 'a' is given twice"),
        (["--storage", "a=A", "--storage", "b=./A"], "storages 'a' and 'b' are the same folder"),
        (["--storage", "A"], "'A' is no storage: give NAME=DIR"),
        (["--storage", "a=/proc/x"], "cannot make /proc/x"),
        (["--storage", "a=/dev/null"], "cannot use /dev/null: a file is in the way, not a folder"),
        (["--storage", "a=file/below"], "cannot make file/below: a file is in the way above it"),
        (["--json", "."], "cannot write .: a folder is in the way"),
        (["--report", "file/r.html"], "cannot use file: a file is in the way, not a folder"),
        (["--", "--method", "root"], "--method is set by the study"),
        (["--", "--unknown-to-the-app"], "ended early after 0 of 90 runs: waves with method none on 4 ranks: "),
    ],
)
def test_bad_input_is_one_line(hakobi: Command, waves: Path, arguments: list[str], line: str) -> None:
    Path("file").write_text("")
    result = hakobi(*STUDY, *arguments)
    assert result.status == 2
    assert result.stdout == ""
    told = [text for text in result.stderr.splitlines() if not text.startswith("warming up: ")]  # where it took long
    assert len(told) == 1, result.stderr
    assert told[0].startswith(f"hakobi study output-methods: {line}")


def test_a_missing_launcher_is_one_line(hakobi: Command, waves: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAKOBI_MPIEXEC", "/nowhere/mpiexec")
    assert hakobi(*STUDY).line().endswith("HAKOBI_MPIEXEC=/nowhere/mpiexec is no program")


def test_nothing_is_left_in_the_temporary_folder(
    hakobi: Command, waves: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    hakobi(*STUDY, "--ranks", "1", "--repetitions", "1")
    assert os.listdir(scratch) == []  # noqa: PTH208


class _Page(HTMLParser):
    """Collects what an HTML page refers to, and its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.images_without_words = 0
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        for name in ("src", "href", "xlink:href", "srcset", "data"):
            if values.get(name) and not str(values[name]).startswith(("#", "data:")):
                self.references.append(f"{tag} {values[name]}")
        if (tag == "img" and not values.get("alt")) or (values.get("role") == "img" and not values.get("aria-label")):
            self.images_without_words += 1


def test_the_report_is_one_file_that_refers_to_nothing(hakobi: Command, waves: Path) -> None:
    result = hakobi(*STUDY, "--ranks", "1,2", "--repetitions", "2", "--report", "r/report.html")
    assert result.status == 0
    assert list(Path("r").iterdir()) == [Path("r/report.html")]
    text = Path("r/report.html").read_text()
    page = _Page()
    page.feed(text)
    assert page.references == []
    assert page.images_without_words == 0
    assert page.tags.count("svg") == 3
    assert "script" not in page.tags
    assert "url(http" not in text
    assert "@import" not in text
    for word in ("pipelined", "output time", "outside the spread", "(…)", "±", "Conditions", "seed 1"):
        assert word in text


def test_time_and_share_have_one_sign() -> None:
    """The medians of the differences and of their shares need not: a slow round weighs less in its share."""
    times = {"none": [1.0, 10.0, 1.0], "root": [0.9, 10.2, 1.001]}
    runs = [
        {"app": "a", "method": method, "ranks": 2, "storage": "s", "repetition": number, "time_s": value}
        | {"output_bytes": 1, "cached_bytes": None, "sync": False}
        for method, values in times.items()
        for number, value in enumerate(values)
    ]
    summary = summarise(runs, ("root",))
    assert summary is not None
    (row,) = summary.rows
    assert row.figures["root"].is_zero
    shown = row.figures["root"].share_text()
    assert (shown.startswith("(-")) == (row.figures["root"].output_time.median < 0)
    assert tables.finding(row).count("nothing that can be told from zero") == 1


def test_records_are_json_of_their_own(hakobi: Command, waves: Path) -> None:
    hakobi(*STUDY, "--ranks", "1", "--repetitions", "1", "--json", "runs.jsonl")
    for line in Path("runs.jsonl").read_text().splitlines():
        assert next(iter(json.loads(line))) == "app"


def test_figures_are_files_with_their_data(hakobi: Command, waves: Path) -> None:
    result = hakobi(*STUDY, "--methods", "root,pipelined", "--ranks", "1,2", "--repetitions", "3", "--figures", "paper")
    assert result.status == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "figures: paper"
    kinds = ("csv", "pdf", "svg")
    names = [f"{name}.{kind}" for name in ("output-share", "speed-up", "time-over-ranks") for kind in kinds]
    assert sorted(path.name for path in Path("paper").iterdir()) == names
    assert Path("paper/output-share.pdf").read_bytes().startswith(b"%PDF")
    for name in ("output-share", "speed-up", "time-over-ranks"):
        head, *rows = [line.split(",") for line in Path(f"paper/{name}.csv").read_text().splitlines()]
        assert head[:3] == ["panel", "series", "ranks"]
        assert {row[0] for row in rows} == {"storage default"}
        of_root = [row for row in rows if row[1] == "root"]
        assert [row[2] for row in of_root] == ["1", "2"]
        assert all(float(row[4]) <= float(row[3]) <= float(row[5]) for row in of_root)
        assert {row[6] for row in rows} == {"3"}


def test_the_data_of_a_figure_are_those_of_the_records(hakobi: Command, waves: Path) -> None:
    """Rank counts whose ticks lie far apart and methods beside each other: no value may move to another tick."""
    result = hakobi(
        *(*STUDY, "--methods", "root,parallel,pipelined", "--ranks", "1,2,7,8,64", "--repetitions", "1"),
        *("--storage", "a=A", "--storage", "b=B", "--json", "runs.jsonl", "--figures", "paper"),
    )
    assert result.status == 0, result.stderr
    with Path("paper/time-over-ranks.csv").open() as file:
        found = {(row["panel"], row["series"], row["ranks"]): float(row["seconds"]) for row in csv.DictReader(file)}
    runs = records.read("runs.jsonl")
    assert found == {
        (f"storage {run['storage']}", run["method"], str(run["ranks"])): pytest.approx(run["time_s"], rel=1e-5)
        for run in runs
    }
    with Path("paper/output-share.csv").open() as file:
        shares = list(csv.DictReader(file))
    assert len(shares) == 2 * 3 * 5
    assert {row["panel"] for row in shares} == {"storage a", "storage b"}


@pytest.fixture
def small_demo(waves: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration's path with the pretended application."""
    library = waves.parent / "lib" / "libhakobi_storage_model.so"
    library.parent.mkdir()
    library.write_text("")
    monkeypatch.setattr(demo, "APP", "waves")
    monkeypatch.setattr(demo, "STUDY_ARGUMENTS", ())
    monkeypatch.setattr(demo, "WAVE_ARGUMENTS", ())
    monkeypatch.setattr("hakobi.measuring.machine.usable_cores", lambda: 2)


@pytest.mark.usefixtures("small_demo")
def test_the_demonstration_begins_with_what_it_found_and_ends_with_what_to_type(
    hakobi: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NOISE_S", "0.001")
    result = hakobi("demo")
    assert result.status == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("root makes the run 1.80 times as long (1."), lines[0]
    assert "; pipelined+hidden adds 20 % (" in lines[0]
    assert lines[0].endswith("pipelined+hidden is fastest, outside the spread.")
    assert len(lines) <= 40, "more than a screen"
    assert "At most 90 s: 12 runs of a waves on 2 ranks" in result.stderr
    runs = records.read("out/demo/runs.jsonl")
    assert len(runs) == 12
    assert {run["storage_model"] for run in runs} == {demo.MODEL.value()}
    for name in ("report.html", "times.png", "waves_000002.nc"):
        assert str(Path("out/demo") / name) in result.stdout.replace("waves_*", "waves_000002")
        assert Path("out/demo", name).exists()
    typed = [line.strip() for line in lines if line.startswith("  ") and " -m hakobi " in line]
    assert [line.partition(" -m hakobi ")[2].split()[0] for line in typed] == ["ls", "post", "study", "run"]
    before = sorted(path.name for path in Path("out/demo").iterdir())
    assert hakobi("demo").status == 0
    assert sorted(path.name for path in Path("out/demo").iterdir()) == before


@pytest.mark.usefixtures("small_demo")
def test_a_demonstration_inside_the_spread_says_so_and_what_to_do(
    hakobi: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NOISE_S", "50")
    first, second, *_ = hakobi("demo").stdout.splitlines()
    assert first.endswith("No difference between them lies outside the spread.")
    assert "too busy" in second
    assert "doctor" in second
    monkeypatch.delenv("FAKE_NOISE_S")
    monkeypatch.setenv("FAKE_FAIL", "root")  # which is not the machine's load, and says so itself
    result = hakobi("demo")
    assert result.status == 2
    assert "gap: root, 2 ranks, slow: no figure: " in result.stderr
    assert "too busy" not in result.stdout
    monkeypatch.delenv("FAKE_FAIL")
    monkeypatch.setattr(demo, "BUDGET_S", 0.0)
    result = hakobi("demo")
    assert result.status == 2
    assert result.stderr.splitlines()[-1].startswith("hakobi demo: not one run with output and one without in 0 s")


@pytest.mark.usefixtures("small_demo")
def test_what_the_machine_lacks_is_said_before_anything_runs(hakobi: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    free_bytes = {"/dev/shm": 64 << 20, "out/demo": 10**12}
    monkeypatch.setattr("hakobi.conditions.file_system", lambda path: {"free_bytes": free_bytes[str(path)]})
    monkeypatch.setattr("hakobi.measuring.machine.usable_cores", lambda: 1)
    monkeypatch.setattr(demo.session, "execute", lambda plan, _json: pytest.fail(str(plan.storages)))
    with pytest.raises(pytest.fail.Exception, match="out/demo/hakobi-run-"):
        hakobi("demo")
    free_bytes["out/demo"] = demo.KEPT_BYTES
    told = hakobi("demo").stderr.splitlines()
    assert told[0].startswith("hakobi: warning: /dev/shm has 67.1 MB free, a run writes ")
    assert told[-1].startswith("hakobi demo: no space in out/demo: ")
    free_bytes["out/demo"] = 10**12
    monkeypatch.setattr("hakobi.conditions.machine", lambda: {"memory_available_bytes": 10**8})
    assert hakobi("demo").stderr.splitlines()[-1].startswith("hakobi demo: too little memory: ")


def test_the_command_is_named_as_it_can_be_typed_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / ".venv" / "bin" / "hakobi"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert demo.own_command() == ".venv/bin/hakobi"
    monkeypatch.chdir(program.parent.parent)
    assert demo.own_command() == "bin/hakobi"
    monkeypatch.chdir("/")
    assert demo.own_command() == str(program).lstrip("/")
    monkeypatch.setenv("PATH", str(program.parent))
    assert demo.own_command() == "hakobi"
