"""Exclusive times of trials, and how they compare with those of a record."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from olbench.engine.executors.local import attempt, warm_up
from olbench.engine.runner import pin_to_one_core
from olbench.engine.stopping import StopFlag
from olbench.trials.trial import Trial

LEVEL = 0.95
#: Fewer pairs have no interval worth the name.
FEWEST = 3
#: The exponential of more is infinite.
_LARGEST_LOG = 700.0
#: A shorter time is not measurable.
SHORTEST = 1e-9


@dataclass(frozen=True)
class Ratio:
    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} times as long [{self.low:.2f}, {self.high:.2f}]"


def time_alone(trials: Sequence[Trial], stop: StopFlag) -> dict[str, float]:
    """Return the time of each trial by its key, taken once and as `run --timing exclusive` takes it."""
    warm_up(trials, stop)
    seconds = {}
    with pin_to_one_core():
        for trial in trials:
            record = attempt(trial, stop)
            if record is None:
                raise KeyboardInterrupt
            if record["status"] == "ok":
                seconds[trial.key] = float(record["seconds"])
    return seconds


def estimate_ratio(before: Sequence[float], now: Sequence[float]) -> Ratio:
    """Return the mean ratio of paired times and a Student interval of its logarithm.

    >>> estimate_ratio([1.0, 2.0, 4.0], [2.0, 4.0, 8.0])
    Ratio(mean=2.0, low=2.0, high=2.0)
    """
    from scipy.stats import t

    logs = [math.log(after / first) for first, after in zip(before, now, strict=True)]
    mean, deviation = statistics.fmean(logs), statistics.stdev(logs)
    half = float(t.ppf((1 + LEVEL) / 2, len(logs) - 1)) * deviation / math.sqrt(len(logs))
    return Ratio(*(math.exp(min(end, _LARGEST_LOG)) for end in (mean, mean - half, mean + half)))
