"""The catalogue: what each data set is made of, and what must come out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from olbench.errors import UserError, suggest

FORMATS = ("libsvm", "idx", "csv", "scikit-learn", "synthetic", "clusters", "spoligotypes")
STEP_NAMES = ("divide-by-255", "unit-range", "normgrey")


@dataclass(frozen=True)
class Entry:
    """One data set: where its files come from, how they become examples, and the facts to check."""

    name: str
    title: str
    format: str
    rows: int
    features: int
    #: How many examples have -1 and +1 in the end; empty where nothing is known and nothing checked.
    labels: dict[int, int]
    source: str
    fingerprint: str = ""
    #: Names of the files, all in one format, whose rows follow each other; IDX: images and labels in turn.
    files: tuple[str, ...] = ()
    #: Addresses of folders that hold the files.
    upstream: tuple[str, ...] = ()
    #: A page for people, if the files cannot be fetched without one.
    page: str = ""
    #: SHA-256 of the uncompressed files, where they are known for certain.
    sha256: dict[str, str] = field(default_factory=dict)
    #: No file may be larger than this, neither as fetched nor unpacked.
    max_bytes: int = 1 << 30
    positive: tuple[float, ...] | None = None
    negative: tuple[float, ...] | None = None
    label_column: str = "last"
    preprocess: tuple[str, ...] = ()
    #: The name of scikit-learn's data, or the parameters of the synthetic data.
    bundled: str = ""
    generator: dict[str, float] = field(default_factory=dict)
    citation: str = ""
    note: str = ""
    variant_of: str = ""
    #: What rules call the features, where stem(1-43) stands for stem1 to stem43, and the classes by sign.
    feature_names: tuple[str, ...] = ()
    class_names: dict[int, str] = field(default_factory=dict)
    #: Features in which a zero stands for a missing value.
    missing_zeros: tuple[str, ...] = ()

    @property
    def needs_files(self) -> bool:
        """Whether anything has to be fetched."""
        return bool(self.files)

    def recipe(self) -> dict[str, Any]:
        """Return what decides the examples besides the content of the files, as plain values."""
        keys = (
            "format",
            "positive",
            "negative",
            "label_column",
            "preprocess",
            "bundled",
            "generator",
            "features",
        )
        return {key: getattr(self, key) for key in keys}


def catalog_path() -> Path:
    """Return the catalogue's file: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for path in (package / "datasets" / "catalog.yaml", package.parent / "datasets" / "catalog.yaml"):
        if path.is_file():
            return path
    raise UserError(f"the catalogue of data sets is missing from {package}; install olbench again")


@cache
def catalog() -> dict[str, Entry]:
    """Return every data set of the catalogue by name, in its order."""
    path = catalog_path()
    return parse_catalog(path.read_text(encoding="utf-8"), path.name)


def find(name: str) -> Entry:
    """Return a data set of the catalogue, or refuse the name with a suggestion."""
    entries = catalog()
    if name not in entries:
        raise UserError(
            f"there is no data set '{name}'{suggest(name, list(entries))}; `olbench data list` shows all, "
            "and a path to a LIBSVM file works as well"
        )
    return entries[name]


def resolve(name_or_path: str | Path) -> Entry | Path:
    """Return the entry of a name, or the path; a name of the catalogue comes before a file of that name."""
    text = str(name_or_path)
    if isinstance(name_or_path, str) and text in catalog():
        return catalog()[text]
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise UserError(f"{text} is a folder; a data set is a file or a name from `olbench data list`")
    raise UserError(
        f"there is neither a file nor a data set '{text}'{suggest(text, list(catalog()))}; "
        "`olbench data list` shows the names"
    )


def parse_catalog(text: str, name: str) -> dict[str, Entry]:
    """Return the entries of a catalogue in YAML; whatever is wrong in it is refused with its line."""
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        content = loader.construct_document(node) if node else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise UserError(f"{name}{place}: not YAML ({getattr(error, 'problem', error)})") from None
    finally:
        loader.dispose()
    if not isinstance(content, dict) or not isinstance(content.get("datasets"), dict):
        raise UserError(f"{name}:1: a catalogue is a mapping with the key 'datasets'")
    entries: dict[str, Entry] = {}
    for lines, (key, given) in zip(_lines(node), content["datasets"].items(), strict=True):
        entries[str(key)] = _Parser(name, str(key), lines, entries).entry(given)
    return entries


def _lines(node: Any) -> Iterator[dict[str, int]]:
    """Yield for each data set the lines of its keys; the line of its name is under ''."""
    datasets = next(value for key, value in node.value if key.value == "datasets")
    for key, value in datasets.value:
        inner = value.value if isinstance(value.value, list) else []
        known = {pair[0].value: pair[0].start_mark.line + 1 for pair in inner if isinstance(pair, tuple)}
        yield {"": key.start_mark.line + 1, **known}


