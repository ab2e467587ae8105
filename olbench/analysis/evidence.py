"""What verdicts prove: which also hold for other learners (control), and which learner fits a row best."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from olbench.analysis.published import standard_error
from olbench.analysis.stats import derangements
from olbench.analysis.verdicts import VERDICTS, Judgement
from olbench.records.quantities import REPRODUCED, Quantity

#: The share of printed numbers that no learner explains: a misprint, other parameters, other data. One such
#: number then costs a learner a bounded amount of likelihood, however far away it is.
UNEXPLAINED = 0.05
#: By how much log-likelihood a learner must lead to be identified: by a factor of 20.
DECISIVE = math.log(20.0)
#: How many derangements of the rows are counted: all of up to seven rows, or random ones.
DERANGED = 10_000


@dataclass(frozen=True)
class PrintedCell:
    """The numbers of a row on a data set that count, as they were judged, by quantity."""

    dataset: str
    row: str
    right: str
    judged: Mapping[str, Judgement]

    @property
    def learners(self) -> list[str]:
        return list(next(iter(self.judged.values())).learners)

    def is_reproduced(self, label: str, quantity: Quantity) -> bool:
        return self.judged[quantity.name].learners[label].verdict == REPRODUCED


@dataclass(frozen=True)
class RowControl:
    row: str
    reproduced: int
    total: int
    #: By label, the best first; extrapolated for a learner that did not run on every data set.
    others: Mapping[str, float]

    @property
    def median(self) -> float:
        return median(self.others.values()) if self.others else math.nan

    @property
    def best(self) -> str:
        return next(iter(self.others), "")


@dataclass(frozen=True)
class WrongLearners:
    quantity: str
    rows: tuple[RowControl, ...]
    #: How many numbers are reproduced when each row gets the learner of another row: fewest, median, most.
    deranged: tuple[float, float, float] | None

    @property
    def reproduced(self) -> int:
        return sum(row.reproduced for row in self.rows)

    @property
    def total(self) -> int:
        return sum(row.total for row in self.rows)


@dataclass(frozen=True)
class NamedRow:
    row: str
    right: str
    named: str
    margin: float

    @property
    def is_right(self) -> bool:
        return self.named == self.right

    @property
    def is_identified(self) -> bool:
        return self.margin >= DECISIVE

    @property
    def is_mistaken(self) -> bool:
        return self.margin <= -DECISIVE


@dataclass(frozen=True)
class Identification:
    rows: tuple[NamedRow, ...]
    cells: Mapping[tuple[str, str], NamedRow]
    chance: float


def printed_cells(judgements: Iterable[Judgement]) -> list[PrintedCell]:
    judged: dict[tuple[str, str, str], dict[str, Judgement]] = {}
    for each in judgements:
        if each.learners:
            judged.setdefault((each.dataset, each.algorithm, each.label), {})[each.quantity] = each
    return [PrintedCell(*place, own) for place, own in judged.items()]


def joint_verdicts(judgements: Iterable[Judgement]) -> dict[tuple[str, str], str]:
    """Return the worst verdict over all judged quantities of each comparable cell, by data set and row."""
    worst: dict[tuple[str, str], str] = {}
    for each in judgements:
        if each.is_compared:
            place = each.dataset, each.algorithm
            worst[place] = max(worst.get(place, VERDICTS[0]), each.verdict, key=VERDICTS.index)
    return worst


def control(cells: Sequence[PrintedCell], quantity: Quantity) -> WrongLearners:
    cells = [cell for cell in cells if quantity.name in cell.judged]
    right = {cell.row: cell.right for cell in cells}
    counts = {row: _count_row([cell for cell in cells if cell.row == row], quantity) for row in right}
    rows = []
    for row, own in counts.items():
        wrong = sorted((label for label in own if label != right[row]), key=lambda label: -own[label])
        total = sum(cell.row == row for cell in cells)
        rows.append(RowControl(row, round(own[right[row]]), total, {label: own[label] for label in wrong}))
    matrix = np.array([[counts[one].get(right[other], 0.0) for other in right] for one in right])
    return WrongLearners(quantity.name, tuple(rows), _derange(matrix))


def _count_row(cells: Sequence[PrintedCell], quantity: Quantity) -> dict[str, float]:
    """Return how many numbers of a row each learner reproduces, extrapolated where it did not run."""
    found: dict[str, list[bool]] = {}
    for cell in cells:
        for label in cell.learners:
            found.setdefault(label, []).append(cell.is_reproduced(label, quantity))
    return {label: sum(own) * len(cells) / len(own) for label, own in found.items()}


def _derange(matrix: NDArray[np.float64]) -> tuple[float, float, float] | None:
    """Fewest, median (of many rows: of a sample) and most numbers reproduced if no row keeps its learner."""
    size = len(matrix)
    if size < 2:
        return None
    sums = matrix[np.arange(size), derangements(size, DERANGED)].sum(axis=1)
    return _extreme(matrix, 1), float(np.median(sums)), _extreme(matrix, -1)


def _extreme(matrix: NDArray[np.float64], sign: int) -> float:
    """Return the smallest (sign 1) or largest (sign -1) sum over derangements."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    # A zero means that two do not go together, as no row may keep its learner; all others must be above it.
    costs = sign * matrix - (sign * matrix).min() + 1.0
    np.fill_diagonal(costs, 0.0)
    return float(matrix[min_weight_full_bipartite_matching(csr_matrix(costs))].sum())


