"""Random tables of results through every statistic, compared with fractions, enumerations and SciPy.

Every value is a whole number of units of its data set, so that means, ties and borders are known exactly.
"""

import math
import warnings
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from olbench.analysis import stats
from olbench.analysis.comparison import ALIKE, BETTER, UNTESTED, WORSE, ComparedRuns
from olbench.data.catalog import catalog
from olbench.report.model import Report
from olbench.report.tables.summary import in_words
from tests.report import made

DATASETS = tuple(catalog())
#: By measure, the sizes of a unit: whole percents mostly, and losses that differ by many orders.
UNITS = {
    "mistake_rate": [Fraction(1, 100)] * 3 + [Fraction(1, 1243)],
    "auc": [Fraction(1, 100)] * 3 + [Fraction(1, 720)],
    "hinge_loss": [Fraction(1, 100)] * 4 + [Fraction(7 * 10**15), Fraction(1, 10**9)],
}
#: The share of the smaller error that is negligible by default.
SHARE = Fraction(1, 100)


@dataclass
class Cell:
    """An algorithm on a data set: a fraction per finished trial, None where the measure is undefined."""

    planned: int
    values: dict = field(default_factory=dict)

    @property
    def mean(self):
        if not self.values or None in self.values.values():
            return None
        return sum(self.values.values()) / len(self.values)


@dataclass
class Study:
    measure: str
    cells: dict
    negligible: Fraction | None = None
    control: str = ""

    @property
    def datasets(self):
        return list(dict.fromkeys(dataset for dataset, _ in self.cells))

    @property
    def sign(self):
        return -1 if self.measure == "auc" else 1

    def losses(self, dataset):
        """Return the mean by label, lower is better; None where it is undefined."""
        own = {label: cell.mean for (name, label), cell in self.cells.items() if name == dataset}
        return {label: None if mean is None else self.sign * mean for label, mean in own.items()}

    def error(self, loss):
        """Return what is missing to the best possible value."""
        return max(Fraction(0), 1 + loss) if self.sign < 0 else loss

    def results(self):
        entries = [self.entry(*key, cell) for key, cell in self.cells.items()]
        found = made.results(entries)
        config = {**found.run.config, "measures": [self.measure]}
        if self.negligible is not None:
            config["negligible"] = float(self.negligible)
        return replace(found, run=replace(found.run, config=config), control=self.control)

    def entry(self, dataset, label, cell):
        n, size = self.cells[dataset, label].planned, len(cell.values)
        values = np.array([math.nan if each is None else float(each) for each in cell.values.values()])
        # Updates that differ by algorithm: equal ones would be ranked once.
        entry = made.entry(dataset, "pa", values, np.full(size, 100 + int(label[1:])), label=label, planned=n)
        columns = {**entry.columns, "number": np.array([*cell.values], np.int64), self.measure: values}
        if self.measure == "mistake_rate":
            whole = [math.nan if each is None else each.numerator for each in cell.values.values()]
            total = [1 if each is None else each.denominator for each in cell.values.values()]
            columns |= {"mistakes": np.array(whole, float), "n": np.array(total)}
        return replace(entry, columns=columns)


def draw_study(random):
    measure = str(random.choice([*UNITS]))
    algorithms, permutations = int(random.integers(2, 7)), int(random.choice([1, 2, 3, 5, 10, 30]))
    lacking, undefined = (float(random.choice([0, 0, 0, 0.05])) for _ in range(2))
    cells = {}
    for dataset in DATASETS[: random.choice([1, 2, 3, 5, 6, 8, 12, 20])]:
        unit, width = UNITS[measure][random.integers(len(UNITS[measure]))], int(random.choice([2, 5, 40]))
        level = int(random.integers(0, 50))
        for place in range(algorithms):
            counts = level + random.integers(0, width, permutations)
            if not random.integers(3):  # constant, perhaps with equals
                counts[:] = counts[0]
            values = {number: int(each) * unit for number, each in enumerate(counts)}
            if random.random() < lacking:
                kept = random.permutation(permutations)[: random.integers(permutations)]
                values = {number: values[number] for number in sorted(kept.tolist())}
            if random.random() < undefined:
                values |= {number: None for number in values if random.integers(2)}
            cells[dataset, f"a{place}"] = Cell(permutations, values)
    # Differences of losses of 1e17 are not known to a hundredth.
    regions = [None, Fraction(0), Fraction(1, 100)][: 2 if measure == "hinge_loss" else 3]
    negligible = regions[random.integers(len(regions))]
    control = f"a{random.integers(algorithms)}" if random.integers(2) else ""
    return Study(measure, cells, negligible, control)


