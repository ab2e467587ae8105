"""Reading a catalogue from YAML; every error names the line."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from olbench.data.catalog.entry import CatalogEntry, TextRecipe
from olbench.errors import UserError, suggest

#: Archives of documents: one per file, one per line, or one per line with its features counted already.
ARCHIVES = ("posts", "reviews", "feature-counts")
FILES = ("libsvm", "idx", "csv", "spoligotypes", *ARCHIVES)
FORMATS = (*FILES, "scikit-learn", "synthetic", "clusters", "corpus")
STEP_NAMES = ("divide-by-255", "unit-range", "normgrey", "pixel-products", "drop-duplicates")


def parse_catalog(text: str, name: str) -> dict[str, CatalogEntry]:
    """Return the entries of a YAML catalogue; errors name the line."""
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
    entries: dict[str, CatalogEntry] = {}
    for key, lines in _locate_keys(node):
        parser = _EntryParser(name, key, lines, entries)
        if key in entries:
            raise parser.fail("", "the name is listed twice")
        if key not in content["datasets"]:
            raise parser.fail("", "a name must be text")
        entries[key] = parser.entry(content["datasets"][key])
    return entries


def _locate_keys(node: Any) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield each data set's name and the line numbers of its keys; '' is the key for the line of its name."""
    datasets = next(value for key, value in node.value if key.value == "datasets")
    for key, value in datasets.value:
        inner = value.value if isinstance(value.value, list) else []
        lines = {pair[0].value: pair[0].start_mark.line + 1 for pair in inner if isinstance(pair, tuple)}
        yield key.value, {"": key.start_mark.line + 1, **lines}


