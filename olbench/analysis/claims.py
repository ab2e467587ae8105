"""A paper's claims, checked on a run and on the numbers that the paper prints."""

import math
import operator
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
from scipy import special

from olbench.analysis.difference import Difference, TrialContest
from olbench.analysis.published import OVERALL, Claim, Paper, Reported, Statement, standard_error
from olbench.analysis.stats import (
    LEVEL,
    Floats,
    derangements,
    mean_ranks,
    merge_ties,
    pitman_morgan,
    wilcoxon,
)
from olbench.analysis.verdicts import VERDICTS, Attempt, Judgement
from olbench.errors import count
from olbench.protocols import get_protocol
from olbench.protocols.definition import find_quantity
from olbench.records.quantities import Quantity, mean_and_deviation
from olbench.structs import choice, read_yaml

HOLDS, PARTLY, UNCLEAR, REVERSED, OPEN = "holds", "holds partly", "not significant", "reversed", "not decided"
#: The outcomes of a claim. One that is not true is reversed if its opposite is significant on at least half
#: of the data sets where it could be checked, and on more than it is true on. Not significant: the run
#: neither bears it out nor contradicts it significantly.
OUTCOMES = (HOLDS, PARTLY, UNCLEAR, REVERSED, OPEN)
#: On how many of n data sets a claim must be true, from the strongest word to the weakest. Papers do not
#: define "most" and "many"; here they mean more than half and at least a third. A claim holds partly if it
#: would hold with the next weaker word, or is true on half of the data sets.
NEEDED: dict[str, Callable[[int], int]] = {
    "every": lambda n: n,
    "most": lambda n: n // 2 + 1,
    "many": lambda n: math.ceil(n / 3),
    "some": lambda n: 1,
}
RANK = Quantity("rank", "mean rank", 2)
TIMES = "Times are those of our implementations, each trial alone; the authors' may differ in what is slow."
DERANGED = 200


@dataclass(frozen=True)
class ClaimVerdict:
    id: str
    text: str
    where: str
    verdict: str
    evidence: str
    own_verdict: str
    own_table: str
    datasets: tuple[str, ...] = ()
    other_size: tuple[str, ...] = ()
    parts: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class Weighed:
    verdict: str
    evidence: str
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Numbers(ABC):
    """What a statement is checked on: our numbers on a data set, printed ones, or mean ranks."""

    quantity: Quantity
    means: Mapping[str, float]
    digits: int
    #: The deviations over several trials, and how many these are.
    deviations: Mapping[str, float] = field(default_factory=dict)
    trials: Mapping[str, int] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    @abstractmethod
    def test(self, one: str, other: str) -> float:
        """Return p of the difference between two means."""

    def test_spread(self, one: str, other: str) -> float:
        """Return p of the difference between two deviations."""
        return 1.0

    def reach(self, one: str, other: str) -> float:
        """Return how much worse one may be than the other, by the interval of their difference."""
        return math.nan

    def loss(self, algorithm: str) -> float:
        return float(self.quantity.loss(self.means[algorithm]))

    def is_better(self, one: str, other: str) -> bool:
        return self.loss(one) < self.loss(other)

    def is_clearly_better(self, one: str, other: str) -> bool:
        return self.is_better(one, other) and self.test(one, other) < LEVEL

    def is_clearly_steadier(self, one: str, other: str) -> bool:
        return self.deviations[one] < self.deviations[other] and self.test_spread(one, other) < LEVEL

    def excess(self, one: str, other: str) -> float:
        """Return how much worse the other's mean is, as a share; NaN beside a mean of zero."""
        better, worse = self.means[one], self.means[other]
        if self.quantity.better == "higher":
            better, worse = worse, better
        return worse / better - 1 if better else math.nan

    def is_off(self, name: str, value: float) -> bool:
        """Return whether the 95% interval of a mean excludes a value; without trials there is none."""
        n = self.trials.get(name, 0)
        if n < 2:
            return False
        reach = float(special.stdtrit(n - 1, 1 - LEVEL / 2)) * self.deviations[name] / math.sqrt(n)
        return abs(self.means[name] - value) > reach

    def text(self, *algorithms: str) -> str:
        return ", ".join(f"{each} {self.quantity.text(self.means[each], self.digits)}" for each in algorithms)


