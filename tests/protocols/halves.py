"""A protocol of one's own, for the tests: learn on a random half, test on the other.

Higher is better, the number of epochs is tuned like a parameter, and every trial stores its predictions.
"""

import numpy as np

from olbench import Outcome, Protocol, Quantity, make_algorithm, online_pass, protocol
from olbench.protocols.definition import Key, whole, wholes
from olbench.records import seeds

ACCURACY = Quantity(
    "accuracy", "accuracy", 2, better="higher", judged=True, exact=True, plural="accuracies", percent=True
)
MARGIN = Quantity("margin", "mean margin", 3, better="higher")


@protocol
class Halves(Protocol):
    """Learn on one half of the rows in several epochs, and count what is right on the other half."""

    id = "halves"
    keys = (
        Key("splits", whole(1), 4, "random halves"),
        Key("epochs", wholes(1), (1,), "passes over the training half; several are tuned"),
    )
    searches = ("grid", "none")
    numbered = "split"
    quantities = (ACCURACY, MARGIN)

    def tuned_settings(self, config):
        return {"epochs": self.setting_of(config, "epochs")}

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
