"""What algorithms on one data set are compared by: values by trial and, where known, influences by group."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olbench.analysis.blocks import StreamContest, find_array
from olbench.analysis.difference import Contest, TrialContest, influence
from olbench.protocols.measures import LOSSES
from olbench.records.quantities import Quantity
from olbench.records.run_file import DataFacts

if TYPE_CHECKING:
    from olbench.analysis.results import Entry, Results

Floats = NDArray[np.float64]
#: Measures that count every row alike, whatever its class; the others rest on the rarer class.
BY_ROW = ("mistake_rate", "accuracy", "test_error", *LOSSES)


def make_contest(
    runs: "Sequence[Results]", entries: "Sequence[Entry]", quantity: Quantity, labels: Sequence[str] = ()
) -> Contest:
    """Return what entries on one data set, each of a run, are compared by, under their labels or others."""
    means = np.array([each.mean(quantity) for each in entries])
    names = tuple(labels or (each.label for each in entries))
    known = names, means, quantity.better, runs[0].config.negligible
    needed = find_array(quantity)
    if len(entries) > 1 and needed and all(is_single(each, needed) for each in entries):
        pairs = zip(runs, entries, strict=True)
        return StreamContest(*known, quantity, tuple(run.array(each, 0, needed) for run, each in pairs))
    in_folds = any(each.overlap for each in entries)
    facts = runs[0].run.data.get(entries[0].dataset)
    found = [_measure_groups(each, quantity, facts) for each in entries] if facts else []
    by_group = [each for each in found if each is not None]
    if facts is None or len(by_group) < len(entries):
        values, overlap = align(entries, quantity), max(each.overlap for each in entries)
        return TrialContest(
            *known, values, overlap=overlap, in_folds=in_folds, is_fresh=runs[0].protocol.draws_data
        )
    size = max(each.values.size for each in by_group)
    values = np.stack([np.append(each.values, [np.nan] * (size - each.values.size)) for each in by_group])
    sums = np.stack([each.influence for each in by_group])
    rows, rarer = sum(facts.groups["sizes"]), None
    if quantity.name not in BY_ROW:
        positives = sum(facts.groups["positives"]) if "positives" in facts.groups else rows // 2
        rarer = min(positives, rows - positives)
    parts = [each.fifths for each in by_group if each.fifths is not None and len(each.fifths) == size]
    fifths = np.stack(parts) if len(parts) == len(entries) else None
    return TrialContest(*known, values, sums, rows, rarer, fifths=fifths, in_folds=in_folds)


class ByGroup(NamedTuple):
    """A measure by permutation or division, and the influences of the groups, averaged over these."""

    values: Floats
    influence: Floats
    #: The influences of the fifths of each pass, a row per permutation, NaN for a missing one.
    fifths: Floats | None = None


def _measure_groups(entry: "Entry", quantity: Quantity, facts: DataFacts) -> ByGroup | None:
    """Return a measure with the influence of each group on it; None where records do not have groups."""
    if not entry.groups or not facts.groups:
        return None
    if quantity.name in entry.groups:
        values, fifths = entry.align(entry.values(quantity)), entry.fifths.get(quantity.name)
        return ByGroup(values, entry.groups[quantity.name].mean(axis=0), _align_fifths(entry, fifths))
    if not {*quantity.fields} <= {"n", "mistakes", "positives", "false_alarms", "errors", "right"}:
        return None
    folds = round(1 + 1 / entry.overlap) if entry.overlap else 1
    numbers = entry.columns["number"].astype(np.int64) // folds
    # Folds are added up to whole divisions, which test every row once.
    whole = [each for each in np.unique(numbers) if np.count_nonzero(numbers == each) == folds]
    if not whole:
        return None
    own = {
        name: np.stack([each[numbers == number].sum(axis=0) for number in whole]).astype(np.float64)
        for name, each in entry.groups.items()
    }
    shared = {"n": facts.groups["sizes"], "positives": facts.groups.get("positives", ())}
    for name, each in shared.items():
        if each and name not in own:
            own[name] = np.tile(np.asarray(each, np.float64), (len(whole), 1))
    counted: list[str] = ["n", "mistakes", "positives", "false_alarms"]
    counts = {name: own[name] for name in counted if name in own}

    def measure(of: Mapping[str, Floats]) -> Any:
        known = {**of, "errors": of["mistakes"], "right": of["n"] - of["mistakes"]}
        parts = [known[name] for name in quantity.fields]
        return quantity.formula(*parts) if quantity.formula else parts[0] / parts[1]

    values = np.full(max(1, entry.planned // folds), np.nan)
    values[whole] = measure({name: each.sum(axis=1) for name, each in counts.items()})
    parts = {name: entry.fifths.get("t" if name == "n" else name) for name in counts}
    known = {name: each.astype(np.float64) for name, each in parts.items() if each is not None}
    fifths = influence(known, measure) if known.keys() == counts.keys() and folds == 1 else None
    return ByGroup(values, influence(counts, measure).mean(axis=0), _align_fifths(entry, fifths))


def _align_fifths(entry: "Entry", fifths: NDArray[Any] | None) -> Floats | None:
    if fifths is None:
        return None
    found = np.full((entry.planned, fifths.shape[1]), np.nan)
    found[entry.columns["number"].astype(np.int64)] = fifths
    return found


def align(entries: "Sequence[Entry]", quantity: Quantity) -> Floats:
    """Return the values of entries by the number of the trial, NaN for missing ones."""
    size = max(entry.planned for entry in entries)
    return np.stack([entry.align(entry.values(quantity), size) for entry in entries])


def is_single(entry: "Entry", needed: str) -> bool:
    """Return whether an entry is one trial with the array that tests its rounds."""
    stored = entry.columns["arrays"][0] if entry.planned == entry.done == 1 else None
    return isinstance(stored, dict) and needed in stored