@dataclass(frozen=True, kw_only=True)
class OurNumbers(Numbers):
    #: By the number of the trial: algorithms are paired.
    values: Mapping[str, Floats]
    overlap: float

    def _compare(self, one: str, other: str) -> Difference:
        if (one, other) not in self._compared:
            values, means = (np.stack([each[one], each[other]]) for each in (self.values, self.means))
            known = (one, other), means, self.quantity.better, None, values
            [self._compared[one, other]] = TrialContest(*known, overlap=self.overlap).differences(other)
        return self._compared[one, other]

    @cached_property
    def _compared(self) -> dict[tuple[str, str], Difference]:
        return {}

    def test(self, one: str, other: str) -> float:
        return self._compare(one, other).p

    def test_spread(self, one: str, other: str) -> float:
        return pitman_morgan(self.values[one], self.values[other])

    def reach(self, one: str, other: str) -> float:
        found = self._compare(one, other)
        worst = -found.low if self.quantity.better == "higher" else found.high
        return max(0.0, worst) if not math.isnan(worst) else math.nan


@dataclass(frozen=True, kw_only=True)
class PrintedNumbers(Numbers):
    printed: Mapping[str, Reported]

    def test(self, one: str, other: str) -> float:
        return printed_test(self.printed[one], self.printed[other])

    def test_spread(self, one: str, other: str) -> float:
        """By the F test: papers do not print single trials, so that these cannot be paired."""
        if not {one, other} <= self.trials.keys():
            return 1.0
        small, large = sorted((one, other), key=lambda name: self.deviations[name])
        ratio = (self.deviations[large] / self.deviations[small]) ** 2 if self.deviations[small] else math.inf
        return float(2 * special.fdtrc(self.trials[large] - 1, self.trials[small] - 1, ratio))


@dataclass(frozen=True, kw_only=True)
class MeanRanks(Numbers):
    losses: Mapping[str, Mapping[str, float]]

    def test(self, one: str, other: str) -> float:
        return wilcoxon(*np.array([[row[one], row[other]] for row in self.losses.values()]).T)[0]


@dataclass(frozen=True)
class Observation:
    true: bool
    numbers: str
    ratios: tuple[float, ...] = ()
    #: How much worse the intervals allow one to be that is claimed to be as good, as shares of means.
    reaches: tuple[float, ...] = ()
    is_reversed: bool = False
    is_weaker: bool = False


def check_claims(attempt: Attempt) -> list[ClaimVerdict]:
    found = []
    for claim in attempt.paper.claims:
        here = [_weigh_ours(attempt, part) for part in claim.parts]
        printed = [weigh_printed(attempt.paper, part) for part in claim.parts]
        checked = tuple(dict.fromkeys(name for each in here for name in each.datasets))
        pairs = zip(claim.parts, here, strict=True)
        parts = tuple((part.text, each.verdict, each.evidence) for part, each in pairs)
        about = claim.id, claim.text, claim.where
        ours, theirs = ((combine(e.verdict for e in each), _join(claim, each)) for each in (here, printed))
        sizes = tuple(filter(attempt.find_other_size, checked))
        found.append(ClaimVerdict(*about, *ours, *theirs, checked, sizes, parts if len(parts) > 1 else ()))
    return found


def combine(verdicts: Iterable[str]) -> str:
    decided = [each for each in verdicts if each != OPEN]
    if not decided:
        return OPEN
    if len(set(decided)) == 1:
        return decided[0]
    if HOLDS in decided or PARTLY in decided:
        return PARTLY
    return REVERSED if 2 * decided.count(REVERSED) >= len(decided) else UNCLEAR


def _join(claim: Claim, parts: Sequence[Weighed]) -> str:
    if len(parts) == 1:
        return parts[0].evidence
    texts = zip(claim.parts, parts, strict=True)
    return "; ".join(f"{part.text}: {each.verdict}, {each.evidence}" for part, each in texts)


