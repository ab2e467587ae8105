"""Reads the YAML file of a paper; what is wrong in it is refused with its line."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from olbench.errors import UserError
from olbench.papers.definition import (
    KINDS,
    OVERALL,
    QUANTIFIERS,
    RANKED_KINDS,
    VALUED_KINDS,
    Claim,
    MarkedTable,
    Paper,
    PrintedRanks,
    Reported,
    Requirements,
    RowSpec,
    Statement,
)
from olbench.protocols import Protocol, get_protocol, protocols
from olbench.structs import (
    anything,
    as_node,
    choice,
    make_keys,
    many,
    mapping,
    number,
    one_or_many,
    read_keys,
    text,
    whole,
)
from olbench.yaml_lines import Node

UNITS = {"fraction": 1.0, "percent": 0.01}
_NUMBER = r"(\d+(?:\.(\d+))?)"
_PRINTED = re.compile(rf"([^\w\s.]?){_NUMBER}(?: ± (\d+(?:\.\d+)?))?")
_COUNTS = re.compile(r"(\d+) of (\d+)")
_PERCENT = re.compile(rf"{_NUMBER}%")


def _read_level(node: Node, name: str) -> float | None:
    """Return the level of a mark of significance."""
    if node.value is None:
        return None
    if not isinstance(node.value, float) or not 0 < node.value < 1:
        raise node.fail(f"the level of a mark must be between 0 and 1, or null, not {node.shown()}")
    return node.value


def _read_share(node: Node, name: str) -> float:
    """Return the least share that a printed percentage allows: 8% may have been 7.5%."""
    match = _PERCENT.fullmatch(text(node, name))
    if match is None:
        raise node.fail(f'{name} must be a percentage in quotes, such as "8%", not {node.shown()}')
    return (float(match[1]) - 0.5 * 10.0 ** -len(match[2] or "")) / 100


def _read_row(node: Node, name: str) -> RowSpec:
    """Return the algorithm of a row: its id, or a mapping with that and its options."""
    if not isinstance(node.value, dict):
        return RowSpec(text(node, "the id of an algorithm"), {})
    content = anything(node, name)
    if "id" not in content:
        raise node.fail("a row needs the key 'id': the algorithm that it stands for")
    return RowSpec(content.pop("id"), name=content.pop("name", ""), options=content)


def _read_facts(node: Node, name: str) -> tuple[dict[str, Any], str]:
    """Return facts by name and where they are printed."""
    given = read_keys(_FACTS, node, name)
    return given["of"], given["where"]


_NAMES = one_or_many(text)
_FACTS = make_keys({"where": text, "of": mapping(anything)})
#: The keys of a file, and of its parts.
_FILE = make_keys(
    {"id": text, "title": text, "citation": text, "tables": many(as_node, 0)},
    protocol=as_node,
    requires=as_node,
    rows=mapping(_read_row),
    variants=mapping(many(_read_row)),
    unavailable=mapping(text),
    traits=_read_facts,
    shapes=_read_facts,
    groups=mapping(many(text)),
    claims=mapping(as_node),
    marks=mapping(_read_level),
    ranks=many(as_node, 0),
    suspect=many(as_node, 0),
    also=mapping(as_node),
)
_TABLE = make_keys(
    {"quantities": many(as_node), "numbers": as_node, "where": text},
    by=many(text),
    n=as_node,
    unit=choice(*UNITS),
    marks=as_node,
)
_COMPARED = make_keys({"of": _NAMES, "against": _NAMES}, also=_NAMES)
_RANKS = make_keys({"where": text, "quantity": as_node, "of": mapping(anything)}, among=_NAMES)
_SUSPECT = make_keys({"quantity": text, "datasets": _NAMES, "rows": _NAMES, "reason": text})
_CLAIM = make_keys({"text": text, "where": text, "says": as_node})
_STATEMENT = make_keys(
    {"kind": choice(*KINDS), "quantity": as_node, "algorithms": _NAMES, "for": as_node},
    than=_NAMES,
    among=_NAMES,
    value=number,
    by=_read_share,
    ranked=_NAMES,
)
#: What the parts of a file under other protocols have in common with it.
_SHARED = ("id", "title", "citation")
#: What a paper has as the file has it, by name.
_BY_NAME = ("rows", "variants", "unavailable", "groups", "marks")


class PaperFile:
    """Reads the file of one paper."""

    def __init__(self, root: Node):
        self.root = root
        self.given = read_keys(_FILE, root, "the file of a paper")
        node, known = self.given.get("protocol"), tuple(protocol.id for protocol in protocols())
        self.protocol: Protocol = get_protocol(choice(*known)(node, "protocol") if node else "online")
        self.groups: dict[str, tuple[str, ...]] = self.given.get("groups", {})
        self.marks: dict[str, float | None] = self.given.get("marks", {})

    def paper(self) -> Paper:
        """Return everything in the file."""
        tables = [read_keys(_TABLE, node, "a table") for node in self.given["tables"]]
        numbers = self._explain(self._numbers(tables))
        datasets = tuple(dict.fromkeys(number.dataset for number in numbers))
        traits, traits_where = self.given.get("traits", ({}, ""))
        shapes, shapes_where = self.given.get("shapes", ({}, ""))
        return Paper(
            **{key: self.given[key] for key in _SHARED},
            **{
                key: self.given.get(key, {}) for key in ("rows", "variants", "unavailable", "groups", "marks")
            },
            protocol=self.protocol.id,
            numbers=tuple(numbers),
            requires=self._requirements(),
            tables=tuple(table["where"] for table in tables),
            traits={id: tuple(values) for id, values in traits.items()},
            traits_where=traits_where,
            shapes=shapes,
            shapes_where=shapes_where,
            claims=tuple(self._claim(id, node, datasets) for id, node in self._below("claims")),
            marked=tuple(self._marked(table) for table in tables if "marks" in table),
            ranks=tuple(self._ranks(node, numbers) for node in self.given.get("ranks", ())),
            also={id: self._other(id, node) for id, node in self._below("also")},
        )

    def _below(self, key: str) -> Iterable[tuple[str, Node]]:
        found: dict[str, Node] = self.given.get(key, {})
        return found.items()

    def _other(self, id: str, node: Node) -> Paper:
        """Return what the file says of experiments under another protocol: the same keys, one level below."""
        own = [key.name for key in _FILE if key.name not in (*_SHARED, "protocol", "also")]
        shared = {key: self.root.value[key] for key in _SHARED}
        content = {**shared, "protocol": Node(id, node.place), **node.mapping(f"also.{id}", own)}
        return PaperFile(Node(content, node.place, dict.fromkeys(content, node.place))).paper()

    def _requirements(self) -> Requirements:
        search = one_or_many(choice(*self.protocol.searches))
        options = mapping(anything)
        keys = make_keys(
            {}, options=options, grid=choice("declared"), search=search, settings=options, tuned=_NAMES
        )
        given = read_keys(keys, self.given["requires"], "requires") if "requires" in self.given else {}
        given["tuned"] = self._expand(given.get("tuned", ()))
        return Requirements(**{"options": {}, "grid": "", "search": (), "settings": {}, **given})

    def _numbers(self, tables: Sequence[Mapping[str, Any]]) -> list[Reported]:
        """Return every number once; one that a later table prints again only adds its mark."""
        found: dict[tuple[str, ...], Reported] = {}
        for table in tables:
            for node, reported in self._table(table):
                key = (*reported.at.values(), reported.quantity)
                first = found.setdefault(key, reported)
                if (first.mean, first.deviation) != (reported.mean, reported.deviation):
                    raise node.fail(f"{reported.printed} is {first.printed} in {first.where}")
                found[key] = replace(first, marks={**first.marks, **reported.marks})
        return list(found.values())

    def _explain(self, numbers: list[Reported]) -> list[Reported]:
        """Return the numbers, those without an explanation with the reason to count them apart."""
        for node in self.given.get("suspect", ()):
            given = read_keys(_SUSPECT, node, "an entry of suspect")
            datasets, rows = self._expand(given["datasets"]), self._expand(given["rows"])
            places = set(product([given["quantity"]], datasets, rows))
            about = [(number.quantity, number.dataset, number.row) in places for number in numbers]
            if sum(about) != len(datasets) * len(rows):
                raise node.fail("not all of these numbers are in the tables")
            numbers = [
                replace(number, suspect=given["reason"]) if here else number
                for number, here in zip(numbers, about, strict=True)
            ]
        return numbers

    def _marked(self, table: Mapping[str, Any]) -> MarkedTable:
        """Return what the marks of a table compare."""
        given = read_keys(_COMPARED, table["marks"], "marks")
        return MarkedTable(
            table["where"], *(self._expand(given.get(key, ())) for key in ("of", "against", "also"))
        )

    def _ranks(self, node: Node, numbers: Sequence[Reported]) -> PrintedRanks:
        given = read_keys(_RANKS, node, "an entry of ranks")
        quantity = self._quantity(given["quantity"])
        known = {(number.dataset, number.row) for number in numbers if number.quantity == quantity}
        datasets = tuple(dict.fromkeys(number.dataset for number in numbers))
        among = self._expand(given["among"]) if "among" in given else datasets
        printed = {row: str(value) for row, value in given["of"].items()}
        if not set(product(among, printed)) <= known:
            raise node.fail("not all of the numbers that are ranked are in the tables")
        return PrintedRanks(given["where"], quantity, among, printed)

    def _table(self, table: Mapping[str, Any]) -> Iterator[tuple[Node, Reported]]:
        """Yield the numbers of a table, each with its place in the file."""
        by = table.get("by", ("dataset", "algorithm"))
        if not {"dataset", "algorithm"} <= set(by):
            raise table["numbers"].fail("the keys of a table, 'by', must include dataset and algorithm")
        names = [self._quantity(node) for node in table["quantities"]]
        unit = UNITS[table.get("unit", "fraction")]
        for place, leaf in _leaves(table["numbers"], len(by)):
            at = dict(zip(by, place, strict=True))
            cells = leaf.items("the numbers of a cell") if isinstance(leaf.value, list) else [leaf]
            if len(cells) != len(names):
                raise leaf.fail(f"{len(cells)} numbers where {len(names)} are needed: {', '.join(names)}")
            where = ", ".join((table["where"], *place))
            for name, cell in zip(names, cells, strict=True):
                if cell.value is not None:
                    number, mark = _reported(cell, where, at, name, _sample(table, at), unit)
                    if mark and (mark not in self.marks or "marks" not in table):
                        raise cell.fail(
                            f"the mark '{mark}' needs its level under the key 'marks', as does its table"
                        )
                    yield cell, replace(number, marks={table["where"]: mark} if mark else {})

    def _claim(self, id: str, node: Node, datasets: Sequence[str]) -> Claim:
        given = read_keys(_CLAIM, node, "a claim")
        return Claim(id, given["text"], given["where"], self._statement(given["says"], datasets))

    def _statement(self, node: Node, datasets: Sequence[str]) -> Statement:
        """Return a statement with the names of groups replaced by their members."""
        given = read_keys(_STATEMENT, node, "a statement")
        kind, where = given["kind"], given["for"]
        rival = "value" if kind in VALUED_KINDS else "than"
        if rival not in given:
            raise node.fail(f"a statement of the kind {kind} needs the key '{rival}'")
        named = isinstance(where.value, list)
        among = self._expand(given["among"]) if "among" in given else tuple(datasets)
        says = Statement(
            kind=kind,
            quantity=self._quantity(given["quantity"]),
            algorithms=self._expand(given["algorithms"]),
            than=self._expand(given.get("than", ())),
            on="every" if named else _quantifier(where, kind),
            datasets=self._expand(_NAMES(where, "for")) if named else among,
            value=given.get("value"),
            by=given.get("by"),
            ranked=self._expand(given.get("ranked", ())),
        )
        self._check_points(node, says)
        return says

    def _check_points(self, node: Node, says: Statement) -> None:
        """Refuse names like "pa@5" where the protocol records no curve of the quantity."""
        recorded = {series.quantity.name for series in self.protocol.series}
        for name in says.names:
            _, sign, point = name.partition("@")
            if sign and (says.quantity not in recorded or not point.removesuffix("%").isdecimal()):
                raise node.fail(
                    f"the protocol {self.protocol.id} records no point '{name}' of {says.quantity}"
                )

    def _expand(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return names, those of groups replaced by their members."""
        return tuple(member for name in names for member in self.groups.get(name, (name,)))

    def _quantity(self, node: Node) -> str:
        try:
            return self.protocol.quantity(text(node, "a quantity")).name
        except UserError as error:
            raise node.fail(str(error)) from None