def identify(cells: Sequence[PrintedCell]) -> Identification:
    likelihoods = {(cell.dataset, cell.row): log_likelihoods(cell) for cell in cells}
    right = {cell.row: cell.right for cell in cells}
    rows = []
    for row in right:
        own = [found for (_, name), found in likelihoods.items() if name == row]
        # A learner that did not run everywhere cannot be compared with those that did.
        common = set.intersection(*(set(found) for found in own))
        sums = {label: math.fsum(found[label] for found in own) for label in own[0] if label in common}
        if right[row] in sums and len(sums) > 1:
            rows.append(_name(row, right[row], sums))
    named = {
        (cell.dataset, cell.row): _name(cell.row, cell.right, likelihoods[cell.dataset, cell.row])
        for cell in cells
        if len(cell.learners) > 1
    }
    chance = sum(1 / len(cell.learners) for cell in cells if len(cell.learners) > 1)
    return Identification(tuple(rows), named, chance)


def _name(row: str, right: str, likelihoods: Mapping[str, float]) -> NamedRow:
    """Return who is named for a row; among equals not the right one, because nothing distinguishes them."""
    rival = max((label for label in likelihoods if label != right), key=lambda label: likelihoods[label])
    margin = likelihoods[right] - likelihoods[rival]
    return NamedRow(row, right, right if margin > 0 else rival, margin)


def log_likelihoods(cell: PrintedCell) -> dict[str, float]:
    """Return the log-likelihood of the printed means of a cell under each learner.

    A printed mean is normal around ours. Its variance is that of both procedures, not of their means: the
    paper's tuning is a single draw like ours, and moves all of its permutations together. So both deviations
    add up, and the variance of rounding. Numbers printed without a deviation have the binomial variances of
    both samples. With probability UNEXPLAINED, a number is anywhere in the range of all these means.
    """
    sums = dict.fromkeys(cell.learners, 0.0)
    for number, learners in ((each.reported, each.learners) for each in cell.judged.values()):
        means = [number.mean, *(found.mean for found in learners.values())]
        anywhere = UNEXPLAINED / max(max(means) - min(means), 2 * number.half_unit)
        for label, (mean, deviation, error, _) in learners.items():
            if number.deviation is None:
                variance = standard_error(number) ** 2 + error**2
            else:
                variance = number.deviation**2 + deviation**2
            variance += number.half_unit**2 / 3
            density = math.exp(-((mean - number.mean) ** 2) / (2 * variance)) / math.sqrt(math.tau * variance)
            sums[label] += math.log((1 - UNEXPLAINED) * density + anywhere)
    return sums
