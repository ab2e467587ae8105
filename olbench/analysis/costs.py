"""What a result cost: the bytes of its learner and of a trial, and examples per second."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from olbench.algorithms.algorithm import make_algorithm
from olbench.errors import UserError
from olbench.learners.state import add_weights, count_state_bytes
from olbench.protocols.measuring import list_wanted
from olbench.protocols.sizes import scratch_bytes
from olbench.records.quantities import EPOCHS, SECONDS, STATE_BYTES, TRAINING_ROUNDS

if TYPE_CHECKING:
    from olbench.analysis.results import Entry, Results

RECORDED, DERIVED = "recorded", "derived"
NOTE = (
    "Learner size: the bytes of its arrays. Trial memory: the most that one trial holds, counted and not "
    "measured: the learner, the weights it returns, its order and what is kept of each prediction. The "
    "examples, which all trials share, are not in it."
)


@dataclass(frozen=True)
class Costs:
    state_bytes: int | None
    #: "recorded", or "derived" from the form of the learner if the records are from before; else empty.
    state_from: str
    #: The most bytes of a trial besides the examples, counted from its arrays and not measured.
    peak_bytes: int | None
    #: All examples over all seconds; shared or exclusive as the seconds are.
    examples_per_second: float | None


def find_costs(results: "Results", entry: "Entry") -> Costs:
    state, origin = _find_state(results, entry)
    return Costs(state, origin, _find_peak(results, entry, state), _find_rate(entry))


def _find_state(results: "Results", entry: "Entry") -> tuple[int | None, str]:
    recorded = entry.columns[STATE_BYTES.name]
    if entry.done and not np.isnan(recorded).any():
        return round(float(recorded.mean())), RECORDED
    derived = derive_state(results, entry)
    return derived, DERIVED if derived is not None else ""


def derive_state(results: "Results", entry: "Entry") -> int | None:
    facts = results.run.data.get(entry.dataset)
    if facts is None or not entry.done:
        return None
    try:
        algorithm = make_algorithm(entry.algorithm, **entry.options)
    except UserError:  # a plugin that is not loaded
        return None
    setting = entry.recorded_setting
    # Bias is a feature of its own, which trials add if they scale the features themselves.
    added = "bias" in setting or entry.protocol.experiment.adds_bias
    return count_state_bytes(algorithm, facts.features + added, setting.get("classes", 1))


def _find_peak(results: "Results", entry: "Entry", state: int | None) -> int | None:
    facts = results.run.data.get(entry.dataset)
    if facts is None or state is None:
        return None
    setting: Mapping[str, Any] = entry.recorded_setting
    held = scratch_bytes(list_wanted(entry.protocol, "report"), facts.rows, setting)
    return add_weights(state, facts.features, setting.get("classes", 1)) + held


def _find_rate(entry: "Entry") -> float | None:
    """By the training rows of each epoch or, of one pass, by the last point of its curves."""
    if not entry.done or SECONDS.name not in entry.columns:
        return None
    if TRAINING_ROUNDS.name in entry.columns:
        rows = entry.columns[TRAINING_ROUNDS.name] * entry.columns.get(EPOCHS.name, 1)
        examples = float(rows.sum())
    else:
        is_pass = any(each.along == "t" for each in entry.protocol.series) and entry.points.size
        examples = float(entry.points[-1]) * entry.done if is_pass else 0.0
    seconds = float(entry.values(SECONDS).sum())
    return examples / seconds if examples > 0 and seconds > 0 else None


def show_bytes(size: int | None) -> str:
    """Return a size in a unit that suits it; a dash where it is not known.

    >>> show_bytes(152), show_bytes(6_400), show_bytes(5_000_000), show_bytes(None)
    ('152 B', '6.2 KiB', '4.8 MiB', '–')
    """
    if size is None:
        return "–"
    value, units = float(size), iter(("B", "KiB", "MiB", "GiB"))
    unit = next(units)
    for larger in units:
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"


def show_rate(rate: float | None) -> str:
    """Return examples per second to three digits; a dash where they are not known.

    >>> show_rate(1_234_567.0), show_rate(12.345), show_rate(None)
    ('1,230,000', '12.3', '–')
    """
    if rate is None:
        return "–"
    digits = 2 - math.floor(math.log10(rate))
    return f"{round(rate, digits):,.{max(0, digits)}f}"
