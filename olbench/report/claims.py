"""A paper's claims, checked on a run and on the numbers that the paper prints."""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import product
from statistics import median

from scipy import special

from olbench.papers import OVERALL, Claim, Paper, Reported, Statement, standard_error
from olbench.protocols import get_protocol
from olbench.quantities import Quantity, mean_and_deviation
from olbench.report.comparable import Choice, choose
from olbench.report.grid import count
from olbench.report.results import Entry, Floats, Results
from olbench.stats import LEVEL, PairedTest, mean_ranks, resampled_t

HOLDS, PARTLY, FAILS, NOT_CHECKED = "holds", "holds partly", "fails", "not checked"
OUTCOMES = (HOLDS, PARTLY, FAILS, NOT_CHECKED)
#: On how many of n data sets a claim must be true, from the strongest word to the weakest. Papers do not
#: define "most" and "many"; here they mean more than half and at least a third. A claim holds partly if it
#: would hold with the next weaker word.
NEEDED: dict[str, Callable[[int], int]] = {
    "every": lambda n: n,
    "most": lambda n: n // 2 + 1,
    "many": lambda n: math.ceil(n / 3),
    "some": lambda n: 1,
}
RANK = Quantity("rank", "mean rank", 2)


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim, whether it holds on our results, and whether it holds on the numbers that the paper prints."""

    id: str
    text: str
    where: str
    verdict: str
    evidence: str
    own_verdict: str
    #: The evidence in the paper's own table.
    own_table: str


@dataclass(frozen=True)
class Numbers:
    """One quantity on one data set: the mean of each algorithm, and the p-value between any two of them."""

    quantity: Quantity
    means: Mapping[str, float]
    test: Callable[[str, str], float]
    #: Digits that evidence shows.
    digits: int
    #: The deviation over trials, where there are several.
    deviations: Mapping[str, float] = field(default_factory=dict)
    #: The smallest difference that the test between two could have detected, where that is known.
    detectable: Callable[[str, str], float] = lambda one, other: math.nan

    def loss(self, algorithm: str) -> float:
        """Return a mean, negated if higher is better."""
        return float(self.quantity.loss(self.means[algorithm]))

    def is_better(self, one: str, other: str) -> bool:
        """Return whether one mean is better than the other."""
        return self.loss(one) < self.loss(other)

    def is_clearly_better(self, one: str, other: str) -> bool:
        """Return whether one mean is significantly better than the other."""
        return self.is_better(one, other) and self.test(one, other) < LEVEL

    def excess(self, one: str, other: str) -> float:
        """Return by which share the mean of the other is worse; no share of zero."""
        better, worse = self.means[one], self.means[other]
        if self.quantity.better == "higher":
            better, worse = worse, better
        return worse / better - 1 if better else math.nan

    def text(self, *algorithms: str) -> str:
        """Return the means as evidence shows them."""
        return ", ".join(f"{each} {self.quantity.text(self.means[each], self.digits)}" for each in algorithms)


@dataclass(frozen=True)
class Observation:
    """Whether a statement is true on one data set, the numbers that decide it, and ratios of means."""

    true: bool
    numbers: str
    ratios: tuple[float, ...] = ()
    #: The smallest differences that the tests of a claim of equality could have detected, as shares of means.
    detectable: tuple[float, ...] = ()


def check_claims(results: Results, paper: Paper) -> list[ClaimVerdict]:
    """Return the verdict on each claim of a paper."""
    chosen = cache(partial(choose, results, paper))
    alone = all(entry.exclusive for entry in results.entries if entry.done)
    return [_check(claim, paper, chosen, alone) for claim in paper.claims]


def _check(claim: Claim, paper: Paper, chosen: Callable[[str, str], Choice], alone: bool) -> ClaimVerdict:
    """Return the verdict on a claim; `alone` tells whether every trial of the run was timed alone."""
    statement = claim.says
    quantity = get_protocol(paper.protocol).quantity(statement.quantity)
    ours = {name: our_numbers(chosen, name, statement, quantity) for name in statement.datasets}
    verdict, evidence = _weigh(statement, ours)
    if not quantity.exact:
        shown = f"; here {evidence}" if alone else ", and were measured while other trials ran"
        verdict, evidence = NOT_CHECKED, f"times are not judged{shown}"
    return ClaimVerdict(
        claim.id, claim.text, claim.where, verdict, evidence, *weigh_printed(paper, statement)
    )


def weigh_printed(paper: Paper, statement: Statement) -> tuple[str, str]:
    """Return the verdict on a statement by the numbers that the paper prints, and the evidence."""
    quantity = get_protocol(paper.protocol).quantity(statement.quantity)
    return _weigh(
        statement, {name: printed_numbers(paper, name, statement, quantity) for name in statement.datasets}
    )


def our_numbers(
    chosen: Callable[[str, str], Choice], dataset: str, statement: Statement, quantity: Quantity
) -> Numbers:
    """Return the numbers of a run for a statement; the test is that of bold."""
    found: dict[str, tuple[Entry, Floats]] = {}
    for name in statement.names:
        row, _, point = name.partition("@")
        entry, reason = chosen(dataset, row)
        if entry is None or reason:
            continue
        values = entry.values_at(quantity, entry.point_at(point)) if point else entry.values(quantity)
        if values is not None:
            found[name] = entry, values
    size = max((entry.planned for entry, _ in found.values()), default=0)

    def compare(one: str, other: str) -> PairedTest:
        first, second = (entry.align(values, size) for entry, values in (found[one], found[other]))
        return resampled_t(first, second, max(found[one][0].overlap, found[other][0].overlap))

    spreads = {name: mean_and_deviation(values) for name, (_, values) in found.items()}
    # Equal counts in another order of summing are equal means.
    means = {name: round(mean, 12) for name, (mean, _) in spreads.items()}
    several = {name: spreads[name][1] for name, (_, values) in found.items() if values.size > 1}
    return Numbers(
        quantity,
        means,
        lambda one, other: compare(one, other).p,
        quantity.digits,
        several,
        lambda one, other: compare(one, other).detectable,
    )


def printed_numbers(paper: Paper, dataset: str, statement: Statement, quantity: Quantity) -> Numbers:
    """Return the printed numbers for a statement; equal digits are a tie."""
    rows = {name: paper.of(dataset, name) for name in statement.names}
    printed = {name: row[quantity.name] for name, row in rows.items() if quantity.name in row}

    def test(one: str, other: str) -> float:
        return printed_test(printed[one], printed[other])

    means = {name: number.mean for name, number in printed.items()}
    deviations = {name: n.deviation for name, n in printed.items() if n.deviation is not None}
    # How many digits are printed after the decimal point.
    digits = [len(number.printed.partition(" ")[0].partition(".")[2]) for number in printed.values()]
    return Numbers(quantity, means, test, max(digits, default=0), deviations)


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
    """Return the variance of a printed mean."""
    if reported.deviation is None:
        return max(standard_error(reported), reported.half_unit) ** 2
    return max(reported.deviation, reported.half_unit) ** 2 / (reported.n or 1)


def _weigh(statement: Statement, numbers: Mapping[str, Numbers]) -> tuple[str, str]:
    """Return the verdict over the data sets where a statement can be checked, and the evidence."""
    lacking = {name: _lacking(statement, each) for name, each in numbers.items()}
    whole = {name: each for name, each in numbers.items() if not lacking[name]}
    if not whole:
        fewest = min(lacking.values(), key=lambda names: len(names))
        return NOT_CHECKED, f"no comparable number for {', '.join(fewest)}"
    if statement.on == OVERALL:
        return _weigh_ranks(statement, whole)
    found = {name: find(statement, each) for name, each in whole.items()}
    true = sum(each.true for each in found.values())
    needed, weaker = _needed(statement.on, len(found))
    verdict = HOLDS if true >= needed else PARTLY if true >= weaker else FAILS
    return verdict, _evidence(statement, found)


def _lacking(statement: Statement, numbers: Numbers) -> list[str]:
    known = numbers.deviations if statement.kind == "steadier" else numbers.means
    return [name for name in statement.names if name not in known]


def _weigh_ranks(statement: Statement, numbers: Mapping[str, Numbers]) -> tuple[str, str]:
    """Return the verdict on what is said of mean ranks over the data sets, and the evidence."""
    losses = {
        dataset: {name: each.loss(name) for name in statement.names} for dataset, each in numbers.items()
    }
    ranks = Numbers(RANK, mean_ranks(losses), lambda one, other: math.nan, RANK.digits)
    evidence = f"mean ranks over {count(len(numbers), 'data set')}: {ranks.text(*statement.names)}"
    return HOLDS if find(statement, ranks).true else FAILS, evidence


def _needed(on: str, n: int) -> tuple[int, int]:
    """Return on how many of n data sets a statement must be true, and on how many to hold partly.

    "11 of 12" is the same share of the data sets that could be checked; weaker than a majority is "most".
    """
    if on in NEEDED:
        words = list(NEEDED)
        weaker = words[min(words.index(on) + 1, len(words) - 1)]
        return NEEDED[on](n), NEEDED[weaker](n)
    true, all_of_them = map(int, on.split(" of "))
    return -(-true * n // all_of_them), NEEDED["most" if 2 * true > all_of_them else "many"](n)


def _evidence(statement: Statement, observations: Mapping[str, Observation]) -> str:
    """Return on how many data sets a statement is true, and the numbers where it is not.

    A statement about "some" data sets, or about one, shows the numbers where it is true.
    """
    true = [name for name, each in observations.items() if each.true]
    false = [name for name, each in observations.items() if not each.true]
    text = f"on {len(true)} of {count(len(observations), 'data set')}"
    if len(observations) < len(statement.datasets):
        text += f" ({len(statement.datasets) - len(observations)} more could not be checked)"
    ratios = [ratio for each in observations.values() for ratio in each.ratios]
    if ratios:
        text += f", median ratio of the means {median(ratios):.2f}"
    shares = [share for each in observations.values() for share in each.detectable]
    if shares:
        text += f", median smallest difference that could have been detected {median(shares):.0%}"
    show_true = true and (statement.on == "some" or len(observations) == 1)
    word, names = ("true on", true) if show_true else ("not on", false)
    details = ", ".join(f"{name} ({observations[name].numbers})" for name in names)
    return f"{text}; {word} {details}" if details else text


def find(statement: Statement, numbers: Numbers) -> Observation:
    """Return whether a statement is true on a data set that has all of its algorithms."""
    return _FINDERS[statement.kind](numbers, statement)


Finder = Callable[[Numbers, Statement], Observation]


def _pairs(statement: Statement) -> list[tuple[str, str]]:
    return list(product(statement.algorithms, statement.than))


def _all(true: Callable[[Numbers, str, str], bool]) -> Finder:
    """Return a finder for what must be true of every pair; it shows the first pair of which it is not."""

    def finder(numbers: Numbers, statement: Statement) -> Observation:
        pairs, means = _pairs(statement), numbers.means
        wrong = [pair for pair in pairs if not true(numbers, *pair)]
        nearest = max(pairs, key=lambda pair: numbers.loss(pair[0]) - numbers.loss(pair[1]))
        ratios = tuple(means[a] / means[b] for a, b in pairs if means[b])
        return Observation(not wrong, numbers.text(*(wrong[0] if wrong else nearest)), ratios)

    return finder


def _better(numbers: Numbers, statement: Statement) -> Observation:
    """Find whether each is better than each other, by a share where one is given."""
    if statement.by is None:
        return _all(Numbers.is_better)(numbers, statement)
    least = statement.by
    found = _all(lambda numbers, a, b: numbers.excess(a, b) >= least)(numbers, statement)
    shares = ", ".join(f"{numbers.excess(a, b):+.1%}" for a, b in _pairs(statement))
    return replace(found, numbers=f"{found.numbers}, {shares}")


def _not_clearly_worse(numbers: Numbers, statement: Statement) -> Observation:
    """Find whether none is significantly worse, and which differences the tests could have detected."""
    found = _all(lambda numbers, a, b: not numbers.is_clearly_better(b, a))(numbers, statement)
    shares = (numbers.detectable(a, b) / (numbers.means[b] or math.nan) for a, b in _pairs(statement))
    return replace(found, detectable=tuple(share for share in shares if not math.isnan(share)))


def _not_better(numbers: Numbers, statement: Statement) -> Observation:
    found = _all(Numbers.is_better)(numbers, statement)
    return replace(found, true=not found.true)


def _mostly_better(numbers: Numbers, statement: Statement) -> Observation:
    better = [numbers.is_better(a, b) for a, b in _pairs(statement)]
    return Observation(2 * sum(better) > len(better), f"{sum(better)} of {len(better)} pairs")


def _best_is_better(numbers: Numbers, statement: Statement) -> Observation:
    best, rival = (min(names, key=numbers.loss) for names in (statement.algorithms, statement.than))
    return Observation(numbers.is_better(best, rival), numbers.text(best, rival))


def _best_or_joint(numbers: Numbers, statement: Statement) -> Observation:
    """Find by the rule for bold: the best mean, or not significantly worse."""
    best = min(statement.than, key=numbers.loss)
    joint = [name for name in statement.algorithms if not numbers.is_clearly_better(best, name)]
    ours = min(statement.algorithms, key=numbers.loss)
    return Observation(bool(joint), numbers.text(*dict.fromkeys((ours, best))))


def _steadier(numbers: Numbers, statement: Statement) -> Observation:
    """Find whether the deviation over trials is smaller."""
    deviations = numbers.deviations
    pairs = _pairs(statement)
    wrong = [(a, b) for a, b in pairs if deviations[a] >= deviations[b]]
    pair = wrong[0] if wrong else max(pairs, key=lambda pair: deviations[pair[0]] - deviations[pair[1]])
    shown = (f"{each} ± {numbers.quantity.text(deviations[each], numbers.digits)}" for each in pair)
    return Observation(not wrong, ", ".join(shown))


def _compared_with_value(true: Callable[[float, float], bool]) -> Finder:
    """Return a finder for means on one side of a value; it shows those on the other side, or all."""

    def finder(numbers: Numbers, statement: Statement) -> Observation:
        assert statement.value is not None
        wrong = [name for name in statement.algorithms if not true(numbers.means[name], statement.value)]
        return Observation(not wrong, numbers.text(*(wrong or statement.algorithms)))

    return finder


_FINDERS: dict[str, Finder] = {
    "better": _better,
    "mostly_better": _mostly_better,
    "significantly_better": _all(Numbers.is_clearly_better),
    "not_significantly_worse": _not_clearly_worse,
    "not_better": _not_better,
    "best_or_joint": _best_or_joint,
    "best_is_better": _best_is_better,
    "steadier": _steadier,
    "below": _compared_with_value(operator.lt),
    "at_least": _compared_with_value(operator.ge),
}
