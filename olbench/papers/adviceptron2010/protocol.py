"""Learn few examples and rules, and test on the rest after every example (adviceptron2010, section 5.3)."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from olbench.algorithms import get_definition
from olbench.algorithms.algorithm import Algorithm
from olbench.algorithms.definition import Definition
from olbench.algorithms.spec import AlgorithmSpec
from olbench.data.scale import as_dense
from olbench.data.source import Source
from olbench.errors import UserError, count
from olbench.learners.contestants import BatchLearner
from olbench.learners.examples import Examples, Floats, Ints, as_examples
from olbench.learners.passes import StoppedError
from olbench.learners.start import start
from olbench.learners.state import Learner
from olbench.papers.adviceptron2010.rules import (
    Plain,
    compile_for,
    describe,
    read_advice,
    read_rules,
    shipped_rules,
)
from olbench.papers.adviceptron2010.sets import Advice, Scaling, fit_scaling
from olbench.protocols import tuning
from olbench.protocols.definition import Cell, Protocol, Stopped, choice, protocol, whole
from olbench.protocols.measuring import Scores, accuracy_series
from olbench.protocols.specs import (
    SEARCH,
    ByDataset,
    Experiment,
    Tuning,
    by_dataset,
    refuse_unknown,
    setting_for,
)
from olbench.protocols.tuning import Choice
from olbench.records import quantities as q
from olbench.records.trial import Outcome, Trial
from olbench.structs import flag

#: With fewer training rows of a class, none is left to learn when one is held out.
FEWEST = 2
#: Examples and their labels.
Labelled = tuple[Examples, Floats]
FROM_1, FROM_2 = by_dataset(whole(1)), by_dataset(whole(2))


@dataclass(frozen=True)
class AdviceTuning(Tuning):
    search: Annotated[str, choice("nested", "none"), SEARCH] = "none"
    folds: Annotated[ByDataset[int], FROM_2, "parts of the training rows, each held out once"] = 5
    score: Annotated[
        ByDataset[str], by_dataset(choice("accuracy", "balanced_accuracy")), "the score on the rows held out"
    ] = "accuracy"


@dataclass(frozen=True)
class AdviceExperiment(Experiment):
    protocol: str = "advice"
    tuning: AdviceTuning = AdviceTuning()
    splits: Annotated[ByDataset[int], FROM_1, "random training sets, the same for every algorithm"] = 20
    train: Annotated[ByDataset[int], FROM_2, "rows of a training set; all others are tested"] = 200
    early: Annotated[ByDataset[int], FROM_1, "examples after which early accuracies are measured"] = 10
    scaling: Annotated[
        ByDataset[str], by_dataset(choice("standardise", "none")), "z-scores by the training rows, or none"
    ] = "standardise"
    advice: Annotated[Any, read_advice, "rules, a rule file, or either for each data set"] = None
    domain: Annotated[Any, by_dataset(flag), "whether rules include 0 <= x <= 1 for features of 0 and 1"] = (
        None
    )
    missing: Annotated[
        Any, by_dataset(choice("refuse", "drop")), "conditions on features that are missing"
    ] = None

    adds_bias = True
    order_free = ("splits", "early", "scaling", "advice", "domain", "missing", "tuning.folds", "tuning.score")

    def extend(self) -> "AdviceExperiment":
        """Refuse scaled data: rules refer to features in the units of the file."""
        if any(spec.reading.scale or spec.reading.bias for spec in self.datasets):
            raise UserError(
                "rules refer to the features of the file; leave out scale and bias (see the key scaling)"
            )
        return self

    def rules_for(self, source: Source) -> Plain | None:
        plain = setting_for(self, "advice", source.name)
        if plain is None and source.spec.name in shipped_rules():
            plain = read_rules(source.spec.name).plain()
        if plain is None:
            return None
        given = {name: setting_for(self, name, source.name) for name in ("domain", "missing")}
        return {**plain, **{name: value for name, value in given.items() if value is not None}}


@dataclass(frozen=True)
class AdviceCell(Cell):
    rules: Plain | None = field(kw_only=True)

    tunes_inside = True

    def trial_setting(self, choice: Choice, role: str) -> dict[str, Any]:
        config, dataset, grid = self.config, self.source.name, self.spec.grid
        own = {name: setting_for(config, name, dataset) for name in ("train", "early", "scaling")}
        if self.rules is not None:
            own["rules"] = dict(self.rules)
        if grid:
            own |= {name: setting_for(config.tuning, name, dataset) for name in ("folds", "score")}
            own["grid"] = {name: list(values) for name, values in grid.items()}
            own["defaults"] = {name: self.defaults[name] for name in grid}
            own["ties"] = config.tuning.ties
        return own


@protocol
class AdviceProtocol(Protocol):
    """Draw training sets, learn them with and without rules, and test on the rest after every example."""

    id = "advice"
    experiment: AdviceExperiment = AdviceExperiment((), ())
    numbered = "split"
    quantities = (q.ACCURACY, q.BALANCED_ACCURACY, q.EARLY_ACCURACY, q.EARLY_BALANCED_ACCURACY, q.SECONDS)
    recorded = (q.ROUNDS, q.RIGHT, q.EARLY_RIGHT, q.TUNED)
    series = accuracy_series("examples learnt")

    def refuse(self, definition: Definition) -> None:
        if definition.order == "object":
            raise UserError(
                f"{definition.id} has no weights, which protocol: advice tests after each example"
            )

    def cells(self, sources: Sequence[Source]) -> list[AdviceCell]:
        config = self.experiment
        for setting in config.own.values():
            refuse_unknown(setting, [spec.name for spec in config.datasets])
        for source in sources:
            names, zeros = describe(source)
            own = {"features": names.features, "classes": dict(names.classes), "missing_zeros": zeros}
            source.facts = own
            if (rules := config.rules_for(source)) is not None:
                compile_for(source, rules)
            if source.n <= setting_for(config, "train", source.name):
                raise UserError(
                    f"{source.name} has {count(source.n, 'row')}, which leaves none for testing; "
                    "lower 'train'"
                )
        return [
            AdviceCell(self, source, spec, place, rules=self._find_rules(source, spec))
            for source, spec, place in config.entries(sources)
        ]

    def _find_rules(self, source: Source, spec: AlgorithmSpec) -> Plain | None:
        if "advice" not in get_definition(spec.id).takes:
            return None
        rules = self.experiment.rules_for(source)
        if rules is None:
            raise UserError(
                f"{spec.id} takes advice, and there are no rules for {source.name}; write them under the "
                "key 'advice' of the config, or name a rule file there"
            )
        # Without places: a rule may move to another line.
        return {**rules, "places": [], "sources": []}

    def run(self, trial: Trial, source: Source, stopped: Stopped) -> Outcome:
        work = _Work(trial, source, stopped)
        return work.test(*work.choose())


def follow(
    algorithm: Algorithm, learnt: Labelled, tested: Labelled, times: Sequence[int]
) -> tuple[Scores, Floats]:
    """Run an algorithm once over the examples and score a test set after each of these numbers of examples.

    Return the scores, one row per number, and the final weights.

    >>> from olbench import make_algorithm
    >>> rows = as_examples(np.array([[1.0, 0.0], [0.0, 1.0]] * 3)), np.array([1.0, -1.0] * 3)
    >>> scores, weights = follow(make_algorithm("pa"), rows, rows, range(7))
    >>> scores.accuracy.tolist()
    [0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    from olbench.kernels.rows import score_rows

    (examples, y), (X_test, y_test) = learnt, tested
    learner: Any = start(algorithm, examples.d)
    # The weights that predict the next example score the test set, unless the algorithm predicts with a mean.
    is_plain = hasattr(learner, "w") and not algorithm.definition.averaged
    # Baselines have no weights, and those of SOP are not all that it predicts with.
    is_linear = algorithm.definition.order != "baseline" and not algorithm.definition.product
    order, margins, right, done = np.arange(X_test.n), np.empty(X_test.n), [], 0
    for end in times:
        learner.run(examples.rows(), y, np.arange(done, end))
        done = end
        w, factor = learner.weights, 1.0
        if is_plain:
            w, factor = learner.w, float(getattr(learner, "scalars", [1.0])[0])
        if is_linear:
            score_rows(X_test.rows(), order, w, margins)
        else:
            margins[:] = learner.predict(X_test.rows(), order)
        scores = Scores.count((factor * margins >= 0.0) == (y_test > 0), y_test > 0)
        right.append(scores.right)
    return Scores(np.array(right), scores.total), learner.weights


@dataclass(frozen=True, eq=False)
class _Fold:
    learnt: Labelled
    tested: Labelled
    advice: Advice | None
    scaling: Scaling


@dataclass(frozen=True)
class _Work:
    trial: Trial
    source: Source
    stopped: Stopped

    @cached_property
    def order(self) -> Ints:
        return self.trial.generator("advice split").permutation(self.source.n).astype(np.int64)

    @property
    def train(self) -> Ints:
        return self.order[: self.trial.setting["train"]]

    @cached_property
    def labels(self) -> Floats:
        return self.source.open().labels

    def _fold(self, train: Ints, test: Ints) -> _Fold:
        setting, X = self.trial.setting, self.source.open().examples.matrix()
        rows = as_dense(X[train])
        scaling = fit_scaling(rows, describe(self.source)[1], setting["scaling"] == "standardise")
        advice = None
        if "rules" in setting:
            natural = compile_for(self.source, setting["rules"])
            advice = natural.transform(scaling.mean, scaling.scale).with_constant()
        learnt, tested = (
            as_examples(np.column_stack([scaling.apply(part), np.ones(len(part))]))
            for part in (rows, as_dense(X[test]))
        )
        return _Fold((learnt, self.labels[train]), (tested, self.labels[test]), advice, scaling)

    def _algorithm(self, params: Choice, fold: _Fold) -> Algorithm:
        advice = {"advice": fold.advice} if "advice" in self.trial.definition.takes else {}
        return self.trial.make_algorithm(**params, **advice)

    def _scores(self, params: Choice, fold: _Fold, times: Sequence[int]) -> tuple[Scores, Floats]:
        """Return the scores after so many examples, one row each, and the weights after the last."""
        if self.stopped():
            raise StoppedError
        algorithm, (tested, y) = self._algorithm(params, fold), fold.tested
        if self.trial.definition.online:
            return follow(algorithm, fold.learnt, fold.tested, times)
        right, (examples, labels) = [], fold.learnt
        for end in times:
            learner = BatchLearner(algorithm).fit(examples.rows(), labels, np.arange(end))
            scores = Scores.count(learner.predict(tested.rows()) == y, y > 0)
            right.append(scores.right)
        weights = np.asarray(getattr(learner.model, "coef_", np.zeros(tested.d)), dtype=np.float64)
        return Scores(np.array(right), scores.total), weights

    def choose(self) -> tuple[Choice, bool]:
        setting = self.trial.setting
        if "grid" not in setting:
            return {}, False
        positives = int(np.count_nonzero(self.labels[self.train] > 0))
        if min(positives, self.train.size - positives) < FEWEST:
            return dict(setting["defaults"]), False
        folds = [self._fold(*parts) for parts in self._divide()]
        candidates = tuning.products(setting["grid"])
        losses = self._losses(candidates, folds)
        winners = [c for c, loss in zip(candidates, losses, strict=True) if loss == min(losses)]
        return tuning.pick(winners, setting["ties"]), True

    def _losses(self, candidates: Sequence[Choice], folds: Sequence[_Fold]) -> list[float]:
        """Return the loss of each candidate over all folds.

        It is infinite if the candidate would not win even with all rows right in the folds that are left out.
        """
        sizes = [Scores.count(y > 0, y > 0).total for _, y in (fold.tested for fold in folds)]
        remaining = [Scores(size, size) for size in np.cumsum(sizes[::-1], axis=0)[::-1]]
        losses, scores = [math.inf] * len(candidates), [self._score(each, folds[0]) for each in candidates]
        for k in sorted(range(len(candidates)), key=lambda k: self._loss(scores[k])):
            for fold, rest in zip(folds[1:], remaining[1:], strict=True):
                if self._loss(scores[k] + rest) > min(losses):
                    break
                scores[k] += self._score(candidates[k], fold)
            else:
                losses[k] = self._loss(scores[k])
        return losses

    def _score(self, candidate: Choice, fold: _Fold) -> Scores:
        scores, _ = self._scores(candidate, fold, [fold.learnt[0].n])
        return Scores(scores.right[-1], scores.total)

    def _loss(self, scores: Scores) -> float:
        share = scores.accuracy if self.trial.setting["score"] == "accuracy" else scores.balanced
        return -round(float(share), 12)

    def _divide(self) -> Iterator[tuple[Ints, Ints]]:
        rows, random = self.train, self.trial.generator("advice folds")
        parts = np.empty(rows.size, np.int64)
        for sign in (-1.0, 1.0):
            own = random.permutation(np.flatnonzero(self.labels[rows] == sign))
            parts[own] = np.arange(own.size) % self.trial.setting["folds"]
        for part in np.unique(parts):
            yield rows[parts != part], rows[parts == part]

    def test(self, chosen: Choice, tuned: bool) -> Outcome:
        fold = self._fold(self.train, self.order[self.train.size :])
        early = min(int(self.trial.setting["early"]), self.train.size)
        online = self.trial.definition.online
        measured = list(range(self.train.size + 1)) if online else [early, self.train.size]
        scores, weights = self._scores(chosen, fold, measured)
        times = measured if online else measured[-1:]
        seconds, state = self._time(chosen, fold)
        numbers = {
            "n": int(scores.total.sum()),
            "right": int(scores.right[-1].sum()),
            "balanced_accuracy": round(float(scores.balanced[-1]), 12),
            "early_right": int(scores.right[measured.index(early)].sum()),
            "early_balanced_accuracy": round(float(scores.balanced[measured.index(early)]), 12),
            "tuned": int(tuned),
            "seconds": round(seconds, 9),
        }
        accuracy, balanced = (each[-len(times) :].tolist() for each in (scores.accuracy, scores.balanced))
        curve: dict[str, list[Any]] = {
            "t": times,
            "accuracy": [round(share, 6) for share in accuracy],
            "balanced_accuracy": [round(round(share, 12), 6) for share in balanced],
        }
        # w and b of the plane w.x + b = 0 in the units of the data
        w = weights[:-1] / fold.scaling.scale
        plane = np.append(w, weights[-1] - w @ fold.scaling.mean)
        arrays = {"plane": plane} if self.trial.number == 0 else {}
        return Outcome(numbers, {"curve": curve}, chosen, arrays, state)

    def _time(self, chosen: Choice, fold: _Fold) -> tuple[float, int | None]:
        algorithm, (examples, y) = self._algorithm(chosen, fold), fold.learnt
        started = time.perf_counter()
        learner: Learner | BatchLearner
        if self.trial.definition.online:
            learner = start(algorithm, examples.d)
            learner.run(examples.rows(), y, np.arange(examples.n))
        else:
            learner = BatchLearner(algorithm).fit(examples.rows(), y)
        return time.perf_counter() - started, learner.state_bytes
