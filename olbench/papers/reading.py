"""Reads the YAML file of a paper; what is wrong in it is refused with its line."""

import re
from collections.abc import Iterator, Mapping, Sequence
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
from olbench.yaml_lines import Placed

UNITS = {"fraction": 1.0, "percent": 0.01}
_NUMBER = r"(\d+(?:\.(\d+))?)"
_PRINTED = re.compile(rf"([^\w\s.]?){_NUMBER}(?: ± (\d+(?:\.\d+)?))?")
_COUNTS = re.compile(r"(\d+) of (\d+)")
_PERCENT = re.compile(rf"{_NUMBER}%")
_KEYS = [
    "id", "title", "citation", "protocol", "requires", "rows", "variants", "unavailable", "traits", "shapes",
    "tables", "groups", "claims", "marks", "ranks", "suspect", "also",
]  # fmt: skip
#: What the parts of a file under other protocols have in common with it.
_SHARED = ("id", "title", "citation")


class PaperFile:
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
        self.marks = {mark: _level(node) for mark, node in self._below("marks").items()}

    def paper(self) -> Paper:
        """Return everything in the file."""
        tables = self._items("tables")
        numbers = self._explain(self._numbers(tables))
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
            marks=self.marks,
            marked=tuple(found for node in tables if (found := self._marked(node))),
            ranks=tuple(self._ranks(node, numbers) for node in self._items("ranks")),
            also={id: self._other(id, node) for id, node in self._below("also").items()},
        )

    def _other(self, id: str, node: Placed) -> Paper:
        """Return what the file says of experiments under another protocol: the same keys, one level below."""
        inner = node.mapping(
            f"also.{id}", [key for key in _KEYS if key not in (*_SHARED, "protocol", "also")]
        )
        shared = {key: self.content[key] for key in _SHARED}
        content = {**shared, "protocol": Placed(id, node.place), **inner}
        return PaperFile(Placed(content, node.place, dict.fromkeys(content, node.place))).paper()

    def _below(self, key: str) -> dict[str, Placed]:
        node = self.content.get(key)
        if node is None:
            return {}
        if not isinstance(node.value, dict):
            raise node.fail(f"{key} must be a mapping, not {node.shown()}")
        return node.value

    def _items(self, key: str) -> list[Placed]:
        """Return a list that may be empty or missing."""
        node = self.content.get(key)
        return [] if node is None or node.value == [] else node.items(key)

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
        keys = ["options", "grid", "search", "settings", "tuned"]
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
            tuned=self._members(content["tuned"]) if "tuned" in content else (),
        )

    def _numbers(self, tables: Sequence[Placed]) -> list[Reported]:
        """Return every number once; one that a later table prints again only adds its mark."""
        found: dict[tuple[str, ...], Reported] = {}
        for table in tables:
            for node, number in self._table(table):
                key = (*number.at.values(), number.quantity)
                first = found.setdefault(key, number)
                if (first.mean, first.deviation) != (number.mean, number.deviation):
                    raise node.fail(f"{number.printed} is {first.printed} in {first.where}")
                found[key] = replace(first, marks={**first.marks, **number.marks})
        return list(found.values())

    def _explain(self, numbers: list[Reported]) -> list[Reported]:
        """Return the numbers, those that nothing explains with the reason to count them apart."""
        for node in self._items("suspect"):
            content = _required(node, "an entry of suspect", ["quantity", "datasets", "rows", "reason"])
            quantity, reason = content["quantity"].text("quantity"), content["reason"].text("reason")
            datasets, rows = self._members(content["datasets"]), self._members(content["rows"])
            about = [
                (number.quantity, number.dataset in datasets, number.row in rows) == (quantity, True, True)
                for number in numbers
            ]
            if sum(about) != len(datasets) * len(rows):
                raise node.fail("not all of these numbers are in the tables")
            numbers = [
                replace(number, suspect=reason) if here else number
                for number, here in zip(numbers, about, strict=True)
            ]
        return numbers

    def _marked(self, node: Placed) -> MarkedTable | None:
        """Return what the marks of a table compare, if it has any."""
        compares: Placed | None = node.value.get("marks")
        if compares is None:
            return None
        content = _required(compares, "marks", ["of", "against"], ["also"])
        also = self._members(content["also"]) if "also" in content else ()
        tested, against = (self._members(content[key]) for key in ("of", "against"))
        return MarkedTable(_where(node), tested, against, also)

    def _ranks(self, node: Placed, numbers: Sequence[Reported]) -> PrintedRanks:
        content = _required(node, "an entry of ranks", ["where", "quantity", "of"], ["among"])
        quantity = content["quantity"].text("quantity")
        _check_quantity(content["quantity"], quantity, self.protocol)
        known = {(number.dataset, number.row) for number in numbers if number.quantity == quantity}
        datasets = tuple(dict.fromkeys(number.dataset for number in numbers))
        among = self._members(content["among"]) if "among" in content else datasets
        printed = {row: str(_plain(item)) for (row,), item in _leaves(content["of"], 1)}
        if not set(product(among, printed)) <= known:
            raise node.fail("not all of the numbers that are ranked are in the tables")
        return PrintedRanks(_where(node), quantity, among, printed)

    def _table(self, node: Placed) -> Iterator[tuple[Placed, Reported]]:
        """Yield the numbers of a table, each with its place in the file."""
        content = _required(node, "a table", ["quantities", "numbers"], ["where", "by", "n", "unit", "marks"])
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
                    number, mark = _reported(cell, where, at, name, _sample(content, at), UNITS[unit])
                    yield cell, replace(number, marks=self._read_mark(cell, node, mark))

    def _read_mark(self, cell: Placed, table: Placed, mark: str) -> dict[str, str]:
        """Return the mark of a number by the table that it is in."""
        if not mark:
            return {}
        if mark not in self.marks or "marks" not in table.value:
            raise cell.fail(f"the mark '{mark}' needs its level under the key 'marks', as does its table")
        return {_where(table): mark}

    def _claim(self, id: str, node: Placed, datasets: Sequence[str]) -> Claim:
        content = _required(node, "a claim", ["text", "where", "says"])
        says = self._statement(content["says"], datasets)
        return Claim(id, content["text"].text("text"), content["where"].text("where"), says)

    def _statement(self, node: Placed, datasets: Sequence[str]) -> Statement:
        """Return a statement with the names of groups replaced by their members."""
        keys = ["kind", "quantity", "algorithms", "for"]
        content = _required(node, "a statement", keys, ["than", "among", "value", "by", "ranked"])
        kind = content["kind"].choice("kind", KINDS)
        rival = "value" if kind in VALUED_KINDS else "than"
        if rival not in content:
            raise node.fail(f"a statement of the kind {kind} needs the key '{rival}'")
        quantity = content["quantity"].text("quantity")
        _check_quantity(content["quantity"], quantity, self.protocol)
        every = isinstance(content["for"].value, list)
        among = self._members(content["among"]) if "among" in content else tuple(datasets)
        says = Statement(
            kind=kind,
            quantity=quantity,
            algorithms=self._members(content["algorithms"]),
            than=self._members(content["than"]) if "than" in content else (),
            on="every" if every else _quantifier(content["for"], kind),
            datasets=self._members(content["for"]) if every else among,
            value=_number(content["value"]) if "value" in content else None,
            by=_share(content["by"]) if "by" in content else None,
            ranked=self._members(content["ranked"]) if "ranked" in content else (),
        )
        self._check_points(node, says)
        return says

    def _check_points(self, node: Placed, says: Statement) -> None:
        """Refuse names like "pa@5" where the protocol records no curve of the quantity."""
        recorded = {series.quantity.name for series in self.protocol.series}
        for name in says.names:
            _, sign, point = name.partition("@")
            if sign and (says.quantity not in recorded or not point.removesuffix("%").isdecimal()):
                raise node.fail(
                    f"the protocol {self.protocol.id} records no point '{name}' of {says.quantity}"
                )

    def _members(self, node: Placed) -> tuple[str, ...]:
        """Return the members of a group, of a list, or the one name."""
        if isinstance(node.value, list):
            return tuple(item.text("a name") for item in node.items("a list of names"))
        name = node.text("a name")
        return self.groups.get(name, (name,))


