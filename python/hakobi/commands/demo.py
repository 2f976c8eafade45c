"""`hakobi demo`: the tsunami, output methods on three storages, table, report, pictures: four to five minutes."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("out") / "demo",
    show_default=True,
    help="Where the results go.",
)
def command(folder: Path) -> int:
    """Run a tsunami, compare output methods on three storages, write a report.

    Takes four to five minutes on two cores. First the wave crosses the North Pacific and is compared with the observed
    arrival times. Then shorter runs are written by several output methods, interleaved in five rounds: to a model of a
    slow storage (1 Gbit/s to one server), to a model of a fast one (4 x 500 MB/s) and to this machine's storage. The
    first lines say what was found.
    """
    from hakobi.studies.output_methods import demo

    return demo.demo(folder)
