"""A protocol of one's own, for the tests: learn on a random half, test on the other.

Higher is better, the number of epochs is tuned like a parameter, and every trial stores its predictions.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from olbench import Cell, Experiment, Outcome, Protocol, Quantity, make_algorithm, online_pass, protocol
from olbench.protocols.definition import whole, wholes
from olbench.records import seeds

ACCURACY = Quantity(
    "accuracy", "accuracy", 2, better="higher", judged=True, exact=True, plural="accuracies", percent=True
)
MARGIN = Quantity("margin", "mean margin", 3, better="higher")


@dataclass(frozen=True)
class HalvesExperiment(Experiment):
    splits: Annotated[int, whole(1), "random halves"] = 4
    epochs: Annotated[tuple[int, ...], wholes(1), "passes over the training half; several are tuned"] = (1,)


class HalvesCell(Cell):
    @property
    def tuned_settings(self):
        """Tune the number of epochs like a parameter."""
        return {"epochs": self.config.epochs}


@protocol
class Halves(Protocol):
    """Learn on one half of the rows in several epochs, and count what is right on the other half."""

    id = "halves"
    experiment = HalvesExperiment((), ())
    numbered = "split"
    quantities = (ACCURACY, MARGIN)

    def cells(self, sources):
        return [HalvesCell(self, *each) for each in self.experiment.entries(sources)]

    def run(self, trial, source, stopped):
        data = source.open()
        rows = seeds.generator(trial.seed, trial.dataset, trial.role, trial.number).permutation(source.n)
        train, test = rows[: source.n // 2], rows[source.n // 2 :]
        algorithm = make_algorithm(trial.algorithm, **trial.params, **trial.options)
        order = np.tile(train, trial.setting["epochs"])
        weights = online_pass(algorithm, data.examples, data.labels, order, 1, stopped).weights
        margins = data.labels[test] * (data.examples.matrix()[test] @ weights)
        right = margins > 0
        numbers = {"accuracy": float(right.mean()), "margin": float(margins.mean())}
        return Outcome(numbers, arrays={"right": right})
