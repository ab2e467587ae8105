"""What the papers report: one YAML file a paper, each number as it is printed, with its table and cell."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from olbench.errors import UserError, suggest

FOLDER = Path(__file__).parent
QUANTITIES = ("mistake_rate", "updates", "seconds")
KINDS = (
    "lower", "mostly_lower", "significantly_lower", "not_significantly_higher", "not_lower",
    "lowest_or_joint",
)  # fmt: skip
QUANTIFIERS = ("every", "most", "many", "some")
_PRINTED = re.compile(r"(\d+\.(\d+)) ± (\d+\.\d+)")


@dataclass(frozen=True)
class Reported:
    """A mean and its deviation, and half a unit of the last digit that was printed."""

    mean: float
    deviation: float
    half_unit: float


@dataclass(frozen=True)
class Cell:
    """What a paper reports for one algorithm on one data set."""

    dataset: str
    algorithm: str
    where: str
    mistake_rate: Reported
    updates: Reported
    seconds: Reported


@dataclass(frozen=True)
class Statement:
    """What a claim says, in the fixed vocabulary that the paper's file explains above its claims."""

    kind: str
    quantity: str
    algorithms: tuple[str, ...]
    #: The algorithms to compare with.
    than: tuple[str, ...]
    #: On how many of the data sets it is said to hold.
    on: str
    datasets: tuple[str, ...]


@dataclass(frozen=True)
class Claim:
    """A claim that a paper makes about its experiments, in our words."""

    id: str
    text: str
    where: str
    says: Statement


@dataclass(frozen=True)
class Paper:
    """The tables of a paper, and what it concludes from them."""

    id: str
    title: str
    citation: str
    #: Over how many permutations its means and deviations are.
    permutations: int
    #: The four traits of an algorithm, in the order of scw2012's Table 1.
    traits: dict[str, tuple[bool, ...]]
    #: Rows and features of a data set, as far as they are printed.
    shapes: dict[str, dict[str, int]]
    cells: tuple[Cell, ...]
    groups: dict[str, tuple[str, ...]]
    claims: tuple[Claim, ...]
    #: What may stand for a reported row besides the algorithm of that name: an id, with options or not.
    variants: dict[str, tuple[dict[str, Any], ...]]

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets with reported numbers, in the paper's order."""
        return tuple(dict.fromkeys(cell.dataset for cell in self.cells))

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms with reported numbers, in the paper's order."""
        return tuple(dict.fromkeys(cell.algorithm for cell in self.cells))

    def cell(self, dataset: str, algorithm: str) -> Cell | None:
        """Return what is reported for an algorithm on a data set, if anything is."""
        found = [cell for cell in self.cells if (cell.dataset, cell.algorithm) == (dataset, algorithm)]
        return found[0] if found else None


def paper_ids() -> list[str]:
    """Return the ids of the papers whose numbers are here."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def load_paper(id: str) -> Paper:
    """Return a paper by its id."""
    import yaml

    if id not in paper_ids():
        known = ", ".join(paper_ids())
        raise UserError(
            f"there are no numbers of a paper '{id}'{suggest(id, paper_ids())}; there are {known}"
        )
    text = (FOLDER / f"{id}.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    groups = {name: tuple(members) for name, members in content.get("groups", {}).items()}
    return Paper(
        id=content["id"],
        title=content["title"],
        citation=content["citation"],
        permutations=content["permutations"],
        traits={name: tuple(values) for name, values in content["table1"].items()},
        shapes=content["table2"],
        cells=tuple(
            Cell(dataset, algorithm, f"Table 3, {dataset}, {algorithm}", *map(_reported, printed))
            for dataset, rows in content["table3"].items()
            for algorithm, printed in rows.items()
        ),
        groups=groups,
        claims=tuple(
            Claim(id, claim["text"], claim["where"], _statement(claim["says"], groups, content["table3"]))
            for id, claim in content.get("claims", {}).items()
        ),
        variants={
            row: tuple({"id": entry} if isinstance(entry, str) else entry for entry in entries)
            for row, entries in content.get("variants", {}).items()
        },
    )


def _statement(
    said: dict[str, Any], groups: dict[str, tuple[str, ...]], datasets: Iterable[str]
) -> Statement:
    """Return a statement with the names of groups replaced by their members."""
    on = said["for"]
    among = groups[said["among"]] if "among" in said else tuple(datasets)
    found = Statement(
        kind=said["kind"],
        quantity=said["quantity"],
        algorithms=groups.get(said["algorithms"], (said["algorithms"],)),
        than=groups.get(said["than"], (said["than"],)),
        on=on if isinstance(on, str) else "every",
        datasets=among if isinstance(on, str) else tuple(on),
    )
    if found.kind not in KINDS or found.on not in QUANTIFIERS or found.quantity not in QUANTITIES:
        raise ValueError(f"{said} is not in the vocabulary of claims")
    return found


def _reported(printed: str) -> Reported:
    match = _PRINTED.fullmatch(printed)
    if match is None:
        raise ValueError(f"{printed!r} is not of the form 0.294 ± 0.011")
    return Reported(float(match[1]), float(match[3]), 0.5 * 10.0 ** -len(match[2]))
