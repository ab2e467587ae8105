"""What a run makes of a paper's claims, and what the paper's own table makes of them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from statistics import median

from scipy import special

from olbench.papers import Claim, Paper, Reported, Statement, standard_error
from olbench.protocols import get_protocol
from olbench.quantities import Quantity
from olbench.report.comparable import choose
from olbench.report.results import Results, aligned
from olbench.stats import LEVEL, paired_t

HOLDS, PARTLY, FAILS, NOT_CHECKED = "holds", "holds partly", "fails", "not checked"
OUTCOMES = (HOLDS, PARTLY, FAILS, NOT_CHECKED)
#: On how many of n data sets a claim must be true, from the strongest word to the weakest. Papers do not say
#: what "most" and "many" are; these are more than a half, and a third. A claim holds partly where it would
#: hold with the next weaker word.
NEEDED: dict[str, Callable[[int], int]] = {
    "every": lambda n: n,
    "most": lambda n: n // 2 + 1,
    "many": lambda n: math.ceil(n / 3),
    "some": lambda n: 1,
}


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
    """One quantity on one data set: a mean for each algorithm, and p of a test between two of them."""

    quantity: Quantity
    means: Mapping[str, float]
    test: Callable[[str, str], float]
    #: Digits that evidence shows.
    digits: int

    def loss(self, algorithm: str) -> float:
        """Return a mean turned so that lower is better."""
        return float(self.quantity.loss(self.means[algorithm]))

    def is_better(self, one: str, other: str) -> bool:
        """Tell whether one mean is better than the other."""
        return self.loss(one) < self.loss(other)

    def is_clearly_better(self, one: str, other: str) -> bool:
        """Tell whether one mean is better and the test says that this is not chance."""
        return self.is_better(one, other) and self.test(one, other) < LEVEL

    def text(self, *algorithms: str) -> str:
        """Return the means as evidence shows them."""
        return ", ".join(f"{each} {self.quantity.text(self.means[each], self.digits)}" for each in algorithms)


@dataclass(frozen=True)
class Observation:
    """Whether a statement is true on one data set, the numbers that decide it, and ratios of the means."""

    true: bool
    numbers: str
    ratios: tuple[float, ...]


def check_claims(results: Results, paper: Paper) -> list[ClaimVerdict]:
    """Return the verdict on each claim of a paper."""
    return [_check(claim, results, paper) for claim in paper.claims]


def _check(claim: Claim, results: Results, paper: Paper) -> ClaimVerdict:
    says = claim.says
    quantity = get_protocol(paper.protocol).quantity(says.quantity)
    ours = {name: our_numbers(results, paper, name, says, quantity) for name in says.datasets}
    verdict, evidence = _weigh(says, ours)
    if not quantity.judged:
        verdict, evidence = NOT_CHECKED, _describe_times(results, evidence)
    printed = {name: printed_numbers(paper, name, says, quantity) for name in says.datasets}
    own, table = _weigh(says, printed)
    return ClaimVerdict(claim.id, claim.text, claim.where, verdict, evidence, own, table)


def _describe_times(results: Results, evidence: str) -> str:
    if all(entry.exclusive for entry in results.entries if entry.done):
        return f"times are not judged; here {evidence}"
    return "times are not judged, and were measured while other trials ran"


def our_numbers(results: Results, paper: Paper, dataset: str, says: Statement, quantity: Quantity) -> Numbers:
    """Return what a run has for a statement; the test is the paired t-test over shared trials."""
    names = dict.fromkeys((*says.algorithms, *says.than))
    choices = {name: choose(results, paper, dataset, name) for name in names}
    entries = {name: entry for name, (entry, reason) in choices.items() if entry and not reason}
    values = aligned(entries.values(), quantity)

    def test(one: str, other: str) -> float:
        return paired_t(values[entries[one].label], values[entries[other].label])[1]

    # Equal counts in another order of summing are equal means.
    means = {name: round(entry.mean(quantity), 12) for name, entry in entries.items()}
    return Numbers(quantity, means, test, quantity.digits)


def printed_numbers(paper: Paper, dataset: str, says: Statement, quantity: Quantity) -> Numbers:
    """Return what the paper prints for a statement; equal digits are a tie."""
    names = dict.fromkeys((*says.algorithms, *says.than))
    found = {name: paper.of(dataset, name).get(says.quantity) for name in names}
    printed = {name: number for name, number in found.items() if number}

    def test(one: str, other: str) -> float:
        return printed_test(printed[one], printed[other])

    means = {name: number.mean for name, number in printed.items()}
    shown = quantity.digits if quantity.digits < 2 else quantity.digits - 1
    return Numbers(quantity, means, test, shown)


def printed_test(one: Reported, other: Reported) -> float:
    """Return p of Welch's t-test on the smallest difference, and the largest deviations, that print allows.

    The trials are not printed, so the pairs that the paper tests are lost; without them the test sees less. A
    deviation of 0.000 may be up to half a digit. Numbers without deviations are taken as shares of a sample;
    without its size nothing can be tested.
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


