"""The tables on the terminal, the choice in words, and the hints file."""

from __future__ import annotations

import math
import time
from pathlib import Path

from hakobi import hints_file
from hakobi.statistics import Comparison, summarise
from hakobi.table import Table
from hakobi.table import show as show_table
from hakobi.tuning.candidates import DEFAULTS
from hakobi.tuning.race import Choice, Race
from hakobi.tuning.session import Outcome
from hakobi.words import count_text, list_text, seconds_digits


def table_of(title: str, race: Race) -> Table:
    """Who was measured, the fastest first; beside each its speed over the defaults'."""
    view = Table(title, ["<hints", "s", "to the defaults", "rounds", "<"])
    for one in race.ranking():
        times = list(race.times[one].values())
        speed = "" if one == DEFAULTS else _speed_text(race.speed(one, DEFAULTS))
        view.add(one.words(), summarise(times).seconds(), speed, str(len(times)), "dropped" if race.is_out(one) else "")
    for one, limit_s in race.given_up_s.items():
        if one not in race.times:
            view.add(one.words(), f"> {seconds_digits(limit_s)}", "", "", "dropped")
    return view


def _speed_text(speed: Comparison) -> str:
    """The ratio, in brackets where it may be 1.

    >>> from hakobi.statistics import compare_ratios
    >>> _speed_text(compare_ratios([2.0, 2.01, 2.0], [1.0, 1.0, 1.0]))
    '2.00'
    """
    if math.isnan(speed.estimate):
        return ""
    return f"{speed.estimate:.2f}" if speed.differs else f"({speed.estimate:.2f})"


def notes(outcome: Outcome) -> list[str]:
    lines = [
        "s: a run's time, median and half the distance between the quartiles; to the defaults: how many times as fast, "
        "round by round, in brackets where it cannot be told from 1 (98 %)",
    ]
    if any(outcome.search.is_out(one) for one in (*outcome.search.times, *outcome.search.given_up_s)):
        lines.append("dropped: slower than the fastest outside the spread, or ended after so long (>)")
    return [*lines, *outcome.search_end.gap_notes(), *outcome.final_end.gap_notes()]


def choice_words(choice: Choice) -> str:
    """The choice and its gain, in words; no winner where there is none."""
    if choice.speed is None:
        return "choice: the defaults: nothing was faster"
    low, high = choice.speed.interval.low, choice.speed.interval.high
    span = f"({low:.2f} to {high:.2f}, {count_text(choice.num_rounds, 'round')})"
    if choice.candidate == DEFAULTS:
        return f"choice: the defaults: the best was {choice.speed.estimate:.2f} times as fast {span}, inside the spread"
    gain = f"{choice.speed.estimate:.2f} times as fast as the defaults {span}"
    return f"choice: {choice.candidate.words()}: {gain}"


def equals_words(outcome: Outcome) -> str:
    """The candidates that cannot be told from the choice; "" where there are none, or where the defaults are chosen."""
    choice, race = outcome.choice, outcome.search
    if choice is None or choice.candidate == DEFAULTS or choice.candidate not in race.times:
        return ""
    others = [one for one in race.ranking() if one not in (choice.candidate, DEFAULTS) and not race.is_out(one)]
    names = [one.words() for one in others if not race.speed(one, choice.candidate).differs]
    return f"in the search it could not be told from {list_text(names)}" if names else ""


def show(outcome: Outcome) -> None:
    search = table_of(f"Search: {outcome.plan.work.words()}", outcome.search)
    search.notes += notes(outcome)
    show_table(search)
    if outcome.confirmation.times:
        final = table_of("Confirmation", outcome.confirmation)
        final.notes += filter(None, [equals_words(outcome)])
        show_table(final)


def write(path: Path, outcome: Outcome, choice: Choice) -> None:
    """The hints file. Raises StorageError."""
    comments = [f"hakobi tune, {time.strftime('%Y-%m-%d')}: {outcome.plan.work.words()}", choice_words(choice)]
    hints_file.write(path, dict(choice.candidate.hints), comments)
