"""Reading a catalogue from YAML; every error names the line."""

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from olbench.data.catalog.entry import CatalogEntry
from olbench.errors import UserError, suggest
from olbench.structs import keys_of, read_keys, text
from olbench.yaml_lines import Node, parse_yaml

#: Archives of documents: one per file, one per line, or one per line with its features counted already.
ARCHIVES = ("posts", "reviews", "feature-counts")
FILES = ("libsvm", "idx", "csv", "spoligotypes", *ARCHIVES)
FORMATS = (*FILES, "scikit-learn", "synthetic", "clusters", "corpus")
STEP_NAMES = ("divide-by-255", "unit-range", "normgrey", "pixel-products", "drop-duplicates")
#: The keys of an entry; the other fields are not for the catalogue.
KEYS = keys_of(CatalogEntry, "name", "multiclass", "is_own", "reading")
#: What a variant does not inherit.
OWN_KEYS = ("name", "fingerprint", "variant_of", "preprocess", "note")
#: A key and what is wrong with its value.
Fault = tuple[str, str]


def parse_catalog(text: str, name: str) -> dict[str, CatalogEntry]:
    """Return the entries of a YAML catalogue; errors name the line."""
    root = parse_yaml(text, name)
    datasets = root.value.get("datasets") if isinstance(root.value, dict) else None
    if datasets is None or not isinstance(datasets.value, dict):
        raise root.fail("a catalogue is a mapping with the key 'datasets'")
    entries: dict[str, CatalogEntry] = {}
    for key, node in datasets.value.items():
        # A mistake without a key is reported at the name.
        entries[key] = _read_entry(key, Node(node.value, datasets.keys[key], node.keys), entries)
    return entries


def _read_entry(name: str, node: Node, others: dict[str, CatalogEntry]) -> CatalogEntry:
    """Return an entry; a variant inherits the keys that it does not set."""
    if not re.fullmatch(r"(?=.*[a-z])[a-z0-9][a-z0-9.-]*", name):
        raise node.fail(f"data set '{name}': a name consists of lower-case letters, digits, dots and hyphens")
    content = node.mapping(f"the data set '{name}'")
    base = text(content["variant_of"], "variant_of") if "variant_of" in content else ""
    if base and base not in others:
        raise content["variant_of"].fail(f"data set '{name}': no data set '{base}' is defined above it")
    keys = [replace(key, default=None) for key in KEYS] if base else KEYS
    given = read_keys(keys, node, f"the data set '{name}'")
    inherited = {f.name: getattr(others[base], f.name) for f in fields(CatalogEntry) if base}
    kept = {key: value for key, value in inherited.items() if key not in OWN_KEYS}
    entry = CatalogEntry(**{**kept, **given, "name": name})
    for key, reason in _find_faults(entry):
        raise UserError(f"{node.keys.get(key, node.place)}: data set '{name}': {reason}")
    return entry


def _find_faults(entry: CatalogEntry) -> Iterator[Fault]:
    """Yield what does not fit together."""
    format, files = entry.format, entry.files
    if format not in FORMATS:
        yield "format", f"unknown format '{format}'{suggest(format, list(FORMATS))}"
    if set(entry.labels) != {-1, 1}:
        yield "labels", "'labels' must give the number of examples for -1 and for 1"
    if (total := sum(entry.labels.values())) != entry.rows:
        yield "labels", f"the labels add up to {total}, but there are {entry.rows} rows"
    if bool(files) != (format in FILES):
        yield "files", f"the format '{format}' {'needs no' if files else 'needs'} 'files'"
    if files and not entry.upstream and not entry.page:
        yield "files", "its files need an 'upstream' or a 'page'"
    if format == "idx" and len(files) % 2:
        yield "files", "IDX files come in pairs: images, labels"
    for file in files:
        path = PurePosixPath(file)
        if path.is_absolute() or ".." in path.parts or "\\" in file:
            yield "files", f"'{file}' must be a path below the data folder"
    for key, addresses in (("upstream", entry.upstream), ("page", (entry.page,) if entry.page else ())):
        for address in addresses:
            if urlsplit(address).scheme not in ("http", "https"):
                yield key, f"'{address}' is not an http(s) address"
    yield from _find_member_faults(entry)
    yield from _find_split_faults(entry)
    for step in entry.preprocess:
        if step not in STEP_NAMES:
            yield "preprocess", f"unknown step '{step}'{suggest(step, list(STEP_NAMES))}"
    if entry.fingerprint and not re.fullmatch(r"[0-9a-f]{32}", entry.fingerprint):
        yield "fingerprint", "a fingerprint has 32 hexadecimal digits"
    for file in entry.sha256:
        if file not in files:
            yield "sha256", f"'{file}' is not one of the files"


def _find_member_faults(entry: CatalogEntry) -> Iterator[Fault]:
    format, labels = entry.format, list(entry.members.values())
    if bool(entry.members) != (format in ARCHIVES):
        yield "members", f"the format '{format}' {'needs no' if entry.members else 'needs'} 'members'"
    if format in ARCHIVES and len(entry.files) != 1:
        yield "files", f"the format '{format}' is read from one archive"
    if labels and (None in labels) == (format == "posts"):
        kind = "a mapping of patterns to labels" if format == "posts" else "a list of patterns"
        yield "members", f"the 'members' of '{format}' must be {kind}"
    if entry.text.headers is not None and format != "posts":
        yield "text", f"the format '{format}' has no headers"
    if format == "feature-counts" and (entry.text.lower or entry.text.ngrams != 1):
        yield "text", "the features of 'feature-counts' cannot be changed, only their 'values'"


def _find_split_faults(entry: CatalogEntry) -> Iterator[Fault]:
    if bool(entry.split) != bool(entry.test_rows):
        yield "split", "'split' and 'test_rows' need each other"
    fewest = {"idx": 4, "synthetic": 0}.get(entry.format, 2)
    if entry.split and len(entry.files) < fewest:
        yield "split", "a given split needs a file for training and another for testing"
    if entry.test_rows >= entry.rows:
        yield "test_rows", f"{entry.test_rows} of {entry.rows} rows for testing leave none for training"
    if entry.sample == "per-run" and entry.format != "synthetic":
        yield "sample", "only a synthetic set can draw a sample per run"
