"""`hakobi bench device`: copies, output and halos of device memory, by the program hakobi-bench-device."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.options import SECONDS


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--ranks", type=click.IntRange(min=1), default=1, show_default=True, help="MPI ranks to start.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    help="Where files are written (default: the system's folder for temporary files).",
)
@click.option("--storage-model", "model_text", default="", metavar="MODEL", help="Apply this storage model to --dir.")
@click.option("--timeout", "timeout_s", type=SECONDS, default=3600.0, show_default=True, help="Time limit in seconds.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF hakobi-bench-device]")
def command(ranks: int, folder: Path | None, model_text: str, timeout_s: float, arguments: tuple[str, ...]) -> int:
    """Measure copies, output and halos of a GPU's memory against floors and what programs write by hand.

    Each case has its floor, Hakobi's ways and the rivals of it, which alternate; every value is compared. Rank r of a
    node uses device r modulo their number. Status 2 without a device. Further options are the program's own (`hakobi
    bench device -- --help` lists them):

    \b
    hakobi bench device --json records.jsonl
    hakobi bench device --ranks 2 --dir /scratch/me -- --part put,halo --put-extent 512
    hakobi bench device --dir /dev/shm --storage-model servers=4,bandwidth=100 -- --part hidden --compute 2
    """
    from hakobi import conditions, launch, programs
    from hakobi.errors import InputError
    from hakobi.measuring import storage_model

    program = programs.find("hakobi-bench-device")
    environment = {"HAKOBI_COMMIT": conditions.commit() or ""}
    if model_text:
        if folder is None:
            raise InputError("--storage-model is laid over a folder's files: name the folder by --dir")
        environment |= storage_model.parse(model_text).environment(program, folder.resolve())
    if "--help" in arguments:
        ranks = 1
    own = ["--dir", str(folder)] if folder is not None else []
    finished = launch.run(
        program, [*own, *arguments], ranks, timeout_s=timeout_s, extra_environment=environment, capture=False
    )
    return finished.status