def _required(
    node: Placed, what: str, keys: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, Placed]:
    """Return a mapping that has all of some keys, and no others than the optional ones."""
    content = node.mapping(what, [*keys, *optional])
    for key in keys:
        if key not in content:
            raise node.fail(f"{what} needs the key '{key}'")
    return content


def _level(node: Placed) -> float | None:
    """Return the level of a mark of significance."""
    if node.value is None:
        return None
    if not isinstance(node.value, float) or not 0 < node.value < 1:
        raise node.fail(f"the level of a mark must be between 0 and 1, or null, not {node.shown()}")
    return node.value


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


def _quantifier(node: Placed, kind: str) -> str:
    """Return on how many data sets a statement is said to hold: a word, or "11 of 12"."""
    counts = _COUNTS.fullmatch(node.value) if isinstance(node.value, str) else None
    if counts and 0 < int(counts[1]) <= int(counts[2]):
        return str(node.value)
    word = node.choice("for", QUANTIFIERS)
    if word == OVERALL and kind not in RANKED_KINDS:
        raise node.fail(f"overall is about mean ranks, which {kind} is not; use {', '.join(RANKED_KINDS)}")
    return word


def _number(node: Placed) -> float:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise node.fail(f"value must be a number, not {node.shown()}")
    return float(node.value)


def _share(node: Placed) -> float:
    """Return the least share that a printed percentage allows: 8% may have been 7.5%."""
    match = _PERCENT.fullmatch(node.text("by"))
    if match is None:
        raise node.fail(f'by must be a percentage in quotes, such as "8%", not {node.shown()}')
    return (float(match[1]) - 0.5 * 10.0 ** -len(match[2] or "")) / 100


def _row_spec(node: Placed) -> RowSpec:
    if not isinstance(node.value, dict):
        return RowSpec(node.text("the id of an algorithm"), {})
    content = {name: _plain(item) for name, item in node.value.items()}
    if "id" not in content:
        raise node.fail("a row needs the key 'id': the algorithm that it stands for")
    return RowSpec(content.pop("id"), name=content.pop("name", ""), options=content)


def _plain(node: Placed) -> Any:
    if isinstance(node.value, dict):
        return {name: _plain(item) for name, item in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(item) for item in node.value]
    return node.value
