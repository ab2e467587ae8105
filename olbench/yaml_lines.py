"""YAML values with their place, so that errors can name file and line. Every YAML file is read here."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from olbench.errors import UserError, shorten, show_name, suggest

#: A config is written by hand. More values than this can only come from nested aliases.
MOST_VALUES = 100_000
#: A device may never end.
MOST_CHARACTERS = 10_000_000
#: 1e-3, as people write it; YAML 1.1 requires a point and reads this as a word.
EXPONENT = re.compile(r"[+-]?\d+[eE][+-]?\d+")
#: The tag of the key `<<`, which takes over the keys of other mappings.
MERGE = "tag:yaml.org,2002:merge"

#: What reads the files of users, and those that ship: libyaml is several times faster where it is there, but
#: takes some texts that are not YAML, such as words with tabs.
LOADER: Any = yaml.SafeLoader
SHIPPED_LOADER: Any = getattr(yaml, "CSafeLoader", LOADER)


@dataclass(slots=True)
class Node:
    """A value of a file (a scalar, a list of nodes or a dict of nodes) with the place it was read from."""

    value: Any
    place: str
    keys: dict[str, str] = field(default_factory=dict)

    def fail(self, reason: str) -> UserError:
        return UserError(f"{self.place}: {reason}")

    def mapping(self, what: str, known: list[str] | None = None) -> "dict[str, Node]":
        if not isinstance(self.value, dict):
            raise self.fail(f"{what} must be a mapping, not {self.shown()}")
        for key in self.value:
            if known is not None and key not in known:
                reason = f"unknown key {show_name(str(key))} in {what}{suggest(key, known)}"
                raise UserError(f"{self.keys[key]}: {reason}")
        return self.value

    def items(self, what: str) -> "list[Node]":
        if not isinstance(self.value, list):
            raise self.fail(f"{what} must be a list, not {self.shown()}")
        if not self.value:
            raise self.fail(f"{what} must not be empty")
        return self.value

    def shown(self) -> str:
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return "a list"
        return "nothing" if self.value is None else shorten(repr(self.value))


def read_yaml(path: Path, loader: Any = LOADER) -> Node:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_CHARACTERS + 1)
    except UnicodeDecodeError:
        raise UserError(f"{path}:1: not YAML (it is not UTF-8 text)") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    if len(text) > MOST_CHARACTERS:
        raise UserError(f"{path}:1: it has more than {MOST_CHARACTERS:,} characters; a YAML file has fewer")
    return parse_yaml(text, str(path), loader=loader)


def parse_yaml(text: str, name: str, one_place: bool = False, loader: Any = LOADER) -> Node:
    """Return the content of YAML text; with `one_place` the name alone is the place of everything."""

    def place(line: int = 0) -> str:
        return name if one_place else f"{name}:{line + 1}"

    try:
        reader = loader(text)
        node = reader.get_single_node()
        if node is None:
            raise UserError(f"{place()}: it is empty")
        return _Converter(reader, place).convert(node, ())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise UserError(f"{place(mark.line if mark else 0)}: not YAML ({problem})") from None
    except RecursionError:
        raise UserError(f"{place()}: its brackets or lists are nested too deeply") from None


def from_plain(value: Any, place: str, paths: bool = False) -> Node:
    """Return plain values as nodes: all at one place, or with `paths` each at the path of keys to it."""
    if isinstance(value, dict):
        inner = {
            str(key): from_plain(item, f"{place}.{key}" if paths else place, paths)
            for key, item in value.items()
        }
        return Node(inner, place, {key: item.place for key, item in inner.items()})
    if isinstance(value, list | tuple):
        places = [f"{place}.{number}" for number in range(len(value))] if paths else [place] * len(value)
        return Node([from_plain(item, at, paths) for item, at in zip(value, places, strict=True)], place)
    return Node(value, place)


class _Converter:
    def __init__(self, loader: yaml.SafeLoader, place_of_line: Callable[[int], str]):
        self.loader, self.place_of_line = loader, place_of_line
        self.count = 0

    def place(self, node: yaml.Node) -> str:
        return self.place_of_line(node.start_mark.line)

    def convert(self, node: yaml.Node, above: tuple[int, ...]) -> Node:
        if id(node) in above:
            raise UserError(f"{self.place(node)}: an alias may not contain itself")
        self.count += 1
        if self.count > MOST_VALUES:
            raise UserError(f"{self.place(node)}: its aliases repeat more than {MOST_VALUES:,} values")
        inside = (*above, id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, inside)
        if isinstance(node, yaml.SequenceNode):
            return Node([self.convert(item, inside) for item in node.value], self.place(node))
        return Node(self._scalar(node), self.place(node))

    def _mapping(self, node: yaml.MappingNode, inside: tuple[int, ...]) -> Node:
        own: dict[str, Node] = {}
        places: dict[str, str] = {}
        shared: list[Node] = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise UserError(f"{self.place(key)}: a key must be a word")
            if key.tag == MERGE:
                items = value.value if isinstance(value, yaml.SequenceNode) else [value]
                shared += [self.convert(item, inside) for item in items]
            elif key.value in own:
                raise UserError(f"{self.place(key)}: the key '{key.value}' is listed twice")
            else:
                own[key.value], places[key.value] = self.convert(value, inside), self.place(key)
        for other in shared:
            own, places = {**other.mapping("what << takes over"), **own}, {**other.keys, **places}
        return Node(own, self.place(node), places)

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            value = self.loader.construct_object(node)
        except yaml.YAMLError:
            raise
        except Exception:
            # A tag such as !!timestamp may fail in any way on a text that is not one.
            raise UserError(f"{self.place(node)}: cannot read the value {shorten(str(node.value))}") from None
        return float(value) if isinstance(value, str) and EXPONENT.fullmatch(value) else value