def codes(values):
    """Return the places of fractions among their distinct values: floats that tie exactly if they do."""
    known = sorted(set(values))
    return [known.index(each) for each in values]


def holm(p):
    adjusted, least = [0.0] * len(p), 0.0
    for passed, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        least = adjusted[place] = max(least, min(1.0, (len(p) - passed) * p[place]))
    return adjusted


def wilcoxon(differences):
    """Return the share of all signs whose smaller rank sum is at most the one seen."""
    apart = [each for each in differences if each]
    doubled = [round(2 * each) for each in reference.rankdata(codes([abs(each) for each in apart]))]
    sums = {0: 1}
    for rank in doubled:
        moved = {total + rank: times for total, times in sums.items()}
        sums = {each: sums.get(each, 0) + moved.get(each, 0) for each in {*sums, *moved}}
    positive = sum(rank for rank, each in zip(doubled, apart, strict=True) if each > 0)
    seen = min(positive, sum(doubled) - positive)
    below = sum(times for total, times in sums.items() if total <= seen)
    return min(1.0, float(Fraction(2 * below, 2 ** len(doubled))))


def posterior(differences, rope, units):
    """Return how often each region has the largest share, with the borders of the rope half in each."""
    observed = [Fraction(0), *(each / unit for each, unit in zip(differences, units, strict=True))]
    weights = np.random.default_rng(0).dirichlet([0.5, *[1.0] * len(differences)], 10_000)
    shares = []
    for sign in (-1, 1):
        beyond = [[sign * (one + other) - 2 * rope for other in observed] for one in observed]
        half = [[0.5 if each == 0 else float(each > 0) for each in row] for row in beyond]
        shares.append(np.einsum("si,ij,sj->s", weights, half, weights))
    masses = np.array([shares[0], 1 - shares[0] - shares[1], shares[1]])
    return np.bincount(masses.argmax(axis=0), minlength=3) / weights.shape[0]


def paired(one, other):
    """Return the exact differences over the trials in which both are defined, and p of the paired t-test."""
    shared = [number for number in one if one[number] is not None and other.get(number) is not None]
    apart = [one[number] - other[number] for number in shared]
    if len(apart) < 2:
        return apart, math.nan
    if len(set(apart)) == 1:
        return apart, float(apart[0] == 0)
    scale = max(map(abs, apart))
    return apart, reference.ttest_1samp([float(each / scale) for each in apart], 0).pvalue


def count_signs(values):
    return [
        sum(each < 0 for each in values),
        sum(each == 0 for each in values),
        sum(each > 0 for each in values),
    ]


def about(value):
    return pytest.approx(value, rel=1e-7, abs=1e-9, nan_ok=True)


def check_means(study, report):
    for dataset in study.datasets:
        for label, loss in study.losses(dataset).items():
            found = report.means.get(dataset, {}).get(label, math.nan)
            assert found == pytest.approx(math.nan if loss is None else float(study.sign * loss), nan_ok=True)


def check_across(study, report):
    present = dict.fromkeys(label for (_, label), cell in study.cells.items() if cell.values)
    means = {
        dataset: {label: study.losses(dataset)[label] for label in present} for dataset in study.datasets
    }
    complete = {name: row for name, row in means.items() if row and None not in row.values()}
    table = [list(row.values()) for row in complete.values()]
    ranks = [reference.rankdata(codes(row)) for row in table]
    assert report.ranks == about(dict(zip(present, np.mean(ranks, axis=0), strict=True)) if ranks else {})
    found, n, k = report.across, len(table), len(present)
    assert isinstance(found, str) == (k < 3 or n < 3)
    if isinstance(found, str):
        return
    assert found.datasets == tuple(complete)
    if any(len(set(row)) > 1 for row in table):
        expected = reference.friedmanchisquare(*np.transpose(ranks))
        assert (found.statistic, found.p) == about((expected.statistic, expected.pvalue))
    else:
        assert (found.statistic, found.p) == (0, 1)
    leader = min(present, key=lambda label: (report.ranks[label], label))
    assert found.without == leave_one_out(complete, ranks, leader)
    check_against(study, report, table, leader)


