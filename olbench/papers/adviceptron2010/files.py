"""Rule files: a mapping with the key `rules`, and what else decides how they compile."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from olbench import structs
from olbench.errors import UserError, expand_home, is_file, suggest
from olbench.papers.adviceptron2010.compile import compile_rules
from olbench.papers.adviceptron2010.grammar import Rule, parse_rule
from olbench.papers.adviceptron2010.names import Names, expand_names
from olbench.papers.adviceptron2010.sets import Advice
from olbench.papers.adviceptron2010.tokens import RuleText
from olbench.records.shipped import find_folder
from olbench.structs import Node


def _read_features(node: Node, name: str) -> tuple[str, ...]:
    names = structs.many(structs.text)(node, name)
    try:
        return expand_names(names)
    except UserError as error:
        raise node.fail(str(error)) from None


SIGNS = structs.signs(structs.text)
KEYS = structs.make_keys(
    {"rules": structs.many(structs.as_node)},
    missing=structs.choice("refuse", "drop"),
    domain=structs.flag,
    features=_read_features,
    classes=lambda node, name: {title: sign for sign, title in SIGNS(node, name).items()},
    title=structs.line,
    source=structs.line,
    note=structs.line,
)
RULE_KEYS = structs.make_keys({"rule": structs.text}, source=structs.line, note=structs.line)


@dataclass(frozen=True)
class RuleFile:
    """`missing` is "refuse" or "drop"; `features` and `classes` name what the data itself does not."""

    rules: tuple[Rule, ...]
    sources: tuple[str, ...]
    missing: str = "refuse"
    domain: bool = False
    features: tuple[str, ...] = ()
    classes: Mapping[str, int] = field(default_factory=dict)
    title: str = ""
    note: str = ""

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
        return compile_rules(self.rules, self.names(known), self.missing, self.domain, self.sources)

    def plain(self) -> dict[str, Any]:
        return {
            "rules": [rule.source.text for rule in self.rules],
            "places": [rule.source.place for rule in self.rules],
            "sources": list(self.sources),
            "missing": self.missing,
            "domain": self.domain,
            "features": list(self.features),
            "classes": dict(self.classes),
        }

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> "RuleFile":
        texts = content["rules"]
        places = content.get("places") or [f"rule {k + 1}" for k in range(len(texts))]
        return cls(
            rules=tuple(parse_rule(RuleText(text, place)) for text, place in zip(texts, places, strict=True)),
            sources=tuple(content.get("sources") or [""] * len(texts)),
            missing=content["missing"],
            domain=content["domain"],
            features=tuple(content["features"]),
            classes=dict(content["classes"]),
        )


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
    pairs = [_read_rule(item, text.splitlines()) for item in given.pop("rules")]
    source = given.pop("source", "")
    return RuleFile(
        rules=tuple(rule for rule, _ in pairs), sources=tuple(own or source for _, own in pairs), **given
    )


def _read_rule(item: Node, lines: list[str]) -> tuple[Rule, str]:
    if not isinstance(item.value, dict):
        item = Node({"rule": item}, item.place, {"rule": item.place})
    given = structs.read_keys(RULE_KEYS, item, "a rule")
    text, place = given["rule"], item.value["rule"].place
    number = place.rpartition(":")[2]
    line = lines[int(number) - 1] if number.isdigit() and 0 < int(number) <= len(lines) else ""
    column = line.index(text) + 1 if text in line else None
    return parse_rule(RuleText(text, place, column)), given.get("source", "")
