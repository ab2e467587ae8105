"""What the papers report: one YAML file per paper, each number as it is printed, with its table and place.

The head of `scw2012.yaml` explains the keys. Numbers are tidy: one `Reported` per number, which says where it
is printed and what it is about.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from olbench.errors import UserError, suggest
from olbench.places import Placed, read_placed
from olbench.protocols import Protocol, get_protocol, protocols

FOLDER = Path(__file__).parent
KINDS = (
    "better", "mostly_better", "significantly_better", "not_significantly_worse", "not_better",
    "best_or_joint",
)  # fmt: skip
QUANTIFIERS = ("every", "most", "many", "some")
UNITS = {"fraction": 1.0, "percent": 0.01}
_NUMBER = r"(\d+(?:\.(\d+))?)"
_PRINTED = re.compile(rf"{_NUMBER}(?: ± (\d+(?:\.\d+)?))?")
_KEYS = [
    "id", "title", "citation", "protocol", "requires", "rows", "variants", "unavailable", "traits", "shapes",
    "tables", "groups", "claims",
]  # fmt: skip


@dataclass(frozen=True)
class Reported:
    """A number that a paper prints, and everything that has to be known to compare another with it."""

    #: The table or figure and the place in it.
    where: str
    #: What it is about: the data set, the row that stands for an algorithm, and whatever else tells it apart.
    at: Mapping[str, str]
    quantity: str
    mean: float
    #: None where the paper prints no deviation.
    deviation: float | None
    #: Half a unit of the last printed digit.
    half_unit: float
    #: Over how many trials the mean and deviation are or, without a deviation, how many examples were tested.
    n: int | None
    printed: str

    @property
    def rounding(self) -> float:
        """What print may have taken away: half a unit, and room for an exact tie in binary fractions."""
        return self.half_unit * (1 + 1e-6)

    @property
    def dataset(self) -> str:
        """The data set."""
        return self.at["dataset"]

    @property
    def row(self) -> str:
        """The row of the table, which stands for an algorithm."""
        return self.at["algorithm"]

    def is_about(self, dataset: str, row: str) -> bool:
        """Tell whether it is a number of this row on this data set."""
        return (self.dataset, self.row) == (dataset, row)


@dataclass(frozen=True)
class RowSpec:
    """The algorithm that a row of a paper's tables stands for."""

    id: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Requirements:
    """What a run must be for its numbers to be compared with the paper's."""

    #: Options of second-order algorithms.
    options: Mapping[str, Any]
    #: "declared" if parameters must be tuned over the grid that the definition of the algorithm declares.
    grid: str
    #: The searches that count; empty if any does.
    search: tuple[str, ...]
    #: Values that keys of the protocol must have.
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Statement:
    """What a claim says, in the fixed vocabulary that `scw2012.yaml` explains above its claims."""

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
    """The numbers of a paper, and what it concludes from them."""

    id: str
    title: str
    citation: str
    protocol: str
    numbers: tuple[Reported, ...]
    requires: Requirements
    rows: Mapping[str, RowSpec]
    #: What may stand for a row besides its own algorithm.
    variants: Mapping[str, tuple[RowSpec, ...]]
    #: Why a data set cannot be had, by name.
    unavailable: Mapping[str, str]
    #: Where each table of the paper is: "Table 3".
    tables: tuple[str, ...]
    #: The traits of an algorithm and the shapes of data sets, as far as they are printed, and where.
    traits: Mapping[str, tuple[bool, ...]]
    traits_where: str
    shapes: Mapping[str, Mapping[str, int]]
    shapes_where: str
    groups: Mapping[str, tuple[str, ...]]
    claims: tuple[Claim, ...]

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets with reported numbers, in the paper's order."""
        return tuple(dict.fromkeys(number.dataset for number in self.numbers))

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The rows with reported numbers, in the paper's order."""
        return tuple(dict.fromkeys(number.row for number in self.numbers))

    def row_spec(self, row: str) -> RowSpec:
        """Return the algorithm that a row stands for: the one of that id unless `rows` says otherwise."""
        return self.rows.get(row) or RowSpec(row, {})

    def of(self, dataset: str, row: str) -> dict[str, Reported]:
        """Return what is reported for a row on a data set, by quantity."""
        return {number.quantity: number for number in self.numbers if number.is_about(dataset, row)}


def paper_ids() -> list[str]:
    """Return the ids of the papers that ship with olbench."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def is_path(id_or_path: str) -> bool:
    """Tell the path of a paper's file from the id of a paper."""
    return id_or_path.endswith((".yaml", ".yml"))


