"""Sentences, marks and legends that several tables share."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from olbench.analysis import verdicts
from olbench.analysis.difference import FEWEST_ORDERS
from olbench.analysis.evidence import Identification, WrongLearners
from olbench.analysis.results import Guesses, Results
from olbench.analysis.verdicts import BINOMIAL, CLOSE, DIFFERS, NOT_COMPARABLE, REPRODUCED, Judgement
from olbench.errors import count, list_some, plural
from olbench.records.container import is_bundle
from olbench.records.quantities import CLOSE_RATIO, TOLERANCES, Quantity
from olbench.records.shipped import REFERENCE

LETTERS = {REPRODUCED: "R", CLOSE: "c", DIFFERS: "D", NOT_COMPARABLE: "\N{EN DASH}"}
LEANS, WEAK, OTHER_SIZE = "\N{DEGREE SIGN}", "~", "#"
#: The meanings of the marks after a verdict.
MARKS = {
    LEANS: "only because our standard deviation is larger than the paper's",
    WEAK: "at least half of the other learners would also reproduce this number",
    OTHER_SIZE: "the size of our data differs from the paper's",
}
ERRORS = "binomial for the paper's sample, combined with that of our mean"
UNITS = {
    verdicts.DEVIATION: ("standard deviations", "the larger of the paper's and ours"),
    BINOMIAL: ("standard errors", f"{ERRORS}, because the paper prints no standard deviation"),
}
SIZE_NOTE = "Learner size: the bytes of its arrays."
MEMORY_NOTE = (
    "Trial memory: the most that one trial holds, computed and not measured: the learner, the weights it "
    "returns, its order and the values kept per prediction. The examples, which all trials share, are not "
    "included."
)


def marks(judgement: Judgement) -> str:
    return LEANS * judgement.leans + WEAK * judgement.weak + OTHER_SIZE * bool(judgement.other_size)


def letter(judgement: Judgement) -> str:
    is_plain = judgement.verdict == NOT_COMPARABLE
    return LETTERS[judgement.verdict] + ("" if is_plain else marks(judgement))


def describe_meanings(judgements: Iterable[Judgement]) -> dict[str, str]:
    bases = {each.basis for each in judgements}
    unit, which = UNITS[BINOMIAL if bases == {BINOMIAL} else verdicts.DEVIATION]
    rounding = "plus half a unit of the last printed digit"
    return {
        REPRODUCED: f"within {TOLERANCES[REPRODUCED]:g} {unit} ({which}) {rounding}",
        CLOSE: f"within {TOLERANCES[CLOSE]:g} {unit} {rounding}, and within a factor of {CLOSE_RATIO:g}",
        DIFFERS: "further apart",
        NOT_COMPARABLE: "this run has no such number, or its data, settings or protocol differ",
    }


def describe_exceptions(judgements: Iterable[Judgement]) -> str:
    if {each.basis for each in judgements} != UNITS.keys():
        return ""
    return f"Numbers printed without a standard deviation are compared in standard errors: {ERRORS}."


def summary(judgements: Sequence[Judgement], quantity: Quantity) -> str:
    """Return a line like '58 of 72 mistake rates reproduced, 9 close, 5 differ'."""
    counts, leaning = verdicts.count(judgements, quantity), verdicts.count_leaning(judgements, quantity)
    other = verdicts.count((each for each in judgements if each.other_size), quantity)[REPRODUCED]
    remarks = {"only because our standard deviation is larger": leaning, "on data of another size": other}
    weak = ", ".join(f"{number} {text}" for text, number in remarks.items() if number)
    line = f"{counts[REPRODUCED]} of {counts.total()} {quantity.counted} reproduced"
    line += f"{f' ({weak})' if weak else ''}, {_list_others(counts)}"
    if apart := verdicts.count(judgements, quantity, suspect=True):
        line += f"; unexplained: {apart[REPRODUCED]} of {apart.total()} reproduced, {_list_others(apart)}"
    return line


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


def name_guess(quantity: Quantity) -> str:
    return "chance" if quantity.guessed == "half" else "always predicting the more frequent class"


def describe_guesses(found: Guesses, quantity: Quantity, unlearnt: Collection[str], most: int = 6) -> str:
    """Name the algorithms that are no better than guessing on data sets from which others learnt."""
    listed = [
        f"{list_some([entry.label for entry in entries], most)} on {dataset} ({quantity.text(guess)})"
        for dataset, (guess, entries) in found.items()
        if entries and dataset not in unlearnt
    ]
    if not listed:
        return ""
    lead = f"No better than {name_guess(quantity)} ({quantity.title} in brackets)"
    more = f"; and on {len(listed) - most} more data sets" if len(listed) > most + 1 else ""
    return f"{lead}: {'; '.join(listed[:most] if more else listed)}{more}."


def describe_twins(results: Results) -> str:
    groups: dict[str, list[str]] = {}
    for label, twin in results.twins.items():
        groups.setdefault(twin, [twin]).append(label)
    listed = "; ".join(" = ".join(group) for group in groups.values())
    return f"Identical results, ranked as one: {listed}" if groups else ""


def count_trials(results: Results) -> str:
    """Return how many trials an algorithm has on a data set, such as '20 to 200 splits'."""
    planned = [entry.planned for entry in results.entries] or [0]
    fewest, most = min(planned), max(planned)
    return f"{f'{fewest:,} to ' if fewest < most else ''}{count(most, results.numbered)}"


#: What a difference speaks of, after its number and before its test.
OVER = {
    "rows": "for new rows of the same source",
    "orders": "over orders of these rows",
    "blocks": "over blocks of the stream",
    "draws": "over new draws of the data",
}
#: How the difference is tested.
TESTS = {
    "rows": "t-test by the errors of rows and orders",
    "orders": "paired t-test over the shared {numbered}",
    "blocks": "moving-block bootstrap over 20 blocks of the stream",
    "draws": "paired t-test over the shared {numbered}",
}


def describe_over(results: Results) -> str:
    """Return what the differences of a run speak of, such as "over orders of these rows"."""
    is_single = all(entry.planned == 1 for entry in results.entries)
    order = " in this order" if is_single else ""
    return " or ".join(OVER[each] + order * (each == "rows") for each in results.overs)


def name_test(results: Results) -> str:
    """Return the test of the differences within a data set."""
    names = (TESTS[each].format(numbered=plural(results.numbered)) for each in results.overs)
    test, corrected = " or ".join(names), any(map(results.overlap, results.datasets))
    return test.replace("paired", "corrected resampled") if corrected else test


def describe_correction(results: Results) -> str:
    """Return how p-values are corrected: against the best, which the data selected, for all pairs."""
    pairs = f"comparisons with {results.control}" if results.control else "pairs of algorithms"
    contests = [results.contest(name, results.protocol.quantities[0]) for name in results.datasets]
    if len(contests) == 1 and (contest := contests[0]):
        number = len(contest.labels) - 1 if results.control else contest.pairs
        return f"Holm's correction for {count(number, 'comparison' if results.control else 'pair')}"
    return f"Holm's correction for all {pairs}"


def describe_bold(results: Results) -> str:
    best = f"best {results.protocol.quantities[0].title} in our run"
    note = f"* or bold: {best}, or not significantly worse ({describe_level(results)})."
    contests = (results.contest(name, results.protocol.quantities[0]) for name in results.datasets)
    if not all(each.is_tested(apart) for each in contests if each for apart in each.differences()):
        few = f"With fewer than {FEWEST_ORDERS} {plural(results.numbered)}, only the best is marked"
        note += f" {few}: so few cannot tell it from the others."
    return note


def describe_level(results: Results) -> str:
    """Return what "significantly" means: of which differences, at which level, with which correction."""
    return f"{describe_over(results)}, 5%, Holm"


def is_fixed(results: Results) -> bool:
    """Return whether the run shipped or came as a bundle, so that the user cannot continue it."""
    return results.folder.resolve().name == REFERENCE or is_bundle(results.folder)


def describe_absent(results: Results) -> str:
    """Return the measures that the records do not have, and the command that adds them."""
    done = [entry for entry in results.entries if entry.done]
    absent = [
        each.name
        for each in results.protocol.quantities
        if done and all(np.isnan(entry.values(each)).all() for entry in done)
    ]
    if not absent:
        return ""
    listed = ", ".join(absent)
    place = f"results/{results.name}" if is_fixed(results) else results.folder
    command = f'olbench run CONFIG --out {place} --set "measures=[{listed}]"'
    return f"the record of this run has no {listed}; `{command}` runs the trials again to add it"
