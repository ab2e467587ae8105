"""Your own protocol: learn from a random half of the rows, measure accuracy on the other half."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from olbench import Cell, Experiment, Outcome, Protocol, Quantity, make_algorithm, online_pass, protocol
from olbench.protocols.definition import whole, wholes
from olbench.records import seeds

ACCURACY = Quantity(
    "accuracy", "accuracy", 1, better="higher", percent=True, judged=True, exact=True, plural="accuracies"
)


@dataclass(frozen=True)
class TrainTestExperiment(Experiment):
    splits: Annotated[int, whole(1), "random halves, the same for every algorithm"] = 10
    epochs: Annotated[tuple[int, ...], wholes(1), "passes over the training half; several are tuned"] = (1,)


class TrainTestCell(Cell):
    @property
    def tuned_settings(self):
        """Tune the number of epochs like a parameter."""
        return {"epochs": self.config.epochs}


@protocol
class TrainTest(Protocol):
    """Learn in one or more epochs from a random half of the rows; test on the other half."""

    id = "train-test"
    experiment = TrainTestExperiment((), ())
    numbered = "split"
    quantities = (ACCURACY,)

    def cells(self, sources):
        return [TrainTestCell(self, *each) for each in self.experiment.entries(sources)]

    def run(self, trial, source, stopped):
        """Learn from one half of the rows, and return the accuracy on the other."""
        data = source.open()
        rows = seeds.generator(trial.seed, trial.dataset, trial.role, trial.number).permutation(source.n)
        train, test = np.array_split(rows, 2)
        algorithm = make_algorithm(trial.algorithm, **trial.params, **trial.options)
        order = np.tile(train, trial.setting["epochs"])
        weights = online_pass(algorithm, data.examples, data.labels, order, 1, stopped).weights
        right = data.labels[test] * (data.examples.matrix()[test] @ weights) > 0
        return Outcome({"accuracy": float(right.mean())}, arrays={"right": right})