def leave_one_out(complete, ranks, leader):
    """Return who would lead without a data set, where that is another one."""
    changed = {}
    for place, dataset in enumerate(complete):
        rest = np.sum([own for other, own in enumerate(ranks) if other != place], axis=0)
        sums = dict(zip(complete[dataset], rest, strict=True))
        if sums[leader] > min(sums.values()):
            changed[dataset] = min(sums, key=sums.get)
    return changed


def check_against(study, report, table, leader):
    """Compare every pair, and all algorithms with the best or with the named one."""
    found, results = report.against, report.results
    assert isinstance(found, str) == (len(table) < 5)
    present = list(report.ranks)
    shared = {
        each: [study.losses(dataset) for dataset in study.datasets] for each in combinations(present, 2)
    }
    apart, p = {}, {}
    for one, other in shared:
        rows = [row for row in shared[one, other] if row[one] is not None and row[other] is not None]
        apart[one, other] = [row[one] - row[other] for row in rows]
        p[one, other] = wilcoxon(apart[one, other])
    pairs = {(each.first, each.second): each for each in report.pairwise}
    assert {names: each.p for names, each in pairs.items()} == about({each: p[each] for each in shared})
    for names, each in pairs.items():
        signs = [
            sum(map(test, apart[names])) for test in (lambda d: d < 0, lambda d: d == 0, lambda d: d > 0)
        ]
        assert [each.wins, each.ties, each.losses] == signs
        mean = study.sign * sum(apart[names]) / len(apart[names])
        assert each.mean == pytest.approx(float(mean), abs=1e-9 * float(max(map(abs, apart[names]))))
    if isinstance(found, str):
        return
    assert (found.label, found.selected) == (results.control or leader, not results.control)
    tested = [each for each in p if found.selected or found.label in each]
    adjusted = dict(zip(tested, holm([p[each] for each in tested]), strict=True))
    own = present.index(found.label)
    for each in found.rivals:
        [names] = [names for names in tested if {each.label, found.label} == {*names}]
        assert (each.p, each.adjusted) == about((p[names], adjusted[names]))
        rows = [(row[present.index(each.label)], row[own]) for row in table]
        units, rope = [Fraction(1)] * len(rows), study.negligible
        if rope is None:
            rope = SHARE
            units = [min(map(study.error, row)) or Fraction(1, 10**12) for row in rows]
        expected = posterior([one - other for one, other in rows], rope, units)
        assert tuple(vars(each.posterior).values()) == pytest.approx(tuple(expected), abs=0.002)


def check_best(study, report):
    results = report.results
    wins = dict.fromkeys({label for _, label in study.cells}, 0)
    for dataset in study.datasets:
        losses = {label: loss for label, loss in study.losses(dataset).items() if loss is not None}
        stars = results.best[dataset]
        assert stars <= losses.keys()
        if not losses:
            assert dataset not in results.within
            continue
        least = min(losses.values())
        first = [label for label, loss in losses.items() if loss == least]
        for label in first:
            wins[label] += 1
        if dataset not in results.within:
            if not results.control or results.control in losses:
                assert stars == {*losses}
            continue
        check_within(study, results, dataset, first)
    found = [each for own in results.within.values() for each in own.differences]
    assert "t-test" not in (in_words(report) or "") or any(not math.isnan(each.p) for each in found)
    assert {label: report.wins[label] for label in wins} == wins
    for best, others in report.winners:
        assert study.losses(best.dataset)[best.label] == min(
            loss for loss in study.losses(best.dataset).values() if loss is not None
        )
        assert {best.label, *others} >= results.best[best.dataset]


