"""Why a trial is or is not reused: what differs from the nearest record of the ledger."""

from collections.abc import Mapping, Sequence
from typing import Any

from olbench.experiments.online import Cell
from olbench.experiments.trial import Record, Trial

#: The fields that make trials comparable; the others may explain a difference.
SAME = ("dataset", "algorithm", "role", "permutation")
WORDS = {
    "fingerprint": "the data has changed",
    "kernels": "the code of the learners has changed",
    "points": "the curve has another number of points",
    "part": "the rows are others (holdout)",
}


def reason(trial: Trial, records: Mapping[str, Record], nearby: Sequence[Record]) -> str:
    """Return why a trial has to run, or an empty text where the ledger has its result."""
    known = records.get(trial.key)
    if known is not None:
        return "" if known["status"] == "ok" else f"it failed before ({known['error']})"
    differences = [difference(trial, record) for record in nearby]
    if not differences:
        return "it was never run"
    _, nearest = min((len(words), words) for words in differences)
    return ", ".join(nearest)


def difference(trial: Trial, record: Record) -> list[str]:
    """Return in words what distinguishes a trial from a record."""
    words = []
    for name, wanted in trial.identity().items():
        if name in SAME or wanted == record[name]:
            continue
        words.append(WORDS.get(name) or f"{name} is {_shown(wanted)}, not {_shown(record[name])}")
    return words


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items()) or "none"
    return str(value)


def reasons(cells: Sequence[Cell], records: Mapping[str, Record]) -> dict[str, tuple[Trial, str]]:
    """Return for each trial that is needed as far as is known: why it has to run, or an empty text."""
    by_place: dict[tuple[Any, ...], list[Record]] = {}
    for record in records.values():
        by_place.setdefault(tuple(record[name] for name in SAME), []).append(record)
    good = {key: record for key, record in records.items() if record["status"] == "ok"}
    found = {}
    for cell in cells:
        for trial in cell.trials(good):
            place = tuple(getattr(trial, name) for name in SAME)
            found[trial.key] = trial, reason(trial, records, by_place.get(place, []))
    return found
