"""Sentences, marks and legends that several tables share."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olbench.analysis import comparison, verdicts
from olbench.analysis.evidence import Identification, WrongLearners
from olbench.analysis.results import Guesses, Results
from olbench.analysis.verdicts import (
    BINOMIAL,
    CLOSE,
    DEVIATION,
    DIFFERS,
    NOT_COMPARABLE,
    REPRODUCED,
    Judgement,
)
from olbench.errors import count, list_some, plural
from olbench.records.container import is_bundle
from olbench.records.quantities import CLOSE_RATIO, TOLERANCES, Quantity
from olbench.records.shipped import REFERENCE

if TYPE_CHECKING:
    from olbench.analysis.forensics import Inquiry

LETTERS = {REPRODUCED: "R", CLOSE: "c", DIFFERS: "D", NOT_COMPARABLE: "\N{EN DASH}"}
#: The mark of a verdict that would be worse by the paper's own deviation: ours is larger, and allows more.
LEANS, LEANS_MEANING = "\N{DEGREE SIGN}", "only because our standard deviation is larger than the paper's"
WEAK, WEAK_MEANING = "~", "at least half of the other learners would be reproduced as well"
OTHER_SIZE, OTHER_SIZE_MEANING = "#", "our data have another size than the paper's"
UNITS = {
    DEVIATION: ("deviations", "the larger of the paper's and ours"),
    BINOMIAL: (
        "standard errors",
        "the binomial one of the paper's sample and that of our mean, because the paper prints no deviation",
    ),
}
BINOMIAL_TOO = (
    "Numbers that the paper prints without a deviation are compared in standard errors: the binomial one of "
    "the paper's sample and that of our mean."
)
CONDITIONAL = "conditional on this data set: over orders of the same examples, not over other data"
CONDITIONAL_ON_STREAM = "conditional on this stream: over blocks of its own rounds, not over other data"
COSTS_NOTE = (
    "Learner size: the bytes of its arrays. Trial memory: the most that one trial holds, counted and not "
    "measured: the learner, the weights it returns, its order and what is kept of each prediction. The "
    "examples, which all trials share, are not in it."
)


def letter(judgement: Judgement) -> str:
    if judgement.verdict == NOT_COMPARABLE:
        return LETTERS[NOT_COMPARABLE]
    marks = LEANS * judgement.leans + WEAK * judgement.weak + OTHER_SIZE * bool(judgement.other_size)
    return LETTERS[judgement.verdict] + marks


def describe_meanings(judgements: Iterable[Judgement]) -> dict[str, str]:
    bases = {each.basis for each in judgements}
    unit, which = UNITS[BINOMIAL if bases == {BINOMIAL} else DEVIATION]
    rounding = "plus half a unit of the last printed digit"
    return {
        REPRODUCED: f"within {TOLERANCES[REPRODUCED]:g} {unit} ({which}) {rounding}",
        CLOSE: f"within {TOLERANCES[CLOSE]:g} {unit} {rounding}, and within a factor of {CLOSE_RATIO:g}",
        DIFFERS: "further apart",
        NOT_COMPARABLE: "this run has no such number, or its data, settings or protocol differ",
    }


def describe_exceptions(judgements: Iterable[Judgement]) -> str:
    return BINOMIAL_TOO if {each.basis for each in judgements} == {DEVIATION, BINOMIAL} else ""


def summary(judgements: Sequence[Judgement], quantity: Quantity) -> str:
    """Return a line like '58 of 72 mistake rates reproduced, 9 close, 5 differ'."""
    counts, leaning = verdicts.count(judgements, quantity), verdicts.count_leaning(judgements, quantity)
    other = verdicts.count((each for each in judgements if each.other_size), quantity)[REPRODUCED]
    remarks = {"only because our standard deviation is larger": leaning, "on data of another size": other}
    weak = ", ".join(f"{number} {text}" for text, number in remarks.items() if number)
    line = f"{counts[REPRODUCED]} of {counts.total()} {quantity.counted} reproduced"
    line += f"{f' ({weak})' if weak else ''}, {_list_others(counts)}"
    apart = summary_apart(judgements, quantity)
    return f"{line}; {apart}" if apart else line


def summary_apart(judgements: Iterable[Judgement], quantity: Quantity) -> str:
    counts = verdicts.count(judgements, quantity, suspect=True)
    unexplained = f"unexplained: {counts[REPRODUCED]} of {counts.total()} reproduced, "
    return unexplained + _list_others(counts) if counts else ""


def _list_others(counts: Counter[str]) -> str:
    line = f"{counts[CLOSE]} close, {counts[DIFFERS]} differ{'s' if counts[DIFFERS] == 1 else ''}"
    return line + (f", {counts[NOT_COMPARABLE]} not comparable" if counts[NOT_COMPARABLE] else "")


def describe_control(found: WrongLearners) -> str:
    if found.deranged is None:
        return ""
    fewest, middle, most = found.deranged
    return (
        f"With learners swapped at random, {middle:.0f} of {found.total} still match "
        f"(median; range {fewest:.0f} to {most:.0f})"
    )


def describe_range(found: WrongLearners) -> str:
    fewest, middle, most = found.deranged or (math.nan, math.nan, math.nan)
    return f"{middle:.0f} ({fewest:.0f} to {most:.0f})"


def describe_identification(found: Identification) -> str:
    if not found.rows:
        return ""
    right = sum(row.is_right for row in found.rows)
    decisive = sum(row.is_identified for row in found.rows)
    mistaken = sum(row.is_mistaken for row in found.rows)
    wrong = f", {mistaken} decisively wrong" if mistaken else ""
    cells = sum(cell.is_right for cell in found.cells.values())
    return (
        f"Blind matching names the right learner in {right} of {len(found.rows)} rows "
        f"({decisive} decisively{wrong}), {cells} of {len(found.cells)} cells (chance: {found.chance:.0f})"
    )


def describe_inquiries(inquiries: Sequence["Inquiry"]) -> str:
    reached = sum(bool(inquiry.reached) for inquiry in inquiries)
    tuned = sum(inquiry.shown.by_tuning for inquiry in inquiries)
    variants = sum(inquiry.only_variant for inquiry in inquiries)
    wide = sum(inquiry.only_wide for inquiry in inquiries)
    return (
        f"{reached} of {count(len(inquiries), 'pair')} reached by some setting ({variants} only by a "
        f"variant, {wide} only by our spread); {tuned} by the tuner's pick; "
        f"{len(inquiries) - reached} by none"
    )


def describe_guesses(found: Guesses, quantity: Quantity, most: int = 6) -> str:
    listed = [
        f"{list_some([entry.label for entry in entries], most)} on {dataset} ({quantity.text(guess)})"
        for dataset, (guess, entries) in found.items()
    ]
    if not listed:
        return ""
    lead = f"No better than always predicting the more frequent class ({quantity.title} in brackets)"
    more = f"; and on {len(listed) - most} more data sets" if len(listed) > most + 1 else ""
    return f"{lead}: {'; '.join(listed[:most] if more else listed)}{more}."


def describe_twins(results: Results) -> str:
    """Return which algorithms are equal, and what follows."""
    groups: dict[str, list[str]] = {}
    for label, twin in results.twins.items():
        groups.setdefault(twin, [twin]).append(label)
    listed = "; ".join(" = ".join(group) for group in groups.values())
    return f"Equal in every count of every trial, and ranked once: {listed}" if groups else ""


def name_paired_test(results: Results) -> str:
    corrected = any(map(results.overlap, results.datasets))
    return "corrected resampled t-test of Nadeau and Bengio" if corrected else "paired t-test"


def name_test(results: Results) -> str:
    """Return the test of differences from the best, and what it is over."""
    if results.single:
        return "moving-block bootstrap over 20 blocks of the stream"
    return f"{name_paired_test(results)} over the shared {plural(results.numbered)}"


def describe_test(results: Results) -> str:
    """Return the test behind bold. A correction would call more algorithms as good as the best, not fewer."""
    return f"{name_test(results)}, 5%, uncorrected"


def describe_best(results: Results) -> str:
    """Return what bold means."""
    headline = results.protocol.quantities[0]
    return f"best {headline.title} in our run, or not significantly worse ({describe_test(results)})."


def describe_left_out(compared: comparison.ComparedRuns) -> list[str]:
    """Return why changes are not tested, and how many rows only one run has."""
    notes = _explain_untested(compared)
    for title, run in zip(compared.titles, compared.runs, strict=True):
        alone = sum((entry.dataset, entry.label) not in compared.rows for entry in run.entries if entry.done)
        if alone:
            notes.append(f"{title}: {count(alone, 'row')} that no other run has")
    return notes


def _explain_untested(compared: comparison.ComparedRuns) -> list[str]:
    datasets = {dataset for dataset, _ in compared.rows}
    sentences = []
    for (title, reason), untested in compared.find_untested().items():
        if reason == comparison.OTHER_DATA:
            sentences += [f"{name}: {reason} in all runs, so no change is tested" for name in untested]
        else:
            where = "on any data set" if len(untested) == len(datasets) else f"on {', '.join(untested)}"
            lead = f"{title}: {reason}, so the orders are not shared and no change is tested"
            sentences.append(f"{lead} {where}")
    return list(dict.fromkeys(sentences))


def describe_lacking(results: Results) -> str:
    """Return which measures the records do not have, with the command that adds them."""
    done = [entry for entry in results.entries if entry.done]
    absent = [
        each.name
        for each in results.protocol.quantities
        if done and all(np.isnan(entry.values(each)).all() for entry in done)
    ]
    if not absent:
        return ""
    listed = ", ".join(absent)
    is_fixed = results.folder.resolve().name == REFERENCE or is_bundle(results.folder)
    place = f"results/{results.name}" if is_fixed else results.folder
    command = f'olbench run CONFIG --out {place} --set "measures=[{listed}]"'
    return f"the record of this run has no {listed}; `{command}` runs its trials again to add it"


def config_differences(runs: Sequence[Results]) -> list[tuple[str, list[str]]]:
    flat = [flatten(run.config.plain()) for run in runs]
    keys = dict.fromkeys(key for each in flat for key in each)
    told = {key: [each.get(key, comparison.NOTHING) for each in flat] for key in keys}
    changed = {key: values for key, values in told.items() if len(set(values)) > 1}
    # Of an entry that a config does not list, the rest says nothing more.
    return [
        (key, values)
        for key, values in changed.items()
        if ": " not in key or key.partition(": ")[0] not in changed
    ]


def flatten(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a config as one text per key; data sets and algorithms are keys by their names.

    >>> flatten({"tuning": {"search": "grid"}, "algorithms": [{"id": "arow", "params": {"r": 2.0}}]})
    {'tuning.search': 'grid', 'algorithm arow': 'listed', 'algorithm arow: params.r': '2'}
    """
    flat: dict[str, str] = {}
    for name, value in config.items():
        if name in ("datasets", "algorithms"):
            flat.update(_flatten_list(name.removesuffix("s").replace("dataset", "data set"), value))
        else:
            flat.update(_flatten_value(name, value))
    return flat


def _flatten_list(noun: str, entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    seen: dict[str, int] = {}
    for entry in entries:
        name = str(entry.get("name") or entry.get("id"))
        seen[name] = seen.get(name, 0) + 1
        title = f"{noun} {name}" + (f" ({seen[name]})" if seen[name] > 1 else "")
        yield title, "listed"
        for key, value in entry.items():
            if key not in ("name", "id"):
                yield from ((f"{title}: {each}", text) for each, text in _flatten_value(key, value))


def _flatten_value(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flatten_value(f"{name}.{key}", each)
    else:
        yield name, comparison.describe(value)