def _weigh(says: Statement, numbers: Mapping[str, Numbers]) -> tuple[str, str]:
    """Return the verdict over the data sets where a statement can be checked, and the evidence."""
    lacking = {name: _lacking(says, each) for name, each in numbers.items()}
    found = {name: find(says, each) for name, each in numbers.items() if not lacking[name]}
    if not found:
        fewest = min(lacking.values(), key=lambda names: len(names))
        return NOT_CHECKED, f"no comparable {', '.join(fewest)}"
    verdict = _outcome(says.on, [finding.true for finding in found.values()])
    return verdict, _evidence(says, found)


def _lacking(says: Statement, numbers: Numbers) -> list[str]:
    return [name for name in dict.fromkeys((*says.algorithms, *says.than)) if name not in numbers.means]


def _outcome(on: str, true: list[bool]) -> str:
    words = list(NEEDED)
    weaker = words[min(words.index(on) + 1, len(words) - 1)]
    if sum(true) >= NEEDED[on](len(true)):
        return HOLDS
    return PARTLY if sum(true) >= NEEDED[weaker](len(true)) else FAILS


def _evidence(says: Statement, found: Mapping[str, Observation]) -> str:
    """Return on how many data sets a statement is true, and the numbers where it is not.

    Of what is said of some data sets only, or of one, the numbers where it is true are shown.
    """
    true = [name for name, finding in found.items() if finding.true]
    false = [name for name in found if name not in true]
    text = f"on {len(true)} of {len(found)} data set{'s' if len(found) > 1 else ''}"
    if len(found) < len(says.datasets):
        text += f" ({len(says.datasets) - len(found)} more could not be checked)"
    ratios = [ratio for finding in found.values() for ratio in finding.ratios]
    if ratios:
        text += f", median ratio of the means {median(ratios):.2f}"
    word, names = ("not on", false)
    if true and (says.on == "some" or len(found) == 1):
        word, names = ("true on", true)
    shown = ", ".join(f"{name} ({found[name].numbers})" for name in names)
    return f"{text}; {word} {shown}" if shown else text


def find(says: Statement, numbers: Numbers) -> Observation:
    """Return whether a statement is true on a data set that has all of its algorithms."""
    return _FINDERS[says.kind](numbers, says.algorithms, says.than)


Names = tuple[str, ...]


def _ratios(numbers: Numbers, algorithms: Names, than: Names) -> tuple[float, ...]:
    means = numbers.means
    return tuple(means[a] / means[b] for a, b in product(algorithms, than) if means[b])


def _all(true: Callable[[Numbers, str, str], bool]) -> Callable[[Numbers, Names, Names], Observation]:
    """Return a finder for what must be true of every pair; it shows the first pair of which it is not."""

    def finder(numbers: Numbers, algorithms: Names, than: Names) -> Observation:
        pairs = list(product(algorithms, than))
        wrong = [pair for pair in pairs if not true(numbers, *pair)]
        nearest = max(pairs, key=lambda pair: numbers.loss(pair[0]) - numbers.loss(pair[1]))
        shown = numbers.text(*(wrong[0] if wrong else nearest))
        return Observation(not wrong, shown, _ratios(numbers, algorithms, than))

    return finder


def _not_better(numbers: Numbers, algorithms: Names, than: Names) -> Observation:
    found = _all(Numbers.is_better)(numbers, algorithms, than)
    return Observation(not found.true, found.numbers, found.ratios)


def _mostly_better(numbers: Numbers, algorithms: Names, than: Names) -> Observation:
    better = [numbers.is_better(a, b) for a, b in product(algorithms, than)]
    return Observation(2 * sum(better) > len(better), f"{sum(better)} of {len(better)} pairs", ())


def _best_or_joint(numbers: Numbers, algorithms: Names, than: Names) -> Observation:
    """Find by the rule for bold: the best mean, or not significantly worse."""
    best = min(than, key=numbers.loss)
    joint = [name for name in algorithms if not numbers.is_clearly_better(best, name)]
    ours = min(algorithms, key=numbers.loss)
    return Observation(bool(joint), numbers.text(*dict.fromkeys((ours, best))), ())


_FINDERS: dict[str, Callable[[Numbers, Names, Names], Observation]] = {
    "better": _all(Numbers.is_better),
    "mostly_better": _mostly_better,
    "significantly_better": _all(Numbers.is_clearly_better),
    "not_significantly_worse": _all(lambda numbers, a, b: not numbers.is_clearly_better(b, a)),
    "not_better": _not_better,
    "best_or_joint": _best_or_joint,
}
