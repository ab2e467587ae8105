"""The protocol `stream`: the rows in the order of their file, with labels that may come late.

Every example is predicted before it is learnt (prequential evaluation). Measures are over all scored
examples, and over a window of the most recent ones. Two baselines that use only labels, the last one or the
more frequent one, run under the same delay. Tuning uses the first rows, which are not scored; no later row
affects the parameters.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms.algorithm import make_algorithm
from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.source import Source
from olbench.data.spec import PAST_ROWS
from olbench.errors import UserError, count
from olbench.learners.breakdowns import Breakdown, find_breakdown
from olbench.learners.examples import Floats, Ints
from olbench.learners.passes import PassResult, curve_points, run_learner
from olbench.learners.schedules import make_schedule
from olbench.learners.start import start
from olbench.protocols import measures, measuring
from olbench.protocols.definition import Series, Stopped, choice, protocol, whole
from olbench.protocols.online import refuse_batch
from olbench.protocols.specs import ByDataset, Experiment, ExtendedTuning, by_dataset, value_for
from olbench.records import quantities as q
from olbench.records.quantities import Quantity
from olbench.records.trial import Outcome, Trial
from olbench.structs import Node, checked, is_number, many, with_schema

BASELINES = ("no-change", "majority-so-far")
#: At how many places the counts of a stream are recorded, and into how many blocks statistics divide them.
PLACES, BLOCKS = 2000, 20
COUNTED = measuring.COUNTS[1:]
DETECT = "detect"
#: An accuracy that is lower by less than this has not fallen.
LEAST_FALL = 0.02


def _beyond(baseline: Quantity, name: str, title: str) -> Quantity:
    """Return a quantity that compares with a baseline: 1 is perfect, 0 equally good, below 0 worse."""
    return Quantity(
        name, title, 4, better="higher", exact=True, parts=(q.MISTAKES.name, baseline.name), formula=_kappa
    )


def _kappa(mistakes: Any, baseline: Any) -> Any:
    mistakes, baseline = np.asarray(mistakes, np.float64), np.asarray(baseline, np.float64)
    return 1.0 - np.divide(mistakes, baseline, out=np.full(mistakes.shape, math.nan), where=baseline > 0)


KAPPA_M = _beyond(q.MAJORITY_MISTAKES, "kappa_m", "kappa M")
KAPPA_TEMPORAL = _beyond(q.NO_CHANGE_MISTAKES, "kappa_temporal", "kappa temporal")
ACCURACY = measuring.MEASURES["accuracy"]
STREAM_MEASURES = {**measuring.MEASURES, KAPPA_M.name: KAPPA_M, KAPPA_TEMPORAL.name: KAPPA_TEMPORAL}


def read_drifts(node: Node, name: str) -> tuple[int, ...] | str:
    if node.value == DETECT:
        return DETECT
    rows = [item.value for item in node.items(name)]
    for row in rows:
        if isinstance(row, bool) or not isinstance(row, int) or row < 1:
            raise node.fail(f"{name} must be a list of rows, from 1, or the word detect")
    if rows != sorted(set(rows)):
        raise node.fail(f"{name} must be in ascending order")
    return tuple(rows)


with_schema(
    read_drifts, {"anyOf": [{"const": DETECT}, {"type": "array", "items": {"type": "integer", "minimum": 1}}]}
)
read_share = checked(
    float,
    lambda value: is_number(value) and 0 < value < 1,
    "a number between 0 and 1",
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
)


@dataclass(frozen=True)
class StreamTuning(ExtendedTuning):
    prefix: Annotated[float, read_share, "share of the rows, from the first, used to tune and not scored"] = (
        0.1
    )


@dataclass(frozen=True)
class StreamExperiment(Experiment):
    protocol: str = "stream"
    tuning: StreamTuning = StreamTuning()
    window: Annotated[int, whole(1), "how many recent examples a windowed measure covers"] = 1000
    curve: Annotated[int, whole(1), "points of the curves"] = 100
    delay: Annotated[ByDataset[int], by_dataset(whole(0)), "examples predicted before a label is learnt"] = 0
    warm: Annotated[ByDataset[int], by_dataset(whole(0)), "first examples, learnt but not scored"] = 0
    drifts: Annotated[Any, by_dataset(read_drifts), "rows where the concept drifts, or detect"] = None
    measures: Annotated[tuple[str, ...] | None, many(choice(*STREAM_MEASURES)), measuring.MEASURES_DOC] = None
    keep: measuring.Keep = None

    fitted_on = PAST_ROWS
    order_free = ("window", "curve", "measures", "keep", "drifts", "tuning.extend")

    def setting(self, role: str) -> dict[str, Any]:
        if role == "tune":
            return {"scored": "prefix", "points": 1}
        return {"scored": "all" if self.tuning.search == "none" else "rest", "points": self.curve}

    def extend(self) -> "StreamExperiment":
        present = {spec.id for spec in self.algorithms}
        added = tuple(AlgorithmSpec(id) for id in BASELINES if id not in present)
        return replace(self, algorithms=(*self.algorithms, *added))


class StreamCell(measuring.MeasuringCell):
    repeats = 1

    @cached_property
    def source_setting(self) -> dict[str, Any]:
        config, source = self.config, self.source
        given = {"delay": config.delay, "warm": config.warm}
        rows = {name: value_for(value, source.name, 0) for name, value in given.items()}
        setting = {"window": config.window, **{name: value for name, value in rows.items() if value}}
        if config.tuning.search != "none":
            setting["prefix"] = round(config.tuning.prefix * source.n)
        drifts = value_for(config.drifts, source.name, None)
        if drifts or source.drifts:
            setting["drifts"] = drifts if drifts == DETECT else list(drifts or source.drifts)
        return setting


@protocol
class Stream(measuring.Measuring):
    """Predict the examples of a stream in order, count mistakes, and learn each when its label arrives."""

    id = "stream"
    version = 2
    experiment: StreamExperiment = StreamExperiment((), ())
    measures: ClassVar[Mapping[str, Quantity]] = STREAM_MEASURES
    numbered = "pass"
    quantities = (ACCURACY, KAPPA_M, KAPPA_TEMPORAL, q.UPDATES, q.SECONDS)
    recorded = (
        q.ROUNDS,
        *measuring.CONFUSION,
        q.LABELS,
        q.MAJORITY_MISTAKES,
        q.NO_CHANGE_MISTAKES,
        q.BREAKDOWNS,
        q.CPU_SECONDS,
    )
    series = (
        measuring.counts_series("window_accuracy", "windowed accuracy (%)", ACCURACY, "window_n"),
        measuring.counts_series("accuracy_so_far", "accuracy so far (%)", ACCURACY, "n"),
        Series("updates", "cumulative number of updates", q.UPDATES, required=True),
    )
    refuse = refuse_batch

    def series_of(self, asked: Sequence[Quantity]) -> tuple[Series, ...]:
        usual = {each.name: each for each in self.series}
        windowed = [
            measuring.counts_series(f"window_{each.name}", f"windowed {each.title}", each, "window_n")
            if each.parts
            else Series(f"window_{each.name}", f"windowed {each.title}", each, level=True)
            for each in asked
            if each.name == "auc" or (each.parts and each.name not in (KAPPA_M.name, KAPPA_TEMPORAL.name))
        ]
        first = [usual.pop(each.name, each) for each in windowed]
        return (*first, *usual.values())

    def cells(self, sources: Sequence[Source]) -> list[StreamCell]:
        cells = [StreamCell(self, *each) for each in self.experiment.entries(sources)]
        for cell in {cell.source.name: cell for cell in cells}.values():
            _check_rows(cell)
            self.check_source(cell.source)
        return cells

    def run(self, trial: Trial, source: Source, stopped: Stopped) -> Outcome:
        data, setting = source.open(), trial.setting
        end, delay = _find_end(setting, source), setting.get("delay", 0)
        first = max(setting.get("warm", 0), setting.get("prefix", 0) if setting["scored"] == "rest" else 0)
        schedule = _find_schedule(source, end, delay)
        points = first + np.append(0, curve_points(end - first, setting["points"]))
        learner, keep = start(trial.make_algorithm(), source.d), measuring.find_keep(trial) or "margins"
        result = run_learner(learner, data.examples, data.labels, schedule, points, stopped, keep)
        baselines = label_mistakes(source, end, first, delay)
        return _Measured(trial, result, first).outcome(baselines)

    def find_breakdown(self, trial: Trial) -> Breakdown | None:
        data, end = trial.source.open(), _find_end(trial.setting, trial.source)
        schedule = _find_schedule(trial.source, end, trial.setting.get("delay", 0))
        return find_breakdown(trial.make_algorithm(), data.examples, data.labels, schedule)


def _find_end(setting: Mapping[str, Any], source: Source) -> int:
    return int(setting["prefix"]) if setting["scored"] == "prefix" else source.n


def _find_schedule(source: Source, end: int, delay: int) -> Ints:
    arrivals = source.arrivals
    return make_schedule(np.arange(end) + 1 + delay if arrivals is None else np.asarray(arrivals[:end]))


def _check_rows(cell: StreamCell) -> None:
    setting, source, name = cell.source_setting, cell.source, cell.source.name
    rows = count(source.n, "row")
    prefix, warm = setting.get("prefix", 0), setting.get("warm", 0)
    start = max(prefix, warm)
    if source.classes:
        raise UserError(f"{name} has {source.classes} classes; streams must have two, so remove labels: all")
    if setting.get("delay", 0) >= source.n:
        raise UserError(f"{name} has {rows}, so no label would arrive with a delay of {setting['delay']:,}")
    if source.arrivals is not None and "delay" in setting:
        raise UserError(f"{name} has a column of arrival times; remove either delay or arrival")
    if source.arrivals is not None and np.min(source.arrivals) >= source.arrivals.size:
        raise UserError(f"no label of {name} arrives before the last row; correct the arrival column")
    if start >= source.n:
        raise UserError(f"{name} has {rows}, so none is left to score after the first {start:,}")
    if "prefix" in setting and warm >= prefix:
        remedy = f", and warm is {warm:,}; lower warm, or raise the prefix" if warm else "; raise it"
        share = f"the prefix of tuning has {prefix:,} of {rows}"
        raise UserError(f"{name}: no rows are left for tuning: {share}{remedy}")
    drifts = setting.get("drifts", ())
    if not isinstance(drifts, str) and any(not 0 < row < source.n for row in drifts):
        raise UserError(f"{name} has {rows}; drifts must be between 1 and {source.n - 1:,}")


@lru_cache(maxsize=64)
def label_mistakes(source: Source, end: int, first: int, delay: int) -> dict[str, int]:
    data = source.open()
    schedule = _find_schedule(source, end, delay)
    names = dict(zip(BASELINES, (q.NO_CHANGE_MISTAKES.name, q.MAJORITY_MISTAKES.name), strict=True))
    found = {}
    for id, name in names.items():
        learner = start(make_algorithm(id), data.examples.d)
        at = np.array([first, end]) if first else np.array([end])
        curve = run_learner(learner, data.examples, data.labels, schedule, at).curve
        found[name] = int(curve.mistakes[-1] - (curve.mistakes[0] if first else 0))
    return found


class _Measured:
    def __init__(self, trial: Trial, result: PassResult, start: int):
        assert result.margins is not None
        assert result.positive is not None
        assert result.labels is not None
        self.trial, self.setting, self.result, self.start = trial, trial.setting, result, start
        # The first point is where scoring begins.
        self.points = result.curve.t[1:] - start
        self.margins: Floats = np.ascontiguousarray(result.margins[start:])
        self.labels: Floats = np.ascontiguousarray(result.labels[start:])
        self.wrong = result.positive[start:] != (self.labels > 0.0)

    def outcome(self, baselines: Mapping[str, int]) -> Outcome:
        result, n = self.result, self.margins.size
        (counts,) = self.counts(np.array([n])).tolist()
        numbers: dict[str, Any] = {
            "n": n,
            **dict(zip(COUNTED, counts, strict=True)),
            **baselines,
            "updates": int(result.curve.updates[-1] - result.curve.updates[0]),
            "breakdowns": result.breakdowns,
            "labels": int(result.learner.learnt),
            "seconds": round(result.seconds, 9),
            "cpu_seconds": round(result.cpu_seconds, 9),
        }
        variances = None if result.variances is None else result.variances[self.start :]
        scored = replace(result, margins=self.margins, labels=self.labels, variances=variances)
        numbers |= measuring.measure_margins(self.trial.wanted, scored)
        series: dict[str, Any] = {"curve": self._curve()}
        if "drifts" in self.setting and self.trial.role == "report":
            series["drifts"] = self._drifts()
        return Outcome(numbers, series, arrays=self._arrays(), state_bytes=result.learner.state_bytes)

    def counts(self, places: Ints) -> Ints:
        positive = self.labels > 0.0
        found = (np.flatnonzero(each) for each in (self.wrong, positive, self.wrong & ~positive))
        return np.column_stack([np.searchsorted(each, places) for each in found])

    def _curve(self) -> dict[str, list[Any]]:
        points, curve, window = self.points, self.result.curve, self.setting["window"]
        starts = np.maximum(points - window, 0)
        counts = self.counts(np.concatenate([starts, points]))
        before, now = counts[: points.size], counts[points.size :]
        columns = {"t": self.start + points, "n": points}
        columns |= dict(zip(COUNTED, now.T, strict=True))
        columns["updates"] = curve.updates[1:] - curve.updates[0]
        columns["labels"] = (curve.t - curve.unlearned)[1:]
        columns["window_n"] = points - starts
        columns |= {f"window_{name}": column for name, column in zip(COUNTED, (now - before).T, strict=True)}
        found = {name: column.tolist() for name, column in columns.items()}
        if "auc" in self.trial.wanted:
            spans = zip(starts.tolist(), points.tolist(), strict=True)
            areas = [measures.auc(self.labels[a:b], self.margins[a:b]) for a, b in spans]
            found["window_auc"] = [None if math.isnan(area) else area for area in areas]
        return found

    def _drifts(self) -> dict[str, list[Any]]:
        given = self.setting["drifts"]
        if given == DETECT:
            return {"row": [int(row) + self.start for row in find_drifts(~self.wrong)]}
        rows = [row - self.start for row in given if row > self.start]
        effects = measure_drifts(~self.wrong, rows, self.setting["window"])
        effects["row"] = [row + self.start for row in effects["row"]]
        return effects

    def _arrays(self) -> dict[str, NDArray[Any]]:
        n, trial = self.margins.size, self.trial
        if trial.role != "report":
            return {}
        arrays: dict[str, NDArray[Any]] = {}
        if n >= BLOCKS:
            places = np.rint(np.arange(min(n, PLACES) + 1) * (n / min(n, PLACES))).astype(np.int64)
            counts = np.column_stack([places, self.counts(places)])
            # Differences are small numbers, which compress well.
            arrays["counts"] = np.diff(counts, axis=0).astype(np.int32)
            if "auc" in trial.wanted:
                arrays["pairs"] = count_pairs(self.labels, self.margins)
        if "predictions" in trial.wanted:
            arrays["margins"] = self.margins
        return arrays


def measure_drifts(right: NDArray[np.bool_], rows: Sequence[int], window: int) -> dict[str, list[Any]]:
    """Return the effects of drifts at these rows: how far accuracy falls, for how long, and what that costs.

    The recovery is where the mistakes in excess of the accuracy before, lowered by a tolerance, are most. The
    tolerance is two standard errors of that accuracy, at least two points. The recovery is None if it does
    not come before the next drift or the end.

    >>> right = np.array([True] * 100 + [False] * 30 + [True] * 100)
    >>> measure_drifts(right, [100], 100)
    {'row': [100], 'before': [1.0], 'depth': [1.0], 'recovery': [30], 'lost': [30.0]}
    """
    total = np.concatenate([[0], np.cumsum(right)])
    effects: dict[str, list[Any]] = {name: [] for name in ("row", "before", "depth", "recovery", "lost")}
    for row, end in pairwise([*rows, right.size]):
        first = max(0, row - window)
        if row >= right.size or first == row:
            continue
        before = float(total[row] - total[first]) / (row - first)
        tolerance = max(LEAST_FALL, 2.0 * math.sqrt(before * (1.0 - before) / (row - first)))
        lost = before * np.arange(end - row + 1) - (total[row : end + 1] - total[row])
        fall = int(np.argmax(lost - tolerance * np.arange(end - row + 1)))
        effects["row"].append(int(row))
        effects["before"].append(before)
        effects["depth"].append(_lowest_below(total, row, row + fall, max(1, window // 5), before))
        effects["recovery"].append(fall if row + fall < end else None)
        effects["lost"].append(round(float(lost[fall]), 6))
    return effects


def _lowest_below(total: Ints, row: int, end: int, width: int, before: float) -> float:
    width = min(width, end - row)
    if not width:
        return 0.0
    ends = np.arange(row + width, end + 1)
    return max(0.0, before - float((total[ends] - total[ends - width]).min()) / width)


def find_drifts(right: NDArray[np.bool_]) -> list[int]:
    try:
        from river.drift import ADWIN
    except ImportError:
        raise UserError(
            'drifts: detect needs River; install it with `pip install "olbench[peers]"`'
        ) from None
    detector, found = ADWIN(), []
    for t, value in enumerate(right.tolist()):
        detector.update(not value)
        if detector.drift_detected:
            found.append(t + 1)
    return found


def count_pairs(labels: Floats, margins: Floats) -> NDArray[np.int64]:
    """Count pairs by blocks: row b, column c has those with a positive in block b and a negative in block c.

    Correctly ordered pairs count two, ties one. The last two rows count the positive and negative rounds.
    """
    block = np.minimum(np.arange(labels.size) * BLOCKS // max(1, labels.size), BLOCKS - 1)
    order = np.argsort(margins, kind="stable")
    ranked, owners = margins[order], block[order]
    positive = labels > 0
    found = np.zeros((BLOCKS + 2, BLOCKS), np.int64)
    found[BLOCKS:] = [np.bincount(block[each], minlength=BLOCKS) for each in (positive, ~positive)]
    for c in range(BLOCKS):
        # Negatives of block c below each margin, and up to it: ties are only in the second.
        mine = np.concatenate([[0], np.cumsum((owners == c) & ~positive[order])])
        below = mine[np.searchsorted(ranked, margins[positive], side="left")]
        up_to = mine[np.searchsorted(ranked, margins[positive], side="right")]
        np.add.at(found[:BLOCKS, c], block[positive], below + up_to)
    return found