def load_paper(id_or_path: str) -> Paper:
    """Return a paper by its id, or from a file of one's own that ends with .yaml."""
    if is_path(id_or_path):
        return read_paper(Path(id_or_path))
    if id_or_path not in paper_ids():
        known = ", ".join(paper_ids())
        raise UserError(
            f"there are no numbers of a paper '{id_or_path}'{suggest(id_or_path, paper_ids())}; there are "
            f"{known}, and a path to a YAML file works as well"
        )
    return read_paper(FOLDER / f"{id_or_path}.yaml")


def read_paper(path: Path) -> Paper:
    """Return the paper of a YAML file; what is wrong in it is refused with its line."""
    return _read_cached(path, path.stat().st_mtime_ns if path.exists() else 0)


@cache
def _read_cached(path: Path, changed: int) -> Paper:
    root = read_placed(path)
    return _Reading(root).paper()


class _Reading:
    """Reads the file of one paper."""

    def __init__(self, root: Placed):
        self.root = root
        self.content = root.mapping("the file of a paper", _KEYS)
        for key in ("id", "title", "citation", "tables"):
            if key not in self.content:
                raise root.fail(f"the key '{key}' is missing")
        self.protocol = self._protocol()
        self.groups = {
            name: tuple(item.text("a member of a group") for item in node.items(f"the group {name}"))
            for name, node in self._below("groups").items()
        }

    def paper(self) -> Paper:
        """Return everything in the file."""
        tables = self.content["tables"].items("tables")
        numbers = [number for node in tables for number in self._table(node)]
        datasets = tuple(dict.fromkeys(number.dataset for number in numbers))
        traits, traits_where = self._facts("traits")
        shapes, shapes_where = self._facts("shapes")
        return Paper(
            id=self.content["id"].text("id"),
            title=self.content["title"].text("title"),
            citation=self.content["citation"].text("citation"),
            protocol=self.protocol.id,
            numbers=tuple(numbers),
            requires=self._requirements(),
            rows={row: _row_spec(node) for row, node in self._below("rows").items()},
            variants={
                row: tuple(_row_spec(item) for item in node.items(f"the variants of {row}"))
                for row, node in self._below("variants").items()
            },
            unavailable={
                name: node.text(f"the reason for {name}") for name, node in self._below("unavailable").items()
            },
            tables=tuple(_where(node) for node in tables),
            traits={id: tuple(_plain(node)) for id, node in traits.items()},
            traits_where=traits_where,
            shapes={name: dict(_plain(node)) for name, node in shapes.items()},
            shapes_where=shapes_where,
            groups=self.groups,
            claims=tuple(self._claim(id, node, datasets) for id, node in self._below("claims").items()),
        )

    def _below(self, key: str) -> dict[str, Placed]:
        node = self.content.get(key)
        if node is None:
            return {}
        if not isinstance(node.value, dict):
            raise node.fail(f"{key} must be a mapping, not {node.shown()}")
        return node.value

    def _protocol(self) -> Protocol:
        node = self.content.get("protocol")
        known = tuple(each.id for each in protocols())
        return get_protocol(node.choice("protocol", known) if node else "online")

    def _facts(self, key: str) -> tuple[dict[str, Placed], str]:
        """Return facts by name and where they are printed."""
        if key not in self.content:
            return {}, ""
        node = self.content[key]
        content = node.mapping(key, ["where", "of"])
        if "of" not in content or not isinstance(content["of"].value, dict):
            raise node.fail(f"{key} needs the key 'of': a mapping by name")
        return content["of"].value, _where(node)

    def _requirements(self) -> Requirements:
        node = self.content.get("requires")
        keys = ["options", "grid", "search", "settings"]
        content = node.mapping("requires", keys) if node else {}
        search = content.get("search")
        words = (
            () if search is None else search.items("search") if isinstance(search.value, list) else [search]
        )
        return Requirements(
            options=_plain(content["options"]) if "options" in content else {},
            grid=content["grid"].choice("grid", ("declared",)) if "grid" in content else "",
            search=tuple(word.choice("search", self.protocol.searches) for word in words),
            settings=_plain(content["settings"]) if "settings" in content else {},
        )

    def _table(self, node: Placed) -> Iterator[Reported]:
        keys = ["where", "by", "quantities", "n", "unit", "numbers"]
        content = node.mapping("a table", keys)
        for key in ("quantities", "numbers"):
            if key not in content:
                raise node.fail(f"a table needs the key '{key}'")
        by = [item.text("by") for item in content["by"].items("by")] if "by" in content else []
        by = by or ["dataset", "algorithm"]
        if not {"dataset", "algorithm"} <= set(by):
            raise content["by"].fail("the keys of a table must include dataset and algorithm")
        names = [item.text("a quantity") for item in content["quantities"].items("quantities")]
        for item, name in zip(content["quantities"].items("quantities"), names, strict=True):
            _check_quantity(item, name, self.protocol)
        unit = content["unit"].choice("unit", tuple(UNITS)) if "unit" in content else "fraction"
        for place, leaf in _leaves(content["numbers"], len(by)):
            at = dict(zip(by, place, strict=True))
            cells = leaf.items("the numbers of a cell") if isinstance(leaf.value, list) else [leaf]
            if len(cells) != len(names):
                raise leaf.fail(f"{len(cells)} numbers where {len(names)} are needed: {', '.join(names)}")
            where = ", ".join((_where(node), *place))
            for name, cell in zip(names, cells, strict=True):
                if cell.value is not None:
                    yield _reported(cell, where, at, name, _sample(content, at), UNITS[unit])

    def _claim(self, id: str, node: Placed, datasets: Sequence[str]) -> Claim:
        content = node.mapping("a claim", ["text", "where", "says"])
        for key in ("text", "where", "says"):
            if key not in content:
                raise node.fail(f"a claim needs the key '{key}'")
        says = self._statement(content["says"], datasets)
        return Claim(id, content["text"].text("text"), content["where"].text("where"), says)

    def _statement(self, node: Placed, datasets: Sequence[str]) -> Statement:
        """Return a statement with the names of groups replaced by their members."""
        content = node.mapping("says", ["kind", "quantity", "algorithms", "than", "for", "among"])
        for key in ("kind", "quantity", "algorithms", "than", "for"):
            if key not in content:
                raise node.fail(f"a statement needs the key '{key}'")
        quantity = content["quantity"].text("quantity")
        _check_quantity(content["quantity"], quantity, self.protocol)
        every = isinstance(content["for"].value, list)
        among = self._members(content["among"]) if "among" in content else tuple(datasets)
        return Statement(
            kind=content["kind"].choice("kind", KINDS),
            quantity=quantity,
            algorithms=self._members(content["algorithms"]),
            than=self._members(content["than"]),
            on="every" if every else content["for"].choice("for", QUANTIFIERS),
            datasets=self._members(content["for"]) if every else among,
        )

    def _members(self, node: Placed) -> tuple[str, ...]:
        """Return the members of a group, of a list, or the one name."""
        if isinstance(node.value, list):
            return tuple(item.text("a name") for item in node.items("a list of names"))
        name = node.text("a name")
        return self.groups.get(name, (name,))


