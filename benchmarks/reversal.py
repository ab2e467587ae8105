"""What decides between CW and PA on generated documents: features, noise, length, weights or C.

    python -m benchmarks.reversal

varies one property of the generator at a time and prints the test accuracy of one pass over 85,000 documents,
tested on 10,000 others: CW (var-KL, diagonal) and PA-I, each with the best value of its grid on these, PA,
and by how much CW leads. docs/papers/cw2012.md refers to it.
"""

import numpy as np

from olbench import make_algorithm, online_pass
from olbench.learners.examples import as_examples
from olbench.papers.cw2012.corpus import Corpus

DOCUMENTS, TEST, TRAIN = 100_000, 10_000, 85_000
PHIS = (0.001, 0.01, 0.1, 1.0)
COSTS = (0.0001, 0.001, 0.01)
RARE, FREQUENT = {"words": 2_150_000}, {"words": 36_000}
#: The properties of each corpus besides the generator's defaults, which are noise 0.03 and decay 0.2.
CORPORA = (
    {**FREQUENT, "length": 75.0},
    {**FREQUENT, "length": 130.0},
    {**RARE, "length": 75.0},
    {**RARE, "length": 130.0},
    {**FREQUENT, "length": 75.0, "noise": 0.0},
    {**FREQUENT, "length": 75.0, "noise": 0.1},
    {**RARE, "length": 130.0, "noise": 0.0},
    {**RARE, "length": 130.0, "noise": 0.1},
    {**FREQUENT, "length": 75.0, "decay": 0.0},
    {**FREQUENT, "length": 75.0, "decay": 0.5},
)


def measure(generator: dict) -> tuple[float, dict[str, float]]:
    """Return features per document, and the accuracy of each algorithm in percent, by name."""
    X, y = Corpus(**generator, seed=7).draw(DOCUMENTS)
    examples, order = as_examples(X), np.random.default_rng(0).permutation(DOCUMENTS)
    train, test = order[-TRAIN:], order[:TEST]

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
    for generator in CORPORA:
        ratio, found = measure(generator)
        cw, pa, pa1 = found.values()
        what = ", ".join(f"{key} {value:g}" for key, value in generator.items() if key != "words")
        numbers = ", ".join(f"{key} {value:.2f}" for key, value in found.items())
        lead = f"CW leads PA by {cw - pa:+.1f} and PA-I by {cw - pa1:+.1f}"
        print(f"{ratio:.2f} features per document, {what}: {numbers}; {lead}", flush=True)


if __name__ == "__main__":
    main()