class _EntryParser:
    """Checks the keys of one catalogue entry."""

    def __init__(self, file: str, name: str, lines: dict[str, int], others: dict[str, CatalogEntry]):
        self.file, self.name, self.lines, self.others = file, name, lines, others

    def fail(self, key: str, reason: str) -> UserError:
        """Return an error that names the line of a key."""
        line = self.lines.get(key, self.lines[""])
        return UserError(f"{self.file}:{line}: data set '{self.name}': {reason}")

    def entry(self, given: Any) -> CatalogEntry:
        """Return the entry; a variant inherits the keys that it does not set."""
        if not isinstance(given, dict):
            raise self.fail("", "an entry must be a mapping")
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", self.name):
            raise self.fail("", "a name consists of lower-case letters, digits, dots and hyphens")
        known = [f.name for f in fields(CatalogEntry) if f.name != "name"]
        for key in given:
            if key not in known:
                raise self.fail(str(key), f"unknown key '{key}'{suggest(str(key), known)}")
        values = {**self._inherit(given), **{key: self._value(key, value) for key, value in given.items()}}
        missing = [k for k in ("title", "format", "rows", "features", "labels", "source") if k not in values]
        if missing:
            raise self.fail("", f"the key '{missing[0]}' is missing")
        entry = CatalogEntry(name=self.name, **values)
        self._check(entry)
        return entry

    def _inherit(self, given: dict[str, Any]) -> dict[str, Any]:
        base = given.get("variant_of")
        if base is None:
            return {}
        if base not in self.others:
            raise self.fail("variant_of", f"no data set '{base}' is defined above it")
        own_keys = ("name", "fingerprint", "variant_of", "preprocess", "note")
        return {
            f.name: getattr(self.others[base], f.name) for f in fields(CatalogEntry) if f.name not in own_keys
        }

    def _value(self, key: str, value: Any) -> Any:
        if key in ("rows", "features", "max_bytes", "test_rows"):
            return self._whole(key, value)
        if key in ("positive", "negative"):
            return tuple(self._number(key, item) for item in (value if isinstance(value, list) else [value]))
        if key in ("files", "upstream", "preprocess", "feature_names", "missing_zeros"):
            return tuple(self._text(key, item) for item in (value if isinstance(value, list) else [value]))
        if key == "labels":
            return self._counts(value)
        if key == "members":
            return self._members(value)
        if key == "text":
            return self._recipe(value)
        if key == "class_names":
            return self._class_names(value)
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
            raise self.fail("labels", "'labels' must give the number of examples for -1 and for 1")
        return {label: self._whole("labels", count) for label, count in value.items()}

    def _class_names(self, value: Any) -> dict[int, str]:
        if not isinstance(value, dict) or not set(value) <= {-1, 1}:
            raise self.fail("class_names", "'class_names' must say what -1 and 1 are called")
        return {sign: self._text("class_names", name) for sign, name in value.items()}

    def _members(self, value: Any) -> dict[str, int | None]:
        """Return the patterns with their labels: a mapping where files have labels, else a list."""
        if isinstance(value, dict):
            labels = list(value.values())
            if any(label not in (-1, 1) for label in labels) or len(set(labels)) != 2:
                raise self.fail("members", "'members' must give patterns the labels -1 and 1")
            return {self._text("members", pattern): label for pattern, label in value.items()}
        patterns = value if isinstance(value, list) else [value]
        return {self._text("members", pattern): None for pattern in patterns}

    def _recipe(self, value: Any) -> TextRecipe:
        if not isinstance(value, dict):
            raise self.fail("text", "'text' must be a mapping")
        known = [f.name for f in fields(TextRecipe)]
        for key in value:
            if key not in known:
                raise self.fail("text", f"unknown key '{key}' in 'text'{suggest(str(key), known)}")
        headers = value.get("headers")
        if headers is not None and not isinstance(headers, list):
            raise self.fail("text", "'headers' must be a list")
        if headers is not None:
            value = {**value, "headers": tuple(self._text("text", name) for name in headers)}
        recipe = TextRecipe(**value)
        if not isinstance(recipe.lower, bool):
            raise self.fail("text", f"'lower' must be true or false, not {recipe.lower!r}")
        if recipe.ngrams not in (1, 2):
            raise self.fail("text", f"'ngrams' must be 1 or 2, not {recipe.ngrams!r}")
        if recipe.values not in ("binary", "counts"):
            raise self.fail("text", f"'values' must be binary or counts, not {recipe.values!r}")
        return recipe

    def _check(self, entry: CatalogEntry) -> None:
        if entry.format not in FORMATS:
            raise self.fail(
                "format", f"unknown format '{entry.format}'{suggest(entry.format, list(FORMATS))}"
            )
        if sum(entry.labels.values()) != entry.rows:
            total = sum(entry.labels.values())
            raise self.fail("labels", f"the labels add up to {total}, but there are {entry.rows} rows")
        if bool(entry.files) != (entry.format in FILES):
            needed = "needs no" if entry.files else "needs"
            raise self.fail("files", f"the format '{entry.format}' {needed} 'files'")
        if entry.files and not entry.upstream and not entry.page:
            raise self.fail("files", "its files need an 'upstream' or a 'page'")
        if entry.format == "idx" and len(entry.files) % 2:
            raise self.fail("files", "IDX files come in pairs: images, labels")
        for file in entry.files:
            path = PurePosixPath(file)
            if path.is_absolute() or ".." in path.parts or "\\" in file:
                raise self.fail("files", f"'{file}' must be a path below the data folder")
        for address in entry.upstream:
            if urlsplit(address).scheme not in ("http", "https"):
                raise self.fail("upstream", f"'{address}' is not an http(s) address")
        self._check_members(entry)
        self._check_split(entry)
        for step in entry.preprocess:
            if step not in STEP_NAMES:
                raise self.fail("preprocess", f"unknown step '{step}'{suggest(step, list(STEP_NAMES))}")
        if entry.fingerprint and not re.fullmatch(r"[0-9a-f]{32}", entry.fingerprint):
            raise self.fail("fingerprint", "a fingerprint has 32 hexadecimal digits")
        for file in entry.sha256:
            if file not in entry.files:
                raise self.fail("sha256", f"'{file}' is not one of the files")

    def _check_members(self, entry: CatalogEntry) -> None:
        if bool(entry.members) != (entry.format in ARCHIVES):
            needed = "needs no" if entry.members else "needs"
            raise self.fail("members", f"the format '{entry.format}' {needed} 'members'")
        if entry.format in ARCHIVES and len(entry.files) != 1:
            raise self.fail("files", f"the format '{entry.format}' is read from one archive")
        if entry.members and (None in entry.members.values()) == (entry.format == "posts"):
            kind = "a mapping of patterns to labels" if entry.format == "posts" else "a list of patterns"
            raise self.fail("members", f"the 'members' of '{entry.format}' must be {kind}")
        if entry.text.headers is not None and entry.format != "posts":
            raise self.fail("text", f"the format '{entry.format}' has no headers")
        if entry.format == "feature-counts" and (entry.text.lower or entry.text.ngrams != 1):
            raise self.fail("text", "the features of 'feature-counts' cannot be changed, only their 'values'")

    def _check_split(self, entry: CatalogEntry) -> None:
        if entry.split not in ("", "given"):
            raise self.fail("split", f"'split' can only be given, not '{entry.split}'")
        if bool(entry.split) != bool(entry.test_rows):
            raise self.fail("split", "'split' and 'test_rows' need each other")
        fewest = {"idx": 4, "synthetic": 0}.get(entry.format, 2)
        if entry.split and len(entry.files) < fewest:
            raise self.fail("split", "a given split needs a file for training and another for testing")
        if entry.test_rows >= entry.rows:
            raise self.fail(
                "test_rows", f"{entry.test_rows} of {entry.rows} rows for testing leave none for training"
            )
        if entry.sample not in ("fixed", "per-run"):
            raise self.fail("sample", f"'sample' must be fixed or per-run, not '{entry.sample}'")
        if entry.sample == "per-run" and entry.format != "synthetic":
            raise self.fail("sample", "only a synthetic set can draw a sample per run")