def _where(node: Placed) -> str:
    content: Mapping[str, Placed] = node.value
    if "where" not in content:
        raise node.fail("the key 'where' is missing: the table or figure of the paper")
    return content["where"].text("where")


def _check_quantity(node: Placed, name: str, protocol: Protocol) -> None:
    try:
        protocol.quantity(name)
    except UserError as error:
        raise node.fail(str(error)) from None


def _leaves(node: Placed, depth: int) -> Iterator[tuple[tuple[str, ...], Placed]]:
    """Yield what lies `depth` mappings below a node, with the keys that lead there."""
    if not depth:
        yield (), node
        return
    if not isinstance(node.value, dict):
        raise node.fail(f"there must be a mapping here, not {node.shown()}")
    for name, below in node.value.items():
        for place, leaf in _leaves(below, depth - 1):
            yield (name, *place), leaf


def _sample(content: Mapping[str, Placed], at: Mapping[str, str]) -> int | None:
    """Return the n of a number: that of its table or, in a mapping, of its data set."""
    node = content.get("n")
    if node is not None and isinstance(node.value, dict):
        node = node.value.get(at["dataset"])
    return None if node is None else node.whole("n", 1)


def _reported(
    node: Placed, where: str, at: Mapping[str, str], quantity: str, n: int | None, unit: float
) -> Reported:
    printed = str(node.value)
    match = _PRINTED.fullmatch(printed)
    if match is None or isinstance(node.value, float):
        raise node.fail(
            f'{printed!r} is not a printed number; write it in quotes with its digits, as in "0.294 ± 0.011"'
        )
    half_unit = 0.5 * 10.0 ** -len(match[2] or "") * unit
    deviation = None if match[3] is None else float(match[3]) * unit
    return Reported(where, at, quantity, float(match[1]) * unit, deviation, half_unit, n, printed)


def _row_spec(node: Placed) -> RowSpec:
    if not isinstance(node.value, dict):
        return RowSpec(node.text("the id of an algorithm"), {})
    content = {name: _plain(item) for name, item in node.value.items()}
    if "id" not in content:
        raise node.fail("a row needs the key 'id': the algorithm that it stands for")
    return RowSpec(content.pop("id"), content)


def _plain(node: Placed) -> Any:
    if isinstance(node.value, dict):
        return {name: _plain(item) for name, item in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(item) for item in node.value]
    return node.value


def standard_error(reported: Reported) -> float:
    """Return the binomial standard error of a share that is printed without a deviation; 0 without an n."""
    share = min(max(reported.mean, 0.0), 1.0)
    return math.sqrt(share * (1.0 - share) / reported.n) if reported.n else 0.0
