"""The rules of a config under the protocol `advice`: read from it or from files, kept as plain values."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from olbench.data.catalog import catalog
from olbench.data.source import Source
from olbench.errors import UserError, expand_home, is_file
from olbench.papers.adviceptron2010.files import RuleFile, parse_rules, read_rules
from olbench.papers.adviceptron2010.names import Names, default_features, load_named
from olbench.papers.adviceptron2010.sets import Advice
from olbench.protocols.keys import by_dataset
from olbench.structs import Node, anything

Plain = Mapping[str, Any]


def read_advice(node: Node, name: str) -> dict[str, Plain]:
    if isinstance(node.value, dict) and "rules" not in node.value:
        rules: dict[str, Plain] = by_dataset(_read_rules)(node, name)
        return rules
    return {"*": _read_rules(node, name)}


def _read_rules(node: Node, name: str) -> Plain:
    if isinstance(node.value, dict) and "places" in node.value:  # as run.json has them
        recorded: Plain = anything(node, name)
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
    spec = source.spec
    if source.facts:
        told = Names(tuple(source.facts["features"]), source.facts["classes"])
        zeros = tuple(source.facts["missing_zeros"])
        return told.with_values(source.open().examples.matrix()), zeros
    if spec.path or spec.name in catalog():
        place, labels = spec.path or spec.name, (spec.positive, spec.negative)
        named = load_named(place, *labels, reading=spec.reading, download=False)
        return named.names, named.missing_zeros
    names = Names(default_features(source.d), {"1": 1, "-1": -1})
    return names.with_values(source.open().examples.matrix()), ()


def compile_for(source: Source, plain: Plain) -> Advice:
    return _compile(source, json.dumps(plain, sort_keys=True))


@cache
def _compile(source: Source, text: str) -> Advice:
    return RuleFile.from_plain(json.loads(text)).compile(describe(source)[0])
