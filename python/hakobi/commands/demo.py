"""`hakobi demo`: the tsunami, every output method on three storages, table, report and pictures, in three minutes."""

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

    Three minutes on two cores. First the wave crosses the North Pacific and is compared with the observed arrival
    times; then shorter runs of it are written by each method, hidden behind the computation too, to this machine's
    storage, to a model of a slow one (1 Gbit/s to one server) and to one of a fast one (4 x 500 MB/s), three rounds
    interleaved. The first lines say what was found.
    """
    from hakobi.studies.output_methods import demo

    return demo.demo(folder)