class _Parser:
    """Checks one data set of a catalogue, key by key."""

    def __init__(self, file: str, name: str, lines: dict[str, int], others: dict[str, Entry]):
        self.file, self.name, self.lines, self.others = file, name, lines, others

    def fail(self, key: str, reason: str) -> UserError:
        """Return an error with the line of a key."""
        line = self.lines.get(key, self.lines[""])
        return UserError(f"{self.file}:{line}: data set '{self.name}': {reason}")

    def entry(self, given: Any) -> Entry:
        """Return the entry; a variant inherits what it does not say."""
        if not isinstance(given, dict):
            raise self.fail("", "its facts must be a mapping")
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", self.name):
            raise self.fail("", "a name consists of small letters, digits, dots and hyphens")
        known = [f.name for f in fields(Entry) if f.name != "name"]
        for key in given:
            if key not in known:
                raise self.fail(str(key), f"unknown key '{key}'{suggest(str(key), known)}")
        values = {**self._inherited(given), **{key: self._value(key, value) for key, value in given.items()}}
        missing = [k for k in ("title", "format", "rows", "features", "labels", "source") if k not in values]
        if missing:
            raise self.fail("", f"the key '{missing[0]}' is missing")
        entry = Entry(name=self.name, **values)
        self._check(entry)
        return entry

    def _inherited(self, given: dict[str, Any]) -> dict[str, Any]:
        base = given.get("variant_of")
        if base is None:
            return {}
        if base not in self.others:
            raise self.fail("variant_of", f"there is no data set '{base}' above it")
        not_inherited = ("name", "fingerprint", "variant_of", "preprocess", "note")
        return {
            f.name: getattr(self.others[base], f.name) for f in fields(Entry) if f.name not in not_inherited
        }

    def _value(self, key: str, value: Any) -> Any:
        if key in ("rows", "features", "max_bytes"):
            return self._whole(key, value)
        if key in ("positive", "negative"):
            return tuple(self._number(key, item) for item in (value if isinstance(value, list) else [value]))
        if key in ("files", "upstream", "preprocess", "feature_names", "missing_zeros"):
            return tuple(self._text(key, item) for item in (value if isinstance(value, list) else [value]))
        if key == "labels":
            return self._counts(value)
        if key == "class_names":
            if not isinstance(value, dict) or not set(value) <= {-1, 1}:
                raise self.fail(key, "'class_names' must say what -1 and 1 are called")
            return {sign: self._text(key, name) for sign, name in value.items()}
        if key in ("sha256", "generator"):
            if not isinstance(value, dict):
                raise self.fail(key, f"'{key}' must be a mapping")
            return value
        return self._text(key, value)

    def _text(self, key: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.fail(key, f"'{key}' must be text, not {value!r}")
        return " ".join(value.split())

    def _whole(self, key: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.fail(key, f"'{key}' must be a whole number above 0, not {value!r}")
        return value

    def _number(self, key: str, value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.fail(key, f"'{key}' must be a label or a list of labels, not {value!r}")
        return float(value)

    def _counts(self, value: Any) -> dict[int, int]:
        if not isinstance(value, dict) or set(value) != {-1, 1}:
            raise self.fail("labels", "'labels' must say how many examples are -1 and how many are 1")
        return {label: self._whole("labels", count) for label, count in value.items()}

    def _check(self, entry: Entry) -> None:
        if entry.format not in FORMATS:
            raise self.fail(
                "format", f"unknown format '{entry.format}'{suggest(entry.format, list(FORMATS))}"
            )
        if sum(entry.labels.values()) != entry.rows:
            total = sum(entry.labels.values())
            raise self.fail("labels", f"the labels add up to {total}, but there are {entry.rows} rows")
        if bool(entry.files) != (entry.format in ("libsvm", "idx", "csv", "spoligotypes")):
            raise self.fail("files", f"the format '{entry.format}' and 'files' do not go together")
        if entry.files and not entry.upstream and not entry.page:
            raise self.fail("files", "neither 'upstream' nor 'page' says where its files come from")
        if entry.format == "idx" and len(entry.files) % 2:
            raise self.fail("files", "IDX files come in pairs: images, labels")
        for file in entry.files:
            path = PurePosixPath(file)
            if path.is_absolute() or ".." in path.parts or "\\" in file:
                raise self.fail("files", f"'{file}' must stay below the folder of the data")
        for address in entry.upstream:
            if urlsplit(address).scheme not in ("http", "https"):
                raise self.fail("upstream", f"'{address}' is not an http(s) address")
        for step in entry.preprocess:
            if step not in STEP_NAMES:
                raise self.fail("preprocess", f"unknown step '{step}'{suggest(step, list(STEP_NAMES))}")
        if entry.fingerprint and not re.fullmatch(r"[0-9a-f]{32}", entry.fingerprint):
            raise self.fail("fingerprint", "a fingerprint has 32 hexadecimal digits")
        for file in entry.sha256:
            if file not in entry.files:
                raise self.fail("sha256", f"'{file}' is not one of the files")
