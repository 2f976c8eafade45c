"""`hakobi bench collective`: collective I/O of a distributed array, by the program hakobi-bench-collective."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.options import SECONDS, WHOLE_NUMBERS, Number


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--pattern", default="block3d", show_default=True, help="block3d, tile2d, cyclic, lattice4d, contiguous.")
@click.option("--piece", default="512", show_default=True, help="Bytes of a piece of the cyclic pattern.")
@click.option("--size", default="256M", show_default=True, help="Approximate size of the file.")
@click.option(
    "--ranks", type=WHOLE_NUMBERS, default="4", show_default=True, help="MPI ranks, one count or several with commas."
)
@click.option("--access", default="threads", show_default=True, help="File access of the engine: threads,uring,posix.")
@click.option("--cb", default="", help="Bytes of a collective buffer (default: chosen by the engine).")
@click.option(
    "--depth", type=click.IntRange(min=1), help="Collective buffers in flight (default: chosen by the engine)."
)
@click.option(
    "--aggregators", type=click.IntRange(min=1), help="Total number of aggregators (default: chosen by the engine)."
)
@click.option("--skew", type=Number(min=0), help="Seconds that the last rank comes late to each call.")
@click.option(
    "--storage-model", "model_text", default="", metavar="MODEL", help="Apply this storage model to all file calls."
)
@click.option("--compare", type=click.Choice(["mpi-io"]), help="Also measure the MPI library's collectives.")
@click.option("--limit", type=Number(min=0), default=0.0, help="Limit of the storage in GB/s, if known.")
@click.option(
    "--dir",
    "folder",
    default=Path("/dev/shm"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where the file goes.",
)
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Number of rounds of jobs (default: 3 if jobs alternate, otherwise 1)."
)
@click.option(
    "--budget", "budget_s", type=Number(min=0), default=30.0, show_default=True, help="Time budget per case in seconds."
)
@click.option(
    "--min-samples",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    help="Least number of samples per contender.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Append records (JSON lines) to this file.")
@click.option("--profile", is_flag=True, help="Print what the engine did and why, and its counters at each close.")
@click.option(
    "--suite", type=click.Choice(["regressions", "overlap"]), help="Run a suite of cases instead of patterns."
)
@click.option("--case", "cases", default="", help="Cases of the suite, separated by commas (default: all).")
@click.option("--storage", "storages", default="", help="Storages of the suite: model,tmpfs (both).")
@click.option(
    "--timeout", "timeout_s", type=SECONDS, default=3600.0, show_default=True, help="Time limit per job in seconds."
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF hakobi-bench-collective]")
def command(
    pattern: str,
    piece: str,
    size: str,
    ranks: tuple[int, ...],
    access: str,
    cb: str,
    depth: int | None,
    aggregators: int | None,
    skew: float | None,
    model_text: str,
    compare: str | None,
    limit: float,
    folder: Path,
    rounds: int | None,
    budget_s: float,
    min_samples: int,
    json_file: Path | None,
    profile: bool,
    suite: str | None,
    cases: str,
    storages: str,
    timeout_s: float,
    arguments: tuple[str, ...],
) -> int:
    """Measure collective writes and reads against the MPI library and the storage's limit.

    Contenders alternate in one job, and every byte is verified. Both MPI-IO components of Open MPI are measured, in
    alternating jobs. --pattern and --ranks take several values with commas: each combination is a case. A storage
    model's words stand at their defaults below. Further options are the program's own:

    \b
    hakobi bench collective --ranks 8 --compare mpi-io
    hakobi bench collective --pattern cyclic --piece 4K --access threads,posix --json records.jsonl \\
        --storage-model servers=4,bandwidth=500,latency=2ms,stripe=1M
    hakobi bench collective --hint hakobi_shuffle=always --mpi-hint cb_nodes=4 --operation write

    --suite regressions runs programs' MPI-IO calls with the drop-in beside the library alone (its default, its other
    component, its best hints), on a storage model and in memory, new files, opening and closing timed; it takes --case,
    --storage, --compare, --rounds, --dir, --timeout and --json, and prints the worst ratio first. Status 1: a call of
    ours failed or moved a wrong byte. --suite overlap does the same with a program that computes while it writes, by
    nonblocking collectives; peers also by blocking ones.

    \b
    hakobi bench collective --suite regressions --compare mpi-io --json verdicts.jsonl
    hakobi bench collective --suite overlap --compare mpi-io
    """
    from hakobi import files
    from hakobi.measuring import collective, storage_model
    from hakobi.measuring.session import say_warnings
    from hakobi_lab.measuring import collective_bench

    if suite:
        if arguments:
            raise click.UsageError(f"--suite {suite} takes no {arguments[0]}")
        return _run_suite(suite, cases, storages, folder, json_file, compare is not None, rounds or 3, timeout_s)
    if cases or storages:
        raise click.UsageError("--case and --storage are of a --suite")
    passed = ["--piece", str(collective.parse_bytes(piece, "--piece"))]
    passed += ["--cb", str(collective.parse_bytes(cb, "--cb"))] if cb else []
    for name, value in (("--depth", depth), ("--aggregators", aggregators), ("--skew", skew)):
        passed += [name, str(value)] if value is not None else []
    accesses = collective.parse_names(access, "access", collective.ACCESSES)
    model = storage_model.parse(model_text) if model_text else None
    if json_file:
        files.prepare_file(json_file)
    plan = collective_bench.Plan(
        patterns=collective.parse_names(pattern, "pattern", collective.PATTERNS),
        ranks=ranks,
        accesses=accesses,
        file_bytes=collective.parse_bytes(size, "--size"),
        folder=folder,
        model=model,
        compare=compare is not None,
        rounds=rounds or 0,
        budget_s=budget_s,
        min_samples=min_samples,
        limit_gb_s=limit,
        arguments=(*passed, *arguments),
        timeout_s=timeout_s,
        is_profiled=profile,
    )
    outcome = collective_bench.run(plan, json_file)
    collective_bench.show(outcome)
    say_warnings("hakobi bench collective", outcome.end)
    return outcome.end.exit_status()


def _run_suite(
    suite: str,
    cases: str,
    storages: str,
    folder: Path,
    json_file: Path | None,
    has_peers: bool,
    rounds: int,
    timeout_s: float,
) -> int:
    from hakobi import files, records, table
    from hakobi.measuring import regressions

    if json_file:
        files.prepare_file(json_file)
    names, places = ([part.strip() for part in text.split(",") if part.strip()] for text in (cases, storages))
    rows = regressions.chosen(suite, names, places)
    end = regressions.run(rows, folder, json_file, compare=has_peers, rounds=rounds, timeout_s=timeout_s)
    if end.failure:
        raise end.failure
    if end.is_interrupted:
        rows = [row for row in rows if row.samples]
    found = regressions.verdicts(rows)
    if json_file:
        for verdict in found:
            records.append(json_file, verdict)
    table.show(regressions.table_of(found, rows, rounds))
    return 130 if end.is_interrupted else 1 if any("error" in verdict for verdict in found) else 0
