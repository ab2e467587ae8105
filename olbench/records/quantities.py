"""Quantities that trials measure: the name, the format and which direction is better.

Statistics, tables, verdicts, claims and figures ask a quantity for its direction and its format, so that none
of them knows a quantity by name. A protocol lists its quantities; the built-in ones are defined here.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from olbench.errors import show_number

Floats = NDArray[np.float64]
#: The verdicts on a number that agrees with a reported one, from best to worst.
REPRODUCED, CLOSE = "reproduced", "close"
#: How many deviations (the larger of the reported one and ours) a verdict allows, plus half a printed digit.
#:
#: These are deviations over permutations, about four times the standard error of a mean of 20, so the bounds
#: are wide for the same procedure with other orders. They have to be: the order that the authors tuned on is
#: unknown, and so are the parameters they chose. In our run of scw.yaml, one step of the grid moves a mistake
#: rate by 0.7 deviations and the updates by 1.6 (medians). Within two deviations there is nothing to explain;
#: up to four, another choice of parameters is enough; beyond that, the procedure or the data may differ. Half
#: a digit is what rounding hides: 0.002 ± 0.000 means anything from 0.0015 to 0.0025.
#:
#: A proportion that is printed without a deviation is compared in standard errors instead: the binomial one
#: of its sample and that of our mean, added as variances.
TOLERANCES = {REPRODUCED: 2.0, CLOSE: 4.0}
#: However large the deviations are, numbers further apart than this factor are not close.
CLOSE_RATIO = 1.5
#: How far two values may be apart, relatively, whose last digits depend on the machine.
LAST_DIGITS = 1e-9


@dataclass(frozen=True)
class Quantity:
    """A number that trials measure."""

    name: str
    #: The heading in tables.
    title: str
    #: Digits after the decimal point.
    digits: int
    better: Literal["lower", "higher", "neither"] = "lower"
    #: Whether a verdict compares it with what a paper reports; times depend on the machine and are not.
    judged: bool = False
    #: Whether it must repeat to the last digit, on any machine and at any speed.
    exact: bool = False
    #: How far two records of a trial may be apart in it, relatively, unless it is exact. That of a time is
    #: infinite: it is not compared.
    tolerance: float = LAST_DIGITS
    #: The plural in a summary: "68 of 72 mistake rates".
    plural: str = ""
    #: The two recorded counts that it is the ratio of, where a record keeps the counts.
    ratio: tuple[str, str] | None = None
    #: The recorded numbers that it is computed from, unless a record has it itself, and how.
    parts: tuple[str, ...] = ()
    formula: Callable[..., Any] | None = None
    #: Whether it is shown in percent.
    percent: bool = False
    #: Whether a value above zero casts doubt on the other numbers of its trial.
    flag: bool = False
    #: The score of always predicting the more frequent class: the share of that class ("majority"), that of
    #: the others ("minority") or a half; empty if that has no meaning.
    guessed: Literal["", "majority", "minority", "half"] = ""
    #: Whether it is a count: a whole number from 0.
    whole: bool = False
    #: Whether all reported trials of a cell have the same.
    same: bool = False
    #: Whether no trial can count more of them than it has examples; or than that for each of its classes.
    at_most_n: Literal[False, True, "per class"] = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The numbers of a record that it comes from."""
        return self.ratio or self.parts or (self.name,)

    @property
    def allowed(self) -> float:
        """How far two records of a trial may be apart in it, relatively."""
        return 0.0 if self.exact else self.tolerance

    @property
    def repeats(self) -> bool:
        """Whether two records of a trial must agree in it."""
        return self.allowed < math.inf

    @property
    def compared(self) -> str:
        """The number that two runs are compared in: a count rather than its ratio."""
        return self.ratio[0] if self.ratio else self.name

    def of(self, record: Mapping[str, Any]) -> float:
        """Return its value in the record of a trial that succeeded, NaN where it is not recorded."""
        if self.ratio:
            count, total = (record[name] for name in self.ratio)
            return float(count / total) if total else math.nan
        if self.formula and self.name not in record and all(name in record for name in self.fields):
            return float(self.formula(*(record[name] for name in self.parts)))
        value = record.get(self.name)
        return math.nan if value is None else float(value)

    def column(self, frame: Any) -> Floats:
        """Return its values from a frame with one row per trial."""
        if self.ratio:
            count, total = (np.array(frame[name], np.float64) for name in self.ratio)
            return np.asarray(np.divide(count, total, out=np.full(count.shape, math.nan), where=total != 0))
        own = np.array(frame[self.name], np.float64)
        if self.formula is None:
            return own
        computed = self.formula(*(np.array(frame[name], np.float64) for name in self.parts))
        return np.asarray(np.where(np.isnan(own), computed, own))

    def is_better(self, one: float, other: float) -> bool:
        """Return whether one value is strictly better than another."""
        return bool(self.loss(one) < self.loss(other))

    def loss(self, value: Any) -> Any:
        """Return a value, or an array of them, turned so that lower is better."""
        return -value if self.better == "higher" else value

    def guess(self, majority: float) -> float | None:
        """Return the score of always predicting the more frequent class, given its share."""
        scores = {"majority": majority, "minority": 1 - majority, "half": 0.5}
        return scores.get(self.guessed)

    @property
    def best(self) -> str:
        """The word for the best of several: lowest or highest."""
        return "highest" if self.better == "higher" else "lowest"

    @property
    def is_rate(self) -> bool:
        """Whether it is a share of examples, between 0 and 1."""
        return self.ratio is not None or self.percent

    @property
    def factor(self) -> int:
        """What a value is multiplied by to be shown: 100 in percent."""
        return 100 if self.percent else 1

    @property
    def top(self) -> float:
        """The largest value that can be shown: 1 for a rate, 100 in percent, otherwise no bound."""
        return 100.0 if self.percent else 1.0 if self.is_rate else math.inf

    @property
    def counted(self) -> str:
        """The plural in a summary."""
        return self.plural or self.title

    def text(self, value: float, digits: int | None = None, sign: str = "") -> str:
        """Return a value as tables print it, with thousands apart; `sign` "+" shows that of a difference.

        NaN, a value that is not recorded, is a dash.
        """
        if math.isnan(value):
            return "–"
        return show_number(self.factor * value, self.digits if digits is None else digits, sign)

    def spread(self, mean: float, deviation: float) -> str:
        """Return a mean and its deviation as the papers print them."""
        return self.text(mean) if math.isnan(mean) else f"{self.text(mean)} ± {self.text(deviation)}"


