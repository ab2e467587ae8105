"""What decides between CW and PA on generated documents: features per document, noise, length, or C.

    python datasets/reversal.py

varies one property of the generator at a time and prints the test accuracy of one pass over 27,000 documents,
tested on 3,000 others: CW (var-KL, diagonal) and PA-I, each with the value of its grid that is best on these,
PA, and by how much CW leads. docs/scale.md quotes the table.
"""

import numpy as np

from olbench import make_algorithm, online_pass
from olbench.data.corpus import Corpus
from olbench.examples import as_examples

DOCUMENTS, TEST = 30_000, 3000
PHIS = (0.01, 0.03, 0.1, 0.3)
COSTS = (0.001, 0.003, 0.01, 0.03, 0.1)
BASES = {
    "rare": {"words": 690_000, "length": 100.0, "seed": 2012},
    "frequent": {"words": 10_800, "length": 75.0, "seed": 2012},
}
CHANGES = ({}, {"noise": 0.0}, {"noise": 0.1}, {"length": 50.0}, {"length": 150.0})


def measure(generator: dict) -> tuple[float, dict[str, float]]:
    """Return features per document, and the accuracy of each algorithm in percent, by name."""
    X, y = Corpus(**generator).draw(DOCUMENTS)
    examples, order = as_examples(X), np.random.default_rng(0).permutation(DOCUMENTS)
    train, test = order[TEST:], order[:TEST]

    def accuracy(id: str, **settings: float | str) -> float:
        learner = online_pass(make_algorithm(id, **settings), examples, y, train, 1).learner
        return 100 * float(np.mean(learner.predict(examples.rows(), test) == y[test]))

    cw = {phi: accuracy("cw-var", phi=phi, covariance="diag") for phi in PHIS}
    pa1 = {C: accuracy("pa1", C=C) for C in COSTS}
    phi, C = max(cw, key=cw.get), max(pa1, key=pa1.get)
    found = {f"CW (phi={phi:g})": cw[phi], "PA": accuracy("pa"), f"PA-I (C={C:g})": pa1[C]}
    return X.shape[1] / DOCUMENTS, found


def main() -> None:
    """Print one line per corpus."""
    for name, base in BASES.items():
        for change in CHANGES:
            ratio, found = measure({**base, **change})
            cw, pa, pa1 = found.values()
            what = ", ".join(f"{key} {value:g}" for key, value in change.items()) or "as it is"
            numbers = ", ".join(f"{key} {value:.1f}" for key, value in found.items())
            lead = f"CW leads PA by {cw - pa:+.1f} and PA-I by {cw - pa1:+.1f}"
            print(f"{name} ({ratio:.2f} features per document), {what}: {numbers}; {lead}", flush=True)


if __name__ == "__main__":
    main()
