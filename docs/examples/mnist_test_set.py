"""One pass over the training digits of MNIST, and the accuracy on its test digits, in five orders.

SOL's wiki prints .9171 for OGD and .9226 for AROW (https://github.com/LIBOL/SOL/wiki).
"""

import numpy as np
from sklearn.base import clone

from olbench import load_dataset
from olbench.estimators import AROW, OGD, SCW1

TRAINING, ORDERS = 60_000, 5

if __name__ == "__main__":
    data = load_dataset("mnist-1-vs-2-unit", labels="all")
    X, y = data.X.tocsr(), data.y
    for name, learner in (
        ("OGD", OGD(C=1.0, multiclass="native")),
        ("AROW", AROW(r=1.0, covariance="diag", multiclass="native")),
        ("AROW, one-vs-rest", AROW(r=1.0, covariance="diag")),
        ("SCW-I", SCW1(C=0.0625, covariance="diag", multiclass="native")),
    ):
        scores = []
        for seed in range(ORDERS):
            own = clone(learner).set_params(random_state=seed).fit(X[:TRAINING], y[:TRAINING])
            scores.append(own.score(X[TRAINING:], y[TRAINING:]))
        print(f"{name}: {np.mean(scores):.4f} ± {np.std(scores, ddof=1):.4f}")
