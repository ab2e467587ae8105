"""A user's own file: a rule of either order, and objects with the methods of River and of scikit-learn."""

import math

import numpy as np

from olbench import Parameter, contestant, first_order, second_order


@first_order("shrinking", parameters=(Parameter("C", 1.0, "largest step"),))
def shrinking(m, s, mistake, q, t, k, p):
    """Take the step of PA-I and let a tenth of the weights go."""
    loss = max(0.0, 1.0 - m)
    if loss == 0.0 or s == 0.0:
        return loss, 1.0, 0.0
    return loss, 0.9, min(p[0], loss / s)


@second_order("fading", parameters=(Parameter("r", 1.0, "noise"),))
def fading(m, v, mistake, t, p):
    """Learn as AROW does, with a noise that grows with t and is half as large for mistakes."""
    loss = max(0.0, 1.0 - m)
    if loss == 0.0:
        return 0.0, 0.0, 0.0
    r = p[0] * math.sqrt(t) * (0.5 if mistake else 1.0)
    return loss, loss / (v + r), 1.0 / r


class OneByOne:
    """Logistic regression on standardised features: a zero moves a mean, a missing feature does not."""

    def __init__(self, cut):
        self.cut, self.n, self.moments, self.weights = cut, {}, {}, {}

    def _standardise(self, x):
        for j, value in x.items():
            mean, square = self.moments.get(j, (0.0, 0.0))
            n = self.n.get(j, 0)
            deviation = math.sqrt(square / n) if n and square > 0.0 else 1.0
            yield j, (value - mean) / deviation

    def predict_proba_one(self, x):
        score = 0.3 + sum(self.weights.get(j, 0.0) * z for j, z in self._standardise(x))
        positive = 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score))))
        return {True: positive, False: 1.0 - positive}

    def predict_one(self, x):
        return self.predict_proba_one(x)[True] >= self.cut

    def learn_one(self, x, y):
        error = float(y) - self.predict_proba_one(x)[True]
        for j, z in list(self._standardise(x)):
            self.weights[j] = self.weights.get(j, 0.0) + 0.5 * error * z
        for j, value in x.items():
            n = self.n[j] = self.n.get(j, 0) + 1
            mean, square = self.moments.get(j, (0.0, 0.0))
            step = (value - mean) / n
            self.moments[j] = mean + step, square + (value - mean) * (value - mean - step)


class RowByRow:
    """A perceptron with a bias and a margin."""

    def __init__(self, margin):
        self.margin, self.coef, self.bias = margin, None, 0.0

    def decision_function(self, X):
        return np.asarray(X @ self.coef).ravel() + self.bias

    def predict(self, X):
        return np.where(self.decision_function(X) >= 0.0, 1.0, -1.0)

    def partial_fit(self, X, y, classes=None):
        self.coef = np.zeros(X.shape[1]) if self.coef is None else self.coef
        if y[0] * self.decision_function(X)[0] <= self.margin:
            self.coef = self.coef + y[0] * np.asarray(X)[0]
            self.bias += y[0]
        return self


@contestant("one-by-one", parameters=(Parameter("cut", 0.5, "share above which the label is positive"),))
def one_by_one(cut):
    return OneByOne(cut)


@contestant("non-zeros", sparse=True, parameters=(Parameter("cut", 0.5, "as in one-by-one"),))
def non_zeros(cut):
    """Build the same object, which sees no zeros."""
    return OneByOne(cut)


@contestant("row-by-row", parameters=(Parameter("margin", 0.5, "margin below which it learns"),))
def row_by_row(margin):
    return RowByRow(margin)
