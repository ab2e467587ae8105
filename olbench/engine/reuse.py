"""Why a trial is or is not reused: what differs from the nearest record of the ledger."""

from collections.abc import Mapping, Sequence
from typing import Any

from olbench.protocols.definition import Cell
from olbench.trials.trial import Record, Trial

#: The fields that make trials comparable; the others may explain a difference.
SAME = ("protocol", "dataset", "algorithm", "role", "number")
WORDS = {
    "fingerprint": "the data has changed",
    "code": "the algorithm behaves differently now",
}


def explain_trial(trial: Trial, records: Mapping[str, Record], nearby: Sequence[Record]) -> str:
    """Return why a trial has to run, or an empty text where the ledger has its result."""
    known = records.get(trial.key)
    if known is not None:
        return "" if known["status"] == "ok" else f"it failed before ({known['error']})"
    differences = [list_differences(trial, record) for record in nearby]
    if not differences:
        return "it was never run"
    _, nearest = min((len(words), words) for words in differences)
    return ", ".join(nearest) or "its record is of an older version"


def list_differences(trial: Trial, record: Record) -> list[str]:
    """Return in words what distinguishes a trial from a record."""
    words = []
    for name, wanted in trial.identity().items():
        if name in SAME or wanted == record[name]:
            continue
        if name == "setting":
            words += _compare_settings(wanted, record[name])
        else:
            words.append(WORDS.get(name) or f"{name} is {_show(wanted)}, not {_show(record[name])}")
    return words


def _compare_settings(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> list[str]:
    names = dict.fromkeys((*wanted, *there))
    return [
        f"{name} is {wanted.get(name)}, not {there.get(name)}"
        for name in names
        if wanted.get(name) != there.get(name)
    ]


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items()) or "none"
    return str(value)


def explain_cells(cells: Sequence[Cell], records: Mapping[str, Record]) -> dict[str, str]:
    """Return for each trial that is needed, as far as is known, why it has to run, or an empty text."""
    by_place: dict[tuple[Any, ...], list[Record]] = {}
    for record in records.values():
        by_place.setdefault(tuple(record[name] for name in SAME), []).append(record)
    good = {key: record for key, record in records.items() if record["status"] == "ok"}
    reasons = {}
    for cell in cells:
        for trial in cell.trials(good):
            place = tuple(getattr(trial, name) for name in SAME)
            reasons[trial.key] = explain_trial(trial, records, by_place.get(place, []))
    return reasons
