"""What every number of a record must be: measures by scikit-learn, and passes of the reference learners.

Random orders are olbench's own, which define the trials.
"""

import itertools
import math
import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn import metrics

from olbench.records import seeds


@dataclass
class Pass:
    """What each prediction was, and how much had been learnt once the labels that came with it were there."""

    truth: list = field(default_factory=list)
    predicted: list = field(default_factory=list)
    margins: list = field(default_factory=list)
    shares: list = field(default_factory=list)
    updates: list = field(default_factory=list)
    labels: list = field(default_factory=list)
    effective: int = 0

    def cut(self, a, b=None):
        return Pass(*(np.array(getattr(self, name)[a:b]) for name in list(vars(self))[:6]))


def run_pass(learner, X, y, rows, delay=0):
    """Predict the rows in their order; the label of each is learnt `delay` predictions later."""
    found = Pass()
    for k, i in enumerate(rows):
        if not delay:
            learner.begin()
        predicted, margin, share = learner.look(X[i])
        found.truth.append(y[i])
        found.predicted.append(predicted)
        found.margins.append(float(margin) if margin is not None else math.nan)
        found.shares.append(math.nan if share is None else share)
        if k >= delay:
            learner.learn(X[rows[k - delay]], y[rows[k - delay]])
        found.updates.append(learner.updates)
        found.labels.append(max(0, k + 1 - delay))
    found.effective = learner.effective if learner.is_sure else None
    return found


def count(found):
    truth, predicted = np.array(found.truth) > 0, np.array(found.predicted, bool)
    return {
        "n": truth.size, "mistakes": int((truth != predicted).sum()), "positives": int(truth.sum()),
        "false_alarms": int((predicted & ~truth).sum()),
    }  # fmt: skip


def auc(found):
    truth = np.array(found.truth) > 0
    return metrics.roc_auc_score(truth, found.margins) if 0 < truth.sum() < truth.size else None


def measure(found, names, classes=0):
    """Return measures by scikit-learn; None where one is undefined."""
    y, f, guess = np.array(found.truth), np.array(found.margins), np.array(found.predicted)
    guess = guess if classes else np.where(guess, 1.0, -1.0)

    def recall(label):
        return metrics.recall_score(y, guess, pos_label=label, zero_division=0)

    known = {
        "mistake_rate": lambda: np.mean(y != guess), "accuracy": lambda: metrics.accuracy_score(y, guess),
        "balanced_accuracy": lambda: metrics.balanced_accuracy_score(y, guess),
        "sensitivity": lambda: recall(1), "specificity": lambda: recall(-1),
        "precision": lambda: metrics.precision_score(y, guess, zero_division=0),
        "f1": lambda: metrics.f1_score(y, guess, zero_division=0),
        "macro_f1": lambda: metrics.f1_score(y, guess, average="macro", zero_division=0),
        "g_mean": lambda: math.sqrt(recall(1) * recall(-1)),
        "kappa": lambda: metrics.cohen_kappa_score(y, guess),
        "mcc": lambda: metrics.matthews_corrcoef(y, guess), "auc": lambda: auc(found),
        "hinge_loss": lambda: np.maximum(0, 1 - y * f).mean(),
        "squared_loss": lambda: metrics.mean_squared_error(y, f),
        "log_loss": lambda: metrics.log_loss(y > 0, found.shares, labels=[False, True])
        if not np.isnan(found.shares).any() else None,
    }  # fmt: skip
    return {name: defined(known[name]) for name in names}


def defined(measure):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = measure()
    return None if value is None or not math.isfinite(value) else float(value)


def curve_points(n, count):
    count = max(1, min(count, n))
    return sorted({round(n * k / count) for k in range(1, count + 1)} - {0})


def products(grid):
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def order_of(seed, name, role, number, n, setting):
    part = setting["part"]
    if setting.get("order") != "windows":
        return seeds.order(seed, name, role, number, part, n).tolist()
    rows = []
    for places, own in seeds.windows(seed, name, role, number, part, n, setting["block"], setting["window"]):
        held = np.concatenate([np.arange(n)[place] for place in places])
        rows += held[own].tolist()
    return rows


def divide(rows, seed, name, folds, number):
    repeat, fold = divmod(number, folds)
    shuffled = rows[seeds.generator(seed, name, "split", repeat).permutation(rows.size)]
    test = np.sort(shuffled[fold::folds])
    return np.setdiff1d(rows, test), test


def hold_out(rows, y, random):
    """Return a stratified split: a fifth of each class is held out, at least one row and never all."""
    held = []
    for label in (-1, 1):
        own = rows[y[rows] == label]
        if own.size:
            held.append(random.permutation(own)[: min(max(1, round(own.size / 5)), own.size - 1)])
    test = np.sort(np.concatenate(held))
    return np.setdiff1d(rows, test), test