def _weigh_ours(attempt: Attempt, statement: Statement) -> Weighed:
    quantity = attempt.quantity(statement.quantity)
    numbers = {name: our_numbers(attempt, name, statement.names, quantity) for name in statement.datasets}
    found = _weigh(statement, numbers)
    if quantity.repeats or found.verdict == OPEN:
        return found
    if not attempt.results.exclusive:
        return Weighed(OPEN, "times are judged only if every trial ran alone")
    return replace(found, evidence=f"{found.evidence}. {TIMES}")


def weigh_printed(paper: Paper, statement: Statement) -> Weighed:
    quantity = find_quantity(get_protocol(paper.protocol), statement.quantity)
    numbers = {name: printed_numbers(paper, name, statement, quantity) for name in statement.datasets}
    return _weigh(statement, numbers)


def read_expected(path: Path) -> dict[str, str]:
    """Read lines like `usps, cw, updates: reproduced` or `claim scw1-beats-cw: holds`; some are enough."""
    root = read_yaml(path)
    if not isinstance(root.value, dict):
        raise root.fail("expected verdicts are lines like `usps, cw, updates: reproduced`")
    return {
        key: choice(*(OUTCOMES if key.startswith("claim ") else VERDICTS))(node, f"the verdict on '{key}'")
        for key, node in root.value.items()
    }


def compare_expected(
    expected: Mapping[str, str], judgements: Iterable[Judgement], claims: Iterable[ClaimVerdict] = ()
) -> list[str]:
    current = _verdicts(judgements, claims)
    return [
        f"{key}: expected {wanted}, "
        + (f"found {current[key]}" if key in current else "but the paper reports no such number")
        for key, wanted in expected.items()
        if current.get(key) != wanted
    ]


def expected_text(judgements: Iterable[Judgement], claims: Iterable[ClaimVerdict] = ()) -> str:
    return "".join(f"{key}: {verdict}\n" for key, verdict in _verdicts(judgements, claims).items())


def _verdicts(judgements: Iterable[Judgement], claims: Iterable[ClaimVerdict]) -> dict[str, str]:
    found = {each.key: each.verdict for each in judgements}
    return found | {f"claim {claim.id}": claim.verdict for claim in claims}


def chances(attempt: Attempt) -> dict[str, Counter[str]]:
    """Return how often each claim has each outcome if every algorithm gets the results of another one.

    Only rows that the run has on all data sets of the claim change places.
    """
    claims = attempt.paper.claims
    named = [_row(name) for claim in claims for part in claim.parts for name in part.names]
    rows = list(dict.fromkeys((*attempt.paper.algorithms, *named)))
    # Claims about the same numbers share them, with the tests between them.
    numbers = cache(partial(our_numbers, attempt))
    return {claim.id: found for claim in claims if (found := _derange(attempt, claim, rows, numbers))}


def _derange(
    attempt: Attempt, claim: Claim, rows: Sequence[str], numbers: Callable[..., Numbers]
) -> Counter[str]:
    named = {_row(name) for part in claim.parts for name in part.names}
    datasets = dict.fromkeys(name for part in claim.parts for name in part.datasets)
    checked = [name for name in datasets if all(attempt.choose(name, row).usable for row in named)]
    tables, absent = [], set[str]()
    for part in claim.parts:
        quantity = attempt.quantity(part.quantity)
        # Another row takes the place of each name, at the same point of its curve.
        ends = dict.fromkeys(name.removeprefix(_row(name)) for name in part.names)
        names = tuple(row + end for row in rows for end in ends)
        tables.append({name: numbers(name, names, quantity) for name in part.datasets if name in checked})
        absent |= {_row(name) for each in tables[-1].values() for name in names if name not in each.means}
    present = [row for row in rows if row not in absent]
    if not checked or not named <= set(present) or len(present) < 3:
        return Counter()
    found: Counter[str] = Counter()
    for order in derangements(len(present), DERANGED):
        other = {row: present[place] for row, place in zip(present, order, strict=True)}
        parts = [_rename(part, other) for part in claim.parts]
        found[combine(_weigh(*each).verdict for each in zip(parts, tables, strict=True))] += 1
    return found


