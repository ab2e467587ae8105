"""Reads an entry of `datasets` in a config: a name of the catalogue, or a user's own file."""

from dataclasses import replace
from pathlib import Path

from olbench.data.catalog import catalog, find
from olbench.data.compressed import STDIN, base_name
from olbench.data.labels import read_label
from olbench.data.spec import DatasetSpec, Reading
from olbench.data.tables import read_delimiter
from olbench.data.users import plain_name
from olbench.errors import expand_home, is_file
from olbench.structs import Node, keys_of, place_errors, read_keys, select, text

READING_KEYS = keys_of(Reading, "fitted")


def read_dataset(node: Node, folder: Path) -> DatasetSpec:
    if not isinstance(node.value, dict):
        return find_dataset(text(node, "a data set"), node, folder)
    keys = [replace(key, default="") for key in (*keys_of(DatasetSpec), *READING_KEYS)]
    given, places = read_keys(keys, node, "a data set"), node.value
    if "path" in given:
        spec = _find_file(given["path"], places["path"], folder)
        name = given.get("name", spec.name)
    elif "name" in given:
        spec = find_dataset(given["name"], places["name"], folder)
        name = spec.name
    else:
        raise node.fail("a data set needs the key 'name' or 'path'")
    if "labels" in given and given.keys() & {"positive", "negative"}:
        raise places["labels"].fail("positive and negative cannot be combined with labels: all")
    for key in ("positive", "negative"):
        if not spec.path and any(isinstance(label, str) for label in given.get(key, ())):
            raise places[key].fail(f"{key} must be a label or a list of labels, not {places[key].shown()}")
        if key in given:
            with place_errors(places[key]):
                given[key] = tuple(map(read_label, given[key]))
    if "delimiter" in given:
        with place_errors(places["delimiter"]):
            given["delimiter"] = read_delimiter(given["delimiter"])
    reading = select(READING_KEYS, given)
    if reading and not spec.path:
        key = next(iter(reading))
        raise places[key].fail(
            f"{name} is read as the catalogue says; {key} is for your own files, which have the key path"
        )
    labels = select(keys_of(DatasetSpec, "name", "path"), given)
    return _with_usual_labels(DatasetSpec(name, spec.path, **labels, reading=Reading(**reading)))


def find_dataset(name: str, node: Node, folder: Path) -> DatasetSpec:
    if name in catalog():
        return DatasetSpec(name)
    if name == STDIN:
        raise node.fail(
            "a config cannot read standard input, which passes only once; name a file, or use `olbench run -`"
        )
    with place_errors(node):
        if not is_file(folder / expand_home(name)):
            find(name)  # refuses every unknown name
    return _find_file(name, node, folder)


def _find_file(name: str, node: Node, folder: Path) -> DatasetSpec:
    with place_errors(node):
        path = folder / expand_home(name)
    if not is_file(path):
        raise node.fail(f"there is no file {path}")
    return DatasetSpec(plain_name(base_name(path.name)), str(path.resolve()))


def _with_usual_labels(spec: DatasetSpec) -> DatasetSpec:
    """Leave out labels that are the catalogue's own: the data set then keeps its name and its orders."""
    if spec.path or spec.labels:
        return spec
    entry = catalog()[spec.name]
    usual = (entry.positive, entry.negative) == (spec.positive, spec.negative)
    return DatasetSpec(spec.name) if usual else spec
