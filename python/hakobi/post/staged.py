"""Steps of a series that are on a stage and have not arrived: src/series/stage.hpp says what a marker is."""

from __future__ import annotations

import re
from pathlib import Path

from hakobi.post.place import Location
from hakobi.post.reaching import open_location
from hakobi.words import count_text

_MOST_BYTES = 8192
_MARKER = re.compile(r"hakobi stage\nnode ([^\n]+)\nfolder (/[^\n]+\.[0-9a-f]{16}\.stage)\n")


def staged_text(prefix: Location) -> str:
    """A sentence that says which steps of a prefix have not arrived, and where they are; "" where there is no stage."""
    marker = prefix.with_name(prefix.name + ".staged")
    try:
        file = open_location(marker)
        try:
            match = _MARKER.match(file.read(_MOST_BYTES, 0).decode())
        finally:
            file.close()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"{marker.name} cannot be read ({error}): steps may be on a stage"
    if not match:
        return f"{marker.name} does not say where its stage is: steps may be there"
    node, folder = match.groups()
    name = re.escape(Path(folder).name[: -len(".0123456789abcdef.stage")])
    step = re.compile(rf"{name}_(\d{{6,}})\.(?:nc|hdf|zarr)(?:\.[0-9a-f]{{16}}\.(part|whole))?")
    try:
        found = [match for path in Path(folder).iterdir() if (match := step.fullmatch(path.name))]
    except (OSError, ValueError):  # a name with a zero byte is one of nothing
        return f"steps may have not arrived: they are on the stage {folder} of node {node}"
    whole = sorted(int(match[1]) for match in found if not match[2])
    unfinished = len({match[1] for match in found if match[2]})
    sentences = []
    if whole:
        steps = f"step {whole[0]} has" if len(whole) == 1 else f"steps {whole[0]} to {whole[-1]} have"
        they = "it is" if len(whole) == 1 else "they are"
        sentences.append(f"{steps} not arrived: {they} on the stage {folder} of node {node}")
    if unfinished:
        are = "is" if unfinished == 1 else "are"
        sentences.append(f"{count_text(unfinished, 'step')} {are} being written on the stage, or left there unfinished")
    return "; ".join(sentences)
