"""What a run makes of a paper's claims, and what the paper's own table makes of them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from statistics import median

from scipy import special

from olbench.papers import Cell, Claim, Paper, Reported, Statement
from olbench.report.comparable import choose
from olbench.report.frame import Results, aligned
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

    means: Mapping[str, float]
    test: Callable[[str, str], float]
    decimals: int

    def below(self, one: str, other: str) -> bool:
        """Tell whether one mean is lower than the other."""
        return self.means[one] < self.means[other]

    def clearly_below(self, one: str, other: str) -> bool:
        """Tell whether one mean is lower and the test says that it is no chance."""
        return self.below(one, other) and self.test(one, other) < LEVEL

    def shown(self, *algorithms: str) -> str:
        """Return the means as evidence shows them."""
        return ", ".join(f"{each} {self.means[each]:.{self.decimals}f}" for each in algorithms)


@dataclass(frozen=True)
class Finding:
    """Whether a statement is true on one data set, the numbers that decide it, and ratios of the means."""

    true: bool
    numbers: str
    ratios: tuple[float, ...]


def check_claims(results: Results, paper: Paper) -> list[ClaimVerdict]:
    """Return the verdict on each claim of a paper."""
    return [_checked(claim, results, paper) for claim in paper.claims]


def _checked(claim: Claim, results: Results, paper: Paper) -> ClaimVerdict:
    says = claim.says
    verdict, evidence = _weighed(says, {name: our_numbers(results, name, says) for name in says.datasets})
    if says.quantity == "seconds":
        verdict, evidence = NOT_CHECKED, _about_times(results, evidence)
    own, table = _weighed(says, {name: printed_numbers(paper, name, says) for name in says.datasets})
    return ClaimVerdict(claim.id, claim.text, claim.where, verdict, evidence, own, table)


def _about_times(results: Results, evidence: str) -> str:
    if all(entry.exclusive for entry in results.entries if entry.done):
        return f"times are not judged; here {evidence}"
    return "times are not judged, and were measured while other trials ran"


def our_numbers(results: Results, dataset: str, says: Statement) -> Numbers:
    """Return what a run has for a statement; the test is the paired t-test over shared permutations."""
    names = dict.fromkeys((*says.algorithms, *says.than))
    choices = {name: choose(results, dataset, name) for name in names}
    entries = {name: entry for name, (entry, reason) in choices.items() if entry and not reason}
    values = aligned(entries.values(), says.quantity)

    def test(one: str, other: str) -> float:
        return paired_t(values[entries[one].label], values[entries[other].label])[1]

    # Equal counts in another order of summing are equal means.
    means = {name: round(float(entry.values(says.quantity).mean()), 12) for name, entry in entries.items()}
    return Numbers(means, test, 1 if says.quantity == "updates" else 4)


def printed_numbers(paper: Paper, dataset: str, says: Statement) -> Numbers:
    """Return what the paper prints for a statement; equal digits are a tie."""
    names = dict.fromkeys((*says.algorithms, *says.than))
    cells = [paper.cell(dataset, name) for name in names]
    printed: dict[str, Reported] = {cell.algorithm: _reported(cell, says) for cell in cells if cell}

    def test(one: str, other: str) -> float:
        return printed_test(printed[one], printed[other], paper.permutations)

    means = {name: reported.mean for name, reported in printed.items()}
    return Numbers(means, test, 1 if says.quantity == "updates" else 3)


def printed_test(one: Reported, other: Reported, n: int) -> float:
    """Return p of Welch's t-test on the smallest difference, and the largest deviations, that print allows.

    The permutations are not printed, so the pairs that the paper tests are lost; without them the test sees
    less. A deviation of 0.000 may be up to half a digit.
    """
    rounding = one.half_unit + other.half_unit
    apart = abs(one.mean - other.mean) - rounding
    if apart <= 1e-9 * rounding:
        return 1.0
    a, b = (max(each.deviation, each.half_unit) ** 2 / n for each in (one, other))
    freedom = (a + b) ** 2 * (n - 1) / (a**2 + b**2)
    return float(2 * special.stdtr(freedom, -apart / math.sqrt(a + b)))


def _reported(cell: Cell, says: Statement) -> Reported:
    reported: Reported = getattr(cell, says.quantity)
    return reported


def _weighed(says: Statement, numbers: Mapping[str, Numbers]) -> tuple[str, str]:
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


def _evidence(says: Statement, found: Mapping[str, Finding]) -> str:
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


def find(says: Statement, numbers: Numbers) -> Finding:
    """Return whether a statement is true on a data set that has all of its algorithms."""
    return _FINDERS[says.kind](numbers, says.algorithms, says.than)


Names = tuple[str, ...]


def _ratios(numbers: Numbers, algorithms: Names, than: Names) -> tuple[float, ...]:
    means = numbers.means
    return tuple(means[a] / means[b] for a, b in product(algorithms, than) if means[b])


def _all(true: Callable[[Numbers, str, str], bool]) -> Callable[[Numbers, Names, Names], Finding]:
    """Return a finder for what must be true of every pair; it shows the first pair of which it is not."""

    def finder(numbers: Numbers, algorithms: Names, than: Names) -> Finding:
        pairs = list(product(algorithms, than))
        wrong = [pair for pair in pairs if not true(numbers, *pair)]
        nearest = max(pairs, key=lambda pair: numbers.means[pair[0]] - numbers.means[pair[1]])
        shown = numbers.shown(*(wrong[0] if wrong else nearest))
        return Finding(not wrong, shown, _ratios(numbers, algorithms, than))

    return finder


def _not_lower(numbers: Numbers, algorithms: Names, than: Names) -> Finding:
    found = _all(Numbers.below)(numbers, algorithms, than)
    return Finding(not found.true, found.numbers, found.ratios)


def _mostly_lower(numbers: Numbers, algorithms: Names, than: Names) -> Finding:
    lower = [numbers.below(a, b) for a, b in product(algorithms, than)]
    return Finding(2 * sum(lower) > len(lower), f"{sum(lower)} of {len(lower)} pairs", ())


def _lowest_or_joint(numbers: Numbers, algorithms: Names, than: Names) -> Finding:
    """Find by the rule for bold: the lowest mean, or not significantly above it."""
    best = min(than, key=lambda name: numbers.means[name])
    joint = [name for name in algorithms if not numbers.clearly_below(best, name)]
    ours = min(algorithms, key=lambda name: numbers.means[name])
    return Finding(bool(joint), numbers.shown(*dict.fromkeys((ours, best))), ())


_FINDERS: dict[str, Callable[[Numbers, Names, Names], Finding]] = {
    "lower": _all(Numbers.below),
    "mostly_lower": _mostly_lower,
    "significantly_lower": _all(Numbers.clearly_below),
    "not_significantly_higher": _all(lambda numbers, a, b: not numbers.clearly_below(b, a)),
    "not_lower": _not_lower,
    "lowest_or_joint": _lowest_or_joint,
}
