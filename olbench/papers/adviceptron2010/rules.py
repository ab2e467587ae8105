"""Rule files, and what they mean in a data set: names become columns, conditions rows of D x <= d."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from olbench import structs
from olbench.data.catalog import catalog
from olbench.data.source import Source
from olbench.errors import UserError, expand_home, is_file, suggest
from olbench.learners.examples import Floats
from olbench.papers.adviceptron2010.grammar import Condition, Feature, Inequality, Rule, RuleText, parse_rule
from olbench.papers.adviceptron2010.names import Names, default_features, expand_names, load_named_spec
from olbench.papers.adviceptron2010.sets import Advice, AdviceSet, is_empty
from olbench.protocols.specs import by_dataset
from olbench.records.shipped import find_folder
from olbench.structs import Node

Plain = Mapping[str, Any]


def list_missing(names: Names, condition: Condition) -> list[Feature]:
    return [feature for feature in condition.features if names.column(feature.spellings) is None]


@dataclass(frozen=True)
class _Compiler:
    rule: Rule
    names: Names
    missing: str

    def compile(self) -> AdviceSet | None:
        """Return the set of a rule; None if its class says nothing here, or no condition is left."""
        z = self.sign()
        kept = [condition for condition in self.rule.conditions if self._is_kept(condition)]
        if z is None or not kept:
            return None
        rows = [row for condition in kept for row in self.rows(condition)]
        return AdviceSet(
            # Adding zero turns minus zeros into plain ones.
            D=np.array([row for row, _ in rows]) + 0.0,
            d=np.array([bound for _, bound in rows]) + 0.0,
            z=z,
            text=" ".join(self.rule.source.text.split()),
            place=self.rule.source.place,
            source=self.rule.source.reference,
            dropped=tuple(condition.text for condition in self.rule.conditions if condition not in kept),
        )

    def sign(self) -> int | None:
        head = self.rule.head
        try:
            return self.names.sign(head.name, head.negated)
        except KeyError:
            known = list(self.names.classes)
            raise self.rule.source.fail(
                head.start,
                f"there is no class '{head.name}'{suggest(head.name, [name.lower() for name in known])}; "
                f"the classes are {', '.join(known)}, or one of them after 'not'",
            ) from None

    def _is_kept(self, condition: Condition) -> bool:
        missing = list_missing(self.names, condition)
        if not missing or self.missing == "drop":
            return not missing
        name, known = missing[0].name, [each.lower() for each in self.names.features]
        raise self.rule.source.fail(
            missing[0].start,
            f"the data has no feature '{name}'{suggest(name, known)}; correct the name, or set "
            "'missing: drop' to leave such conditions out",
        )

    def rows(self, condition: Condition) -> list[tuple[Floats, float]]:
        columns = [self.names.column(feature.spellings) for feature in condition.binary]
        for k, (feature, column) in enumerate(zip(condition.binary, columns, strict=True)):
            if column in columns[:k]:
                raise self.rule.source.fail(feature.start, f"'{feature.name}' is listed twice")
            if self.names.binary is not None and column not in self.names.binary:
                raise self.rule.source.fail(
                    feature.start,
                    f"'{feature.name}' has values other than 0 and 1, so it is neither present nor absent; "
                    "compare it with a number",
                )
        return [self._row(each) for each in condition.inequalities]

    def _row(self, inequality: Inequality) -> tuple[Floats, float]:
        row = np.zeros(len(self.names.features))
        for feature, value in inequality.difference.items():
            if feature:
                row[self.names.column(feature.spellings)] += value
        bound = 0.0 - inequality.difference.get(None, 0.0)
        if not (np.isfinite(row).all() and math.isfinite(bound)):
            raise self.rule.source.fail(inequality.start, "its numbers are too large for 64 bits together")
        if not row.any():
            raise self.rule.source.fail(
                inequality.start, "the features cancel, so only constants are left to compare; name a feature"
            )
        if not inequality.strict:
            return row, bound
        columns, whole = np.flatnonzero(row), self.names.whole
        if whole is None or not whole.issuperset(columns.tolist()) or (row != np.rint(row)).any():
            raise self.rule.source.fail(
                inequality.start,
                "a strict < or > is only defined for features that are whole numbers; write <= or >=",
            )
        # The largest value below the bound that a sum of whole numbers can take.
        return row, math.ceil(bound) - 1.0


SIGNS = structs.signs(structs.text)
KEYS = structs.make_keys(
    {"rules": structs.many(structs.as_node)},
    missing=structs.choice("refuse", "drop"),
    domain=structs.flag,
    features=lambda node, name: expand_names(structs.many(structs.text)(node, name)),
    classes=lambda node, name: {title: sign for sign, title in SIGNS(node, name).items()},
    title=structs.line,
    source=structs.line,
    note=structs.line,
)
RULE_KEYS = structs.make_keys({"rule": structs.text}, source=structs.line, note=structs.line)


@dataclass(frozen=True)
class RuleFile:
    """Rules with their settings.

    With `missing` "drop", conditions on features that are not in the data are left out; with "refuse" they
    are refused. `domain` adds 0 <= x <= 1 for 0/1 features to every rule. `features` and `classes` are names
    that the data does not have.
    """

    rules: tuple[Rule, ...]
    missing: str = "refuse"
    domain: bool = False
    features: tuple[str, ...] = ()
    classes: Mapping[str, int] = field(default_factory=dict)

    def names(self, known: Names) -> Names:
        if self.features and len(self.features) != len(known.features):
            raise UserError(
                f"{self.rules[0].source.place.rpartition(':')[0]}: 'features' names {len(self.features)} "
                f"features, but the data has {len(known.features)}"
            )
        return replace(
            known, features=self.features or known.features, classes={**self.classes, **known.classes}
        )

    def compile(self, known: Names) -> Advice:
        """Compile the rules for data with these names; a rule that no example can satisfy is refused."""
        names = self.names(known)
        pairs = [
            (rule, compiled)
            for rule in self.rules
            if (compiled := _Compiler(rule, names, self.missing).compile()) is not None
        ]
        advice = Advice(tuple(compiled for _, compiled in pairs), len(names.features))
        if self.domain:
            advice = advice.with_domain(names.binary)
        for (rule, _), each in zip(pairs, advice, strict=True):
            if is_empty(each.D, each.d):
                within = " with features between 0 and 1" if self.domain else ""
                raise rule.source.fail(
                    0, f"no example can satisfy all conditions of this rule{within}; correct or remove one"
                )
        return advice

    def plain(self) -> dict[str, Any]:
        texts = [rule.source for rule in self.rules]
        return {
            "rules": [each.text for each in texts],
            "sources": [each.reference for each in texts],
            "missing": self.missing,
            "domain": self.domain,
            "features": list(self.features),
            "classes": dict(self.classes),
            "places": [each.place for each in texts],
        }


def from_plain(content: Plain) -> RuleFile:
    """Return the rules of a config or of a trial, which has neither places nor sources."""
    texts = content["rules"]
    places = content.get("places") or [f"rule {k}" for k in range(1, len(texts) + 1)]
    sources = content.get("sources") or [""] * len(texts)
    rules = (
        parse_rule(RuleText(text, place, reference=source))
        for text, place, source in zip(texts, places, sources, strict=True)
    )
    own = {name: content[name] for name in ("missing", "domain", "classes")}
    return RuleFile(tuple(rules), features=tuple(content["features"]), **own)


def compile_texts(texts: Iterable[str], names: Names, domain: bool = False) -> Advice:
    """Compile rules given as text, without a file.

    >>> names = Names(("glucose", "bmi"), {"diabetes": 1})
    >>> [each] = compile_texts(["bmi >= 30 and glucose >= 126 => diabetes"], names)
    >>> each.D.tolist(), each.d.tolist(), each.z
    ([[0.0, -1.0], [-1.0, 0.0]], [-30.0, -126.0], 1)
    """
    rules = (parse_rule(RuleText(text, f"rule {k}")) for k, text in enumerate(texts, start=1))
    return RuleFile(tuple(rules), domain=domain).compile(names)


def read_rules(name_or_path: str | Path) -> RuleFile:
    path, name = expand_home(name_or_path), str(name_or_path)
    if not is_file(path):
        known = shipped_rules()
        if name not in known:
            raise UserError(
                f"there is no rule file '{name}'{suggest(name, list(known))}; "
                f"olbench ships {', '.join(known)}"
            )
        path = known[name]
    text = path.read_text(encoding="utf-8", errors="replace")
    return parse_rules(structs.read_yaml(path), text)


def shipped_rules() -> dict[str, Path]:
    return {path.stem: path for path in sorted((find_folder("datasets") / "rules").glob("*.yaml"))}


def parse_rules(root: Node, text: str = "") -> RuleFile:
    if isinstance(root.value, list):
        root = Node({"rules": root}, root.place, {"rules": root.place})
    given = structs.read_keys(KEYS, root, "a rule file")
    source = given.get("source", "")
    rules = tuple(_read_rule(item, text.splitlines(), source) for item in given["rules"])
    own = {name: given[name] for name in ("missing", "domain", "features", "classes") if name in given}
    return RuleFile(rules, **own)


def _read_rule(item: Node, lines: list[str], source: str) -> Rule:
    if not isinstance(item.value, dict):
        item = Node({"rule": item}, item.place, {"rule": item.place})
    given = structs.read_keys(RULE_KEYS, item, "a rule")
    text, place = given["rule"], item.value["rule"].place
    number = place.rpartition(":")[2]
    line = lines[int(number) - 1] if number.isdigit() and 0 < int(number) <= len(lines) else ""
    column = line.index(text) + 1 if text in line else None
    return parse_rule(RuleText(text, place, column, given.get("source") or source))


def read_advice(node: Node, name: str) -> dict[str, Plain]:
    """Read the key `advice` of a config: rules or a rule file, for all data sets or for each."""
    if isinstance(node.value, dict) and "rules" not in node.value:
        rules: dict[str, Plain] = by_dataset(_read_plain)(node, name)
        return rules
    return {"*": _read_plain(node, name)}


def _read_plain(node: Node, name: str) -> Plain:
    if isinstance(node.value, dict) and "places" in node.value:  # from run.json
        recorded: Plain = structs.anything(node, name)
        return recorded
    if not isinstance(node.value, str):
        return parse_rules(node).plain()
    path = Path(node.place.rpartition(":")[0]).parent / expand_home(node.value)
    try:
        return read_rules(path if is_file(path) else node.value).plain()
    except UserError as error:
        if is_file(path):
            raise
        raise node.fail(str(error)) from None


@cache
def describe(source: Source) -> tuple[Names, tuple[int, ...]]:
    """Return the names in a data set, and the columns in which zeros stand for missing values."""
    spec, facts = source.spec, source.facts
    if not facts and (spec.path or spec.name in catalog()):
        named = load_named_spec(spec)
        return named.names, named.missing_zeros
    names = Names(tuple(facts["features"]), facts["classes"]) if facts else Names(default_features(source.d))
    return names.with_values(source.open().examples.matrix()), tuple(facts.get("missing_zeros", ()))


def compile_for(source: Source, plain: Plain) -> Advice:
    return _compile(source, json.dumps(plain, sort_keys=True))


@cache
def _compile(source: Source, text: str) -> Advice:
    return from_plain(json.loads(text)).compile(describe(source)[0])