def mean_and_deviation(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean and the sample standard deviation (n - 1); a single value has deviation 0.

    >>> mean_and_deviation([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    array = np.fromiter(values, np.float64)
    return float(array.mean()), float(array.std(ddof=1)) if array.size > 1 else 0.0


_count = partial(Quantity, digits=1, exact=True, whole=True)
_percentage = partial(Quantity, digits=2, exact=True, percent=True)
_accuracy = partial(_percentage, better="higher", judged=True)

MISTAKE_RATE = Quantity(
    "mistake_rate",
    "mistake rate",
    4,
    judged=True,
    exact=True,
    plural="mistake rates",
    ratio=("mistakes", "n"),
    guessed="minority",
)
MISTAKES = _count("mistakes", "mistakes", at_most_n=True)
UPDATES = _count("updates", "updates", judged=True, plural="update counts", at_most_n="per class")
EFFECTIVE_UPDATES = _count("effective_updates", "effective updates", at_most_n="per class")
POSITIVES = _count("positives", "positive examples", better="neither", at_most_n=True)
FALSE_ALARMS = _count("false_alarms", "false alarms", at_most_n=True)
LABELS = _count("labels", "labels learnt")
MAJORITY_MISTAKES = _count("majority_mistakes", "mistakes of the majority so far", better="neither")
NO_CHANGE_MISTAKES = _count("no_change_mistakes", "mistakes of no change", better="neither")
BREAKDOWNS = _count("breakdowns", "breakdowns", flag=True)
ROUNDS = _count("n", "examples", digits=0, better="neither")
SAME_ROUNDS = replace(ROUNDS, same=True)
SECONDS = Quantity("seconds", "seconds", 4, tolerance=math.inf)
CPU_SECONDS = replace(SECONDS, name="cpu_seconds", title="CPU seconds")
TEST_ERROR = _percentage(
    "test_error",
    "test error (%)",
    judged=True,
    plural="test errors",
    ratio=("errors", "n"),
    guessed="minority",
)
TRAINING_ERROR = _percentage("training_error", "training error (%)", ratio=("training_errors", "training_n"))
ACCURACY = _accuracy(
    "accuracy", "accuracy (%)", plural="accuracies", ratio=("right", "n"), guessed="majority"
)
BALANCED_ACCURACY = _accuracy(
    "balanced_accuracy", "balanced accuracy (%)", plural="balanced accuracies", guessed="half"
)
EARLY_ACCURACY = _accuracy(
    "early_accuracy", "early accuracy (%)", plural="early accuracies", ratio=("early_right", "n")
)
EARLY_BALANCED_ACCURACY = _accuracy(
    "early_balanced_accuracy", "early balanced accuracy (%)", plural="early balanced accuracies"
)
RIGHT = Quantity("right", "right predictions", 1, better="higher", exact=True)
EARLY_RIGHT = Quantity("early_right", "early right predictions", 1, better="higher", exact=True)
TUNED = Quantity("tuned", "tuned", 0, better="neither", exact=True)
ERRORS = _count("errors", "errors", at_most_n=True)
TRAINING_ERRORS = _count("training_errors", "training errors")
TRAINING_ROUNDS = _count("training_n", "training examples", digits=0, better="neither")
MODEL_BYTES = Quantity("model_bytes", "bytes of a shard's model", 0, exact=True)
EPOCHS = _count("epochs", "epochs", better="neither")
NONZEROS = _count("nonzeros", "non-zero weights")
STATE_BYTES = _count("state_bytes", "bytes of the learner", digits=0)

#: The counts by name, which a record is checked for whichever protocol wrote it.
COUNTS = {each.name: each for each in tuple(globals().values()) if isinstance(each, Quantity) and each.whole}
