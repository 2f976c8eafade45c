"""`hakobi study stripes`: its plan, its figures from pretended runs, and the smallest real ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import programs, records
from hakobi.errors import InputError
from hakobi.measuring import storage_model
from hakobi.measuring.session import End
from hakobi_lab.measuring import huge_pages
from hakobi_lab.report import Report
from hakobi_lab.studies.field_store import session, stripe_figures, stripe_pages, stripes, tables
from hakobi_lab.studies.field_store.plan import Case, Model, Plan
from running import Result

Command = Callable[..., Result]

MODEL = Model("T63", 8)
GLIBC = ("glibc", "2.36")


def plan_of(*servers: int, counts: tuple[int, ...] = (1, 4, 84)) -> Plan:
    models = stripes.modelled(servers)
    layouts = stripes.every_striping(counts, (1, 4), (1, 2, 8))
    places = dict.fromkeys(models, Path())
    return stripes.make_plan(places, models, MODEL, layouts, rounds=2, arguments=(), pages_lacking={})


def pretend(plan: Plan) -> dict[Case, session.Outcome]:
    """Two rounds of every case, each case of another speed."""
    found = {}
    for number, case in enumerate(plan.cases(), 1):
        lines = [{"mean_days_per_day": number + low, "peak_days_per_day": 90.0, "wall_s": 1.0} for low in (0.0, 1.0)]
        found[case] = session.Outcome(lines, [0, 1])
    return found


def test_every_combination_runs_once_on_each_storage() -> None:
    plan = plan_of(84, 100)
    layouts = [case for case in plan.cases() if case.settings.striping_factor]
    found = [(one.storage, one.settings.striping_factor, one.settings.striping_unit_mib, one.stride) for one in layouts]
    wanted = itertools.product(("84 servers", "100 servers"), (1, 4, 84), (1, 4), (1, 2, 8))
    assert sorted(found) == sorted(wanted)
    assert len({case.words() for case in plan.cases()}) == len(plan.cases())
    assert {case.model for case in plan.further if case not in layouts} >= {MODEL}


def test_more_stripes_than_servers_are_clamped_and_said() -> None:
    plan = plan_of(4, 84)
    on_four = {case.settings.striping_factor for case in plan.cases() if case.storage == "4 servers"}
    assert on_four == {0, 1, 4}  # 0: the runs that compare pages
    table = tables.striping_table(plan, {})
    assert [row[:2] for row in table.rows].count(["4 servers", "4"]) == 6
    assert "4 servers: 84 stripes: a file has one on each of 4 servers" in table.notes
    assert not any(note.startswith("84 servers") for note in table.notes)


def test_a_case_is_run_below_a_model_with_its_stripes() -> None:
    plan = plan_of(4)
    one = next(
        case for case in plan.cases() if case.settings.striping_factor == 4 and case.settings.striping_unit_mib == 4
    )
    model = plan.storage_model_of(one)
    assert model is not None
    assert (model.servers, model.stripes, model.stripe_bytes) == (4, 4, 4 << 20)
    assert storage_model.parse(model.value()) == model
    assert (
        plan.storage_model_of(stripes.page_cases(MODEL, "4 servers", {})[stripes.SMALL_PAGES])
        == plan.storage_models["4 servers"]
    )


def test_a_folder_without_stripes_is_refused(hakobi: Command, tmp_path: Path) -> None:
    result = hakobi("study", "stripes", "--storage", f"here={tmp_path}")
    assert result.status == 2
    assert "no stripes to choose" in result.stderr
    with pytest.raises(InputError, match="--storage-model 'here="):
        stripes.make_plan({"here": tmp_path}, {}, MODEL, (), rounds=1, arguments=())


def test_a_figure_has_a_mean_and_a_peak_for_each_line_and_storage() -> None:
    plan = plan_of(4, 84)
    outcomes = pretend(plan)
    lines = {"stripe-count": (2, 2), "stripe-size": (2, 3), "writer-stride": (2, 3)}
    points = {"stripe-count": (2, 3), "stripe-size": (2, 2), "writer-stride": (3, 3)}
    for over in stripe_figures.OVER:
        figure = stripe_figures.stripes_figure(over, plan, outcomes)
        assert [axes.get_title("left") for axes in figure.axes] == list(plan.storages)
        for axes, num_lines, num_points in zip(figure.axes, lines[over.name], points[over.name], strict=True):
            drawn = [container.lines[0] for container in axes.containers]  # type: ignore[attr-defined]
            styles = [line.get_linestyle() for line in drawn]
            assert styles.count("-") == styles.count(":") == num_lines, over.name
            assert {len(line.get_xdata()) for line in drawn} == {num_points}, over.name
        told = [text.get_text() for text in figure.legends[0].get_texts()]
        assert {"no output", "mean", "peak"} <= set(told)
        assert len(told) == len(set(told))
        rows = stripe_figures.stripes_data(over, plan, outcomes).rows
        assert len(rows) == 2 * sum(a * b for a, b in zip(lines[over.name], points[over.name], strict=True))
        empty = stripe_figures.stripes_figure(over, plan, {})
        assert [text.get_text() for text in empty.axes[0].texts] == ["no run has finished"]


def test_a_speed_without_output_far_above_the_others_is_said_in_words() -> None:
    plan = plan_of(4)
    outcomes = pretend(plan)
    line = {"mean_days_per_day": 900.0, "peak_days_per_day": 900.0, "wall_s": 1.0}
    outcomes[Case("none", MODEL)] = session.Outcome([line], [0])
    figure = stripe_figures.stripes_figure(stripe_figures.OVER[0], plan, outcomes)
    assert [text.get_text() for text in figure.axes[0].texts] == ["no output: 900"]
    assert figure.axes[0].get_ylim()[1] < 120


def test_few_layouts_draw_every_figure() -> None:
    models = stripes.modelled((4, 84))
    layouts = stripes.few_stripings((1, 4, 84), (1, 4), (1, 2))
    plan = stripes.make_plan(dict.fromkeys(models, Path()), models, MODEL, layouts, rounds=1, arguments=())
    for over, words in zip(stripe_figures.OVER, ("stripes of 1 MiB", "84 stripes", "84 stripes"), strict=True):
        found = stripe_figures.lines(over, plan, "84 servers")
        assert words in found
        assert all(len(cases) > 1 for cases in found.values())


@pytest.mark.parametrize(
    ("mode", "free", "libc", "ways"),
    [
        ("always [madvise] never", "8", GLIBC, {"madvise", "hugetlbfs"}),
        ("[always] madvise never", "0", GLIBC, {"madvise"}),
        ("always madvise [never]", "8", GLIBC, {"hugetlbfs"}),
        ("", "", GLIBC, set()),
        ("always [madvise] never", "8", ("glibc", "2.34"), set()),
        ("always [madvise] never", "8", ("", ""), set()),
    ],
)
def test_page_sizes_are_those_that_the_machine_has(
    tmp_path: Path, mode: str, free: str, libc: tuple[str, str], ways: set[str]
) -> None:
    files = {"transparent_hugepage/enabled": mode, "hugepages/hugepages-2048kB/free_hugepages": free}
    for name, text in files.items():
        path = tmp_path / "sys/kernel/mm" / name
        if text:
            path.parent.mkdir(parents=True)
            path.write_text(text)
    lacking = huge_pages.lacking(tmp_path, libc)
    cases = stripes.page_cases(MODEL, "here", lacking)
    assert {case.model.huge_heap for case in cases.values()} == {"", *ways}
    assert (stripes.BUFFERS in cases) == ("[never]" not in mode and bool(mode))
    notes = tables.pages_table(cases, {}, lacking).notes
    assert len(notes) == len(lacking)
    tunables = {case.model.environment().get("GLIBC_TUNABLES", "") for case in cases.values()}
    assert ("glibc.malloc.hugetlb=2097152" in tunables) == ("hugetlbfs" in ways)


def test_ctrl_c_prints_the_finished_runs() -> None:
    plan = plan_of(4)
    outcomes = {case: session.Outcome() for case in plan.cases()}
    first = next(iter(outcomes))
    outcomes[first] = pretend(plan)[first]
    (table,) = stripe_pages.tables(plan, outcomes, End(9, 1, is_interrupted=True), {})
    assert [row[0] for row in table.rows] == [first.words()]


@pytest.mark.programs
@pytest.mark.once
def test_the_smallest_has_every_table_and_figure(hakobi: Command) -> None:
    try:
        programs.find("hakobi-weather")
    except InputError as reason:
        pytest.skip(str(reason))
    result = hakobi(
        *("study", "stripes", "--ranks", "1", "--levels", "1", "--hours", "1", "--repetitions", "1", "--servers", "2"),
        *(
            "--stripes",
            "1,4",
            "--stripe-mib",
            "1",
            "--json",
            "runs.jsonl",
            "--report",
            "r.html",
            "--figures",
            "figures",
        ),
    )
    assert result.status == 0, result.stderr
    assert "2 servers: 4 stripes: a file has one on each of 2 servers" in result.stdout
    assert "Page sizes, 2 servers" in result.stdout
    assert " gap" not in result.stdout
    assert "not run" not in result.stdout
    names = ["pages", "stripe-count", "stripe-size", "writer-stride"]
    assert sorted(path.stem for path in Path("figures").glob("*.csv")) == names
    page = Path("r.html").read_text()
    assert page.count("<svg") == 4
    assert "no run has finished" not in page
    summaries = [one for one in records.read("runs.jsonl") if one["kind"] == "field-store-summary"]
    assert len({one["fields_sha256"] for one in summaries if "fields_sha256" in one}) == 1
    assert not list(Path("out").glob("**/hakobi-run-*"))


def test_a_study_out_of_time_draws_what_it_has_of_every_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Report, "conditions", lambda *_: None)
    plan = plan_of(4, 84)
    assert [case.storage for case in plan.cases() if case.settings.striping_factor][:2] == ["4 servers", "84 servers"]
    outcomes = {case: session.Outcome() for case in plan.cases()} | dict(list(pretend(plan).items())[:5])
    end = End(20, 5, is_out_of_time=True)
    made = stripe_pages.make_report(plan, outcomes, end, {}, None)
    assert len(made.write_figures(tmp_path)) == 9
    assert "the time ran out after 5 of 20 runs" in made.to_html()
