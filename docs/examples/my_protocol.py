"""Your own protocol: learn from a random half of the rows, measure accuracy on the other half."""

import numpy as np

from olbench import Outcome, Protocol, Quantity, make_algorithm, online_pass, protocol
from olbench.protocols.definition import Key, whole, wholes
from olbench.records import seeds

ACCURACY = Quantity(
    "accuracy", "accuracy", 1, better="higher", percent=True, judged=True, exact=True, plural="accuracies"
)


@protocol
class TrainTest(Protocol):
    """Learn in one or more epochs from a random half of the rows; test on the other half."""

    id = "train-test"
    keys = (
        Key("splits", whole(1), 10, "random halves, the same for every algorithm"),
        Key("epochs", wholes(1), (1,), "passes over the training half; several values are tuned"),
    )
    searches = ("grid", "none")
    numbered = "split"
    quantities = (ACCURACY,)

    def tuned_settings(self, config):
        """Tune the number of epochs like a parameter."""
        return {"epochs": self.setting_of(config, "epochs")}

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
