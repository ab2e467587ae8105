"""Exclusive times, and whether an algorithm became slower: ratios of paired trials with an interval.

A trial is timed several times, in rounds over all trials, and its shortest time counts: what else runs on the
machine can only make it longer. A cell compares the same permutations before and now. The logarithms of their
ratios have a Student interval at a level of 95% for all cells together (Bonferroni). A cell is slower if the
interval is above 1 and the mean ratio above a threshold, both as measured and after division by the change of
pace: between the trials, a fixed computation shows how fast the machine itself was.
"""

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from olbench.engine.executors.local import attempt, warm_up
from olbench.engine.regression import CAUSES, Remark, by_cell
from olbench.engine.runner import pin_to_one_core
from olbench.engine.stopping import StopFlag
from olbench.protocols.definition import Cell, Known
from olbench.trials.baseline import Baseline, Row
from olbench.trials.trial import Trial

#: All intervals of a comparison hold together with this probability, if noise is independent.
LEVEL = 0.95
#: Fewer pairs have no interval worth the name.
FEWEST = 3
#: A trial shorter than this is repeated within a round until it is reached, but at most MOST_TIMES.
ROUND_SECONDS, MOST_TIMES = 0.01, 30


@dataclass(frozen=True)
class Ratio:
    """A time now over the time before, with the ends of its interval."""

    mean: float
    low: float
    high: float

    def is_above(self, threshold: float, drift: float) -> bool:
        """Return whether it is surely longer than the drift of the machine, and by more than a threshold."""
        return self.low > drift and self.mean > threshold * drift

    def is_below(self, threshold: float, drift: float) -> bool:
        """Return whether it is surely shorter, and by more than a threshold."""
        return self.high < drift and self.mean < drift / threshold

    def __str__(self) -> str:
        return f"{self.mean:.2f} times as long [{self.low:.2f}, {self.high:.2f}]"


#: The exponential of more is infinite.
_LARGEST_LOG = 700.0
#: A shorter time is not measurable.
SHORTEST = 1e-9
#: What a machine of any speed computes in about a millisecond.
_STEPS = 20_000


def measure_pace() -> float:
    """Return the seconds of a fixed computation that no code of olbench takes part in."""
    started = time.perf_counter()
    total = 0
    for step in range(_STEPS):
        total = (total * 31 + step) & 0xFFFF
    return time.perf_counter() - started


def time_trials(
    cells: Sequence[Cell], known: Known, rounds: int, stop: StopFlag
) -> tuple[dict[str, float], float]:
    """Return the shortest of several exclusive times of each reported trial, by its key, and the pace.

    The pace is measured before each trial and treated alike: the shortest of all rounds, then the median.
    """
    trials = {
        trial.key: trial
        for cell in cells
        for trial in cell.reported(known)
        if known[trial.key]["status"] == "ok"
    }
    shortest, paces = dict.fromkeys(trials, math.inf), dict.fromkeys(trials, math.inf)
    warm_up(list(trials.values()), stop)
    with pin_to_one_core():
        for _ in range(rounds):
            for key, trial in trials.items():
                paces[key] = min(paces[key], measure_pace())
                shortest[key] = min(shortest[key], _time_once(trial, stop))
    return shortest, statistics.median(paces.values())


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


def _time_once(trial: Trial, stop: StopFlag) -> float:
    """Return the time of a trial; of a short one, the shortest of as many as fill a round's share."""
    shortest, spent = math.inf, 0.0
    for _ in range(MOST_TIMES):
        record = attempt(trial, stop)
        if record is None:
            raise KeyboardInterrupt
        if record["status"] != "ok":
            break
        shortest = min(shortest, record["seconds"])
        spent += record["seconds"]
        if spent >= ROUND_SECONDS:
            break
    return shortest


def estimate_ratio(before: Sequence[float], now: Sequence[float], level: float) -> Ratio:
    """Return the mean ratio of paired times and a Student interval of its logarithm.

    >>> estimate_ratio([1.0, 2.0, 4.0], [2.0, 4.0, 8.0], 0.95)
    Ratio(mean=2.0, low=2.0, high=2.0)
    """
    from scipy.stats import t

    logs = [math.log(after / first) for first, after in zip(before, now, strict=True)]
    mean, deviation = statistics.fmean(logs), statistics.stdev(logs)
    half = float(t.ppf((1 + level) / 2, len(logs) - 1)) * deviation / math.sqrt(len(logs))
    return Ratio(*(math.exp(min(end, _LARGEST_LOG)) for end in (mean, mean - half, mean + half)))


def compare_times(
    before: Baseline, now: Baseline, threshold: float, findings: Sequence[Remark]
) -> list[Remark]:
    """Return which cells became slower or faster, and a note on how many were timed on both sides.

    Cells that `findings` say to be another experiment have no comparable time.
    """
    if not before.has_times:
        return [Remark("note", "the baseline has no exclusive times; write them with --time --update")]
    if before.processor != now.processor:
        shown = f"{before.processor} -> {now.processor}"
        return [Remark("note", f"the machine changed ({shown}), so times were not compared")]
    pairs = _comparable(before, now, findings)
    if not pairs:
        return [Remark("note", f"no times to compare: a cell needs {FEWEST} trials on both sides")]
    level = 1 - (1 - LEVEL) / len(pairs)
    ratios = [(old, estimate_ratio(old["seconds"], new["seconds"], level)) for old, new in pairs]
    drift = now.pace / before.pace if now.pace and before.pace else 1.0
    slower = [
        _say("slower", old, ratio) for old, ratio in ratios if ratio.is_above(threshold, max(1.0, drift))
    ]
    faster = [
        _say("faster", old, ratio) for old, ratio in ratios if ratio.is_below(threshold, min(1.0, drift))
    ]
    middle = statistics.median(ratio.mean for _, ratio in ratios)
    note = (
        f"times of {len(ratios)} results compared, median ratio {middle:.2f}, the machine's own {drift:.2f}"
    )
    return [*slower, *faster, Remark("note", note)]


def _comparable(before: Baseline, now: Baseline, findings: Sequence[Remark]) -> list[tuple[Row, Row]]:
    others = [each for each in findings if each.kind in CAUSES]
    old, new = by_cell(before), by_cell(now)
    pairs = []
    for key in old.keys() & new.keys():
        first, after = old[key], new[key]
        if any(each.dataset in ("", key[0]) and each.algorithm in ("", key[1]) for each in others):
            continue
        times = [row.get("seconds", []) for row in (first, after)]
        if len(times[0]) == len(times[1]) >= FEWEST and min(*times[0], *times[1]) >= SHORTEST:
            pairs.append((first, after))
    return sorted(pairs, key=lambda pair: (pair[0]["dataset"], pair[0]["algorithm"]))


def _say(kind: str, row: Row, ratio: Ratio) -> Remark:
    message = f"{row['algorithm']} on {row['dataset']}: takes {ratio}, {kind}"
    return Remark(kind, message, row["dataset"], row["algorithm"])
