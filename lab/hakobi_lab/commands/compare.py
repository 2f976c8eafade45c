"""`hakobi compare`: what differs between two files of records, outside the spread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hakobi.options import Number, json_option

if TYPE_CHECKING:
    from hakobi_lab.measuring.comparing import Difference


@click.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--all", "show_all", is_flag=True, help="Also list measurements that do not differ.")
@click.option(
    "--least", type=Number(0, 10), default=0.10, show_default=True, help="Smallest relative difference to report."
)
@json_option("Print JSON lines, one for a measurement, instead; or append them to this file.")
def command(a: Path, b: Path, show_all: bool, least: float, json_file: str | None) -> int:
    """Name the differences between two files of records (JSON lines).

    Reports only differences outside the spread of both. Exit status: 0 nothing differs, 1 something does, 2 nothing
    could be judged.
    """
    from hakobi import options, records, table
    from hakobi.errors import InputError
    from hakobi.words import count_text
    from hakobi_lab.measuring import comparing

    outcome = comparing.compare(records.read(a), records.read(b), least=least)
    if not outcome.pairs:
        reasons = "; ".join(outcome.unjudged()) or "they have no measurement in common"
        raise InputError(f"{a} and {b} cannot be compared: {reasons}")
    shown = outcome.pairs if show_all else outcome.differences()
    if json_file is not None:
        options.write_json(json_file, map(_record_of, shown))
        return 1 if outcome.differences() else 0
    view = table.Table(f"{b} beside {a}", ["<measurement", "<verdict", "b/a", "a", "±", "b", "±"])
    for pair in sorted(shown, key=lambda pair: abs(pair.ratio - 1), reverse=True):
        verdict = "differs" if pair.differs else "within the spread"
        view.add(
            pair.label(),
            verdict,
            f"{pair.ratio:.3f}",
            f"{pair.a.median:.4g} {pair.unit}",
            f"{pair.a.spread:.2g}",
            f"{pair.b.median:.4g} {pair.unit}",
            f"{pair.b.spread:.2g}",
        )
    for line in outcome.other_machine:
        view.notes.append(f"another machine: {line}")
    if outcome.other_machine:
        view.notes.append("The records are of two machines: a difference may be the machine's.")
    view.notes += [f"also different: {line}" for line in outcome.circumstances]
    view.notes += outcome.unjudged()
    for name, alone in ((a, outcome.only_a), (b, outcome.only_b)):
        if alone:
            view.notes.append(f"{count_text(len(alone), 'measurement')} only in {name}")
    found = len(outcome.differences())
    view.notes.append(f"{found} of {count_text(len(outcome.pairs), 'measurement')} differ outside the spread")
    if view.rows:
        table.show(view)
    else:
        click.echo("\n".join([view.title, *view.notes]))
    return 1 if found else 0


def _record_of(pair: Difference) -> dict[str, Any]:
    return {
        "measurement": pair.label(),
        "differs": pair.differs,
        "ratio": pair.ratio,
        "unit": pair.unit,
        "a": {"median": pair.a.median, "spread": pair.a.spread},
        "b": {"median": pair.b.median, "spread": pair.b.spread},
    }
