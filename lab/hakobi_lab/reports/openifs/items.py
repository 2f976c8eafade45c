"""The report's figures and tables, from what was measured. Pure."""

from __future__ import annotations

from dataclasses import replace

from hakobi.table import Table
from hakobi.words import list_text, percent_text
from hakobi_lab.measuring import huge_pages
from hakobi_lab.reports.openifs.parts import FIRST, SECOND, SERVERS, SLOW, Measured
from hakobi_lab.reports.page import Content, Drawing
from hakobi_lab.studies.field_store import figures, identity, session, stripe_figures, stripe_pages, stripes, tables
from hakobi_lab.studies.field_store.plan import Case, Model, Settings

#: MB of a step in the report: grid-point fields, spectral fields.
THEIR_STEP_MB = {"T159": (14, 31), "T511": (133, 248)}

#: The FDB's parameters: on HECToR, and Hakobi's option with its default.
_PARAMETERS = (
    ("fdbAsyncWrite", "False", "is_asynchronous", Settings().is_asynchronous),
    ("fdbNbAsyncBuffers", "4", "num_buffers", Settings().num_buffers),
    ("fdbSizeAsyncBuffer", "64 MiB", "buffer_bytes", f"{Settings().buffer_mib} MiB"),
    ("doubleBuffer", "0", "-", "buffers are handed on, not copied"),
    ("bufferSize", "67,108,864", "buffer_bytes", f"{Settings().buffer_mib << 20:,}"),
    ("doubleBufferSize", "524,288", "-", "none"),
    ("doubleBufferCount", "20", "-", "none"),
    ("blockSize", "-1", "pad_bytes", Settings().pad_bytes),
    ("syncDirOnFileFlush", "True", "is_directory_synced", Settings().is_directory_synced),
)

#: The two folders, described.
DIRECTORIES = (
    f"{FIRST}: the folder of --dir. {SECOND}: {SLOW.words()}, laid over the file calls in the same folder; it stands "
    "for the report's Lustre directories."
)


def add_items(content: Content, measured: dict[str, Measured]) -> None:
    """Every figure and table of the report, from what was measured. Pure."""
    _add_resolutions(content, measured["resolutions"])
    _add_strides(content, measured["strides"])
    _add_pages(content, measured["forecast"])
    parameters = measured["parameters"]
    item = content.item("Table 8")
    item.shown += [parameters_table(), tables.settings_table(parameters.plan, parameters.outcomes)]
    _add_ranks(content, measured["ranks and threads"])
    _add_stripes(content, measured["stripes"])
    content.item("Bit identity").shown.append(identity_table(measured))


def parameters_table() -> Table:
    table = Table("Parameters", ["<of the FDB", "on HECToR", "<Hakobi's", "by default"])
    for theirs, on_hector, ours, value in _PARAMETERS:
        table.add(theirs, on_hector, ours, str(value))
    return table


def _add_resolutions(content: Content, part: Measured) -> None:
    item = content.item("Table 2")
    item.shown += [tables.cost_table(part.plan, part.outcomes), volume_table(part)]
    item.notes.append(f"hakobi-weather {' '.join(part.plan.arguments)}; {DIRECTORIES}")
    for place, kind in (("Table 3", "files"), ("Table 4", "store")):
        one = part.outcomes.get(case := Case(kind, part.plan.base, FIRST))
        if one is not None and one.profiles:
            content.item(place).shown.append(tables.profile_table(case, one))
        else:
            content.starve(place, f"no run with {kind} was finished")
    where = content.item("Figures 3 and 4")
    where.shown.append(time_by_part(part))
    where.notes.append(
        "The report's profile is by function (CrayPAT). Here the model's own clocks tell output from the rest; "
        "perf record -g has the functions."
    )


def time_by_part(part: Measured) -> Table:
    """Seconds of a run, and those that the model's slowest rank was in calls of its output."""
    table = Table("Where the time goes", ["<resolution", "<output", "run s", "in output s", "share"], num_frozen=2)
    for model in part.plan.models:
        for kind in part.plan.kinds:
            one = part.outcomes.get(Case(kind, model, FIRST) if kind != "none" else Case("none", model))
            if one is None or not one.summaries:
                table.add(model.resolution, kind, tables.why_none(one), "", "")
                continue
            run_s, output_s = one.median("wall_s"), one.median("output_s")
            table.add(model.resolution, kind, f"{run_s:.2f}", f"{output_s:.3f}", percent_text(output_s / run_s))
    return table