def _leaves(node: Node, depth: int) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Yield what lies `depth` mappings below a node, with the keys that lead there."""
    if not depth:
        yield (), node
        return
    if not isinstance(node.value, dict):
        raise node.fail(f"there must be a mapping here, not {node.shown()}")
    for name, below in node.value.items():
        for place, leaf in _leaves(below, depth - 1):
            yield (name, *place), leaf


def _sample(content: Mapping[str, Node], at: Mapping[str, str]) -> int | None:
    """Return the n of a number: that of its table or, in a mapping, of its data set."""
    node = content.get("n")
    if node is not None and isinstance(node.value, dict):
        node = node.value.get(at["dataset"])
    return None if node is None else whole(1)(node, "n")


def _reported(
    node: Node, where: str, at: Mapping[str, str], quantity: str, n: int | None, unit: float
) -> tuple[Reported, str]:
    """Return a printed number, and the mark before it."""
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


def _quantifier(node: Node, kind: str) -> str:
    """Return on how many data sets a statement is said to hold: a word, or "11 of 12"."""
    counts = _COUNTS.fullmatch(node.value) if isinstance(node.value, str) else None
    if counts and 0 < int(counts[1]) <= int(counts[2]):
        return str(node.value)
    word = choice(*QUANTIFIERS)(node, "for")
    if word == OVERALL and kind not in RANKED_KINDS:
        raise node.fail(f"overall is about mean ranks, which {kind} is not; use {', '.join(RANKED_KINDS)}")
    return word
