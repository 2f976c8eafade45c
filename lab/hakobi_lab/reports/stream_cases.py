"""The cases of `hakobi report stream`'s sentences, from the times of runs. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from hakobi.words import count_text
from hakobi_lab.reports.judging import Cases, Series, Value, over_rounds, ratio
from hakobi_lab.studies.output_methods.plan import BASELINE, Case, Plan
from hakobi_lab.studies.output_methods.result import Study

MANY_RANKS = 256  #: the report's open question
VIEWERS = (1, 2, 4, 8)

Times = Mapping[Case, Series]
Loaded = Mapping[tuple[str, int], Series]  #: (network, viewers) -> seconds by round


def times_of(study: Study) -> Times:
    """Seconds of each run, by case and round."""
    times: dict[Case, dict[int, float]] = defaultdict(dict)
    for record in study.outcome.records:
        times[Case(record["method"], record["ranks"], record["storage"])][record["repetition"]] = record["time_s"]
    return times


def main_evidence(plan: Plan, times: Times) -> dict[str, Cases]:
    """Cases are all rank counts that were planned, not only those that were run."""
    few, most = min(plan.ranks), max(plan.ranks)
    one = "one number of ranks has no growth" if few == most else ""

    def run(method: str, ranks: int, network: str) -> Series:
        return times.get(Case(method, ranks, network), {})

    def share(method: str, ranks: int, network: str) -> Value | None:
        return over_rounds(
            lambda none, all_s: 1 - none / all_s, run(BASELINE, ranks, network), run(method, ranks, network)
        )

    def each(first: tuple[str, str], second: tuple[str, str]) -> dict[str, Value | None]:
        return {
            f"{count_text(ranks, 'rank')}{f', {first[1]}' if first[1] == second[1] else ''}": over_rounds(
                ratio, run(first[0], ranks, first[1]), run(second[0], ranks, second[1])
            )
            for ranks in plan.ranks
        }

    def scaling(method: str, other: str) -> Cases:
        """Speed-up by a method over that by another, from the fewest to the most ranks."""
        runs = [run(name, ranks, "fast") for name in (method, other) for ranks in (few, most)]
        return one or {f"{few} to {most} ranks": over_rounds(lambda a, b, c, d: (a / b) / (c / d), *runs)}

    def growth(method: str, network: str) -> Cases:
        runs = [run(name, ranks, network) for ranks in (most, few) for name in (BASELINE, method)]
        return one or {f"{few} to {most} ranks": over_rounds(lambda a, b, c, d: (1 - a / b) - (1 - c / d), *runs)}

    return {
        "collected first": each(("root", "fast"), ("per-process", "fast")),
        "collected scales": scaling("root", "per-process"),
        "fast network": each(("root", "fast"), ("root", "slow")),
        "slow dominates": {count_text(most, "rank"): share("root", most, "slow")},
        "slow grows": growth("root", "slow"),
        "fast scales": scaling("root", BASELINE),
        "parallel first": each(("parallel", "slow"), ("root", "slow")) | each(("parallel", "fast"), ("root", "fast")),
        "parallel stays": growth("parallel", "fast"),
        "root grows": growth("root", "fast"),
    }


def loading_evidence(loaded: Loaded) -> dict[str, Cases]:
    def two(network: str) -> Cases:
        return {"2 viewers": over_rounds(ratio, loaded.get((network, 2), {}), loaded.get((network, 1), {}))}

    each = {
        count_text(count, "viewer"): over_rounds(ratio, *(loaded.get((name, count), {}) for name in ("fast", "slow")))
        for count in VIEWERS
    }
    return {"loading": each, "one fills": two("slow"), "room": two("fast")}


def heavy(study: Study | None, why_none: str) -> Cases:
    """Output's share of the propeller through rank 0, on the slow network."""
    if study is None:
        return why_none
    times = times_of(study)
    return {
        count_text(ranks, "rank"): over_rounds(
            lambda none, all_s: 1 - none / all_s,
            *(times.get(Case(name, ranks, "slow"), {}) for name in (BASELINE, "root")),
        )
        for ranks in study.plan.ranks
    }


def counts(study: Study) -> dict[int, tuple[int, int, int]]:
    """By ranks: runs, those that were complete at once, and those that failed twice."""
    end = study.outcome.end
    found = {}
    for ranks in study.plan.ranks:
        words = f", {count_text(ranks, 'rank')}, "
        lost = sum(len(gap.rounds) for name, gap in end.gaps.items() if words in name)
        repeated = sum(words in text for text in end.repeated)
        done = sum(record["ranks"] == ranks for record in study.outcome.records)
        found[ranks] = (done + lost, done - repeated, lost)
    return found


def complete(*studies: Study) -> Cases:
    """A share is counted, so its interval is itself. The report asks for 256 ranks: fewer alone are no case of it."""
    if len(studies) < 2:
        return f"{MANY_RANKS} ranks were not run"
    cases: dict[str, Value | None] = {}
    for study in studies:
        ranks = max(study.plan.ranks)
        runs, num_complete, _ = counts(study)[ranks]
        share = num_complete / runs if runs else 0.0
        cases[count_text(ranks, "rank")] = Value(share, share, share, runs)
    return cases
