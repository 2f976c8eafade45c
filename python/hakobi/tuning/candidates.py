"""The candidates: the defaults, and beside them one hint changed at a time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hakobi.errors import InputError, unknown_name

#: Hints and the values that are tried where the user names none. The defaults are not among them
#: (docs/hints.md), but for hints whose default depends on the file.
USUAL: Mapping[str, tuple[str, ...]] = {
    "hakobi_aggregators_per_node": ("2", "4", "8"),
    "cb_buffer_size": ("1M", "16M", "64M"),
    "hakobi_depth": ("2", "4", "16"),
    "hakobi_access": ("uring", "posix"),
}
#: The same of a storage with stripes.
OF_STRIPES: Mapping[str, tuple[str, ...]] = {
    "striping_factor": ("1", "4", "16", "-1"),
    "striping_unit": ("1M", "4M", "16M"),
}
#: Hints that may be tried with values that the user names.
OTHERS = (
    "cb_nodes",
    "hakobi_io_threads",
    "hakobi_shuffle",
    "hakobi_direct_io",
    "hakobi_server_requests",
    "overstriping_ratio",
    "start_iodevice",
)
TUNABLE = (*USUAL, *OF_STRIPES, *OTHERS)
#: Thresholds of the engine (docs/hints.md), with values that the user names; the engine knows the names.
THRESHOLD = "hakobi_policy_"


@dataclass(frozen=True)
class Candidate:
    hints: tuple[tuple[str, str], ...] = ()

    def words(self) -> str:
        """
        >>> Candidate((("cb_buffer_size", "16M"), ("hakobi_depth", "4"))).words(), DEFAULTS.words()
        ('cb_buffer_size=16M, hakobi_depth=4', 'the defaults')
        """
        return ", ".join(f"{name}={value}" for name, value in self.hints) or "the defaults"

    def text(self) -> str:
        """As HAKOBI_HINTS takes it."""
        return ";".join(f"{name}={value}" for name, value in self.hints)


DEFAULTS = Candidate()


def usual(has_stripes: bool, num_ranks: int = 0, num_servers: int = 0) -> dict[str, tuple[str, ...]]:
    """Hints and values to try. `num_ranks` of a node bound its aggregators, `num_servers` the stripes; 0: not known.

    >>> usual(False, num_ranks=3)["hakobi_aggregators_per_node"], "striping_unit" in usual(False)
    (('2',), False)
    >>> usual(True, num_servers=8)["striping_factor"]
    ('1', '4', '-1')
    """
    result = dict(USUAL)
    most = num_ranks or 8
    result["hakobi_aggregators_per_node"] = tuple(
        text for text in USUAL["hakobi_aggregators_per_node"] if int(text) <= most
    )
    if has_stripes:
        result |= OF_STRIPES
        most = num_servers or 1 << 16
        result["striping_factor"] = tuple(text for text in OF_STRIPES["striping_factor"] if int(text) < most)
    return {name: values for name, values in result.items() if values}


def parse(words: Sequence[str], known: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The hints and values that the user's words "name" or "name=value,value" choose; without words `known`. Raises
    InputError.

    >>> parse(["hakobi_depth", "cb_nodes=2,4"], USUAL)
    {'hakobi_depth': ('2', '4', '16'), 'cb_nodes': ('2', '4')}
    >>> parse(["hakobi_policy_large_piece=256k,4M"], USUAL)
    {'hakobi_policy_large_piece': ('256k', '4M')}
    """
    chosen: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if name not in TUNABLE and not name.startswith(THRESHOLD):
            raise unknown_name("hint", name, TUNABLE)
        values = tuple(dict.fromkeys(value.strip() for value in text.split(",") if value.strip()))
        if equals and not values:
            raise InputError(f"--try {word}: no value is named")
        if not equals and not (values := known.get(name) or OF_STRIPES.get(name, ())):
            raise InputError(f"--try {name}: name the values to try, as in {name}=1,2")
        chosen[name] = values
    return chosen or dict(known)


def singles(values: Mapping[str, tuple[str, ...]]) -> list[Candidate]:
    """The defaults, then each value of each hint alone."""
    return [DEFAULTS, *(Candidate(((name, value),)) for name, those in values.items() for value in those)]


def together(parts: Sequence[Candidate]) -> Candidate:
    """The hints of all parts, which name different ones."""
    return Candidate(tuple(hint for part in parts for hint in part.hints))
