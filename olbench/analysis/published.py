"""What a paper reports, read from its YAML file: its numbers, what they measure, and what it concludes.

Errors name the file and line.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

from olbench import structs
from olbench.algorithms.definition import OPTIONS, RECORDED, get_definition
from olbench.errors import UserError, count
from olbench.plugins import find_paper, paper_folders
from olbench.protocols import Protocol, get_protocol, protocols
from olbench.protocols.definition import find_quantity
from olbench.protocols.reading import searches
from olbench.structs import text

RANKED_KINDS = ("better", "mostly_better", "not_better", "best_is_better")
VALUED_KINDS = ("below", "at_least")
TESTED_KINDS = ("significantly_better", "not_significantly_worse", "best_or_joint", "steadier")
KINDS = (*RANKED_KINDS, *TESTED_KINDS, *VALUED_KINDS)
#: Overall: by mean ranks over the data sets.
OVERALL = "overall"
QUANTIFIERS = ("every", "most", "many", "some", OVERALL)


@dataclass(frozen=True)
class Reported:
    where: str
    #: Its place in the table: the data set, the row that stands for an algorithm, and other keys.
    at: Mapping[str, str]
    quantity: str
    mean: float
    #: None where the paper prints no deviation.
    deviation: float | None
    #: Half a unit of the last printed digit.
    half_unit: float
    #: The number of trials behind mean and deviation or, without a deviation, of tested examples.
    n: int | None
    printed: str
    marks: Mapping[str, str] = field(default_factory=dict)
    #: Why the number is unexplained, and therefore counted separately; otherwise empty.
    suspect: str = ""

    @property
    def rounding(self) -> float:
        """What rounding may hide: half a unit, and a little more for an exact tie in binary fractions."""
        return self.half_unit * (1 + 1e-6)

    @property
    def dataset(self) -> str:
        return self.at["dataset"]

    @property
    def row(self) -> str:
        return self.at["algorithm"]


@dataclass(frozen=True)
class RowSpec:
    id: str
    options: Mapping[str, Any]
    name: str = ""


@dataclass(frozen=True)
class Requirements:
    options: Mapping[str, Any] = field(default_factory=dict)
    grid: str = ""
    search: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    tuned: tuple[str, ...] = ()


@dataclass(frozen=True)
class MarkedTable:
    where: str
    rows: tuple[str, ...]
    against: tuple[str, ...]
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class PrintedRanks:
    where: str
    quantity: str
    datasets: tuple[str, ...]
    printed: Mapping[str, str]


@dataclass(frozen=True)
class Statement:
    """What a claim says, in the fixed vocabulary that `scw2012/numbers.yaml` explains above its claims."""

    kind: str
    quantity: str
    #: Rows; "pa@5" is the row pa after 5 steps of its curve, "pa@22%" after 22% of them.
    algorithms: tuple[str, ...]
    than: tuple[str, ...]
    #: On how many of the data sets it should hold: one of QUANTIFIERS, or a text like "11 of 12".
    on: str
    datasets: tuple[str, ...]
    value: float | None = None
    #: By which share the others must be worse.
    by: float | None = None
    ranked: tuple[str, ...] = ()
    text: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.algorithms, *self.than, *self.ranked)))


@dataclass(frozen=True)
class Claim:
    id: str
    text: str
    where: str
    parts: tuple[Statement, ...]


@dataclass(frozen=True)
class Paper:
    id: str
    title: str
    citation: str
    protocol: str
    numbers: tuple[Reported, ...]
    requires: Requirements
    traits: Mapping[str, tuple[bool, ...]]
    traits_where: str
    shapes: Mapping[str, Mapping[str, int]]
    shapes_where: str
    claims: tuple[Claim, ...]
    rows: Mapping[str, RowSpec] = field(default_factory=dict)
    variants: Mapping[str, tuple[RowSpec, ...]] = field(default_factory=dict)
    unavailable: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The level that each mark of significance stands for; None if the paper does not explain it.
    marks: Mapping[str, float | None] = field(default_factory=dict)
    #: The level of the paired t-test over permutations, uncorrected, that decides what the paper has in bold.
    bold: float | None = None
    marked: tuple[MarkedTable, ...] = ()
    ranks: tuple[PrintedRanks, ...] = ()
    also: Mapping[str, "Paper"] = field(default_factory=dict)

    def under(self, protocol: str) -> "Paper":
        return self.also.get(protocol, self)

    @property
    def datasets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(number.dataset for number in self.numbers))

    @property
    def algorithms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(number.row for number in self.numbers))

    def row_spec(self, row: str) -> RowSpec:
        return self.rows.get(row) or RowSpec(row, {})

    def of(self, dataset: str, row: str) -> dict[str, Reported]:
        return self._numbers_of.get((dataset, row), {})

    @cached_property
    def _numbers_of(self) -> dict[tuple[str, str], dict[str, Reported]]:
        by_place: dict[tuple[str, str], dict[str, Reported]] = {}
        for number in self.numbers:
            by_place.setdefault((number.dataset, number.row), {})[number.quantity] = number
        return by_place


def standard_error(reported: Reported) -> float:
    """Return the binomial standard error of a share that is printed without a deviation; 0 without an n."""
    share = min(max(reported.mean, 0.0), 1.0)
    return math.sqrt(share * (1.0 - share) / reported.n) if reported.n else 0.0


Reader = structs.Reader[Any]
UNITS = {"fraction": 1.0, "percent": 0.01}
_NUMBER = r"(\d+(?:\.(\d+))?)"
_PRINTED = re.compile(rf"([^\w\s.]?){_NUMBER}(?: ± (\d+(?:\.\d+)?))?")
_COUNTS = re.compile(r"(\d+) of (\d+)")
_PERCENT = re.compile(rf"{_NUMBER}%")


def _read_level(node: structs.Node, name: str) -> float | None:
    if node.value is None:
        return None
    if not isinstance(node.value, float) or not 0 < node.value < 1:
        raise node.fail(f"the level of a mark must be between 0 and 1, or null, not {node.shown()}")
    return node.value


def _read_share(node: structs.Node, name: str) -> float:
    """Return the least share that a printed percentage allows: 8% may have been 7.5%."""
    match = _PERCENT.fullmatch(text(node, name))
    if match is None:
        raise node.fail(f'{name} must be a percentage in quotes, such as "8%", not {node.shown()}')
    return (float(match[1]) - 0.5 * 10.0 ** -len(match[2] or "")) / 100


def _read_row(node: structs.Node, name: str) -> RowSpec:
    if not isinstance(node.value, dict):
        return RowSpec(text(node, "the id of an algorithm"), {})
    content = structs.anything(node, name)
    if "id" not in content:
        raise node.fail("a row needs the key 'id': the algorithm that it stands for")
    return RowSpec(content.pop("id"), name=content.pop("name", ""), options=content)


def _read_options(node: structs.Node, name: str) -> dict[str, Any]:
    node.mapping(name, sorted(OPTIONS))
    return dict(structs.anything(node, name))


def _read_facts(node: structs.Node, name: str) -> tuple[dict[str, Any], str]:
    given = _read(node, name, {"where": text, "of": structs.mapping(structs.anything)})
    return given["of"], given["where"]


def _read(
    node: structs.Node, what: str, required: Mapping[str, Reader], **optional: Reader
) -> dict[str, Any]:
    return structs.read_keys(structs.make_keys(required, **optional), node, what)


_PLAIN = structs.make_keys(
    {"id": text, "title": text, "citation": text},
    rows=structs.mapping(_read_row),
    variants=structs.mapping(structs.many(_read_row)),
    unavailable=structs.mapping(text),
    groups=structs.mapping(structs.many(text)),
    marks=structs.mapping(_read_level),
    bold=_read_level,
)
_FILE = (
    *_PLAIN,
    *structs.make_keys(
        {"tables": structs.many(structs.as_node, 0)},
        protocol=structs.as_node,
        requires=structs.as_node,
        traits=_read_facts,
        shapes=_read_facts,
        claims=structs.mapping(structs.as_node),
        ranks=structs.many(structs.as_node, 0),
        suspect=structs.many(structs.as_node, 0),
        also=structs.mapping(structs.as_node),
    ),
)
_SHARED = ("id", "title", "citation")


class PaperFile:
    def __init__(self, root: structs.Node):
        self.root = root
        self.given = structs.read_keys(_FILE, root, "the file of a paper")
        node, known = self.given.get("protocol"), tuple(protocol.id for protocol in protocols())
        self.protocol: Protocol = get_protocol(structs.choice(*known)(node, "protocol") if node else "online")
        self.groups: dict[str, tuple[str, ...]] = self.given.get("groups", {})
        self.marks: dict[str, float | None] = self.given.get("marks", {})

    def paper(self) -> Paper:
        tables = [self._table(node) for node in self.given["tables"]]
        numbers = self._explain(self._numbers(tables))
        datasets = tuple(dict.fromkeys(number.dataset for number in numbers))
        traits, traits_where = self.given.get("traits", ({}, ""))
        shapes, shapes_where = self.given.get("shapes", ({}, ""))
        return Paper(
            **structs.select(_PLAIN, self.given),
            protocol=self.protocol.id,
            numbers=tuple(numbers),
            requires=self._requirements(),
            traits={id: tuple(values) for id, values in traits.items()},
            traits_where=traits_where,
            shapes=shapes,
            shapes_where=shapes_where,
            claims=tuple(
                self._claim(id, node, datasets) for id, node in self.given.get("claims", {}).items()
            ),
            marked=tuple(
                MarkedTable(table["where"], *table["marks"]) for table in tables if "marks" in table
            ),
            ranks=tuple(self._ranks(node, numbers, datasets) for node in self.given.get("ranks", ())),
            also={id: self._other(id, node) for id, node in self.given.get("also", {}).items()},
        )

    def _names(self, node: structs.Node, name: str) -> tuple[str, ...]:
        names = structs.one_or_many(text)(node, name)
        return tuple(member for name in names for member in self.groups.get(name, (name,)))

    def _refuse_unknown(self, node: structs.Node, rows: Iterable[str]) -> None:
        """Fail if a row is neither an algorithm, nor one of a run that was read, nor under the key `rows`."""
        for row in set(rows) - self.given.get("rows", {}).keys() - RECORDED.keys():
            try:
                get_definition(row)
            except UserError as error:
                raise node.fail(str(error)) from None

    def _quantity(self, node: structs.Node, name: str) -> str:
        try:
            return find_quantity(self.protocol, text(node, "a quantity")).name
        except UserError as error:
            raise node.fail(str(error)) from None

    def _other(self, id: str, node: structs.Node) -> Paper:
        own = [key.name for key in _FILE if key.name not in (*_SHARED, "protocol", "also")]
        shared = {key: self.root.value[key] for key in _SHARED}
        content = {**shared, "protocol": structs.Node(id, node.place), **node.mapping(f"also.{id}", own)}
        return PaperFile(structs.Node(content, node.place, dict.fromkeys(content, node.place))).paper()

    def _requirements(self) -> Requirements:
        node, free = self.given.get("requires"), structs.mapping(structs.anything)
        if node is None:
            return Requirements()
        grid, search = structs.choice("declared"), structs.choice(*searches(self.protocol))
        several = {"search": structs.one_or_many(search), "tuned": self._names}
        given = _read(node, "requires", {}, options=_read_options, settings=free, grid=grid, **several)
        return Requirements(**given)

    def _numbers(self, tables: Sequence[Mapping[str, Any]]) -> list[Reported]:
        """Return every number once; one that a later table prints again only adds its mark."""
        found: dict[tuple[str, ...], Reported] = {}
        for table in tables:
            for node, reported in self._cells(table):
                key = (*reported.at.values(), reported.quantity)
                first = found.setdefault(key, reported)
                if (first.mean, first.deviation) != (reported.mean, reported.deviation):
                    raise node.fail(f"{reported.printed} is {first.printed} in {first.where}")
                found[key] = replace(first, marks={**first.marks, **reported.marks})
        return list(found.values())

    def _explain(self, numbers: list[Reported]) -> list[Reported]:
        """Give numbers without an explanation the reason to count them separately."""
        keys = {"quantity": text, "datasets": self._names, "rows": self._names, "reason": text}
        for node in self.given.get("suspect", ()):
            given = _read(node, "an entry of suspect", keys)
            datasets, rows = given["datasets"], given["rows"]
            places = set(product([given["quantity"]], datasets, rows))
            about = [(number.quantity, number.dataset, number.row) in places for number in numbers]
            if sum(about) != len(datasets) * len(rows):
                raise node.fail("not all of these numbers are in the tables")
            numbers = [
                replace(number, suspect=given["reason"]) if here else number
                for number, here in zip(numbers, about, strict=True)
            ]
        return numbers

    def _ranks(
        self, node: structs.Node, numbers: Sequence[Reported], datasets: Sequence[str]
    ) -> PrintedRanks:
        required = {"where": text, "quantity": self._quantity, "of": structs.mapping(structs.anything)}
        given = _read(node, "an entry of ranks", required, among=self._names)
        quantity, among = given["quantity"], tuple(given.get("among", datasets))
        known = {(number.dataset, number.row) for number in numbers if number.quantity == quantity}
        printed = {row: str(value) for row, value in given["of"].items()}
        if not set(product(among, printed)) <= known:
            raise node.fail("not all of the numbers that are ranked are in the tables")
        return PrintedRanks(given["where"], quantity, among, printed)

    def _table(self, node: structs.Node) -> dict[str, Any]:
        required = {"quantities": structs.many(self._quantity), "numbers": structs.as_node, "where": text}
        by, n, unit = structs.many(text), structs.as_node, structs.choice(*UNITS)
        return _read(node, "a table", required, by=by, n=n, unit=unit, marks=self._compared)

    def _compared(self, node: structs.Node, name: str) -> tuple[tuple[str, ...], ...]:
        given = _read(node, name, {"of": self._names, "against": self._names}, also=self._names)
        return given["of"], given["against"], given.get("also", ())

    def _cells(self, table: Mapping[str, Any]) -> Iterator[tuple[structs.Node, Reported]]:
        by = table.get("by", ("dataset", "algorithm"))
        if not {"dataset", "algorithm"} <= set(by):
            raise table["numbers"].fail("the keys of a table, 'by', must include dataset and algorithm")
        names, unit, samples = table["quantities"], UNITS[table.get("unit", "fraction")], table.get("n")
        for place, leaf in _leaves(table["numbers"], len(by)):
            at = dict(zip(by, place, strict=True))
            self._refuse_unknown(leaf, [at["algorithm"]])
            cells = leaf.items("the numbers of a cell") if isinstance(leaf.value, list) else [leaf]
            if len(cells) != len(names):
                raise leaf.fail(f"{count(len(cells), 'number')} instead of {len(names)}: {', '.join(names)}")
            where = ", ".join((table["where"], *place))
            node = samples
            if samples is not None and isinstance(samples.value, dict):
                node = samples.value.get(at["dataset"])
            n = None if node is None else structs.whole(1)(node, "n")
            for name, cell in zip(names, cells, strict=True):
                if cell.value is not None:
                    number, mark = _reported(cell, where, at, name, n, unit)
                    if mark and (mark not in self.marks or "marks" not in table):
                        raise cell.fail(
                            f"the mark '{mark}' needs its level under the key 'marks', as does its table"
                        )
                    yield cell, replace(number, marks={table["where"]: mark} if mark else {})

    def _claim(self, id: str, node: structs.Node, datasets: Sequence[str]) -> Claim:
        given = _read(node, "a claim", {"text": text, "where": text, "says": structs.as_node})
        says = given["says"]
        nodes = says.items("says") if isinstance(says.value, list) else [says]
        parts = tuple(self._statement(each, datasets) for each in nodes)
        for each, part in zip(nodes, parts, strict=True):
            if bool(part.text) != (len(parts) > 1):
                raise each.fail(
                    "the key 'text' belongs to each part of a claim that has several, and only there"
                )
        return Claim(id, given["text"], given["where"], parts)

    def _statement(self, node: structs.Node, datasets: Sequence[str]) -> Statement:
        names, kinds = self._names, structs.choice(*KINDS)
        required = {"kind": kinds, "quantity": self._quantity, "algorithms": names, "for": structs.as_node}
        optional = {"than": names, "among": names, "ranked": names, "by": _read_share, "text": text}
        given = _read(node, "a statement", required, value=structs.number, **optional)
        kind, where, among = given["kind"], given.pop("for"), given.pop("among", tuple(datasets))
        rival = "value" if kind in VALUED_KINDS else "than"
        if rival not in given:
            raise node.fail(f"a statement of the kind {kind} needs the key '{rival}'")
        if isinstance(where.value, list):
            about = {"on": "every", "datasets": names(where, "for")}
        else:
            about = {"on": _quantifier(where, kind), "datasets": among}
        says = Statement(**{"than": (), **given, **about})
        self._refuse_unknown(node, (name.partition("@")[0] for name in says.names))
        recorded = {series.quantity.name for series in self.protocol.series}
        for name in says.names:
            _, sign, point = name.partition("@")
            if sign and (says.quantity not in recorded or not point.removesuffix("%").isdecimal()):
                known = f"the protocol {self.protocol.id} records no point"
                raise node.fail(f"{known} '{name}' of {says.quantity}")
        return says


def _leaves(node: structs.Node, depth: int) -> Iterator[tuple[tuple[str, ...], structs.Node]]:
    if not depth:
        yield (), node
        return
    if not isinstance(node.value, dict):
        raise node.fail(f"there must be a mapping here, not {node.shown()}")
    for name, below in node.value.items():
        for place, leaf in _leaves(below, depth - 1):
            yield (name, *place), leaf


def _reported(
    node: structs.Node, where: str, at: Mapping[str, str], quantity: str, n: int | None, unit: float
) -> tuple[Reported, str]:
    printed = str(node.value)
    match = _PRINTED.fullmatch(printed)
    if match is None or isinstance(node.value, float):
        raise node.fail(
            f'{printed!r} is not a printed number; write it in quotes with its digits, as in "0.294 ± 0.011"'
        )
    mark, mean, decimals, spread = match.groups()
    half_unit = 0.5 * 10.0 ** -len(decimals or "") * unit
    deviation = None if spread is None else float(spread) * unit
    printed = printed.removeprefix(mark)
    return Reported(where, at, quantity, float(mean) * unit, deviation, half_unit, n, printed), mark


def _quantifier(node: structs.Node, kind: str) -> str:
    counts = _COUNTS.fullmatch(node.value) if isinstance(node.value, str) else None
    if counts and 0 < int(counts[1]) <= int(counts[2]):
        return str(node.value)
    word = structs.choice(*QUANTIFIERS)(node, "for")
    if word == OVERALL and kind not in RANKED_KINDS:
        raise node.fail(f"overall compares mean ranks, which {kind} cannot; use {', '.join(RANKED_KINDS)}")
    return word


def load_paper(id_or_path: str) -> Paper:
    path = find_paper(id_or_path)
    return _read_cached(path, path.stat().st_mtime_ns if path.exists() else 0)


@cache
def _read_cached(path: Path, changed: int) -> Paper:
    ships = path.parent in paper_folders().values()
    return PaperFile(structs.read_yaml(path, structs.SHIPPED_LOADER if ships else structs.LOADER)).paper()
