"""`hakobi post`: look at results in a browser, or as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.errors import InputError


@click.command()
@click.argument("path")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; the loopback address is for ssh tunnels.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; 0 takes a free one.")
@click.option("--name", "names", multiple=True, help="Another host name that the server accepts; repeatable.")
@click.option(
    "--cache", type=click.IntRange(1, 65536), default=128, show_default=True, help="Memory for cached answers, MiB."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 3600),
    default=30,
    show_default=True,
    help="Time of one request, seconds.",
)
@click.option(
    "--memory", type=click.IntRange(64, 1 << 20), default=1024, show_default=True, help="Memory of one request, MiB."
)
@click.option("--slurm", is_flag=True, help="Print a Slurm job script that serves PATH, and how to reach it.")
@click.option("--picture", type=click.Path(path_type=Path), help="Write a PNG instead of serving.")
@click.option("--field", help="Picture: name of the field; default: one over time, in most dimensions.")
@click.option("--step", help="Picture: last, first, a step's number, or number.time.  [default: last]")
@click.option(
    "--slice", "cut", help="Picture: axis=index of a field in 3-D, as z=0, or level=500hPa; of a mesh axis=coordinate."
)
@click.option("--range", "limits", type=float, nargs=2, help="Picture: low and high end of the colours.")
@click.option("--arrows", is_flag=True, help="Picture: of a map, arrows of the wind on its grid and level.")
@click.option("--coast/--no-coast", default=True, help="Picture: of a map, coast lines.  [default: coast]")
@click.option("--colours", help="Picture: tide, ember, grey, safe, swell or moss.")
def command(
    path: str,
    host: str,
    port: int,
    names: tuple[str, ...],
    cache: int,
    limit: int,
    memory: int,
    slurm: bool,
    picture: Path | None,
    field: str | None,
    step: str | None,
    cut: str | None,
    limits: tuple[float, float] | None,
    arrows: bool,
    coast: bool,
    colours: str | None,
) -> int:
    """Serve results to a browser without copying them, and print the address.

    PATH is a folder, a file (NetCDF, HDF5, VTKHDF, GRIB), a field store, or the prefix of a series; of objects its
    address, as s3://bucket/run. What is read comes
    from the step files, and from their overviews where `hakobi index` made some.
    """
    if picture is not None:
        from hakobi.post import picture as pictures
        from hakobi.progress import phase

        low, high = limits or (None, None)
        with phase(f"drawing {path}"):
            pictures.picture(
                path, picture, field=field, step=step or "last", cut=cut, low=low, high=high, colours=colours,
                arrows=arrows, coast=coast,
                tell=lambda drawn: click.echo(f"{picture}: {drawn}"),
            )  # fmt: skip
        return 0
    if field or step or cut or limits or colours or arrows or not coast:
        of_pictures = "--field, --step, --slice, --range, --arrows, --no-coast and --colours"
        raise InputError(f"{of_pictures} are for --picture; a browser has its own")
    from hakobi.cli import INTERRUPTED
    from hakobi.post import serving
    from hakobi.post.place import location_of
    from hakobi.post.pool import Bounds

    place = location_of(path)
    if slurm:
        click.echo(serving.slurm_script(place))
        return 0
    serving.serve(place, host, port, names, cache << 20, Bounds(limit_s=limit, memory_bytes=memory << 20))
    return INTERRUPTED
