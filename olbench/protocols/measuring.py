"""Measures of a pass beyond its mistake rate: what a config asks for, and what a record keeps.

The counts of a confusion matrix are in every record, so measures of counts can be added to a finished run.
Other measures need the margin of every prediction; a trial whose record does not have them runs again.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olbench.algorithms import get_definition
from olbench.data.source import Source
from olbench.errors import UserError
from olbench.learners.examples import Floats, Groups, Ints
from olbench.learners.passes import PassResult
from olbench.learners.start import start
from olbench.learners.state import ClassLearner
from olbench.protocols import measures
from olbench.protocols.definition import Cell, Protocol, Series, choice, needs_margins
from olbench.protocols.measures import Counts
from olbench.protocols.specs import Experiment
from olbench.records import quantities as q
from olbench.records import seeds
from olbench.records.quantities import Quantity
from olbench.records.trial import Outcome, Record, Trial
from olbench.structs import many

CONFUSION = (q.MISTAKES, q.POSITIVES, q.FALSE_ALARMS)
COUNTS = ("n", *(each.name for each in CONFUSION))
MOST_KEPT = 20_000_000
#: Of the sums over groups of a measure, as a record has them.
MOST_BYTES = 780
_higher = partial(Quantity, digits=4, better="higher", exact=True)
_lower = partial(Quantity, digits=4, exact=True)


def of_counts(
    quantity: Quantity, measure: Callable[[Counts], Floats], parts: tuple[str, ...] = COUNTS
) -> Quantity:
    def formula(*counts: Any) -> Floats:
        return measure(Counts.of(*counts))

    return replace(quantity, ratio=None, judged=False, parts=parts, formula=formula)


MEASURES: Mapping[str, Quantity] = {
    each.name: each
    for each in (
        q.MISTAKE_RATE,
        # Several classes have no positives, and accuracy needs none.
        of_counts(q.ACCURACY, measures.accuracy, COUNTS[:2]),
        of_counts(q.BALANCED_ACCURACY, measures.balanced_accuracy),
        of_counts(_higher("sensitivity", "sensitivity"), measures.sensitivity),
        of_counts(_higher("specificity", "specificity"), measures.specificity),
        of_counts(_higher("precision", "precision"), measures.precision),
        of_counts(_higher("f1", "F1"), measures.f1),
        of_counts(_higher("g_mean", "G-mean", guessed=""), measures.g_mean),
        of_counts(_higher("kappa", "kappa"), measures.kappa),
        of_counts(_higher("mcc", "MCC"), measures.mcc),
        _higher("auc", "AUC", guessed="half"),
        _lower("hinge_loss", "hinge loss"),
        _lower("squared_loss", "squared loss"),
        # Logarithms differ in their last digit from machine to machine.
        _lower("log_loss", "log loss", exact=False),
        _higher("macro_f1", "macro F1"),
        q.NONZEROS,
    )
}
#: The measures that are defined for several classes, and the only ones that are not defined for two.
OF_CLASSES = ("mistake_rate", "accuracy", "balanced_accuracy", "kappa", "macro_f1", "nonzeros")
ONLY_CLASSES = ("macro_f1",)
#: Into how many parts a pass is divided, to see how much of what it learns lasts.
FIFTHS = 5
#: Measures that, for several classes, do not follow from the number of mistakes.
OWN_OF_CLASSES = ("balanced_accuracy", "kappa", "macro_f1")
MEASURES_DOC = "measures to report, such as auc; the first determines the ranking"
Measures = Annotated[tuple[str, ...] | None, many(choice(*MEASURES)), MEASURES_DOC]
Keep = Annotated[str | None, choice("predictions"), "write the margin of every prediction to the results"]


class Measuring(Protocol):
    """A protocol that predicts examples one by one. Its experiment has the fields `measures` and `keep`."""

    experiment: Any
    measures: ClassVar[Mapping[str, Quantity]] = MEASURES

    def __init__(self, experiment: Experiment | None = None):
        super().__init__(experiment)
        names = dict.fromkeys(self.experiment.measures or ())
        if names:
            usual = {each.name: each for each in self.quantities}
            asked = [usual.pop(name, self.measures[name]) for name in names]
            self.quantities = (*asked, *usual.values())
            self.series = self.series_of(asked)

    def series_of(self, asked: Sequence[Quantity]) -> tuple[Series, ...]:
        # The curves of a pass count positives of two classes only; mistakes they count of any.
        drawn = COUNTS[:2] if any(each.labels == "all" for each in self.experiment.datasets) else COUNTS
        shown = [each for each in asked if each.parts and set(each.parts) <= set(drawn)]
        return (*(counts_series(each.name, f"online {each.title}", each) for each in shown), *self.series)

    def check_source(self, source: Source) -> None:
        for spec in self.experiment.algorithms:
            if get_definition(spec.id).only_native and not source.classes:
                raise UserError(
                    f"{spec.id} learns several classes, and {source.name} has two; add `labels: all`"
                )
        check_measures(self.experiment.measures or (), source.name, source.classes)
        if self.experiment.keep and source.n > MOST_KEPT:
            raise UserError(
                f"{source.name} has {source.n:,} rows, and keep writes the predictions of at most "
                f"{MOST_KEPT:,}; leave it out"
            )


def check_measures(names: Iterable[str], dataset: str, classes: int) -> None:
    """Refuse measures that are not defined on a data set of several classes or, with classes=0, of two."""
    for name in names:
        if classes and name not in OF_CLASSES:
            use = ", ".join(OF_CLASSES)
            raise UserError(f"{dataset} has {classes} classes, and {name} is a measure of two; use {use}")
        if not classes and name in ONLY_CLASSES:
            raise UserError(f"{dataset} has two classes; use f1 instead of {name}, or add `labels: all`")


class MeasuringCell(Cell):
    def wanted(self, role: str) -> tuple[str, ...]:
        return list_wanted(self.protocol, role)


def list_wanted(protocol: Protocol, role: str) -> tuple[str, ...]:
    """Return the numbers that an experiment asks for, with the measures themselves, which groups may have."""
    numbers = _list_numbers(protocol, role)
    asked = [each.name for each in protocol.quantities if each.name in OWN_OF_CLASSES]
    return (*numbers, *asked) if numbers and role == "report" else numbers


def _list_numbers(protocol: Protocol, role: str) -> tuple[str, ...]:
    if not isinstance(protocol, Measuring):
        return ()
    quantities = protocol.quantities if role == "report" else protocol.quantities[:1]
    names = dict.fromkeys(name for each in quantities for name in each.fields)
    kept = role == "report" and protocol.experiment.keep
    return (*names, *(["predictions"] if kept else []))


def list_missing(protocol: Protocol, record: Record) -> list[str]:
    """Return the numbers that an experiment asks for and a record does not have."""
    # A measure of several classes is recorded itself, without the counts of two.
    there = {name for each in protocol.quantities if each.name in record for name in each.fields}
    if {"predictions", "margins"} & set(record.get("arrays") or ()):
        there.add("predictions")
    return [
        name for name in _list_numbers(protocol, record["role"]) if name not in record and name not in there
    ]


def counts_series(name: str, title: str, quantity: Quantity, total: str = "t") -> Series:
    """Return a curve computed from the counts at each point; with total="window_n", from windowed counts."""
    prefix = total.removesuffix("n") if total != "t" else ""
    return Series(name, title, quantity, parts=(total, *(prefix + each for each in COUNTS[1:])), level=True)


def find_keep(trial: Trial) -> str:
    if "log_loss" in trial.wanted and start(trial.make_algorithm(), 1).has_variances:
        return "variances"
    return "margins" if needs_margins(trial.wanted) else ""


def measure_pass(trial: Trial, result: PassResult, source: Source) -> Outcome:
    """Return the counts of a pass, its other measures (None if undefined), and predictions if kept.

    If the trial is reported, also what its rows contributed by group.
    """
    series: dict[str, Any] = {}
    if trial.role == "report":
        series["groups"] = measure_groups(trial, result, source)
        series |= {"fifths": found} if (found := measure_fifths(trial, result)) else {}
    return replace(_measure_whole(trial, result), series=series)


def _measure_whole(trial: Trial, result: PassResult) -> Outcome:
    curve = result.curve
    if isinstance(result.learner, ClassLearner):
        matrix = result.learner.confusion
        kept = {"confusion": matrix}
        if "predictions" in trial.wanted and result.margins is not None:
            kept["predictions"] = result.margins.astype(np.int32)
        found = {**measures.of_matrix(matrix), **count_nonzeros(trial.wanted, result)}
        return Outcome(as_plain(found), arrays=kept)
    counts = {q.POSITIVES.name: int(curve.positives[-1]) if curve.t.size else 0}
    counts[q.FALSE_ALARMS.name] = int(curve.false_alarms[-1]) if curve.t.size else 0
    arrays: dict[str, NDArray[Any]] = {}
    if "predictions" in trial.wanted and result.margins is not None:
        arrays["margins"] = result.margins
    return Outcome({**counts, **measure_margins(trial.wanted, result)}, arrays=arrays)


def measure_margins(names: Sequence[str], result: PassResult) -> dict[str, Any]:
    margins, labels = result.margins, result.labels
    found = count_nonzeros(names, result)
    if margins is None or labels is None:
        return as_plain(found)
    for name in (each for each in measures.FROM_MARGINS if each in names):
        scores = scores_of(name, result)
        found[name] = math.nan if scores is None else measures.of_margins(name, labels, scores)
    return as_plain(found)


def scores_of(name: str, result: PassResult) -> Floats | None:
    """Return what a measure compares with the labels: margins or, if there are any, probabilities."""
    assert result.margins is not None
    if name != "log_loss":
        return result.margins
    return result.learner.probabilities(result.margins, result.variances)


def measure_groups(trial: Trial, result: PassResult, source: Source) -> dict[str, list[Any]]:
    """Return mistakes by group of their rows, and how much rows move what does not follow from counts."""
    number = seeds.count_groups(source.n)
    assert result.missed is not None
    missed, classes = result.missed[:number], result.learner.classes
    found = {"mistakes": missed[:, : max(2, classes)].sum(axis=1).tolist()}
    sums: dict[str, NDArray[Any]] = {}
    if isinstance(result.learner, ClassLearner):
        if names := [each for each in OWN_OF_CLASSES if each in trial.wanted]:
            sizes = source.count_labels(*drawn_rows(trial.seed, source, trial.setting))
            sums = {name: measures.class_influence(name, sizes, missed) for name in names}
    else:
        found["false_alarms"] = missed[:, 0].tolist()
        labels, groups = result.labels, result.groups
        for name in (each for each in measures.FROM_MARGINS if each in trial.wanted):
            if labels is not None and groups is not None and (scores := scores_of(name, result)) is not None:
                sums[name] = np.bincount(groups, measures.influence(name, labels, scores), number)
    return found | {name: round_sums(each) for name, each in sums.items() if np.isfinite(each).all()}


def measure_fifths(trial: Trial, result: PassResult) -> dict[str, list[Any]]:
    """Return what the fifths of a pass counted, and how much their rows move other measures.

    They end at the nearest points of the curve; a curve of fewer points has none.
    """
    curve, labels = result.curve, result.labels
    if curve.t.size < FIFTHS:
        return {}
    ends = [np.abs(curve.t - curve.t[-1] * part / FIFTHS).argmin() for part in range(1, FIFTHS + 1)]
    is_binary = result.learner.classes == 1
    counted = ("t", "mistakes", "positives", "false_alarms") if is_binary else ("t", "mistakes")
    found = {name: np.diff(getattr(curve, name)[ends], prepend=0).tolist() for name in counted}
    for name in (each for each in measures.FROM_MARGINS if each in trial.wanted and is_binary):
        if labels is not None and (scores := scores_of(name, result)) is not None:
            moved = measures.influence(name, labels, scores)
            sums = np.add.reduceat(moved, [0, *curve.t[ends[:-1]]])
            found |= {name: round_sums(sums)} if np.isfinite(sums).all() else {}
    return found


def round_sums(sums: NDArray[Any]) -> list[float]:
    """Round to 6 significant digits of the largest or, if these take too many bytes, to fewer, down to 3."""
    size = float(np.abs(sums).max(initial=0.0))
    exponent = math.floor(math.log10(size)) if size > 1e-200 else 0
    for digits in range(6, 2, -1):
        values = np.round(sums, digits - 1 - exponent).tolist()
        rounded = [int(value) if value.is_integer() else value for value in values]
        if sum(len(repr(value)) + 1 for value in rounded) <= MOST_BYTES:
            break
    return rounded


def drawn_rows(
    seed: int, source: Source, setting: Mapping[str, Any]
) -> tuple[Groups, Iterator[slice | Ints]]:
    """Return the groups of all rows, and the rows that trials with this setting predict, piece by piece."""
    pieces = seeds.pieces(seed, source.name, setting["part"], source.n, setting.get("block", 0))
    return seeds.groups(seed, source.name, source.n), pieces


def count_nonzeros(names: Sequence[str], result: PassResult) -> dict[str, float]:
    """Count the non-zero weights after a pass, if asked for; objects may not expose their weights."""
    if q.NONZEROS.name not in names:
        return {}
    is_object = result.learner.algorithm.definition.order == "object"
    return {q.NONZEROS.name: math.nan if is_object else int(np.count_nonzero(result.weights))}


def as_plain(values: Mapping[str, float]) -> dict[str, Any]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def accuracy_series(along: str, required: bool = True) -> tuple[Series, ...]:
    titles = {q.ACCURACY: "test accuracy (%)", q.BALANCED_ACCURACY: "balanced test accuracy (%)"}
    return tuple(
        Series(quantity.name, title, quantity, along_title=along, level=True, required=required)
        for quantity, title in titles.items()
    )


@dataclass(frozen=True)
class Scores:
    """Correct predictions by class (the last axis), and the number of test examples of each class."""

    right: Floats
    total: Floats

    @classmethod
    def count(cls, right: NDArray[np.bool_], positive: NDArray[np.bool_]) -> "Scores":
        signs = (~positive, positive)
        return cls(
            np.array([float(np.count_nonzero(right & sign)) for sign in signs]),
            np.array([float(np.count_nonzero(sign)) for sign in signs]),
        )

    def __add__(self, other: "Scores") -> "Scores":
        return Scores(self.right + other.right, self.total + other.total)

    @property
    def accuracy(self) -> Floats:
        return np.asarray(self.right.sum(axis=-1) / self.total.sum())

    @property
    def balanced(self) -> Floats:
        present = self.total > 0
        return np.asarray(np.mean(self.right[..., present] / self.total[present], axis=-1))

    @property
    def numbers(self) -> dict[str, float]:
        balanced = round(float(self.balanced), 12)
        return {"right": round(float(self.right.sum()), 6), "balanced_accuracy": balanced}