def files_of_a_run(part: Measured) -> Table:
    """The data files of a run in which every rank writes, and their bytes."""
    table = Table(f"Files of a run, {part.plan.base.words()}, {FIRST}", ["bytes", "<data file"])
    one = part.outcomes.get(Case("store", part.plan.base, FIRST, 1))
    if one is None or not one.profiles:
        table.add(tables.why_none(one), "")
        return table
    for profile in one.profiles:
        table.add(f"{int(profile['bytes']):,}", str(profile["name"]))
    table.notes.append("beside each data file its index; hakobi store check lists and checks both")
    return table


def volume_table(part: Measured) -> Table:
    """MB of a step by resolution, the report's beside ours, and the files of a run."""
    columns = ["<resolution", "grid MB a step", "theirs", "spectral MB a step", "theirs", "fields a step"]
    table = Table("Volume by resolution", [*columns, "files by one task", "with the store"])
    for model in part.plan.models:
        theirs = [str(value) for value in THEIR_STEP_MB.get(model.resolution, ("", ""))]
        files, store = (part.outcomes.get(Case(kind, model, FIRST)) for kind in ("files", "store"))
        one = next((found for found in (files, store) if found and found.summaries), None)
        if one is None:
            table.add(model.resolution, tables.why_none(files), theirs[0], "", theirs[1], "", "", "")
            continue
        grid, spectral = (tables.megabytes(one.median(name)) for name in ("grid_bytes", "spectral_bytes"))
        fields = str(int(one.median("grid_fields") + one.median("spectral_fields")))
        counts = [str(found.num_files) if found and found.summaries else "" for found in (files, store)]
        table.add(model.resolution, grid, theirs[0], spectral, theirs[1], fields, *counts)
    table.notes.append("theirs: OpenIFS, as large as ours with --levels 60")
    return table


def _add_strides(content: Content, part: Measured) -> None:
    item = content.item("Table 7")
    item.shown += [
        strides_table(part),
        Drawing(
            figures.stride_figure(part.plan, part.outcomes),
            f"Mean speed over the stride of the writers, {part.plan.base.words()}. Dashed: without output. Dotted: two "
            "files a step.",
            "Line chart of forecast days per day over the stride of the writers; the tables have its values.",
            "openifs-strides",
            figures.stride_data(part.plan, part.outcomes),
        ),
    ]
    item.stand_in = DIRECTORIES
    content.item("Table 1").shown.append(files_of_a_run(part))


def strides_table(part: Measured) -> Table:
    """The report's Table 7: files, their size, and for each directory the run's seconds, peak and mean."""
    columns = [f"{storage}: {name}" for storage in part.plan.storages for name in ("seconds", "peak", "mean days/day")]
    table = Table(f"Stride of the writers, {part.plan.base.words()}", ["stride", "files", "MB a file", *columns])

    def add(name: str, cases: list[Case]) -> None:
        found = [part.outcomes.get(case) for case in cases]
        sizes = [float(profile["bytes"]) for one in found[:1] if one for profile in one.profiles]
        each = [str(len(sizes)), tables.megabytes(sum(sizes) / len(sizes))] if sizes else ["-", "-"]
        speeds = [tables.speeds(one) for one in found]
        table.add(name, *each, *[cell for mean, peak, wall in speeds for cell in (wall, peak, mean)])

    model, storages = part.plan.base, list(part.plan.storages)
    if "none" in part.plan.kinds:
        add("no output", [Case("none", model)] * len(storages))
    if "files" in part.plan.kinds:
        add("one task, two files a step", [Case("files", model, storage) for storage in storages])
    for stride in part.plan.strides:
        add(str(stride), [Case("store", model, storage, stride) for storage in storages])
    return table


