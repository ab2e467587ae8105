"""YAML values that know their line, and structs read from them: a dataclass says which keys a mapping has.

The annotation of a field decides how its value is read:

    int                     a whole number from 0
    float                   a finite number
    bool                    true or false
    str                     a text that is not empty
    tuple[X, ...]           a list
    Mapping[str, X]         a mapping with any keys
    X | None                X, or nothing
    a dataclass             a mapping with the keys of that class

`Annotated[X, ...]` adds a reader that replaces the usual one, and a sentence for the schema. A field without
a default must be given. The JSON schema comes from the same readers.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import yaml

from olbench.errors import UserError, is_unicode, shorten, show_name, suggest

#: A config is written by hand. More values than this can only come from nested aliases.
MOST_VALUES = 100_000
#: How deep `--set` may write.
DEEPEST = 20
#: A device may never end.
MOST_CHARACTERS = 10_000_000
#: 1e-3, as people write it; YAML 1.1 requires a point and reads this as a word.
EXPONENT = re.compile(r"[+-]?\d+[eE][+-]?\d+")
#: The tag of the key `<<`, which takes over the keys of other mappings.
MERGE = "tag:yaml.org,2002:merge"

#: For users' files and for files that ship: libyaml is several times faster where it is installed, but
#: accepts some texts that are not YAML, such as words with tabs.
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

    def mapping(
        self, what: str, known: list[str] | None = None, others: Mapping[str, str] | None = None
    ) -> "dict[str, Node]":
        """Return the values by key; `others` has sentences about keys that are known elsewhere."""
        if not isinstance(self.value, dict):
            raise self.fail(f"{what} must be a mapping, not {self.shown()}")
        for key in self.value:
            if known is not None and key not in known:
                unknown = f"unknown key {show_name(str(key))} in {what}{suggest(key, known)}"
                raise UserError(f"{self.keys[key]}: {(others or {}).get(key, unknown)}")
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


@contextmanager
def place_errors(node: Node) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise node.fail(str(error)) from None


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
    """Return the content of YAML text; with `one_place`, the name is the place of everything."""

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
    except UserError:
        raise
    except (ValueError, OverflowError) as error:  # at an escape such as "\U00110000"
        raise UserError(f"{place(reader.line)}: not YAML ({error})") from None


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


def apply_overrides(root: Node, overrides: Iterable[str]) -> Node:
    for override in overrides:
        key, separator, value = override.partition("=")
        place = f"--set {shorten(override, 200)}"
        if not separator or not key:
            raise UserError(f"{place}: write key=value, for example --set permutations=5")
        path = key.split(".")
        if len(path) > DEEPEST:
            raise UserError(f"--set {shorten(override)}: no key of a config is below {DEEPEST} others")
        root = _replace(root, path, parse_yaml(value or "null", place, one_place=True))
    return root


def _replace(node: Node, path: list[str], value: Node) -> Node:
    if not path:
        return value
    if not isinstance(node.value, dict):
        raise value.fail(f"there is no key '{path[0]}' below a value that is not a mapping")
    below = node.value.get(path[0], Node({}, value.place))
    content = {**node.value, path[0]: _replace(below, path[1:], value)}
    return Node(content, node.place, {**node.keys, path[0]: node.keys.get(path[0], value.place)})


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

    def _scalar(self, node: Any) -> Any:
        try:
            value = self.loader.construct_object(node)
        except yaml.YAMLError:
            raise
        except Exception:
            # A tag such as !!timestamp may fail in any way on a text that is not one.
            raise UserError(f"{self.place(node)}: cannot read the value {shorten(str(node.value))}") from None
        is_plain = isinstance(value, str) and not node.style  # in quotes, it is a text
        return float(value) if is_plain and EXPONENT.fullmatch(value) else value


T = TypeVar("T")
Reader = Callable[[Node, str], T]
ReaderT = TypeVar("ReaderT", bound=Reader[Any])
LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Key:
    name: str
    read: Reader[Any]
    #: MISSING if the key must be given.
    default: Any
    doc: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        about: dict[str, Any] = {"description": self.doc} if self.doc else {}
        if self.default is not MISSING and self.default not in (None, "", {}):
            about["default"] = list(self.default) if isinstance(self.default, tuple) else self.default
        return {**schema_of(self.read), **about}


@dataclass(frozen=True)
class Flat:
    """Marks a slot whose keys are on the level of its struct: these keys or, without any, all others."""

    keys: tuple[Key, ...] = ()


def make_keys(required: Mapping[str, Reader[Any]], **optional: Reader[Any]) -> tuple[Key, ...]:
    needed = (Key(name, read, MISSING) for name, read in required.items())
    return (*needed, *(Key(name, read, None) for name, read in optional.items()))


def with_schema(read: ReaderT, schema: Mapping[str, Any]) -> ReaderT:
    read.schema = schema  # type: ignore[attr-defined]
    return read


def schema_of(read: Reader[Any]) -> dict[str, Any]:
    return dict(getattr(read, "schema", {}))


def anything(node: Node, name: str) -> Any:
    if isinstance(node.value, dict):
        return {key: anything(item, name) for key, item in node.value.items()}
    return [anything(item, name) for item in node.value] if isinstance(node.value, list) else node.value


def is_whole(value: Any, low: int = 0) -> bool:
    """Return whether a value is a whole number from `low` that an array can hold, and not true or false."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= LARGEST


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number that an array can hold, and not true or false."""
    if isinstance(value, float):
        return math.isfinite(value)
    return is_whole(value, -LARGEST)


def checked(
    kind: Callable[[Any], T], is_right: Callable[[Any], bool], words: str, schema: Mapping[str, Any]
) -> Reader[T]:
    def read(node: Node, name: str) -> T:
        if not is_right(node.value):
            raise node.fail(f"{name} must be {words}, not {node.shown()}")
        return kind(node.value)

    return with_schema(read, schema)


TEXT = {"type": "string"}
#: A text that is not empty, and one that may be.
text = checked(str, lambda value: isinstance(value, str) and bool(value.strip()), "text", TEXT)
any_text = checked(str, lambda value: isinstance(value, str) and is_unicode(value), "text", TEXT)
flag = checked(bool, lambda value: isinstance(value, bool), "true or false", {"type": "boolean"})
number = checked(float, is_number, "a number", {"type": "number"})
not_negative = checked(
    float, lambda value: is_number(value) and value >= 0, "a number from 0", {"type": "number", "minimum": 0}
)


def name_text(node: Node, name: str) -> str:
    if not is_unicode(text(node, name)):
        raise node.fail(f"{name} is not valid Unicode: {node.shown()}")
    return text(node, name)


def line(node: Node, name: str) -> str:
    return " ".join(text(node, name).split())


def whole(low: int, most: int = LARGEST) -> Reader[int]:
    def read(node: Node, name: str) -> int:
        if isinstance(node.value, bool) or not isinstance(node.value, int) or node.value < low:
            raise node.fail(f"{name} must be a whole number from {low}, not {node.shown()}")
        if node.value > LARGEST:
            raise node.fail(f"{name} must be below 2^63, and {node.shown()} is not")
        if node.value > most:
            raise node.fail(f"{name} must be at most {most:,}, and {node.shown()} is more")
        return node.value

    limits = {"minimum": low} if most == LARGEST else {"minimum": low, "maximum": most}
    return with_schema(read, {"type": "integer", **limits})


def choice(*words: str) -> Reader[str]:
    def read(node: Node, name: str) -> str:
        if node.value not in words:
            hint = suggest(node.value, list(words)) if isinstance(node.value, str) else ""
            allowed = f"one of {', '.join(words)}" if len(words) > 1 else f"'{words[0]}'"
            raise node.fail(f"{name} must be {allowed}, not {node.shown()}{hint}")
        return str(node.value)

    return with_schema(read, {"enum": list(words)})


def many(read: Reader[T], least: int = 1) -> Reader[tuple[T, ...]]:
    def read_items(node: Node, name: str) -> tuple[T, ...]:
        if node.value == [] and not least:
            return ()
        return tuple(read(item, name) for item in node.items(name))

    return with_schema(read_items, {"type": "array", "minItems": least, "items": schema_of(read)})


def one_or_many(read: Reader[T], least: int = 1) -> Reader[tuple[T, ...]]:
    read_all = many(read, least)

    def read_items(node: Node, name: str) -> tuple[T, ...]:
        return read_all(node, name) if isinstance(node.value, list) else (read(node, name),)

    return with_schema(read_items, {"anyOf": [schema_of(read), schema_of(read_all)]})


def wholes(low: int) -> Reader[tuple[int, ...]]:
    return one_or_many(whole(low))


def mapping(read: Reader[T]) -> Reader[dict[str, T]]:
    def read_items(node: Node, name: str) -> dict[str, T]:
        content = node.mapping(name)
        return {key: read(item, f"{name}.{key}") for key, item in content.items()}

    return with_schema(read_items, {"type": "object", "additionalProperties": schema_of(read)})


def signs(read: Reader[T]) -> Reader[dict[int, T]]:
    def read_items(node: Node, name: str) -> dict[int, T]:
        return {int(sign): read(item, name) for sign, item in node.mapping(name, ["1", "-1"]).items()}

    return read_items


def as_node(node: Node, name: str) -> Node:
    return node


def read_keys(
    keys: Iterable[Key], node: Node, what: str, others: Mapping[str, str] | None = None
) -> dict[str, Any]:
    known = {key.name: key for key in keys}
    content = node.mapping(what, list(known), others)
    for name, key in known.items():
        if key.default is MISSING and name not in content:
            raise node.fail(f"{what} needs the key '{name}'")
    return {name: known[name].read(item, name) for name, item in content.items()}


def select(keys: Iterable[Key], given: Mapping[str, Any]) -> dict[str, Any]:
    return {key.name: given[key.name] for key in keys if key.name in given}


def read_struct(cls: Callable[..., T], node: Node, what: str) -> T:
    kind: Any = cls
    flat, keys = _flat_fields(kind), list(keys_of(kind))
    field_of = {key.name: slot for slot, (_, below) in flat.items() for key in below}
    keys += [key for _, below in flat.values() for key in below]
    for slot in [slot for slot, (_, below) in flat.items() if not below]:
        others = node.mapping(what).keys() - {key.name for key in keys}
        field_of |= dict.fromkeys(others, slot)
        keys += [Key(name, anything, None) for name in others]
    content: dict[str, Any] = {}
    below: dict[str, dict[str, Any]] = {slot: {} for slot in flat}
    for name, value in read_keys(keys, node, what).items():
        values = below[field_of[name]] if name in field_of else content
        values[name] = value
    return cls(**content, **{slot: make(**below[slot]) for slot, (make, _) in flat.items()})


def from_struct(struct: Any) -> dict[str, Any]:
    """`read_struct` reads it back; empty fields and those not compared are left out."""
    content: dict[str, Any] = {}
    kind: Any = type(struct)
    for slot in [slot for slot in fields(kind) if slot.compare]:
        value = getattr(struct, slot.name)
        if _is_struct(value):
            value = from_struct(value)
        elif isinstance(value, tuple) and value and _is_struct(value[0]):
            value = [from_struct(item) for item in value]
        if slot.name in _flat_fields(kind):
            content |= {key: item for key, item in value.items() if item is not None}
        elif value is not False and value not in (None, "", {}, ()):
            content[slot.name] = value
    return content


def read_plain(cls: Callable[..., T], content: Any, name: str) -> T:
    return read_struct(cls, from_plain(content, name, paths=True), name)


@cache
def keys_of(cls: Any, *without: str) -> tuple[Key, ...]:
    found = []
    hints = get_type_hints(cls, include_extras=True)
    for slot in fields(cls):
        default = slot.default
        if slot.default_factory is not MISSING:
            default = slot.default_factory()
        if slot.name not in without and slot.name not in _flat_fields(cls):
            docs = [note for note in getattr(hints[slot.name], "__metadata__", ()) if isinstance(note, str)]
            found.append(Key(slot.name, reader_of(hints[slot.name]), default, " ".join(docs)))
    return tuple(found)


@cache
def _flat_fields(cls: Any) -> dict[str, tuple[Callable[..., Any], tuple[Key, ...]]]:
    found: dict[str, tuple[Callable[..., Any], tuple[Key, ...]]] = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        for note in getattr(hint, "__metadata__", ()):
            if isinstance(note, Flat):
                kind = get_args(hint)[0]
                found[name] = (kind, keys_of(kind)) if _is_struct(kind) else (dict, note.keys)
    return found


def _is_struct(kind: Any) -> bool:
    return is_dataclass(kind)


def reader_of(hint: Any) -> Reader[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        own = next((note for note in hint.__metadata__ if callable(note)), None)
        return own or reader_of(arguments[0])
    if origin is tuple:
        return many(reader_of(arguments[0]), 0)
    if NoneType in arguments:
        [inner] = [reader_of(argument) for argument in arguments if argument is not NoneType]
        return lambda node, name: None if node.value is None else inner(node, name)
    if origin is not None and issubclass(origin, Mapping):
        return mapping(reader_of(arguments[1]))
    if _is_struct(hint):
        return lambda node, name: read_struct(hint, node, name)
    return _READERS[hint]


for _read in (name_text, line):
    with_schema(_read, TEXT)
_READERS: dict[Any, Reader[Any]] = {Any: anything, str: text, int: whole(0), float: number, bool: flag}
