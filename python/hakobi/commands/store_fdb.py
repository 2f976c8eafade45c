"""`hakobi store export` and `hakobi store import`: copies to and from ECMWF's FDB, by the program hakobi-store-fdb."""

from __future__ import annotations

import click

_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def _run(name: str, arguments: tuple[str, ...]) -> int:
    import os

    from hakobi import ecmwf, programs
    from hakobi.commands.store import run_as

    program = programs.find("hakobi-store-fdb").path
    return run_as(program, [name, *arguments], env={**os.environ, **ecmwf.environment()}).returncode


@click.command(context_settings=_SETTINGS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="STORE [REQUEST] [--fdb CONFIG]")
def export(arguments: tuple[str, ...]) -> int:
    """Copy fields to ECMWF's FDB and compare every one.

    Needs FDB's library, which the extra fdb installs, and FDB's configuration file.

    \b
    hakobi store export forecast --fdb config.yaml
    hakobi store export forecast param=t,levelist=500 --fdb config.yaml
    """
    return _run("export", arguments)


@click.command(name="import", context_settings=_SETTINGS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="STORE [REQUEST] [--fdb CONFIG]")
def import_(arguments: tuple[str, ...]) -> int:
    """Copy fields from ECMWF's FDB and compare every one.

    Needs FDB's library, which the extra fdb installs, and FDB's configuration file.

    \b
    hakobi store import forecast class=rd --fdb config.yaml
    """
    return _run("import", arguments)