def _rename(statement: Statement, rows: Mapping[str, str]) -> Statement:
    def rename(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(rows[_row(name)] + name.removeprefix(_row(name)) for name in names)

    algorithms, than, ranked = map(rename, (statement.algorithms, statement.than, statement.ranked))
    return replace(statement, algorithms=algorithms, than=than, ranked=ranked)


def _row(name: str) -> str:
    return name.partition("@")[0]


def our_numbers(attempt: Attempt, dataset: str, names: tuple[str, ...], quantity: Quantity) -> OurNumbers:
    found = {name: pair for name in names if (pair := attempt.find(dataset, name, quantity))}
    size = max((entry.planned for entry, _ in found.values()), default=0)
    spreads = {name: mean_and_deviation(values) for name, (_, values) in found.items()}
    means = merge_ties(np.array([mean for mean, _ in spreads.values()])).tolist()
    trials = {name: values.size for name, (_, values) in found.items() if values.size > 1}
    left_out = {row: attempt.choose(dataset, row).reason for row in map(_row, found)}
    return OurNumbers(
        quantity=quantity,
        means=dict(zip(spreads, means, strict=True)),
        digits=quantity.digits,
        deviations={name: spreads[name][1] for name in trials},
        trials=trials,
        remarks=[f"of {row} on {dataset}, {why} and are left out" for row, why in left_out.items() if why],
        values={name: entry.align(own, size) for name, (entry, own) in found.items()},
        overlap=max((entry.overlap for entry, _ in found.values()), default=0.0),
    )


def printed_numbers(paper: Paper, dataset: str, statement: Statement, quantity: Quantity) -> PrintedNumbers:
    rows = {name: paper.of(dataset, name) for name in statement.names}
    printed = {name: row[quantity.name] for name, row in rows.items() if quantity.name in row}
    deviations = {name: n.deviation for name, n in printed.items() if n.deviation is not None}
    # How many digits are printed after the decimal point.
    digits = [len(number.printed.partition(" ")[0].partition(".")[2]) for number in printed.values()]
    return PrintedNumbers(
        quantity=quantity,
        means={name: number.mean for name, number in printed.items()},
        digits=max(digits, default=0),
        deviations=deviations,
        trials={name: number.n for name, number in printed.items() if name in deviations and number.n},
        printed=printed,
    )


def printed_test(one: Reported, other: Reported) -> float:
    """Return p of Welch's t-test on the smallest difference and the largest deviations that rounding allows.

    Papers do not print single trials, so a paired test is not possible, and this one detects less. A
    deviation printed as 0.000 may be as large as half a digit. A number without a deviation is treated as a
    proportion of its sample; without the sample size nothing can be tested.
    """
    rounding = one.half_unit + other.half_unit
    apart = abs(one.mean - other.mean) - rounding
    if apart <= 1e-9 * rounding or one.n is None or other.n is None:
        return 1.0
    a, b = (_variance(each) for each in (one, other))
    freedom = (a + b) ** 2 / (a**2 / (one.n - 1) + b**2 / (other.n - 1))
    return float(2 * special.stdtr(freedom, -apart / math.sqrt(a + b)))


def _variance(reported: Reported) -> float:
    if reported.deviation is None:
        return max(standard_error(reported), reported.half_unit) ** 2
    return max(reported.deviation, reported.half_unit) ** 2 / (reported.n or 1)


def _weigh(statement: Statement, numbers: Mapping[str, Numbers]) -> Weighed:
    steady = statement.kind == "steadier"
    known = {name: each.deviations if steady else each.means for name, each in numbers.items()}
    lacking = {name: [row for row in statement.names if row not in known[name]] for name in numbers}
    whole = {name: each for name, each in numbers.items() if not lacking[name]}
    if not whole:
        fewest = min(lacking.values(), key=lambda names: len(names))
        return Weighed(OPEN, f"no comparable number for {', '.join(fewest)}")
    if statement.on == OVERALL:
        return _weigh_ranks(statement, whole)
    found = {name: _FINDERS[statement.kind](each, statement) for name, each in whole.items()}
    return Weighed(_decide(statement.on, found), _evidence(statement, found, whole), tuple(found))


def _decide(on: str, found: Mapping[str, Observation]) -> str:
    true = sum(each.true for each in found.values())
    against = sum(each.is_reversed for each in found.values())
    needed, weaker = _needed(on, len(found))
    if true >= needed:
        return HOLDS
    if 2 * against >= len(found) and against > true:
        return REVERSED
    is_weaker = all(each.true or each.is_weaker for each in found.values())
    return PARTLY if true >= weaker or 2 * true >= len(found) or is_weaker else UNCLEAR


def _weigh_ranks(statement: Statement, numbers: Mapping[str, Numbers]) -> Weighed:
    losses = {
        dataset: {name: each.loss(name) for name in statement.names} for dataset, each in numbers.items()
    }
    means = mean_ranks(losses, ties="min")
    ranks = MeanRanks(quantity=RANK, means=means, digits=RANK.digits, losses=losses)
    evidence = f"mean ranks over {count(len(numbers), 'data set')}: {ranks.text(*statement.names)}"
    found = {OVERALL: _FINDERS[statement.kind](ranks, statement)}
    return Weighed(_decide("every", found), evidence, tuple(numbers))


def _needed(on: str, n: int) -> tuple[int, int]:
    """Return on how many of n checked data sets a claim must be true to hold, and to hold partly."""
    if on in NEEDED:
        words = list(NEEDED)
        weaker = words[min(words.index(on) + 1, len(words) - 1)]
        return NEEDED[on](n), NEEDED[weaker](n)
    true, all_of_them = map(int, on.split(" of "))
    return -(-true * n // all_of_them), NEEDED["most" if 2 * true > all_of_them else "many"](n)


def _evidence(
    statement: Statement, observations: Mapping[str, Observation], numbers: Mapping[str, Numbers]
) -> str:
    """A statement about "some" data sets, or one, shows numbers where it is true; others where it is not."""
    true = [name for name, each in observations.items() if each.true]
    false = [name for name, each in observations.items() if not each.true]
    text = f"on {len(true)} of {count(len(observations), 'data set')}"
    if backwards := sum(observations[name].is_reversed for name in false):
        text += f", reversed on {backwards}"
    if len(observations) < len(statement.datasets):
        text += f" ({len(statement.datasets) - len(observations)} more could not be checked)"
    ratios = [ratio for each in observations.values() for ratio in each.ratios]
    if ratios:
        text += f", median ratio of the means {median(ratios):.2f}"
    shares = [share for each in observations.values() for share in each.reaches]
    if shares:
        text += f", up to {median(shares):.0%} worse is not excluded (median)"
    show_true = true and (statement.on == "some" or len(observations) == 1)
    word, names = ("true on", true) if show_true else ("not on", false)
    details = ", ".join(f"{name} ({observations[name].numbers})" for name in names)
    remarks = dict.fromkeys(remark for each in numbers.values() for remark in each.remarks)
    return "; ".join(filter(None, (text, f"{word} {details}" if details else "", *remarks)))


def _pairs(statement: Statement) -> list[tuple[str, str]]:
    return list(product(statement.algorithms, statement.than))


def _compare_pairs(
    numbers: Numbers, statement: Statement, true: Callable[[Numbers, str, str], bool] = Numbers.is_better
) -> Observation:
    """Show the first pair that fails; reversed if half of the pairs differ significantly the other way."""
    pairs, means = _pairs(statement), numbers.means
    wrong = [pair for pair in pairs if not true(numbers, *pair)]
    nearest = max(pairs, key=lambda pair: numbers.loss(pair[0]) - numbers.loss(pair[1]))
    ratios = tuple(means[a] / means[b] for a, b in pairs if means[b])
    shown = numbers.text(*(wrong[0] if wrong else nearest))
    return Observation(not wrong, shown, ratios, is_reversed=bool(wrong) and _is_opposed(numbers, pairs))


def _is_opposed(numbers: Numbers, pairs: Sequence[tuple[str, str]]) -> bool:
    return 2 * sum(numbers.is_clearly_better(b, a) for a, b in pairs) >= len(pairs)


def _better(numbers: Numbers, statement: Statement) -> Observation:
    plain = _compare_pairs(numbers, statement)
    if statement.by is None:
        return plain
    least = statement.by
    found = _compare_pairs(numbers, statement, lambda numbers, a, b: numbers.excess(a, b) >= least)
    shares = ", ".join(f"{numbers.excess(a, b):+.1%}" for a, b in _pairs(statement))
    return replace(found, numbers=f"{found.numbers}, {shares}", is_weaker=plain.true)


def _not_clearly_worse(numbers: Numbers, statement: Statement) -> Observation:
    found = _compare_pairs(numbers, statement, lambda numbers, a, b: not numbers.is_clearly_better(b, a))
    shares = (numbers.reach(a, b) / (numbers.means[b] or math.nan) for a, b in _pairs(statement))
    return replace(found, reaches=tuple(share for share in shares if not math.isnan(share)))


def _not_better(numbers: Numbers, statement: Statement) -> Observation:
    found = _compare_pairs(numbers, statement)
    clearly = all(numbers.is_clearly_better(a, b) for a, b in _pairs(statement))
    return replace(found, true=not found.true, is_reversed=clearly)


def _mostly_better(numbers: Numbers, statement: Statement) -> Observation:
    pairs = _pairs(statement)
    better = sum(numbers.is_better(a, b) for a, b in pairs)
    shown = f"{better} of {count(len(pairs), 'pair')}"
    return Observation(2 * better > len(pairs), shown, is_reversed=_is_opposed(numbers, pairs))


def _best_is_better(numbers: Numbers, statement: Statement) -> Observation:
    best, rival = (min(names, key=numbers.loss) for names in (statement.algorithms, statement.than))
    opposed = numbers.is_clearly_better(rival, best)
    return Observation(numbers.is_better(best, rival), numbers.text(best, rival), is_reversed=opposed)


def _best_or_joint(numbers: Numbers, statement: Statement) -> Observation:
    """Find by the rule for bold: the best mean, or not significantly worse."""
    best = min(statement.than, key=numbers.loss)
    joint = [name for name in statement.algorithms if not numbers.is_clearly_better(best, name)]
    ours = min(statement.algorithms, key=numbers.loss)
    return Observation(bool(joint), numbers.text(*dict.fromkeys((ours, best))), is_reversed=not joint)


def _steadier(numbers: Numbers, statement: Statement) -> Observation:
    deviations = numbers.deviations
    pairs = _pairs(statement)
    wrong = [(a, b) for a, b in pairs if deviations[a] >= deviations[b]]
    pair = wrong[0] if wrong else max(pairs, key=lambda pair: deviations[pair[0]] - deviations[pair[1]])
    shown = (f"{each} ± {numbers.quantity.text(deviations[each], numbers.digits)}" for each in pair)
    opposed = 2 * sum(numbers.is_clearly_steadier(b, a) for a, b in pairs) >= len(pairs)
    return Observation(not wrong, ", ".join(shown), is_reversed=opposed)


def _compare_with_value(numbers: Numbers, statement: Statement) -> Observation:
    value, is_true = statement.value, operator.lt if statement.kind == "below" else operator.ge
    assert value is not None
    wrong = [name for name in statement.algorithms if not is_true(numbers.means[name], value)]
    opposed = [name for name in wrong if numbers.is_off(name, value)]
    shown = numbers.text(*(wrong or statement.algorithms))
    some, none = len(wrong) < len(statement.algorithms), len(opposed) == len(statement.algorithms)
    return Observation(not wrong, shown, is_reversed=none, is_weaker=some)


_FINDERS: dict[str, Callable[[Numbers, Statement], Observation]] = {
    "better": _better,
    "mostly_better": _mostly_better,
    "significantly_better": partial(_compare_pairs, true=Numbers.is_clearly_better),
    "not_significantly_worse": _not_clearly_worse,
    "not_better": _not_better,
    "best_or_joint": _best_or_joint,
    "best_is_better": _best_is_better,
    "steadier": _steadier,
    "below": _compare_with_value,
    "at_least": _compare_with_value,
}
