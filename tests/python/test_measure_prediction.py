"""Traces and the prediction of communication time from figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi.errors import FormatError, InputError, StorageError
from hakobi.measuring import recorder
from hakobi_lab.measuring import prediction, replay, trace
from hakobi_lab.measuring.prediction import Figures
from running import Result
from traces import Line, halo, write_trace


def no_collective(_call: str, _ranks: int, _size: int) -> float:
    raise AssertionError("no collective was recorded")


def test_balanced_ranks_pay_the_message_and_do_not_wait(tmp_path: Path) -> None:
    recorded = trace.read(write_trace(tmp_path / "t", [halo(1, 100_000, 50), halo(0, 100_000, 50)]))
    result = prediction.predict(recorded, Figures({100_000: 20e-6}), no_collective)
    assert result.communication_s == pytest.approx([20e-6, 20e-6])
    assert result.waiting_s == pytest.approx([0, 0])


def test_a_late_partner_is_waited_for_whatever_the_figures_say(tmp_path: Path) -> None:
    recorded = trace.read(write_trace(tmp_path / "t", [halo(1, 1000, 50), halo(0, 1000, 350)]))
    for seconds in (2e-6, 4e-6):
        result = prediction.predict(recorded, Figures({1000: seconds}), no_collective)
        assert result.communication_s == pytest.approx([300e-6 + seconds, seconds])
        assert result.waiting_s == pytest.approx([300e-6, 0])


def test_a_message_above_the_eager_limit_holds_its_sender(tmp_path: Path) -> None:
    ranks = [[["send", 1, 0, 0, 5000, 4096, 10, 20]], [["receive", 0, 0, 0, 5000, 4096, 100, 120]]]
    recorded = trace.read(write_trace(tmp_path / "t", ranks))
    figures = Figures({5000: 5e-6})
    eager = prediction.predict(recorded, figures, no_collective, eager_bytes=8192)
    assert eager.communication_s == pytest.approx([0, 5e-6])
    held = prediction.predict(recorded, figures, no_collective, eager_bytes=4096)
    assert held.communication_s == pytest.approx([95e-6, 5e-6])


def test_collectives_begin_when_those_have_come_whose_data_they_need(tmp_path: Path) -> None:
    def events(kind: str, root: int, start_us: float) -> list[list[object]]:
        return [[kind, root, -1, 0, 8, 4096, start_us, start_us + 1]]

    def collective(call: str, ranks: int, size: int) -> float:
        assert (ranks, size) == (2, 8)
        return 3e-6

    def predicted(kind: str, root: int, starts: tuple[float, float]) -> list[float]:
        path = write_trace(tmp_path / "t", [events(kind, root, start) for start in starts])
        return prediction.predict(trace.read(path), Figures({0: 1e-6}), collective).communication_s

    assert predicted("allreduce", -1, (10, 110)) == pytest.approx([103e-6, 3e-6])
    assert predicted("bcast", 1, (10, 110)) == pytest.approx([103e-6, 3e-6])
    assert predicted("bcast", 0, (10, 110)) == pytest.approx([3e-6, 3e-6])
    assert predicted("reduce", 0, (10, 110)) == pytest.approx([103e-6, 3e-6])
    assert predicted("gather", 1, (10, 110)) == pytest.approx([3e-6, 3e-6])


def test_tags_and_any_source_are_matched_as_mpi_does(tmp_path: Path) -> None:
    ranks = [
        [["isend", 1, 7, 0, 10, 4096, 0, 0], ["isend", 1, 8, 0, 20, 4096, 0, 0]],
        [["receive", -1, 8, 0, 20, 4096, 5, 6], ["receive", 0, -1, 0, 10, 4096, 6, 7]],
    ]
    recorded = trace.read(write_trace(tmp_path / "t", ranks))
    result = prediction.predict(recorded, Figures({10: 1e-6, 20: 2e-6}), no_collective)
    assert result.communication_s == pytest.approx([0, 3e-6])


def test_a_receive_that_nobody_serves_is_an_error_and_no_hang(tmp_path: Path) -> None:
    recorded = trace.read(write_trace(tmp_path / "t", [[["receive", 1, 0, 0, 8, 4096, 0, 1]], []]))
    with pytest.raises(FormatError, match="nobody sends"):
        prediction.predict(recorded, Figures({8: 1e-6}), no_collective)


def test_calls_whose_messages_are_not_recorded_are_named(tmp_path: Path) -> None:
    def read(ranks: list[list[list[object]]]) -> trace.Trace:
        path = write_trace(tmp_path / "t", ranks)
        counted = '"num_dropped": 0, "not_replayed": {"MPI_Iprobe": 900, "MPI_Put": 3}'
        path.write_text(path.read_text().replace('"num_dropped": 0', counted))
        return trace.read(path)

    stuck = read([[["receive", 1, 0, 0, 8, 4096, 0, 1]], []])
    with pytest.raises(FormatError, match=r"not recorded \(MPI_Put, MPI_Iprobe\)"):
        prediction.predict(stuck, Figures({8: 1e-6}), no_collective)
    common = {"kind": "measurement", "benchmark": "mpi", "pattern": "bidirectional", "ranks": 2, "bytes": 8}
    lines: list[Line] = [{**common, "contender": contender, "median": 1e-6} for contender in ("hot", "cold")]
    recorded = read([[*halo(partner, 8, 1), ["other", -1, -1, 0, 0, 0, 20, 30]] for partner in (1, 0)])
    (note,) = replay.evaluate(recorded, lines, repetitions=0, eager_bytes=4096, timeout_s=1).notes
    assert "not recorded (the program's: MPI_Put, MPI_Iprobe)" in note


def test_threads_that_one_cannot_stand_for_are_named(tmp_path: Path) -> None:
    def events(partner: int) -> list[list[object]]:  # one thread sends while another receives
        return [["send", partner, 0, 0, 9000, 4096, 0, 20], ["receive", partner, 0, 0, 9000, 16384, 1, 21]]

    recorded = trace.read(write_trace(tmp_path / "t", [events(1), events(0)]))
    assert recorded.num_overlapping() == 2
    with pytest.raises(FormatError, match="several threads"):
        prediction.predict(recorded, Figures({8: 1e-6}), no_collective)


def test_nobody_is_no_partner(tmp_path: Path) -> None:
    recorded = trace.read(write_trace(tmp_path / "t", [halo(-2, 1000, 50)]))
    result = prediction.predict(recorded, Figures({1000: 1.0}), no_collective)
    # The halo of an open edge: MPI_PROC_NULL sends and receives nothing.
    assert result.communication_s == pytest.approx([0])
    assert not recorded.message_sizes()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "",
        lambda text: text.split("\n")[0] + "\n",
        lambda text: text.replace('"trace"', '"summary"'),
        lambda text: text.replace('"num_events": 3', '"num_events": 4'),
        lambda text: text.replace('"ranks": 2', '"ranks": 1'),
    ],
)
def test_what_is_no_whole_trace_is_said_so(
    hakobi: Callable[..., Result], tmp_path: Path, spoil: Callable[[str], str]
) -> None:
    path = write_trace(tmp_path / "t", [halo(1, 8, 1), halo(0, 8, 1)])
    path.write_text(spoil(path.read_text()))
    with pytest.raises(FormatError):
        trace.read(path)
    result = hakobi("bench", "replay", path)
    assert result.status == 2
    assert str(path) in result.line()


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ((0, 4), -8, "a ireceive of -8 bytes"),
        ((1, 4), 10**12, "a isend of 1000000000000 bytes"),
        ((1, 4), 10**400, "bytes"),
        ((1, 0), "isent", "no call is named 'isent'"),
        ((1, 0), ["isend"], "no call is named"),
        ((1, 1), 2, "a isend with rank 2 of 2"),
        ((1, 3), -1, "a isend in group -1"),
        ((1, 7), 0.5, "a isend that ends before it begins"),
        ((2, 8), [0, 2], "a wait for event 2"),
        ((2, 8), [-1], "a wait for event -1"),
        ((1, 0), "barrier", "a wait for event 1"),
    ],
)
def test_a_trace_that_nobody_recorded_ends_in_one_line(
    hakobi: Callable[..., Result], tmp_path: Path, place: tuple[int, int], value: object, reason: str
) -> None:
    ranks = [halo(1, 8, 1), halo(0, 8, 1)]
    ranks[1][place[0]][place[1]] = value
    path = write_trace(tmp_path / "t", ranks)
    result = hakobi("bench", "replay", path, "--repetitions", "0")
    assert result.status == 2
    assert str(path) in result.line()
    assert reason in result.line()


def test_the_main_loop_is_cut_out_where_all_ranks_meet(tmp_path: Path) -> None:
    def rank(own: int, late_us: int) -> list[list[object]]:
        events: list[list[object]] = [["bcast", 0, -1, 0, 8, 4096, 10 + i, 10 + i] for i in range(2)]
        events += [["receive" if own else "send", 1 - own, 9, 0, 4, 4096, 20, 900 + late_us]]
        events += [["barrier", -1, -1, 0, 0, 0, 990, 1000 + late_us]]
        for step in range(5):
            at = len(events)
            start = 2000.0 + 100 * step
            events += halo(1 - own, 640, start)[:2]
            events += [["wait", -1, -1, 0, 0, 0, start, start + 10, [at, at + 1]]]
        return [*events, ["allreduce", -1, -1, 0, 8, 4096, 3000, 3001], ["barrier", -1, -1, 0, 0, 0, 4000, 4001]]

    recorded = trace.read(write_trace(tmp_path / "t", [rank(0, 5), rank(1, 7)]))
    ranges = trace.loop(recorded)
    assert ranges == [(4, 20), (4, 20)]
    cut = trace.crop(recorded, ranges, tmp_path / "loop")
    assert [len(events) for events in cut.ranks] == [16, 16]
    assert cut.ranks[0][2].requests == (0, 1)
    assert cut.ranks[0][0].begin_s == pytest.approx(995e-6)
    result = prediction.predict(cut, Figures({640: 10e-6}), lambda *_: 1e-6)
    assert result.communication_s == pytest.approx(cut.communication_s())


def test_figures_come_from_records_and_name_what_they_lack(tmp_path: Path) -> None:
    def line(contender: str, size: int, seconds: float) -> Line:
        common = {"kind": "measurement", "benchmark": "mpi", "pattern": "bidirectional", "ranks": 2}
        return {**common, "contender": contender, "bytes": size, "median": seconds}

    lines = [line("hot", 1000, 1e-6), line("cold", 1000, 3e-6)]
    path = write_trace(tmp_path / "t", [halo(1, 1000, 50, took_us=3.3), halo(0, 1000, 50, took_us=3.3)])
    recorded = trace.read(path)
    outcome = replay.evaluate(recorded, lines, repetitions=0, eager_bytes=4096, timeout_s=1)
    assert outcome.application_s == pytest.approx(3.3e-6)
    assert outcome.nearest() == "cold"
    assert outcome.error("cold") == pytest.approx(-1 / 11)
    summary = replay.summary_record(recorded, outcome, steps=1)
    assert summary["nearest"] == "cold"
    assert summary["hot_error"] == pytest.approx(1 / 3.3 - 1)
    with pytest.raises(InputError, match="cold"):
        replay.evaluate(recorded, lines[:1], repetitions=0, eager_bytes=4096, timeout_s=1)


def test_the_recorders_environment_keeps_what_was_preloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = tmp_path / "prefix" / "lib" / recorder.LIBRARY
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setenv("HAKOBI_PREFIX", str(tmp_path / "prefix"))
    made = recorder.record_environment("trace.jsonl", environment={"LD_PRELOAD": "/other.so"})
    assert made == {"HAKOBI_RECORD": str(tmp_path / "trace.jsonl"), "LD_PRELOAD": f"{library}:/other.so"}
    with pytest.raises(StorageError):
        recorder.record_environment(tmp_path / "missing" / "trace.jsonl")
    library.unlink()
    with pytest.raises(InputError, match=recorder.LIBRARY):
        recorder.record_environment("trace.jsonl")


def test_a_blocking_send_ends_when_its_partner_waits_in_a_send_too(tmp_path: Path) -> None:
    def events(partner: int) -> list[list[object]]:  # the commonest halo exchange: Irecv, Send, Wait
        return [
            ["ireceive", partner, 0, 0, 100_000, 4096, 0, 0],
            ["send", partner, 0, 0, 100_000, 8192, 0, 20],
            ["wait", -1, -1, 0, 0, 0, 20, 21, [0]],
        ]

    recorded = trace.read(write_trace(tmp_path / "t", [events(1), events(0)]))
    result = prediction.predict(recorded, Figures({100_000: 20e-6}), no_collective)
    assert result.communication_s == pytest.approx([20e-6, 20e-6])


def test_a_sendrecv_receives_by_its_own_tag(tmp_path: Path) -> None:
    ranks = [
        [["isend", 1, 5, 0, 3000, 4096, 0, 0], ["sendrecv", 1, 7, 0, 8, 8192, 0, 1, 1, 8, 12288, 7]],
        [["sendrecv", 0, 7, 0, 8, 8192, 0, 1, 0, 8, 12288, 7], ["receive", 0, 5, 0, 3000, 4096, 1, 2]],
    ]
    recorded = trace.read(write_trace(tmp_path / "t", ranks))
    result = prediction.predict(recorded, Figures({8: 1e-6, 3000: 5e-6}), no_collective)
    assert result.communication_s == pytest.approx([1e-6, 6e-6])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("50, 60", "NaN, 60"),
        lambda text: text.replace('"ranks": 2', '"ranks": 1000000000'),
        lambda text: text.replace('"ranks": 2', '"ranks": -3'),
        lambda text: text.replace("[0, 1]]", '["a", 1]]'),
    ],
)
def test_a_foreign_trace_ends_in_one_line(
    hakobi: Callable[..., Result], tmp_path: Path, spoil: Callable[[str], str]
) -> None:
    path = write_trace(tmp_path / "t", [halo(1, 8, 50), halo(0, 8, 50)])
    text = path.read_text()
    path.write_text(spoil(text))
    assert path.read_text() != text
    result = hakobi("bench", "replay", path)
    assert result.status == 2
    assert str(path) in result.line()


def test_figures_of_several_transports_or_without_a_time_are_refused() -> None:
    def line(transport: str, seconds: float) -> Line:
        common: Line = {"kind": "measurement", "benchmark": "mpi", "pattern": "bidirectional", "ranks": 2, "bytes": 8}
        return {**common, "contender": "hot", "transport": transport, "median": seconds}

    assert replay.figures_of([line("default", 1.0), line("default", 3.0)], "hot")["bidirectional", 2].seconds(8) == 2.0
    with pytest.raises(InputError, match="default, eager-64K"):
        replay.figures_of([line("default", 1.0), line("eager-64K", 2.0)], "hot")
    with pytest.raises(FormatError, match="no figure"):
        replay.figures_of([line("default", 0.0)], "hot")