def _add_pages(content: Content, part: Measured) -> None:
    usual = part.plan.base
    lacking = huge_pages.lacking()
    cases = stripes.page_cases(usual, FIRST, lacking)
    item = content.item("Table 5")
    item.shown.append(tables.pages_table(cases, part.outcomes, lacking))
    item.notes += stripe_pages.pages_said()
    item.stand_in = (
        "Linux's transparent huge pages of 2 MiB, by madvise, and reserved ones (hugetlbfs) stand for the modules of "
        "page sizes on a Cray."
    )
    runs = {words: part.outcomes.get(case) for words, case in cases.items()}
    _add_forecast(content, "Figure 8", runs, ["days_per_day"], usual)
    runs = {kind: part.outcomes.get(Case(kind, usual, FIRST)) for kind in ("files", "store")}
    _add_forecast(content, "Figure 2", runs, ["days_per_day", figures.MEAN, figures.PEAK], usual)


def _add_forecast(
    content: Content, place: str, runs: dict[str, session.Outcome | None], names: list[str], model: Model
) -> None:
    said = "of the last hour" if len(names) == 1 else "of the last hour, the mean and the highest so far"
    content.item(place).shown.append(
        Drawing(
            figures.forecast_figure(runs, names),
            f"Forecast days per day during the forecast, {model.words()}: {said}. Bars: quartiles over the rounds.",
            f"Line chart of forecast days per day over the hours of the forecast: {list_text(list(runs))}.",
            f"openifs-{place.lower().replace(' ', '-')}",
            figures.forecast_data(runs, names),
        )
    )


def _add_ranks(content: Content, part: Measured) -> None:
    single = [model for model in part.plan.models if model.threads == 1]
    content.item("Figure 1").shown.append(
        Drawing(
            figures.ranks_figure(single, list(part.plan.storages), part.outcomes),
            f"Mean speed over ranks, {part.plan.base.resolution}, {FIRST}. Bars: quartiles over the rounds.",
            "Line chart of forecast days per day over ranks: without output, with files, with the store.",
            "openifs-figure-1",
            figures.ranks_data(single, list(part.plan.storages), part.outcomes),
        )
    )
    content.item("Figure 1").shown.append(tables.cost_table(replace(part.plan, models=tuple(single)), part.outcomes))
    item = content.item("Figure 1")
    item.shown.append(tables.threads_table(part.plan, part.outcomes))
    item.notes.append("threads share a rank's transforms by OpenMP")


def _add_stripes(content: Content, part: Measured) -> None:
    content.item("Table 6").shown.append(tables.striping_table(part.plan, part.outcomes))
    content.item("Table 6").notes.append("pages of one size: stripes do not depend on them")
    for place, over in zip(("Figure 6", "Figure 7", "Figure 9"), stripe_figures.OVER, strict=True):
        item = content.item(place)
        item.stand_in = (
            f"No Lustre is used: modelled storages of {list_text([str(count) for count in SERVERS])} servers, each of "
            f"{SLOW.bandwidth_mb_s:g} MB/s, stand for the two directories; a file's stripes are on so many of "
            "them. On Lustre hakobi study stripes --storage NAME=DIR sets the stripes themselves."
        )
        item.shown.append(
            Drawing(
                stripe_figures.stripes_figure(over, part.plan, part.outcomes),
                stripe_pages.caption(over, part.plan),
                stripe_pages.alt(over),
                f"openifs-{over.name}",
                stripe_figures.stripes_data(over, part.plan, part.outcomes),
            )
        )


def identity_table(measured: dict[str, Measured]) -> Table:
    """By forecast: how many runs' fields were read back and compared one by one."""
    columns = ["<forecast", "<output", "ranks", "threads", "runs", "fields each", "<bit for bit"]
    table = Table("Fields read back and compared", columns)
    lines = [one for part in measured.values() for outcome in part.outcomes.values() for one in outcome.summaries]
    for what, by_digest in identity.compared(lines).items():
        runs = [one for same in by_digest.values() for one in same]
        table.add(
            what,
            list_text(sorted({str(one["output"]) for one in runs})),
            ", ".join(map(str, sorted({int(one["ranks"]) for one in runs}))),
            ", ".join(map(str, sorted({int(one["threads"]) for one in runs}))),
            str(len(runs)),
            ", ".join(sorted({str(one["num_fields"]) for one in runs})),
            "the same" if len(by_digest) == 1 else f"{len(by_digest)} different",
        )
    return table
