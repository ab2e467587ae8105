"""The protocol `fresh`: every run draws a sample of its own (cw2008, section 5)."""

from typing import Any

import numpy as np

from olbench.data.catalog import catalog
from olbench.data.dataset import Dataset
from olbench.data.load import load_run
from olbench.data.source import Source
from olbench.learners.breakdowns import Breakdown, find_breakdown
from olbench.learners.examples import as_examples
from olbench.learners.passes import online_pass, predict_signs
from olbench.protocols.definition import Key, Protocol, Series, Stopped, protocol, whole
from olbench.protocols.online import columns_of, counts_of, refuse_batch
from olbench.protocols.specs import Config
from olbench.records.quantities import (
    BREAKDOWNS,
    EFFECTIVE_UPDATES,
    ERRORS,
    MISTAKES,
    ROUNDS,
    SECONDS,
    TEST_ERROR,
    UPDATES,
)
from olbench.records.trial import Outcome, Trial

#: The runs that tune are numbered from here: no reported run can have such a number.
TUNING_RUNS = 1_000_000


@protocol
class Fresh(Protocol):
    """Draw a new sample for every run, learn its training rows online, and test on the rest."""

    id = "fresh"
    keys = (
        Key("runs", whole(1), 1000, "samples, the same for every algorithm"),
        Key("curve", whole(1), 50, "points of the online curves"),
    )
    tuning_keys = (Key("runs", whole(1), 20, "samples that score a candidate"),)
    order_free = ("runs", "curve", "tuning.runs")
    numbered = "run"
    quantities = (MISTAKES, TEST_ERROR, UPDATES, SECONDS)
    recorded = (ROUNDS, ERRORS, EFFECTIVE_UPDATES, BREAKDOWNS)
    timed_examples = ("points",)
    series = (
        Series("mistakes", "cumulative number of mistakes", MISTAKES),
        Series("updates", "cumulative number of updates", UPDATES),
    )
    curved = True

    refuse = refuse_batch

    def refuse_source(self, config: Config, source: Source) -> str:
        entry = None if source.spec.path else catalog().get(source.spec.name)
        if entry is not None and entry.sample == "per-run":
            return ""
        drawn = ", ".join(each.name for each in catalog().values() if each.sample == "per-run")
        return (
            f"{source.name} is the same in every run, so protocol: fresh does not apply; use protocol: "
            f"online, or one of {drawn}"
        )

    def setting(self, config: Config, role: str) -> dict[str, Any]:
        return {"points": self.setting_of(config, "curve") if role == "report" else 1}

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