def check_within(study, results, dataset, first):
    """Compare the differences from the best or the named algorithm, and what is bold by them."""
    stars, (best, against, differences) = results.best[dataset], results.within[dataset]
    losses = {label: loss for label, loss in study.losses(dataset).items() if loss is not None}
    assert best in first
    assert against == (results.control if results.control in losses else best)
    assert {each.label for each in differences} == losses.keys() - {against}
    own = {label: study.cells[dataset, label].values for label in losses}
    pairs = {(one, other): paired(own[one], own[other]) for one, other in combinations(losses, 2)}
    corrected = correct({names: p for names, (_, p) in pairs.items()})
    named = correct({names: p for names, (_, p) in pairs.items() if against in names})
    for each in differences:
        apart, chance = paired(own[each.label], own[against])
        signs = [study.sign * difference for difference in apart]
        assert [each.wins, each.ties, each.losses] == count_signs(signs)
        mean = float(sum(apart) / len(apart)) if apart else math.nan
        assert each.mean == pytest.approx(mean, rel=1e-7, nan_ok=True)
        assert each.p == about(chance)
        kept = named if against == results.control else corrected
        assert each.adjusted == about(kept[frozenset((each.label, against))])
        check_equal(study, each, losses, apart)
    worse = {each.label for each in differences if each.significant and study.sign * each.mean > 0}
    assert not stars - {best} & worse
    for label in losses.keys() - {best}:
        names = next(names for names in pairs if {*names} == {label, best})
        apart, chance = pairs[names]
        ahead = study.sign * (sum(apart) if names[0] == label else -sum(apart)) <= 0
        p = corrected[frozenset(names)]
        level = len(apart) >= 5 and (p > stats.LEVEL or ahead)
        alike = apart and (not any(apart) or level)
        assert (label in stars) == bool(alike and label not in worse) or abs(p - stats.LEVEL) < 1e-9


def correct(p):
    known = [names for names in p if not math.isnan(p[names])]
    found = dict.fromkeys(map(frozenset, p), math.nan)
    return found | dict(zip(map(frozenset, known), holm([p[names] for names in known]), strict=True))


def check_equal(study, found, losses, apart):
    """The whole interval lies within what is negligible, by the exact mean and variance."""
    if len(apart) < 2:
        assert not found.equal
        return
    mean = sum(apart) / len(apart)
    variance = sum((each - mean) ** 2 for each in apart) / (len(apart) - 1) / len(apart)
    level = stats.LEVEL * (found.p / found.adjusted if found.adjusted else 1.0)
    reach = abs(float(mean)) + reference.t.ppf(1 - level / 2, len(apart) - 1) * math.sqrt(variance)
    limit = study.negligible
    if limit is None:
        limit = SHARE * min(study.error(losses[label]) for label in (found.label, found.against))
    assert found.equal == (reach <= limit) or abs(reach - limit) <= 1e-9 * reach


def check_comparison(study, random):
    """Compare with a run of other results, which has fewer permutations."""
    after = Study(study.measure, {}, study.negligible)
    for key, cell in study.cells.items():
        planned = int(random.integers(1, cell.planned + 1))
        moved = {
            number: each and each * int(random.integers(1, 3))
            for number, each in cell.values.items()
            if number < planned
        }
        after.cells[key] = Cell(planned, moved)
    runs = [study.results(), after.results()]
    compared = ComparedRuns(runs)
    if not any(cell.values for cell in after.cells.values()):
        return
    name, quantity = study.measure, runs[0].protocol.quantities[0]
    for (dataset, label), [change] in compared.changes[name].items():
        one, other = (each.cells[dataset, label] for each in (study, after))
        if one.mean is None or other.mean is None:
            assert (math.isnan(change.mean), change.outcome(quantity)) == (True, UNTESTED)
            continue
        apart, p = paired(other.values, one.values)
        assert change.mean == pytest.approx(float(sum(apart) / len(apart)), rel=1e-7)
        assert (math.nan if change.tested is None else change.tested.p) == about(p)
        is_better = study.sign * sum(apart) < 0
        expected = UNTESTED if math.isnan(p) else ALIKE if p > 0.05 else BETTER if is_better else WORSE
        assert change.outcome(quantity) == expected or abs(p - 0.05) < 1e-9


def check_conclusions(seed):
    random = np.random.default_rng(seed)
    study = draw_study(random)
    if not any(cell.values for cell in study.cells.values()):
        return
    with warnings.catch_warnings():
        # SciPy warns of differences that are nearly equal; ours are exactly equal or far from it.
        warnings.filterwarnings("ignore", message="Precision loss")
        report = Report(study.results(), None)
        check_means(study, report)
        check_across(study, report)
        check_best(study, report)
        check_comparison(study, random)


@given(st.integers(0, 2**32 - 1))
def test_conclusions_are_those_of_exact_arithmetic(seed):
    check_conclusions(seed)
