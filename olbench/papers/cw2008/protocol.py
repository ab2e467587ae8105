"""The protocol `fresh`: every run draws its own sample (cw2008, section 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from olbench.data.catalog import catalog
from olbench.data.dataset import Dataset
from olbench.data.load import load_run
from olbench.data.source import Source
from olbench.errors import UserError
from olbench.learners.breakdowns import Breakdown, find_breakdown
from olbench.learners.examples import as_examples
from olbench.learners.passes import online_pass, predict_signs
from olbench.protocols.definition import Cell, Protocol, Series, Stopped, protocol, whole
from olbench.protocols.online import columns_of, counts_of, refuse_batch
from olbench.protocols.specs import Experiment, Tuning
from olbench.records import quantities as q
from olbench.records.trial import Outcome, Trial

#: Tuning runs are numbered from here, above all reported runs.
TUNING_RUNS = 1_000_000


@dataclass(frozen=True)
class FreshTuning(Tuning):
    runs: Annotated[int, whole(1), "samples that score a candidate"] = 20


@dataclass(frozen=True)
class FreshExperiment(Experiment):
    protocol: str = "fresh"
    tuning: FreshTuning = FreshTuning()
    runs: Annotated[int, whole(1), "samples, the same for every algorithm"] = 1000
    curve: Annotated[int, whole(1), "points of the online curves"] = 50

    order_free = ("runs", "curve", "tuning.runs")

    @property
    def tuning_repeats(self) -> int:
        return self.tuning.runs

    def setting(self, role: str) -> dict[str, Any]:
        return {"points": self.curve if role == "report" else 1}


@protocol
class Fresh(Protocol):
    """Draw a new sample for every run, learn its training rows online, and test on the rest."""

    id = "fresh"
    experiment: FreshExperiment = FreshExperiment((), ())
    numbered = "run"
    draws_data = True
    quantities = (q.MISTAKES, q.TEST_ERROR, q.UPDATES, q.SECONDS)
    recorded = (q.ROUNDS, q.ERRORS, q.EFFECTIVE_UPDATES, q.BREAKDOWNS)
    series = (
        Series("mistakes", "cumulative number of mistakes", q.MISTAKES, required=True),
        Series("updates", "cumulative number of updates", q.UPDATES),
    )

    refuse = refuse_batch

    def cells(self, sources: Sequence[Source]) -> Sequence[Cell]:
        drawn = [each.name for each in catalog().values() if each.sample == "per-run"]
        for source in sources:
            if source.spec.path or source.spec.name not in drawn:
                raise UserError(
                    f"{source.name} is the same in every run, so protocol: fresh does not apply; use "
                    f"protocol: online, or one of {', '.join(drawn)}"
                )
        return super().cells(sources)

    def run(self, trial: Trial, source: Source, stopped: Stopped) -> Outcome:
        data = _draw(trial, source)
        examples, labels = as_examples(data.X), np.asarray(data.y)
        rows = np.arange(examples.n)
        train, test = rows[: data.test_from], rows[data.test_from :]
        points = trial.setting["points"]
        result = online_pass(trial.make_algorithm(), examples, labels, train, points, stopped)
        wrong = predict_signs(result.learner, examples, test) != labels[test]
        numbers = {"n": test.size, "errors": int(np.count_nonzero(wrong)), **counts_of(result)}
        curve = columns_of(result.curve)
        shown = {name: curve[name] for name in ("t", "mistakes", "updates")}
        return Outcome(numbers, {"curve": shown}, state_bytes=result.learner.state_bytes)

    def find_breakdown(self, trial: Trial) -> Breakdown | None:
        data = _draw(trial, trial.source)
        rows = np.arange(data.test_from or 0)
        return find_breakdown(trial.make_algorithm(), data.X, np.asarray(data.y), rows)


def _draw(trial: Trial, source: Source) -> Dataset:
    return load_run(source.spec.name, trial.number + (TUNING_RUNS if trial.role == "tune" else 0))
