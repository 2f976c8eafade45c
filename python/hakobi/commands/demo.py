"""`hakobi demo`: the tsunami, every output method, a table, a report and pictures, in about two minutes."""

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
    """Run the tsunami by every output method: table, report, pictures.

    Two minutes on two cores. First the wave crosses the North Pacific and is compared with the observed arrival
    times; then shorter runs of it are written by each method, on 1, 2 and 4 ranks, three rounds interleaved.
    """
    from hakobi.studies.output_methods import demo

    return demo.demo(folder)
